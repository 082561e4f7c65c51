"""What a collective over axes of a system costs: lines side by side, shared ports, axis after axis or all together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from ...arch.system import FabricKind, MeshAxis, System
from ...ir.display import Shown
from .bounds import Cut, cuts, least_seconds
from .schedules import Link, Operation, Round, all_gather, all_reduce, all_to_all, dealt, reduce_scatter

_BITS = 8

Step = tuple[Operation, MeshAxis, tuple[MeshAxis, ...]]
"""A collective along one axis, and the axes that have dealt the tensor by then, in the order of their deals."""


@dataclass(frozen=True)
class Phase:
    """A collective along one axis, on all lines of that axis at once.

    operation, axis  what takes place, and along which axis
    schedule       by name
    size           bytes of the tensor on one line, the largest
    lines          that one port carries: 1, but for shared ones
    hops           one after the other
    bytes          that the busiest link carries, one of parallel ones
    bytes_by_link  of the slowest line, or of all lines through one port, by both ends, -1 for a switch; those of
                   parallel links together
    moved          bytes over all links of the system
    time           seconds
    energy_pj      of the links; None if nobody states the energy of a hop
    bound_bytes, bound_hops  that no schedule on this axis is below
    """

    operation: Operation
    axis: str
    schedule: str
    size: int
    lines: int
    hops: int
    bytes: int
    bytes_by_link: Mapping[Link, int]
    moved: int
    time: float
    energy_pj: float | None
    bound_bytes: int
    bound_hops: int

    @property
    def is_best(self) -> bool:
        """Whether it meets both bounds, so that no schedule on this axis is better."""
        return (self.bytes, self.hops) == (self.bound_bytes, self.bound_hops)


@dataclass(frozen=True, repr=False)
class Collective(Shown):
    """A collective over axes of a system, and what it costs.

    operation  what takes place
    size       bytes of the whole tensor
    system     that it takes place on
    axes       names, the innermost first
    stages     one after the other; phases of one stage take place at once, each on another axis
    bound      seconds that no schedule over these axes is below
    """

    operation: Operation
    size: int
    system: System
    axes: tuple[str, ...]
    stages: tuple[tuple[Phase, ...], ...]
    bound: float

    def __repr__(self) -> str:
        return f"{self.operation} of {self.size:,} B on {self.system.name}: {self.time:.4g} s, {self.hops} hops"

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Of all stages."""
        return tuple(phase for stage in self.stages for phase in stage)

    @property
    def time(self) -> float:
        """Seconds from its begin to its end."""
        return sum(max(phase.time for phase in stage) for stage in self.stages)

    @property
    def hops(self) -> int:
        """Hops one after the other."""
        return sum(max(phase.hops for phase in stage) for stage in self.stages)

    @property
    def moved(self) -> int:
        """Bytes over all links of the system."""
        return sum(phase.moved for phase in self.phases)

    @property
    def bytes_by_link(self) -> dict[str, dict[Link, int]]:
        """Axis -> link of its slowest line (or port) -> bytes in all phases."""
        found: dict[str, dict[Link, int]] = {}
        for phase in self.phases:
            on_axis = found.setdefault(phase.axis, {})
            for link, moved in phase.bytes_by_link.items():
                on_axis[link] = on_axis.get(link, 0) + moved
        return found

    @property
    def missing(self) -> tuple[str, ...]:
        """Axes whose energy of a hop nobody states."""
        return tuple(dict.fromkeys(phase.axis for phase in self.phases if phase.energy_pj is None))

    @property
    def energy_pj(self) -> float | None:
        """Of all links; None where an energy is missing."""
        energies = [phase.energy_pj for phase in self.phases if phase.energy_pj is not None]
        return None if self.missing else sum(energies)

    @property
    def is_best(self) -> bool:
        """Whether it is proven that no schedule over these axes takes less time."""
        if len(self.axes) == 1:
            return all(phase.is_best for phase in self.phases)
        return self.time <= self.bound * (1 + 1e-12)


def collective_of(
    system: System, operation: Operation, size: int, axes: Sequence[MeshAxis], together: bool = False
) -> Collective:
    """A collective of a tensor over axes, each with several devices, the innermost first; the axes that are not named
    repeat it.

    together  cut the tensor into as many parts as axes, and take each in another order, so that all links work
    """
    orders = [(*axes[i:], *axes[:i]) for i in range(len(axes))] if together else [tuple(axes)]
    parts = zip(orders, dealt(size, len(orders)), strict=True)
    runs = [[phase_of(system, *step, part) for step in _steps(operation, order)] for order, part in parts]
    stages = tuple(zip(*runs, strict=True))
    bound = least_seconds(system, operation, size, axes)
    if len(axes) == 1:
        [[phase]] = stages
        bound = phase.bound_hops * axes[0].latency + phase.bound_bytes / axes[0].bandwidth
    return Collective(operation, size, system, tuple(axis.name for axis in axes), stages, bound)


def same_bandwidth(axis: MeshAxis) -> dict[str, MeshAxis]:
    """By name, axes of as many devices whose links out of a device carry as much together, linked in other ways."""
    ways: dict[str, tuple[FabricKind, bool]] = {
        "a switch that adds": ("switch", True),
        "a switch that does not add": ("switch", False),
        "a ring": ("ring", False),
        "all pairs linked": ("full", False),
    }
    found = {}
    for name, (kind, reduces) in ways.items():
        other = replace(axis, kind=kind, reduces=reduces, links=1)
        found[name] = replace(other, bandwidth=axis.bytes_per_second / other.neighbours)
    return found


def _steps(operation: Operation, order: Sequence[MeshAxis]) -> list[Step]:
    """A collective as collectives along one axis: scattered from the first axis on, gathered the other way round."""
    if operation == "all-to-all":
        return [(operation, axis, tuple(other for other in order if other != axis)) for axis in order]
    dealt_before = [(axis, tuple(order[:i])) for i, axis in enumerate(order)]
    scatter: list[Step] = [("reduce-scatter", axis, before) for axis, before in dealt_before]
    gather: list[Step] = [("all-gather", axis, before) for axis, before in reversed(dealt_before)]
    if operation == "all-reduce":
        return [*scatter[:-1], (operation, *dealt_before[-1]), *gather[1:]]
    return gather if operation == "all-gather" else scatter


def phase_of(system: System, operation: Operation, axis: MeshAxis, dealing: Sequence[MeshAxis], size: int) -> Phase:
    """A collective along one axis of a tensor that other axes have dealt, on all lines of that axis.

    dealing  the other axes that deal the tensor, the first one first; what is left of them holds the same words
    size     bytes of the whole tensor
    """
    ports, others = _ports(system, axis, dealing, size)
    # By schedule, the rounds of every port that differs from others; the best is the one whose slowest port is fastest.
    found: dict[str, list[list[Round]]] = defaultdict(list)
    for port in ports:
        lines = [(count, _schedules(operation, axis, part)) for part, count in port]
        for name in lines[0][1]:
            found[name].append([_together(rounds) for rounds in zip(*_weighted(lines, name), strict=True)])
    name = min(found, key=lambda name: max(_seconds(axis, rounds) for rounds in found[name]))
    slowest = max(found[name], key=lambda rounds: _seconds(axis, rounds))
    links: Counter[Link] = Counter()
    for one in slowest:
        links.update(one.links)
    moved = others * sum(
        count * sum(sum(one.links.values()) for one in rounds)
        for rounds, count in zip(found[name], ports.values(), strict=True)
    )
    return Phase(
        operation,
        axis.name,
        name,
        size=max(part for port in ports for part, _ in port),
        lines=max(sum(count for _, count in port) for port in ports),
        hops=sum(one.hops for one in slowest),
        bytes=sum(-(-one.busiest // axis.links) for one in slowest),
        bytes_by_link=dict(links),
        moved=moved,
        time=_seconds(axis, slowest),
        energy_pj=None if axis.hop_pj_per_bit is None else moved * _BITS * axis.hop_pj_per_bit,
        bound_bytes=max(_least_bytes(operation, axis, port) for port in ports),
        bound_hops=axis.diameter if operation == "all-reduce" else sum(one.hops for one in slowest),
    )


Port = tuple[tuple[int, int], ...]
"""The lines through one port: bytes of the tensor on a line, and how many such lines."""


def _ports(system: System, axis: MeshAxis, dealing: Iterable[MeshAxis], size: int) -> tuple[Counter[Port], int]:
    """Ports with what they carry, and how many devices of the axes that have dealt nothing do the same beside them."""
    inner = system.within(axis) if axis.shared else ()
    parts: list[tuple[tuple[int, ...], int]] = [((), size)]
    for other in dealing:
        parts = [
            (place if other in inner else (*place, i), block)
            for place, part in parts
            for i, block in enumerate(dealt(part, other.size))
        ]
    idle = [other for other in system.axes if other != axis and other not in dealing]
    copies = prod(other.size for other in idle if other in inner)
    carried: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for place, part in parts:
        carried[place][part] += 1 if axis.multicast else copies
    ports = Counter(tuple(sorted(port.items())) for port in carried.values())
    return ports, prod(other.size for other in idle) // copies


@lru_cache(4096)
def _schedules(operation: Operation, axis: MeshAxis, size: int) -> Mapping[str, tuple[Round, ...]]:
    """By name, the rounds of one line."""
    blocks = dealt(size, axis.size)
    if operation == "all-reduce":
        return all_reduce(axis.kind, size, axis.size, axis.reduces)
    if operation == "all-to-all":
        return {"direct": (all_to_all(axis.kind, [dealt(block, axis.size) for block in blocks]),)}
    gathers = all_gather if operation == "all-gather" else reduce_scatter
    return {"direct": (gathers(axis.kind, blocks, axis.reduces),)}


def _weighted(lines: Iterable[tuple[int, Mapping[str, tuple[Round, ...]]]], name: str) -> list[list[tuple[int, Round]]]:
    return [[(count, one) for one in schedules[name]] for count, schedules in lines]


def _together(rounds: Sequence[tuple[int, Round]]) -> Round:
    """Rounds of several lines over the same links, each so many times."""
    links: dict[Link, int] = {}
    for count, one in rounds:
        for link, moved in one.links.items():
            links[link] = links.get(link, 0) + count * moved
    return Round(max(one.hops for _, one in rounds), links)


def _seconds(axis: MeshAxis, rounds: Iterable[Round]) -> float:
    return sum(one.hops * axis.latency + -(-one.busiest // axis.links) / axis.bandwidth for one in rounds)


def _least_bytes(operation: Operation, axis: MeshAxis, port: Port) -> int:
    """Bytes that one link of the axis carries at least."""
    bounds: list[list[Cut]] = []
    for part, count in port:
        blocks = dealt(part, axis.size)
        matrix = [dealt(block, axis.size) for block in blocks] if operation == "all-to-all" else blocks
        bounds.append([(count * must, links) for must, links in cuts(operation, axis.kind, matrix, axis.reduces)])
    least = 0
    for same in zip(*bounds, strict=True):
        links = same[0][1] * axis.links
        least = max(least, -(-sum(must for must, _ in same) // links))
    return least
