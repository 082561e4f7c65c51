"""When the operations of a network's plan work, and what lies in every memory meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ...ir import MappingError
from ...run.documents.network_plans import ArenaPart, NetworkPlanDocument
from ...run.documents.shifts import Shift


@dataclass(frozen=True)
class Tile:
    """Addresses in a memory for a while.

    name     of the tile
    start, stop  in cycles
    low, high    first address and the one after the last, in bytes
    stays    whether it stays from group to group
    """

    name: str
    start: float
    stop: float
    low: int
    high: int
    stays: bool


@dataclass
class MemoryLane:
    """One part of a memory over the run.

    name      of the memory, and of the part where it has several
    capacity  in bytes; None: not stated
    height    bytes that are used
    tiles     in it
    """

    name: str
    capacity: int | None
    height: int = 0
    tiles: list[Tile] = field(default_factory=list)


def shifts_of(plan: NetworkPlanDocument) -> Iterator[tuple[int, Shift]]:
    """The operations of all groups in time, each with the number of its group, and what is no operation, while it
    moves words."""
    for number, group in enumerate(plan.groups, 1):
        yield from ((number, shift) for shift in group.shifts or () if shift.stop > shift.start)


def memory_lanes(plan: NetworkPlanDocument) -> list[MemoryLane]:
    """What lies where in every bounded memory; what stays from group to group is one tile."""
    lanes: dict[tuple[str, tuple[str, ...]], MemoryLane] = {}
    staying = {
        (number, one.memory, buffer): f"{one.tensor} (stays)"
        for one in plan.staying
        for number, buffer in enumerate(one.buffers, one.first)
    }
    found: dict[tuple[str, tuple[str, ...], str, int], Tile] = {}
    for number, group in enumerate(plan.groups, 1):
        for arena in group.memories or ():
            place = arena.memory, arena.roles
            lane = lanes.setdefault(place, MemoryLane(_name_of(arena), arena.capacity_bytes))
            lane.height = max(lane.height, arena.height_bytes)
            for one in arena.buffers:
                stays = staying.get((number, arena.memory, one.id))
                shifts = (group.shifts or ())[one.lower : one.upper]
                for low in one.offsets:
                    name, high = stays or f"{number}.{one.id}", low + one.size_bytes
                    here = Tile(name, shifts[0].start, shifts[-1].stop, low, high, stays is not None)
                    before = found.get((*place, name, low), here)
                    found[*place, name, low] = replace(here, start=before.start, high=max(high, before.high))
    for (memory, roles, _, _), tile in found.items():
        lanes[memory, roles].tiles.append(tile)
    return list(lanes.values())


def check_is_timed(plan: NetworkPlanDocument, where: str) -> None:
    """MappingError for a plan of before version 5, which does not say when its operations work."""
    if plan.clock_hz is None:
        hint = "`tilewright compile` writes it again"
        message = f"a plan of version {plan.network_plan_version} does not say when its operations work"
        raise MappingError(message, where=where, hint=hint)


def _name_of(arena: ArenaPart) -> str:
    """The name of a memory, and which part of it where it has several."""
    return arena.memory if len(arena.roles) == _ROLES else f"{arena.memory} ({', '.join(arena.roles)})"


_ROLES = 3
"""Of tensors: an undivided memory is for all of them."""
