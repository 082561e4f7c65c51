"""Why nothing fits: which memory is too small for what it must keep, by how much, and what to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from ..arch import Architecture, Memory
from ..arch.spec import SparseFormat
from ..cost_models import ENERGY, LATENCY, Capped, Objective
from ..cost_models.cost import Part, capacity_parts, held_width_bits
from ..cost_models.layouts.lines import room_of
from ..cost_models.sparse.cost import smallest_bits
from ..ir import InfeasibleError, Problem, Tensor


def diagnose(problem: Problem, arch: Architecture) -> InfeasibleError:
    """The error that says why no mapping of the unconstrained even space fits.

    The one possible reason is a memory too small for one word, or line, of each tensor that it must keep, with
    the metadata of its format. Where there
    is no such memory, this mapping fits: every memory but the outermost keeps only what it must, and every loop stands
    directly below the outermost memory, in time. All tiles further in are single words, the outermost memory is
    unbounded, no array is used, and every tiling and placement rule allows it. To ask for a diagnosis then is a
    defect of the caller, and an AssertionError.
    """
    error = shortage_error(problem, arch)
    assert error, f"{arch.name} has room for one word of everything, so {problem.name} has a mapping that fits"
    return error


def shortage_error(problem: Problem, arch: Architecture) -> InfeasibleError | None:
    """The error that says which memory is too small for one word, or line, of each tensor that it must keep; None where
    none is."""
    shortages = list(_shortages(problem, arch))
    if not shortages:
        return None
    worst = max(shortages, key=lambda shortage: shortage.missing_bits)
    others = [f"{s.part.memory.name}: {s.describe()}" for s in shortages if s is not worst]
    message = "\nand ".join([worst.describe(), *others])
    return InfeasibleError(message, where=worst.part.memory.name, hint=worst.hint())


@dataclass(frozen=True)
class _Shortage:
    """A capacity that is too small for one word of each of its tensors, or for the line that holds it.

    word_bits  per tensor, what its smallest tile takes
    """

    problem: Problem
    arch: Architecture
    part: Part
    tensors: tuple[Tensor, ...]
    word_bits: tuple[int, ...]

    @property
    def needed_bits(self) -> int:
        return sum(self.word_bits)

    @property
    def missing_bits(self) -> int:
        return self.needed_bits - self.part.bits

    def describe(self) -> str:
        """What does not fit, and by how much."""
        memory = self.part.memory
        names = _listed([t.name + self._format(t) for t in self.tensors])
        one = "word" if memory.line_bits is None else "line"
        what = f"two {one}s of {names} (double buffered)" if memory.double_buffered else f"one {one} of {names}"
        if len(self.tensors) > 1 and len(set(self.word_bits)) > 1:
            sizes = zip(self.tensors, self.word_bits, strict=True)
            what += f" ({', '.join(f'{t.name} {_bytes(bits)}' for t, bits in sizes)})"
        verb = "need" if memory.double_buffered else "needs"
        return (
            f"{what} {verb} {_bytes(self.needed_bits)}, {self._capacity()} is {_bytes(self.part.bits)}: "
            f"{_bytes(self.missing_bits)} too small"
        )

    def _format(self, tensor: Tensor) -> str:
        """How the smallest tile is held, where its metadata takes room."""
        kind, bits = _smallest(self.problem, self.arch, self.part.memory, tensor)
        return "" if bits <= self.arch.width_bits(tensor) or kind == "uncompressed" else f" in {kind}"

    def _capacity(self) -> str:
        private = self.part.memory.partition_bits
        if not private:
            return "capacity"
        role = self.tensors[0].role
        return f"the {role} part" if role in private else "the shared part"

    def hint(self) -> str:
        """What to try, what changes the machine least first."""
        memory = self.part.memory
        tries = [f"let {memory.name} bypass {_listed([t.name for t in self.tensors], 'or')} ({self._keep()})"]
        if memory.double_buffered and self.needed_bits <= 2 * self.part.bits:
            tries.append("drop its second copy (double_buffered: false)")
        tries.append(f"give it at least {_bytes(self.needed_bits)}")
        tries.append(self._narrower())
        return _listed(tries, "or", ", ")

    def _keep(self) -> str:
        roles = dict.fromkeys(t.role for t in self.tensors)
        if len(roles) > 1:
            return "keep: may"
        return f"keep: {{{next(iter(roles))}: may}}"

    def _narrower(self) -> str:
        if self.part.memory.line_bits is not None:
            return f"use shorter lines ({_bytes(self.part.memory.line_bits)} now)"
        partial = [t for t in self.tensors if self.arch.partial_width_bits(t) > self.arch.width_bits(t)]
        if partial:
            return f"use narrower partial sums ({self.arch.partial_width_bits(partial[0])} bit now)"
        return "use narrower words"


def _shortages(problem: Problem, arch: Architecture) -> Iterator[_Shortage]:
    """The capacities that are too small for the smallest tiles, outermost memory first."""
    for memory in arch.memories:
        for part in capacity_parts(memory):
            tensors = tuple(t for t in problem.tensors if t.role in part.roles and memory.keeps[t.role] == "must")
            smallest = tuple(_smallest_bits(problem, arch, memory, t) for t in tensors)
            shortage = _Shortage(problem, arch, part, tensors, smallest)
            if shortage.missing_bits > 0:
                yield shortage


def _smallest_bits(problem: Problem, arch: Architecture, memory: Memory, tensor: Tensor) -> int:
    """What a tile of one word takes: a line of its own, where the memory has lines. Raises TilewrightError where a word
    has no room in one."""
    if memory.line_bits is None:
        one = _smallest(problem, arch, memory, tensor)[1]
    else:
        one = memory.line_bits
        room_of(memory, tensor, held_width_bits(arch, memory, tensor))  # raises: longer lines help, more room does not
    return one * (2 if memory.double_buffered else 1)


def _smallest(problem: Problem, arch: Architecture, memory: Memory, tensor: Tensor) -> tuple[SparseFormat, int]:
    """The format in which a word takes least, and the bits that it takes, with its metadata."""
    return min(smallest_bits(problem, arch, memory, tensor).items(), key=lambda each: each[1])


def _bytes(bits: int) -> str:
    return f"{bits / 8:,.10g} B"


def _listed(words: Sequence[str], last: str = "and", separator: str = ", ") -> str:
    """`A, W and O`."""
    if len(words) == 1:
        return words[0]
    return f"{separator.join(words[:-1])} {last} {words[-1]}"


def unmet_limits(objective: Capped, least: Callable[[Objective], tuple[float, bool]]) -> InfeasibleError:
    """The error that says so.

    least  what no mapping of the same space is below by an objective without limits, and whether one is as low; an
           InfeasibleError that it raises says what else is in the way, and is passed on
    """
    figures = []
    for limit, one in ((objective.max_energy_pj, ENERGY), (objective.max_latency_cycles, LATENCY)):
        if limit < inf:
            bound, is_known = least(one)
            least_words = f"the least {one.name} is {'' if is_known else 'at least '}{bound:.10g} {one.unit}"
            unknown = f"how low {one.name} can get was not found in time"
            figures.append(least_words if is_known or bound > limit else unknown)
    both = "both limits" if len(figures) > 1 else "the limit"
    return InfeasibleError(
        f"no mapping keeps {both}: {', '.join(figures)}", where=f"objective {objective}", hint="raise the limit"
    )
