"""What a collective over axes of a system costs: lines side by side, shared ports, axis after axis or all together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

from ...arch.system import FabricKind, MeshAxis, System
from ...ir.display import Shown
from .bounds import Cut, cuts, least_seconds
from .schedules import Link, Operation, Round, all_gather, all_reduce, all_to_all, at_memories, dealt, reduce_scatter

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
    at_memories  bytes that a device's outermost memory reads and writes, and how many devices have such a one
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
    at_memories: tuple[tuple[tuple[int, int], int], ...] = ()

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
    runs = [
        [phase_of(system, *step, evenly(*step, part)) for step in _steps(operation, order)] for order, part in parts
    ]
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


def blocks_of(operation: Operation, size: int, parts: int) -> Blocks:
    """Equal blocks of a tensor on one line, the last ones ragged: what its devices have; of an all-to-all, for each of
    them what every other one gets."""
    every = dealt(size, parts)
    return tuple(dealt(block, parts) for block in every) if operation == "all-to-all" else every


def evenly(operation: Operation, axis: MeshAxis, dealing: Sequence[MeshAxis], size: int) -> Lines:
    """The lines of an axis, where other axes have dealt a tensor in equal blocks, the first one first."""
    found: dict[tuple[int, ...], int] = {(): size}
    for other in dealing:
        found = {(*at, i): part for at, whole in found.items() for i, part in enumerate(dealt(whole, other.size))}
    return {at: blocks_of(operation, part, axis.size) for at, part in found.items()}


def phase_of(
    system: System, operation: Operation, axis: MeshAxis, dealing: Sequence[MeshAxis], lines: Lines, word: int = 1
) -> Phase:
    """A collective along one axis, on all lines of that axis.

    dealing  the other axes along which lines differ; what is left of them holds the same words
    lines    by the place along each of these, what the devices of a line hold, in words: a block each, of an all-reduce
             the parts of the tensor; of an all-to-all, from each device to each
    word     bytes of a word, which no schedule parts
    """
    ports, others, alike = _ports(system, axis, dealing, lines)
    # By schedule, the rounds of every port that differs from others; the best is the one whose slowest port is fastest.
    found: dict[str, list[list[Round]]] = defaultdict(list)
    for port in ports:
        carried = [(count, _schedules(operation, axis, blocks)) for blocks, count in port]
        for name in carried[0][1]:
            found[name].append([_together(rounds) for rounds in zip(*_weighted(carried, name), strict=True)])
    name = min(found, key=lambda name: max(_seconds(axis, rounds, word) for rounds in found[name]))
    slowest = max(found[name], key=lambda rounds: _seconds(axis, rounds, word))
    links: Counter[Link] = Counter()
    for one in slowest:
        links.update({link: word * passing for link, passing in one.links.items()})
    moved = (
        word
        * others
        * sum(
            count * sum(sum(one.links.values()) for one in rounds)
            for rounds, count in zip(found[name], ports.values(), strict=True)
        )
    )
    memories: Counter[tuple[int, int]] = Counter()
    for port, count in ports.items():
        for blocks, times in port:
            for (read, written), devices in _memories(operation, axis, blocks, name).items():
                memories[word * read, word * written] += count * times * others * alike * devices
    return Phase(
        operation,
        axis.name,
        name,
        size=word * max(_total(blocks) for port in ports for blocks, _ in port),
        lines=max(sum(count for _, count in port) for port in ports),
        hops=sum(one.hops for one in slowest),
        bytes=word * sum(-(-one.busiest // axis.links) for one in slowest),
        bytes_by_link=dict(links),
        moved=moved,
        time=_seconds(axis, slowest, word),
        energy_pj=None if axis.hop_pj_per_bit is None else moved * _BITS * axis.hop_pj_per_bit,
        bound_bytes=word * max(_least_words(operation, axis, port) for port in ports),
        bound_hops=axis.diameter if operation == "all-reduce" else sum(one.hops for one in slowest),
        at_memories=tuple(memories.items()),
    )


Blocks: TypeAlias = tuple[int, ...] | tuple[tuple[int, ...], ...]
"""Words that the devices of a line hold; of an all-to-all, that each sends to each."""
Lines: TypeAlias = Mapping[tuple[int, ...], Blocks]
"""By their places along other axes, what is held on lines of an axis."""
Port: TypeAlias = tuple[tuple[Blocks, int], ...]
"""The lines through one port: what they hold, and how many such lines."""


def _total(blocks: Blocks) -> int:
    return sum(one if isinstance(one, int) else sum(one) for one in blocks)


def _ports(system: System, axis: MeshAxis, dealing: Sequence[MeshAxis], lines: Lines) -> tuple[Counter[Port], int, int]:
    """Ports with what they carry, how many devices of the axes that have dealt nothing do the same beside them, and how
    many do it through one port with the same words."""
    inner = system.within(axis) if axis.shared else ()
    idle = [other for other in system.axes if other != axis and other not in dealing]
    copies = prod(other.size for other in idle if other in inner)
    carried: dict[tuple[int, ...], Counter[Blocks]] = defaultdict(Counter)
    for at, blocks in lines.items():
        port = tuple(i for i, other in zip(at, dealing, strict=True) if other not in inner)
        carried[port][blocks] += 1 if axis.multicast else copies
    ports = Counter(tuple(sorted(port.items())) for port in carried.values())
    return ports, prod(other.size for other in idle) // copies, copies if axis.multicast else 1


@lru_cache(4096)
def _schedules(operation: Operation, axis: MeshAxis, blocks: Any) -> Mapping[str, tuple[Round, ...]]:
    """By name, the rounds of one line."""
    if operation == "all-reduce":
        return all_reduce(axis.kind, sum(blocks), axis.size, axis.reduces)
    if operation == "all-to-all":
        return {"direct": (all_to_all(axis.kind, blocks),)}
    gathers = all_gather if operation == "all-gather" else reduce_scatter
    return {"direct": (gathers(axis.kind, blocks, axis.reduces),)}


@lru_cache(4096)
def _memories(operation: Operation, axis: MeshAxis, blocks: Blocks, name: str) -> Counter[tuple[int, int]]:
    """Bytes that a memory reads and writes for a schedule on one line, and how many devices have such a one."""
    return Counter(at_memories(_schedules(operation, axis, blocks)[name], axis.size))


def _weighted(lines: Iterable[tuple[int, Mapping[str, tuple[Round, ...]]]], name: str) -> list[list[tuple[int, Round]]]:
    return [[(count, one) for one in schedules[name]] for count, schedules in lines]


def _together(rounds: Sequence[tuple[int, Round]]) -> Round:
    """Rounds of several lines over the same links, each so many times."""
    links: dict[Link, int] = {}
    for count, one in rounds:
        for link, moved in one.links.items():
            links[link] = links.get(link, 0) + count * moved
    return Round(max(one.hops for _, one in rounds), links)


def _seconds(axis: MeshAxis, rounds: Iterable[Round], word: int) -> float:
    return sum(one.hops * axis.latency + word * -(-one.busiest // axis.links) / axis.bandwidth for one in rounds)


def _least_words(operation: Operation, axis: MeshAxis, port: Port) -> int:
    """Words that one link of the axis carries at least."""
    bounds: list[list[Cut]] = []
    for blocks, count in port:
        bounds.append([(count * must, links) for must, links in cuts(operation, axis.kind, blocks, axis.reduces)])
    least = 0
    for same in zip(*bounds, strict=True):
        links = same[0][1] * axis.links
        least = max(least, -(-sum(must for must, _ in same) // links))
    return least
