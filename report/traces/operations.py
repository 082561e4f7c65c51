"""Operations in time as a trace: of a network, of a tree, or of a single layer with its first tiles."""

from __future__ import annotations

from collections.abc import Iterable

from ...arch import Architecture
from ...cost_models import Cost
from ...ir import Mapping
from ...run.documents.network_plans import NetworkPlanDocument
from ...run.documents.shifts import Shift, shifts_of_cost
from ..networks.schedule import MemoryLane, check_is_timed, memory_lanes, shifts_of
from ..parts.leaves import leaves_of
from .events import Trace
from .first_tiles import add_first_tiles


def network_trace(plan: NetworkPlanDocument, where: str = "plan.json") -> str:
    """The trace of a compiled network: its operations, how busy everything is, and what lies in every memory."""
    check_is_timed(plan, where)
    assert plan.clock_hz is not None
    trace = Trace(plan.clock_hz)
    _add_shifts(trace, shifts_of(plan))
    for lane in memory_lanes(plan):
        _add_addresses(trace, lane)
    return trace.text()


def mapping_trace(mapping: Mapping, arch: Architecture, cost: Cost) -> str:
    """The trace of a mapping: its operations in time, and the first tiles of a layer."""
    trace = Trace(arch.clock_hz)
    leaves = leaves_of(mapping, arch, cost)
    shifts = shifts_of_cost({leaf.name: leaf.cost for leaf in leaves}, cost.latency_cycles)
    _add_shifts(trace, ((1, shift) for shift in shifts))
    if len(leaves) == 1:
        add_first_tiles(trace, leaves[0].mapping, leaves[0].arch, leaves[0].cost)
    return trace.text()


def _add_shifts(trace: Trace, shifts: Iterable[tuple[int, Shift]]) -> None:
    seen: set[str] = set()
    end = 0.0
    for group, shift in shifts:
        cycles = shift.stop - shift.start
        about = {"group": group, "waits for": shift.waits_for, "energy pJ": shift.energy_pj}
        trace.add("operations", "operations", shift.name, shift.start, cycles, **about)
        busy = shift.busy
        for place in [*busy, *(seen - busy.keys())]:
            trace.count("busy", place, "busy %", shift.start, round(100 * busy.get(place, 0.0), 2))
        seen |= busy.keys()
        end = shift.stop
    for place in sorted(seen):
        trace.count("busy", place, "busy %", end, 0.0)


def _add_addresses(trace: Trace, memory: MemoryLane) -> None:
    """Tiles in lanes, each in the first that is free: a viewer nests what is at one time in one lane."""
    free: list[float] = []
    for tile in sorted(memory.tiles, key=lambda tile: (tile.start, tile.low)):
        lane = next((i for i, time in enumerate(free) if time <= tile.start), len(free))
        free[lane : lane + 1] = [tile.stop]
        about = {"first byte": tile.low, "bytes": tile.high - tile.low, "stays": tile.stays}
        trace.add(f"in {memory.name}", f"tile {lane + 1}", tile.name, tile.start, tile.stop - tile.start, **about)
