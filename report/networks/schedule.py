"""When the operations of a compiled network work: shifts one after the other, and what lies in every memory meanwhile.

Figures of operations that share loops are sums over all their turns, so their shifts stand one after the other, each as
long as all of its turns. Where operations overlap, the shifts of a group are shortened to what the group takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...cost_models import Cost
from ...mapper.segmentation import NetworkAnswer, Segment


@dataclass(frozen=True)
class Shift:
    """An operation at work.

    name     of it
    group    the number of its group, from 1
    start, stop  in cycles
    busy     the share of the time that the MACs and the busiest port of every memory are at work
    waits_for  what its latency is that of
    energy_pj  of one of its occurrences
    """

    name: str
    group: int
    start: float
    stop: float
    busy: dict[str, float]
    waits_for: str
    energy_pj: float


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


@dataclass(frozen=True)
class MemoryLane:
    """One part of a memory over the run.

    name      of the memory, and of the part where it has several
    capacity  in bytes; None: not stated
    height    bytes that are used
    tiles     in it
    """

    name: str
    capacity: int | None
    height: int
    tiles: tuple[Tile, ...]


def shifts_of(answer: NetworkAnswer) -> tuple[Shift, ...]:
    """The operations of all groups in time, and what is no operation, while it moves words."""
    return tuple(shift for _, shifts in _shifts(answer) for shift in shifts if shift.stop > shift.start)


def _shifts(answer: NetworkAnswer) -> Iterator[tuple[Segment, list[Shift]]]:
    """The shifts of every segment, at least one."""
    now, outermost = 0.0, answer.question.arch.memories[0].name
    for number, segment in enumerate(answer.segments, 1):
        cycles = segment.totals.latency_cycles
        if segment.answer is None:
            name, busy = "+".join(segment.names), {outermost: 1.0}
            found = [Shift(name, number, now, now + cycles, busy, outermost, segment.moves.energy_pj)]
        else:
            cost = segment.answer.cost
            found = shifts_of_cost({name: cost.operations[name] for name in cost.occupancy}, cycles, number, now)
        yield segment, found
        now = found[-1].stop


def shifts_of_cost(parts: Mapping[str, Cost], cycles: float, group: int = 1, start: float = 0.0) -> list[Shift]:
    """Operations one after the other, from a start on; together they take some cycles."""
    whole = sum(part.latency_cycles for part in parts.values())
    scale = cycles / whole if whole else 0.0
    found = []
    for name, part in parts.items():
        stop = start + scale * part.latency_cycles
        found.append(Shift(name, group, start, stop, _busy(part), part.limited_by, part.energy_pj))
        start = stop
    return found


def _busy(cost: Cost) -> dict[str, float]:
    ports = {memory.name: memory.cycles / cost.latency_cycles for memory in cost.memories if memory.cycles}
    return {"MACs": cost.utilization} | ports


def memory_lanes(answer: NetworkAnswer, name_of: dict[tuple[str, tuple[str, ...]], str]) -> tuple[MemoryLane, ...]:
    """What lies where in every bounded memory; `name_of` are the names of their parts."""
    times: list[tuple[float, float]] = []
    for segment, shifts in _shifts(answer):
        if segment.arenas or segment.answer is not None:  # a moment of the addresses
            times += ((shift.start, shift.stop) for shift in shifts)
    staying = {f"{one.name} (stays)" for one in answer.staying}
    lanes = []
    for place, plan in answer.arenas.items():
        tiles = [
            Tile(buffer.name, times[first][0], times[last - 1][1], low, high, buffer.name in staying)
            for buffer, low, high in plan.places()
            for first, last in buffer.lives
        ]
        lanes.append(MemoryLane(name_of[place], plan.capacity, plan.height, tuple(tiles)))
    return tuple(lanes)
