"""The ports that a memory may have: what each carries, and which field of the memory has its rate.

`cost_models/ports.py` makes of them what takes time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..ir import Role
from ..ir.problem import ROLES
from .spec import Memory


@dataclass(frozen=True)
class PortKind:
    """A port that a memory may have.

    name           of it, among the ports of one memory
    reads, writes  the directions that it carries
    rate           the field of `Memory` that has its bits per cycle
    role           of the tensors that it carries alone; None: it carries all
    """

    name: str
    reads: bool
    writes: bool
    rate: str
    role: Role | None = None

    @property
    def key(self) -> str:
        """What its bandwidth is called in a file; nothing for one that carries everything."""
        return self.name if self.role or self.reads != self.writes else ""

    @property
    def flows(self) -> frozenset[tuple[Role, bool]]:
        """Roles and directions that it carries: True for reads."""
        ways = [True] * self.reads + [False] * self.writes
        return frozenset((role, way) for role in ROLES for way in ways if self.role in (None, role))


PORT_KINDS: tuple[PortKind, ...] = (
    PortKind("both", True, True, "shared_bits_per_cycle"),
    PortKind("read", True, False, "read_bits_per_cycle"),
    PortKind("write", False, True, "write_bits_per_cycle"),
    *(PortKind(role, True, True, f"{role}_bits_per_cycle", role) for role in ROLES),
)
"""Every kind of port. Whoever times words asks `ports_of`: a kind that is added here counts in all costs and bounds."""


def bounded_kinds(memory: Memory) -> Iterator[tuple[PortKind, float]]:
    """The bounded ports of a memory, with their bits per cycle."""
    for kind in PORT_KINDS:
        if rate := getattr(memory, kind.rate, None):
            yield kind, rate


def stated_ports(memory: Memory) -> tuple[tuple[PortKind, float | None], ...]:
    """The ports that the specification of a memory states, with bits per cycle; None for ports of what none of them
    carries: these are unbounded."""
    rates: dict[PortKind, float | None] = dict(bounded_kinds(memory))
    carried = {flow for kind in rates for flow in kind.flows}
    for kind in PORT_KINDS:
        if kind not in rates and not kind.flows & carried:
            rates[kind] = None
            carried |= kind.flows
    return tuple((kind, rates[kind]) for kind in PORT_KINDS if kind in rates)


def bits_per_cycle(memory: Memory) -> float | None:
    """The most that any mixture of reads and writes, and of roles, gets through the ports that a memory states; None:
    unbounded."""
    least: dict[frozenset[tuple[Role, bool]], float] = {}
    for kind, rate in bounded_kinds(memory):
        least[kind.flows] = min(least.get(kind.flows, math.inf), rate)

    def together(*kinds: PortKind) -> float:
        return sum(least.get(kind.flows, math.inf) for kind in kinds)

    both, reads, writes, *roles = PORT_KINDS[: 3 + len(ROLES)]
    most = min(together(both), together(reads, writes), together(*roles))
    return None if math.isinf(most) else most


def without_ports(memory: Memory, but: str | None = None) -> Memory:
    """The memory with unbounded ports, except for one if that is named."""
    return memory.model_copy(update={kind.rate: None for kind in PORT_KINDS if kind.name != but})


def carries(name: str, reads: bool) -> bool:
    """Whether the port of a name carries reads; or else writes."""
    return any(kind.name == name and (kind.reads if reads else kind.writes) for kind in PORT_KINDS)
