"""What the visits of one branch cost, in the mean: an ordinary mapping of a tile whose tensors come from where the
nodes above the branch stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...arch import Architecture
from ...ir import Mapping, MappingError, Node
from ..boundaries import Boundary, chains_of
from ..closed_form import Nest, count_boundaries
from ..cost import Cost, capacity_parts, check_axes, cost_of, held_width_bits, tile_words
from ..counts import AccessTable, Counts
from ..fill import COMPUTE, Idle, idle_cycles, waiting_cycles
from ..ports import Busy, added, longest, run_cycles, uses_of_ports
from .visits import VisitSizes, first_tiles_of_visits, uneven_visits


@dataclass(frozen=True)
class TakenBits:
    """Bits of one part of a memory: the role that has it, or "" for the part that roles share."""

    memory: str
    role: str
    bits: int
    capacity: int


def visit_cost(
    mapping: Mapping,
    arch: Architecture,
    again: int,
    busy: Busy,
    start: int = 0,
    made: dict[str, VisitSizes] | None = None,
) -> Cost:
    """The mean cost of a visit; or of all visits of some loops, of which the last one is shorter. The first node of
    every tensor stands above the branch.

    again  visits that add to one output tile: in the first alone no sums come in, in the last alone they are finished
    busy   bits that each memory reads and writes for other reasons: they take cycles, and no energy here
    start  position at which the branch begins: loops further out are over visits
    made   by dimension, how many of these visits make so many positions, where not all but the last are alike

    Raises MappingError when the branch's own nodes or loops do not fit.
    """
    check_axes(mapping, arch)
    for taken in taken_bits(mapping, arch):
        if taken.bits > taken.capacity:
            message = f"the nodes of a branch need {taken.bits / 8:,.10g} B, {taken.capacity / 8:,.10g} B are left"
            raise MappingError(message, where=taken.memory)
    visits = _uneven(mapping, arch, again, start, made) if made else _alike(mapping, arch, again, start)
    idle: Idle = {}
    if arch.latency == "with_fill":
        tensors = {tensor.name: tensor for tensor in mapping.problem.tensors}
        idle = idle_cycles(arch, tensors, first_tiles_of_visits(mapping, arch, start))
    # The cost when ports are busy for other reasons too, and idle while the first and the last tiles pass; leakage by
    # the latency that results.
    cost = _mean(visits)
    memories = []
    for use, memory in zip(cost.memories, arch.memories, strict=True):
        ports = added(use.ports, uses_of_ports(memory, busy.get(memory.name, {})))
        memories.append(replace(use, ports=ports, cycles=longest(ports)))
    waits = idle or {use.name: (0.0, 0.0) for use in memories} | {COMPUTE: (0.0, 0.0)}
    waiting = [
        (use.overlaps, waiting_cycles(memory, use.ports, waits[use.name]) if use.overlaps else use.cycles)
        for use, memory in zip(memories, arch.memories, strict=True)
    ]
    latency = float(run_cycles(cost.compute_cycles + waits[COMPUTE][0], waiting)) + cost.array_cycles
    leakage = arch.total_leakage_pj_per_cycle * latency
    energy = cost.energy_pj - cost.leakage_pj + leakage
    return replace(cost, memories=tuple(memories), energy_pj=energy, latency_cycles=latency, leakage_pj=leakage)


def _alike(mapping: Mapping, arch: Architecture, again: int, start: int) -> tuple[tuple[float, Cost], ...]:
    """What all boundaries cost in each kind of visit that adds to one output tile, with its share."""
    return kinds_of_visits(mapping, arch, tuple(chains_of(mapping, arch)), again, start)


def _uneven(
    mapping: Mapping, arch: Architecture, again: int, start: int, made: dict[str, VisitSizes]
) -> tuple[tuple[float, Cost], ...]:
    """What uneven visits cost of each kind, with how many there are."""
    found = []
    for times, visit in uneven_visits(mapping, start, made):
        kinds = _alike(visit, arch, again, len(mapping.problem.tensors))
        found += [(times * share, cost) for share, cost in kinds]
    return tuple(found)


def kinds_of_visits(
    mapping: Mapping, arch: Architecture, boundaries: tuple[Boundary, ...], again: int, start: int = 0
) -> tuple[tuple[float, Cost], ...]:
    """What some boundaries cost in each kind of visit that adds to one output tile, with its share of the visits.

    start  position at which the branch begins: loops further out are over visits, and nothing inside lasts over them
    """
    first = _counted(mapping, arch, boundaries, start)
    if again == 1:
        return ((1.0, first),)
    resuming = arch.model_copy(update={"first_read_elision": False})
    return ((1 / again, first), (1 - 1 / again, _counted(mapping, resuming, boundaries, start, finishes=False)))


def taken_bits(mapping: Mapping, arch: Architecture) -> list[TakenBits]:
    """What a branch's own nodes take of every bounded part of every memory; the first node of a tensor is not its."""
    tiles = tile_words(mapping, arch.footprint)
    homes = set()
    for tensor in mapping.problem.tensors:
        item = mapping.nest.items[mapping.nest.node_positions(tensor.name)[0]]
        assert isinstance(item, Node)
        homes.add((item.memory, tensor.name))
    found = []
    for memory in arch.memories:
        copies = 2 if memory.double_buffered else 1
        for part in capacity_parts(memory):
            bits = sum(
                copies * tiles[memory.name, t.name] * held_width_bits(arch, memory, t)
                for t in mapping.problem.tensors
                if t.role in part.roles and (memory.name, t.name) in tiles and (memory.name, t.name) not in homes
            )
            (role,) = part.roles if len(part.roles) == 1 and part.roles <= set(memory.partition_bits) else ("",)
            found.append(TakenBits(memory.name, role, bits, part.bits))
    return found


def _counted(
    mapping: Mapping, arch: Architecture, boundaries: tuple[Boundary, ...], start: int, finishes: bool = True
) -> Cost:
    counts = count_boundaries(Nest.of(mapping, arch, (0, start)), mapping, boundaries)
    for boundary in boundaries:
        if boundary.inner is not None:
            key = boundary.inner.name, boundary.tensor.name
            counts.in_use.setdefault(key, arch.instances(boundary.inner.name))
    return cost_of(mapping, arch, counts if finishes else _unfinished(counts))


def _unfinished(counts: Counts) -> Counts:
    """The same words, all of them as partial sums."""

    def wide(table: AccessTable) -> AccessTable:
        return {key: replace(accesses, finished_reads=0, finished_writes=0) for key, accesses in table.items()}

    return replace(counts, total=wide(counts.total), busiest=wide(counts.busiest))


def _mean(visits: tuple[tuple[float, Cost], ...]) -> Cost:
    """Energy, and cycles of units and every memory, of a mixture of visits; bits are those of the first kind."""
    first, shares = visits[0][1], [share for share, _ in visits]
    if shares == [1.0]:
        return first

    def mixed(values: Iterable[float]) -> float:
        return sum(share * value for share, value in zip(shares, values, strict=True))

    memories = tuple(
        replace(
            uses[0],
            energy_pj=mixed(use.energy_pj for use in uses),
            ports=added(*(use.ports for use in uses), shares=shares),
        )
        for uses in zip(*(cost.memories for _, cost in visits), strict=True)
    )
    energy = mixed(cost.energy_pj - cost.leakage_pj for _, cost in visits)
    return replace(
        first,
        memories=memories,
        energy_pj=energy,
        leakage_pj=0.0,
        compute_cycles=mixed(cost.compute_cycles for _, cost in visits),
        array_cycles=mixed(cost.array_cycles for _, cost in visits),
    )
