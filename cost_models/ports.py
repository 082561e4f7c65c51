"""From words to bits, from bits to cycles of a memory's ports, and from these to the cycles of a run.

Cycles are worked out of numbers and of arrays alike: the exact search times many mappings at once, and its bounds, with
what the cost model times one mapping with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..arch import Architecture, Memory
from ..ir import Tensor, ceil_div
from .counts import Accesses
from .passing import bits_outwards

Figures = TypeVar("Figures", float, npt.NDArray[np.float64])


@dataclass(frozen=True)
class Port:
    """One bounded port of a memory: which directions it carries.

    waits_for  the tensor, as a number, whose banks it waits for: what it carries are cycles then; None: bits
    """

    memory: Memory
    reads: bool
    writes: bool
    bits_per_cycle: float
    waits_for: int | None = None

    def cycles(self, read_bits: Figures, write_bits: Figures, instances: Figures | float = 1) -> Figures:
        """Cycles for the bits of so many instances, if each moves as many."""
        bits = self.reads * read_bits + self.writes * write_bits
        return bits / (instances * self.bits_per_cycle)


def ports_of(memory: Memory) -> Iterator[Port]:
    """The bounded ports of a memory; all its banks together bound them as well."""
    bounds = memory.without_lines() if memory.banks else memory
    if bounds.shared_bits_per_cycle:
        yield Port(memory, True, True, bounds.shared_bits_per_cycle)
    if bounds.read_bits_per_cycle:
        yield Port(memory, True, False, bounds.read_bits_per_cycle)
    if bounds.write_bits_per_cycle:
        yield Port(memory, False, True, bounds.write_bits_per_cycle)


def port_cycles(memory: Memory, read_bits: float, write_bits: float) -> float:
    """Return the cycles that the ports of one instance need for its words; 0 where they are unbounded."""
    return max(direction_cycles(memory, read_bits, write_bits))


def direction_cycles(memory: Memory, read_bits: float, write_bits: float) -> tuple[float, float]:
    """Return the cycles that the reads and the writes of one instance need; equal where they share a port, 0 where
    ports are unbounded."""
    reading = writing = 0.0
    for port in ports_of(memory):
        cycles = port.cycles(read_bits, write_bits)
        reading, writing = cycles if port.reads else reading, cycles if port.writes else writing
    return reading, writing


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
