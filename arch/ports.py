"""The ports that a memory may have: which directions each carries, and which field of the memory has its rate.

`cost_models/ports.py` makes of them what takes time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from .spec import Memory


@dataclass(frozen=True)
class PortKind:
    """A port that a memory may have.

    name           of it, among the ports of one memory
    reads, writes  the directions that it carries
    rate           the field of `Memory` that has its bits per cycle
    """

    name: str
    reads: bool
    writes: bool
    rate: str


PORT_KINDS: tuple[PortKind, ...] = (
    PortKind("both", True, True, "shared_bits_per_cycle"),
    PortKind("read", True, False, "read_bits_per_cycle"),
    PortKind("write", False, True, "write_bits_per_cycle"),
)
"""Every kind of port. Whoever times words asks `ports_of`: a kind that is added here counts in all costs and bounds."""


def bounded_kinds(memory: Memory) -> Iterator[tuple[PortKind, float]]:
    """The bounded ports of a memory, with their bits per cycle."""
    for kind in PORT_KINDS:
        if rate := getattr(memory, kind.rate, None):
            yield kind, rate


def stated_ports(memory: Memory) -> tuple[tuple[PortKind, float | None], ...]:
    """The ports that the specification of a memory states, with bits per cycle; None for the directions of a port that
    none of them carries: it is unbounded."""
    rates: dict[PortKind, float | None] = dict(bounded_kinds(memory))
    free = not any(kind.reads for kind in rates), not any(kind.writes for kind in rates)
    unbounded = next((kind for kind in PORT_KINDS if (kind.reads, kind.writes) == free), None)
    return tuple((kind, rates.get(kind)) for kind in PORT_KINDS if kind in rates or kind is unbounded)


def bits_per_cycle(memory: Memory) -> float | None:
    """The most that any mixture of reads and writes gets through the ports that a memory states; None: unbounded."""
    least = dict.fromkeys(((True, True), (True, False), (False, True)), math.inf)
    for kind, rate in bounded_kinds(memory):
        way = kind.reads, kind.writes
        least[way] = min(least[way], rate)
    both, reads, writes = least.values()
    most = min(both, reads + writes)
    return None if math.isinf(most) else most


def without_ports(memory: Memory, but: str | None = None) -> Memory:
    """The memory with unbounded ports, except for one if that is named."""
    return memory.model_copy(update={kind.rate: None for kind in PORT_KINDS if kind.name != but})


def carries(name: str, reads: bool) -> bool:
    """Whether the port of a name carries reads; or else writes."""
    return any(kind.name == name and (kind.reads if reads else kind.writes) for kind in PORT_KINDS)
