"""Why fusing wins nothing: no memory for intermediates, one that is too small, or nothing that room could help.

Asked of machines on which a memory is larger, the same search says which it is: first of one on which the memory has no
end, then, if fusing wins there, of sizes twice as large each time until it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from ..arch import Architecture, Memory
from ..cost_models.cost import capacity_parts
from ..ir import InfeasibleError, UndecidedError
from .answer import Answer
from .cascades.terms.upper_memories import UNBOUNDED
from .fusing import memories_of_exchange
from .means import Means
from .question import Limits, TreeQuestion

SECONDS: Final = 10.0
"""Of the processor, for all searches together; what is not known by then is not said."""


@dataclass(frozen=True)
class Reason:
    """Why the best mapping of a cascade is no better than the best with nothing fused.

    memories   outside all arrays, other than the outermost, that may keep an intermediate; none: there is no place
    memory     the one whose room would help; None: no room would
    size_bits  of it now
    enough_bits  the first size, of those twice as large as the one before, at which fusing wins; None: more than was
               tried
    saves      the part of the objective that fusing saves there
    is_known   whether searches said so; False: they did not come to their ends in time
    """

    memories: tuple[str, ...]
    memory: str | None = None
    size_bits: int = 0
    enough_bits: int | None = None
    saves: float = 0.0
    is_known: bool = True


def why_nothing_is_won(question: TreeQuestion, search: Callable[[TreeQuestion], Answer]) -> Reason:
    """The reason, where the proven answer to a question is as good without fusing.

    search  answers questions about changed machines
    """
    asked = _Asked(question, search, Means.from_now(None).at_most(SECONDS))
    memories = memories_of_exchange(question.arch)
    names = tuple(memory.name for memory in memories)
    known = True
    for memory in memories:
        if not capacity_parts(memory):
            continue
        most = asked.saves(memory, None)
        if most is None:
            known = False
        elif most > 0:
            # The smallest size of those tried at which fusing wins.
            size = sum(part.bits for part in capacity_parts(memory))
            for doubling in range(1, 17):
                saves = asked.saves(memory, 2**doubling)
                if saves is None:
                    break
                if saves > 0:
                    return Reason(names, memory.name, size, size * 2**doubling, saves)
            return Reason(names, memory.name, size, None, most)
    return Reason(names, is_known=known)


@dataclass(frozen=True)
class _Asked:
    """Searches of one cascade on changed machines, as long as there are means."""

    question: TreeQuestion
    search: Callable[[TreeQuestion], Answer]
    means: Means

    def saves(self, memory: Memory, factor: int | None) -> float | None:
        """What fusing saves with so many times the room, or with room without end; None where that is not proven."""
        if self.means.expired:
            return None
        limits = Limits(self.means.seconds_left, self.question.limits.memory_bytes, within_s=math.inf)
        machine = _with_room(self.question.arch, memory, factor)
        try:
            answer = self.search(replace(self.question, arch=machine, limits=limits))
        except (InfeasibleError, UndecidedError):
            return None
        return answer.saves if answer.certificate.proven else None


def _with_room(arch: Architecture, memory: Memory, factor: int | None) -> Architecture:
    """The machine with a memory so many times as large; without end, if no factor is given."""

    def larger(bits: int) -> int:
        return bits * factor if factor is not None else UNBOUNDED

    size = None if memory.size_bits is None else larger(memory.size_bits)
    parts = {role: larger(bits) for role, bits in memory.partition_bits.items()}
    changed = memory.model_copy(update={"size_bits": size, "partition_bits": parts})
    levels = tuple(changed if level.name == memory.name else level for level in arch.levels)
    return arch.model_copy(update={"levels": levels})
