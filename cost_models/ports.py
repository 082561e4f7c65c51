"""From words to bits, from bits to cycles of a memory's ports, and from these to the cycles of a run.

Cycles are worked out of numbers and of arrays alike: the exact search times many mappings at once, and its bounds, with
what the cost model times one mapping with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..arch import Architecture, Memory
from ..arch.ports import PortKind, bounded_kinds, carries
from ..ir import Role, Tensor, ceil_div
from .counts import Accesses
from .passing import bits_outwards

Figures = TypeVar("Figures", float, npt.NDArray[np.float64])

Passing = Mapping[Role, tuple[float, float]]
"""Bits of one memory that are read and written, by role."""

Busy = Mapping[str, Passing]
"""The same, by memory."""


IDLE = PortKind("", False, False, "")
"""Of a port that carries nothing, of a memory that has none and makes others wait."""


@dataclass(frozen=True)
class Port:
    """One bounded port of a memory.

    waits_for  the tensor, as a number, whose banks it waits for: what it carries are cycles then; None: bits
    """

    memory: Memory
    kind: PortKind
    bits_per_cycle: float
    waits_for: int | None = None

    @property
    def name(self) -> str:
        """Of it, among the ports of its memory."""
        return self.kind.name

    def carried(self, role: Role | None, reads: Figures, writes: Figures) -> Figures:
        """What passes this port of what is read and written of a role; None: of all, a port of one alone left out."""
        own = self.kind.role in (None, role)
        return (own and self.kind.reads) * reads + (own and self.kind.writes) * writes

    def cycles(
        self, role: Role | None, read_bits: Figures, write_bits: Figures, instances: Figures | float = 1
    ) -> Figures:
        """Cycles for the bits of a role (as in `carried`) at so many instances, if each moves as many."""
        return self.carried(role, read_bits, write_bits) / (instances * self.bits_per_cycle)

    def busy(self, passing: Passing) -> float:
        """Cycles for the bits of all roles."""
        return sum((self.cycles(role, *bits) for role, bits in passing.items()), 0.0)

    def of_banks(self, tensor: int) -> Port:
        """This port as it waits for the banks of a tensor."""
        return replace(self, bits_per_cycle=1.0, waits_for=tensor)


@dataclass(frozen=True)
class PortUse:
    """The use of one bounded port of a memory.

    name    "both", "read" or "write", or the role of what it carries
    cycles  for which it is busy at the busiest instance
    bits    that pass it at all instances, where it is one of a role; None: all of the memory's in its directions
    """

    name: str
    cycles: float
    bits: float | None = None


def ports_of(memory: Memory) -> Iterator[Port]:
    """The bounded ports of a memory; all its banks together bound them as well."""
    bounds = memory.without_lines() if memory.banks else memory
    for kind, rate in bounded_kinds(bounds):
        yield Port(memory, kind, rate)


def uses_of_ports(memory: Memory, busiest: Passing, every: Passing | None = None) -> tuple[PortUse, ...]:
    """How long every bounded port of one instance is busy with its words; `every`: those of all instances."""
    every = every or {}
    return tuple(PortUse(port.name, port.busy(busiest), _of_role(port, every)) for port in ports_of(memory))


def _of_role(port: Port, every: Passing) -> float | None:
    return sum(every.get(port.kind.role, (0.0, 0.0))) if port.kind.role else None


def longest(uses: Iterable[PortUse], reads: bool | None = None) -> float:
    """The cycles of the port that is busy longest, of all, or of those that carry reads (or writes); 0 where none is
    bounded."""
    return max((use.cycles for use in uses if reads is None or carries(use.name, reads)), default=0.0)


def added(*uses: tuple[PortUse, ...], shares: Iterable[float] = ()) -> tuple[PortUse, ...]:
    """The ports of one memory, busy with one thing after the other; or, by their shares, with a mixture of them."""
    parts = list(shares) or [1.0] * len(uses)

    def mixed(figures: Iterable[float]) -> float:
        return sum(part * figure for part, figure in zip(parts, figures, strict=True))

    return tuple(
        PortUse(
            same[0].name,
            mixed(use.cycles for use in same),
            None if same[0].bits is None else mixed(use.bits or 0.0 for use in same),
        )
        for same in zip(*uses, strict=True)
    )


def port_cycles(memory: Memory, passing: Passing) -> float:
    """Return the cycles that the ports of one instance need for its words; 0 where they are unbounded."""
    return longest(uses_of_ports(memory, passing))


def run_cycles(compute: Figures, memories: Iterable[tuple[bool, Figures]]) -> Figures:
    """Cycles of a run: the slowest of compute and of the memories that overlap with it, and then the others.

    memories  whether each overlaps, and the cycles of its busiest port
    """
    slowest, others = compute, []
    for overlaps, cycles in memories:
        if overlaps:
            slowest = np.maximum(slowest, cycles)
        else:
            others.append(cycles)
    return sum(others, slowest)


@dataclass(frozen=True)
class AccessBits:
    """Bits of some accesses, by kind.

    supplied   read for what lies inside, and to accumulate
    drained    read on their way outwards
    collected  written from inside
    filled     written from outside
    """

    supplied: int
    drained: int
    collected: int
    filled: int

    @property
    def read(self) -> int:
        return self.supplied + self.drained

    @property
    def write(self) -> int:
        return self.collected + self.filled

    def __add__(self, other: AccessBits) -> AccessBits:
        return AccessBits(
            self.supplied + other.supplied,
            self.drained + other.drained,
            self.collected + other.collected,
            self.filled + other.filled,
        )

    def in_blocks(self, block_bits: int, instances: int) -> AccessBits:
        """Rounded up to whole blocks, of every kind at each instance."""
        whole = block_bits * instances
        return AccessBits(*(ceil_div(bits, whole) * whole for bits in astuple(self)))


def access_bits(arch: Architecture, tensor: Tensor, accesses: Accesses) -> AccessBits:
    """Bits of some accesses: finished outputs at their own width, the rest as partial sums."""
    wide, narrow = arch.partial_width_bits(tensor), arch.width_bits(tensor)
    return AccessBits(
        supplied=(accesses.reads - accesses.drains) * wide,
        drained=bits_outwards(accesses.drains, accesses.finished_reads, wide, narrow),
        collected=bits_outwards(accesses.writes - accesses.fills, accesses.finished_writes, wide, narrow),
        filled=accesses.fills * wide,
    )
