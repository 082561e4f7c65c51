"""The machines that tables are for: what stands outside the arrays, and the levels inside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ....arch import Architecture, Fanout, Memory
from ....cost_models.ports import Port, ports_of
from ....cost_models.sets import is_plain
from ....ir import Cascade, Operation
from ...constraints import Constraints
from ...exact.question.canonical import canonical_problem
from ...space import Space
from ...tilings import Tiling, factors


def refusal(cascade: Cascade, arch: Architecture, space: Space, tiling: Tiling, constraints: Constraints) -> str | None:
    """Why tables are not exact for a search, or would be too large; None: they are fine."""
    outside = arch.memories_outside
    inside = [level for level in arch.levels[len(outside) :] if isinstance(level, Memory)]
    if len(outside) != 2:
        return f"{len(outside)} memories outside the arrays, expected the outermost and one on the chip"
    if inside and arch.reuse != "at_node":
        return "reuse across levels"
    if space != "uneven" or tiling != "perfect":
        return f"the {space} space of {tiling} tiles, expected the uneven one of perfect tiles"
    if not constraints.is_free:
        return "constraints"
    if outside[1].partition_bits:
        return f"private parts of {outside[1].name}"
    if arch.latency != "steady" or arch.overlap != "within_operations":
        return "latency with fill, or overlap across operations"
    if any(port.kind.role for memory in arch.memories for port in ports_of(memory)):
        return "ports of one role"
    if any(memory.block_bits for memory in arch.memories) or any(fanout.hop_pj_per_bit for fanout in arch.fanouts):
        return "energy of blocks or hops"
    return next(filter(None, (_operation_refused(operation, arch) for operation in cascade.operations)), None)


def _operation_refused(operation: Operation, arch: Architecture) -> str | None:
    if any(zeros for _, pads in operation.pads for pad in pads for zeros in pad):
        return f"{operation.name} reads zeros around a tensor"
    problem = canonical_problem(operation.problem, arch, "perfect").problem
    if not all(len(rank) == 1 and is_plain(rank, arch.footprint) for t in problem.tensors for rank in t.ranks):
        return f"{operation.name} reads through a window"
    count = 1
    for _, size in problem.dims:
        count *= len(factors(size, "perfect", True))
    most = 50_000  # tables have a few entries for each
    return f"{operation.name} has {count:,} tiles" if count > most else None


@dataclass(frozen=True, eq=False)
class TableMachine:
    """A machine for which tables can be made."""

    arch: Architecture

    @cached_property
    def outermost(self) -> Memory:
        """The memory that keeps everything."""
        return self.arch.memories[0]

    @cached_property
    def nearest(self) -> Memory:
        """The one memory on the chip that stands outside all arrays."""
        return self.arch.memories[1]

    @cached_property
    def inside(self) -> list[list[tuple[int, Memory]] | int]:
        """Innermost first: numbers of fanouts, outermost 0, and memories with no fanout between them, with depths."""
        found: list[list[tuple[int, Memory]] | int] = []
        fanouts = len(self.arch.fanouts)
        for depth in range(len(self.arch.levels) - 1, 1, -1):
            level = self.arch.levels[depth]
            if isinstance(level, Fanout):
                fanouts -= 1
                found.append(fanouts)
            elif found and isinstance(found[-1], list):
                found[-1].insert(0, (depth, level))
            else:
                found.append([(depth, level)])
        return found

    @cached_property
    def ports(self) -> tuple[tuple[int, Port], ...]:
        """The bounded ports of the two memories outside the arrays: 0 the outermost, 1 the nearest."""
        outside = enumerate((self.outermost, self.nearest))
        return tuple((number, port) for number, memory in outside for port in ports_of(memory))

    @cached_property
    def copies(self) -> int:
        """Of a branch's own tiles in the nearest memory."""
        return 2 if self.nearest.double_buffered else 1
