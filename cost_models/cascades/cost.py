"""Energy and latency of a fused mapping: those of its operations, each by its own words.

energy  = sum over operations of what their words, hops and points cost + leakage x latency
latency = sum over operations of the slowest resource of each, since branches take turns;
          with `overlap: across_operations` the slowest resource of all of them together
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from ...arch import Architecture
from ...ir import FusedMapping
from ...ir.display import ShownCost
from ..cost import Cost, MemoryUse, capacity_parts, cost_of
from ..counts import Counts
from ..objective import ObjectiveLike, parse_objective
from .capacity import Held, Occupancy, check_capacity, occupancy
from .closed_form import count_way
from .lines import lines_of_way
from .visits import points_made
from .ways import Way, ways_of, without_transfers


@dataclass(frozen=True)
class FusedCost(ShownCost):
    """What a fused mapping costs on an architecture.

    energy_pj       of the whole run
    latency_cycles  of the whole run; `latency_s` in seconds
    macs            points of all operations, each once; those of each operation are what is done, again or not
    utilization     cycles in which all units would do these points / latency
    clock_hz        of the architecture
    operations      by name, in the order in which they are done: the part of each, words at all memories included
    memories        use of each memory, outermost first; occupied where most is held
    occupancy       by operation, the tiles that are held while it works
    leakage_pj      of all instances over the whole run
    """

    energy_pj: float
    latency_cycles: float
    macs: int
    utilization: float
    clock_hz: float
    operations: dict[str, Cost]
    memories: tuple[MemoryUse, ...]
    occupancy: Occupancy
    leakage_pj: float = 0.0

    def objective(self, objective: ObjectiveLike) -> float:
        """The figure that a search minimizes; TilewrightError for an unknown objective, and a lexicographic one."""
        return parse_objective(objective).value(self.energy_pj, self.latency_cycles)


def evaluate_tree(fused: FusedMapping, arch: Architecture, stays: Collection[str] = ()) -> FusedCost:
    """The cost of a fused mapping, by the closed forms.

    stays  tensors that are there before the run, or are left there after it: in the memory of their second node, whole.
           No word of them passes between it and the outermost memory, and they take no more room than a word has bits

    Raises MappingError when it does not fit: a node or loop in the wrong place, an array axis that is too short, tiles
    larger than a memory; and for what cannot be counted yet.
    """
    ways = ways_of(fused, arch)
    occupied = occupancy(fused, arch, ways, frozenset(stays))
    check_capacity(occupied, arch)
    if stays:
        ways = {name: without_transfers(way, arch, stays) for name, way in ways.items()}
    return cost_of_counts(fused, arch, ways, {name: count_way(way, arch) for name, way in ways.items()}, occupied)


def cost_of_counts(
    fused: FusedMapping, arch: Architecture, ways: dict[str, Way], counts: dict[str, Counts], occupied: Occupancy
) -> FusedCost:
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
    return FusedCost(
        energy_pj=sum(cost.energy_pj - cost.leakage_pj for cost in costs) + leakage,
        latency_cycles=latency,
        macs=fused.cascade.macs,
        utilization=ideal / (arch.mac_instances * latency),
        clock_hz=arch.clock_hz,
        operations=operations,
        memories=tuple(_memory_use(arch, i, operations, occupied) for i in range(len(arch.memories))),
        occupancy=occupied,
        leakage_pj=leakage,
    )


def _overlapped(arch: Architecture, operations: dict[str, Cost]) -> float:
    """Cycles of the busiest resource, if no operation ever waited for another one."""
    costs = operations.values()
    overlapping, serial = [sum(cost.compute_cycles for cost in costs)], 0.0
    for i, memory in enumerate(arch.memories):
        uses = [cost.memories[i] for cost in costs]
        cycles = max(sum(use.read_cycles for use in uses), sum(use.write_cycles for use in uses))
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
        capacity_bits=sum(part.bits for part in capacity_parts(memory)) or None,
        cycles=sum(use.cycles for use in uses),
        energy_pj=sum(use.energy_pj for use in uses),
        read_bits=sum(use.read_bits for use in uses),
        write_bits=sum(use.write_bits for use in uses),
        read_cycles=sum(use.read_cycles for use in uses),
        write_cycles=sum(use.write_cycles for use in uses),
    )


def occupied_bits(tiles: tuple[Held, ...], memory: str) -> int:
    """Bits in use in one instance of a memory."""
    return sum(tile.bits for tile in tiles if tile.memory == memory)
