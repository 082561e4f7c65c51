"""Energy and latency of a fused mapping: those of its operations, each by its own words.

energy  = sum over operations of what their words, hops and points cost + leakage x latency
latency = sum over operations of the slowest resource of each, since branches take turns;
          with `overlap: across_operations` the slowest resource of all of them together
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...arch import Architecture
from ...ir import Cascade, Mapping, OperationPath
from ..boundaries import Boundary
from ..closed_form import Nest
from ..cost import Cost, Held, MemoryUse, NetworkUse, Occupancy, TensorTraffic, capacity_bits, cost_of
from ..counts import Counts
from ..layouts import LineCounts, Lines, has_lines
from ..layouts.lines import count_layouts
from ..padding import refuse_free_padding
from ..ports import added, longest
from .capacity import check_capacity, occupancy
from .closed_form import count_way
from .tensor_layouts import laid_out_for
from .visits import points_made
from .ways import Way, ways_of, without_transfers


def evaluate_tree(fused: Mapping, arch: Architecture, stays: Collection[str] = ()) -> Cost:
    """The cost of a fused mapping, by the closed forms.

    stays  tensors that are there before the run, or are left there after it: in the memory of their second node, whole.
           No word of them passes between it and the outermost memory, and they take no more room than a word has bits

    Raises MappingError when it does not fit: a node or loop in the wrong place, an array axis that is too short, tiles
    larger than a memory; and for what cannot be counted yet.
    """
    refuse_free_padding(fused.work, arch, "trees of operations")
    ways = ways_of(fused, arch)
    occupied = occupancy(fused, arch, ways, frozenset(stays))
    check_capacity(occupied, arch)
    if stays:
        ways = {name: without_transfers(way, arch, stays) for name, way in ways.items()}
    return cost_of_counts(fused, arch, ways, {name: count_way(way, arch) for name, way in ways.items()}, occupied)


def cost_of_counts(
    fused: Mapping, arch: Architecture, ways: dict[str, Way], counts: dict[str, Counts], occupied: Occupancy
) -> Cost:
    """The cost of a fused mapping whose words are already counted."""
    operations = {}
    for name, way in ways.items():
        machine = arch.model_copy(update={"mac": arch.mac.of(way.operation.kind)})
        points = points_made(way.path, way.made) if way.made else way.mapping.problem.macs
        operations[name] = cost_of(way.mapping, machine, counts[name], points, lines_of_way(way, fused.cascade, arch))
    costs = operations.values()
    latency = sum(cost.latency_cycles for cost in costs)
    if arch.overlap == "across_operations":
        latency = _overlapped(arch, operations)
    leakage = arch.total_leakage_pj_per_cycle * latency
    ideal = sum(way.operation.problem.macs / arch.mac.of(way.operation.kind).per_cycle for way in ways.values())
    totals = RunTotals(
        energy_pj=sum(cost.energy_pj - cost.leakage_pj for cost in costs) + leakage,
        latency_cycles=latency,
        macs=fused.cascade.macs,
        utilization=ideal / (arch.mac_instances * latency),
        clock_hz=arch.clock_hz,
        memories=tuple(_memory_use(arch, i, operations, occupied) for i in range(len(arch.memories))),
        leakage_pj=leakage,
    )
    return whole_cost(totals, operations, occupied)


class RunTotals(NamedTuple):
    """Figures of the run of a cascade that are no sums over its operations; named as in `Cost`."""

    energy_pj: float
    latency_cycles: float
    macs: int
    utilization: float
    clock_hz: float
    memories: tuple[MemoryUse, ...]
    leakage_pj: float


def whole_cost(totals: RunTotals, operations: dict[str, Cost], occupied: Occupancy) -> Cost:
    """The cost of operations together: their totals, and the sums over all of them of everything else. Fill and drain
    are hidden where operations do not take turns."""
    costs = operations.values()
    take_turns = totals.latency_cycles == sum(cost.latency_cycles for cost in costs)
    return Cost(
        **totals._asdict(),
        mac_energy_pj=sum(cost.mac_energy_pj for cost in costs),
        steps=sum(cost.steps for cost in costs),
        compute_cycles=sum(cost.compute_cycles for cost in costs),
        limited_by="",
        traffic=_traffic(totals.memories, [one for cost in costs for one in cost.traffic]),
        networks=_networks([one for cost in costs for one in cost.networks]),
        fill_cycles=sum(cost.fill_cycles for cost in costs) if take_turns else 0.0,
        array_cycles=sum(cost.array_cycles for cost in costs),
        operations=operations,
        occupancy=occupied,
    )


def _traffic(memories: tuple[MemoryUse, ...], every: list[TensorTraffic]) -> tuple[TensorTraffic, ...]:
    """The traffic of every tensor at every memory, outermost first, over all operations."""
    found: dict[tuple[str, str], TensorTraffic] = {}
    for use in memories:
        for one in (one for one in every if one.memory == use.name):
            known = found.get((one.memory, one.tensor))
            found[one.memory, one.tensor] = one if known is None else _added(known, one)
    return tuple(found.values())


def _added(one: TensorTraffic, other: TensorTraffic) -> TensorTraffic:
    return replace(
        one,
        tile_words=max(one.tile_words, other.tile_words),
        reads=one.reads + other.reads,
        writes=one.writes + other.writes,
        energy_pj=one.energy_pj + other.energy_pj,
        lines=_lines(one.lines, other.lines),
        bank_cycles=_lines(one.bank_cycles, other.bank_cycles),
    )


def _lines(one: Lines | None, other: Lines | None) -> Lines | None:
    return one + other if one is not None and other is not None else one or other


def _networks(every: list[NetworkUse]) -> tuple[NetworkUse, ...]:
    """The hops of every tensor through every fanout, over all operations."""
    found: dict[tuple[str, str], NetworkUse] = {}
    for one in every:
        key = one.fanout, one.tensor
        known = found.get(key, NetworkUse(*key, 0, 0.0))
        found[key] = replace(known, hops=known.hops + one.hops, energy_pj=known.energy_pj + one.energy_pj)
    return tuple(found.values())


def _overlapped(arch: Architecture, operations: dict[str, Cost]) -> float:
    """Cycles of the busiest resource, if no operation ever waited for another one."""
    costs = operations.values()
    overlapping, serial = [sum(cost.compute_cycles for cost in costs)], 0.0
    for i, memory in enumerate(arch.memories):
        uses = [cost.memories[i] for cost in costs]
        cycles = longest(added(*(use.ports for use in uses)))
        if memory.overlaps:
            overlapping.append(cycles)
        else:
            serial += cycles
    return max(overlapping) + serial


def _memory_use(arch: Architecture, index: int, operations: dict[str, Cost], occupied: Occupancy) -> MemoryUse:
    """One memory over all operations; its cycles are those of all of them."""
    memory = arch.memories[index]
    uses = [cost.memories[index] for cost in operations.values()]
    return replace(
        uses[0],
        occupied_bits=max(occupied_bits(tiles, memory.name) for tiles in occupied.values()),
        capacity_bits=capacity_bits(memory),
        cycles=sum(use.cycles for use in uses),
        energy_pj=sum(use.energy_pj for use in uses),
        read_bits=sum(use.read_bits for use in uses),
        write_bits=sum(use.write_bits for use in uses),
        ports=added(*(use.ports for use in uses)),
    )


def occupied_bits(tiles: tuple[Held, ...], memory: str) -> int:
    """Bits in use in one instance of a memory."""
    return sum(tile.bits for tile in tiles if tile.memory == memory)


def lines_of_tree(fused: Mapping, arch: Architecture) -> dict[str, LineCounts]:
    """What passes the ports of memories with lines, by operation in the order in which they are done."""
    return {name: lines_of_way(way, fused.cascade, arch) for name, way in ways_of(fused, arch).items()}


def lines_of_way(way: Way, cascade: Cascade, arch: Architecture) -> LineCounts:
    """What passes the ports of memories with lines for one operation; nothing, where none has."""
    counts = LineCounts()
    if not has_lines(arch):
        return counts
    _count(counts, way.path, way.boundaries, cascade, arch)
    for borrowed in way.borrowed:
        _count(counts, borrowed.path, (borrowed.boundary,), cascade, arch)
    return counts


def _count(
    counts: LineCounts, path: OperationPath, boundaries: Sequence[Boundary], cascade: Cascade, arch: Architecture
) -> None:
    nest, problem = Nest.of(path.mapping, arch, path.starts), path.operation.problem
    for memory in (memory for memory in arch.memories if memory.line_bits is not None):
        for tensor in problem.tensors:
            way = laid_out_for(cascade, arch, memory, problem, tensor)
            found = count_layouts(nest, boundaries, memory, tensor, [way])
            if found is not None:
                key = memory.name, tensor.name
                for table, figures in ((counts.total, found.total), (counts.busiest, found.busiest)):
                    table[key] = table.get(key, Lines()) + figures.of(0)
                if found.banks is not None:
                    counts.banks[key] = counts.banks.get(key, Lines()) + found.banks.of(0)
