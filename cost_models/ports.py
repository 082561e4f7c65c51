"""From words to bits, and from bits to cycles of a memory's ports."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from ..arch import Architecture, Memory
from ..ir import Tensor, ceil_div
from .counts import Accesses


def port_cycles(memory: Memory, read_bits: float, write_bits: float) -> float:
    """Cycles that one instance's ports need for its words; 0 when unbounded."""
    return max(direction_cycles(memory, read_bits, write_bits))


def direction_cycles(memory: Memory, read_bits: float, write_bits: float) -> tuple[float, float]:
    """Cycles that one instance's reads and writes need: as much each where they share a port; 0 when unbounded."""
    if memory.shared_bits_per_cycle:
        both = (read_bits + write_bits) / memory.shared_bits_per_cycle
        return both, both
    reading = read_bits / memory.read_bits_per_cycle if memory.read_bits_per_cycle else 0.0
    writing = write_bits / memory.write_bits_per_cycle if memory.write_bits_per_cycle else 0.0
    return reading, writing


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
        drained=(accesses.drains - accesses.finished_reads) * wide + accesses.finished_reads * narrow,
        collected=(accesses.writes - accesses.fills - accesses.finished_writes) * wide
        + accesses.finished_writes * narrow,
        filled=accesses.fills * wide,
    )
