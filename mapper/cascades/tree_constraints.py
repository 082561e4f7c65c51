"""What users ask of the trees of a cascade, one line for each:

    T in GLB            intermediate T passes from its producer to its readers in memory GLB
    T apart             it passes through the outermost memory: these operations are not fused
    T <= 4 KiB          on chip, no more of it is held at a time, counted as finished words
    loops over M, N     shared loops step over these dimensions alone
    no loops over K     no shared loop steps over these

Lines hold together. A dimension is named as in any of the operations; where they have other names, one is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from ...arch import Architecture
from ...arch.units import size_bits
from ...ir import ArchitectureError, Cascade, ConstraintError, Operation, did_you_mean
from .sharing import SharedDim
from .upper_memories import UpperMemories

_FORMS = "'T in GLB', 'T apart', 'T <= 4 KiB', 'loops over M, N' or 'no loops over K'"


@dataclass(frozen=True)
class TreeConstraints:
    """What trees have to satisfy.

    lines    in words, as they were written
    homes    by intermediate, the memory in which it passes
    most     by intermediate, bits on chip at a time
    only     dimensions that shared loops step over; None: any
    without  dimensions that none steps over
    """

    lines: tuple[str, ...] = ()
    homes: tuple[tuple[str, str], ...] = ()
    most: tuple[tuple[str, int], ...] = ()
    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()

    def allow_exchange(self, tensor: str, memory: str, bits: int) -> bool:
        """Whether an intermediate may pass in a memory, of which it takes some bits; 0 in the outermost one."""
        limits = [most for name, most in self.most if name == tensor]
        return dict(self.homes).get(tensor, memory) == memory and all(bits <= most for most in limits)

    def allow_loop(self, dim: SharedDim) -> bool:
        """Whether a shared loop may step over a dimension."""
        names = {name for _, name in dim.dims}
        return not names & self.without and (self.only is None or bool(names & self.only))


ANY_TREE: Final = TreeConstraints()
"""No constraints."""


def read_tree_constraints(lines: Iterable[str], cascade: Cascade, arch: Architecture) -> TreeConstraints:
    """The constraints that some lines state.

    Raises ConstraintError for a line that cannot be understood, names something else than a cascade or a machine has,
    or contradicts another one.
    """
    found = TreeConstraints()
    for line in lines:
        found = _with_line(found, " ".join(line.split()), cascade, UpperMemories(arch))
    return found


def _with_line(known: TreeConstraints, line: str, cascade: Cascade, memories: UpperMemories) -> TreeConstraints:
    both = replace(known, lines=(*known.lines, line))
    if found := re.fullmatch(r"(no )?loops over (\w+(?:, ?\w+)*)", line):
        dims = frozenset(_dim(line, name, cascade) for name in re.split(", ?", found[2]))
        if found[1]:
            return replace(both, without=known.without | dims)
        return replace(both, only=dims if known.only is None else known.only & dims)
    if found := re.fullmatch(r"(\S+) (?:apart|in (\S+))", line):
        tensor = _tensor(line, found[1], cascade)
        memory = memories.outermost if found[2] is None else _memory(line, found[2], memories)
        other = dict(known.homes).get(tensor, memory)
        if other != memory:
            raise ConstraintError(
                f"{tensor} is to pass in {other} and in {memory}", where=line, hint="drop one of them"
            )
        return replace(both, homes=(*known.homes, (tensor, memory)))
    if found := re.fullmatch(r"(\S+) ?<= ?(.+)", line):
        tensor = _tensor(line, found[1], cascade)
        return replace(both, most=(*known.most, (tensor, _bits(line, found[2], memories.arch))))
    raise ConstraintError("cannot be understood as a constraint on trees", where=line, hint=f"write {_FORMS}")


def _tensor(line: str, name: str, cascade: Cascade) -> str:
    if name in cascade.intermediates:
        return name
    hint = did_you_mean(name, list(cascade.intermediates)) or f"write {_FORMS}"
    raise ConstraintError(f"{name} is no intermediate of {cascade.name}", where=line, hint=hint)


def _memory(line: str, name: str, memories: UpperMemories) -> str:
    known = [memory.name for memory in memories.upper]
    if name not in known:
        raise ConstraintError(f"{name} is no memory outside all arrays", where=line, hint=did_you_mean(name, known))
    return name


def _dim(line: str, name: str, cascade: Cascade) -> str:
    known = sorted({dim for operation in cascade for dim in _names(operation)})
    if name not in known:
        raise ConstraintError(f"{name} is no dimension of {cascade.name}", where=line, hint=did_you_mean(name, known))
    return name


def _bits(line: str, size: str, arch: Architecture) -> int:
    try:
        return size_bits(size, word_bits=arch.word_bits)
    except ArchitectureError as error:
        raise ConstraintError(error.message, where=line, hint=error.hint) from None


def _names(operation: Operation) -> tuple[str, ...]:
    return operation.problem.dim_names
