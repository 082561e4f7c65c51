"""When operations work: shifts one after the other, as plan.json, pages and traces have them.

Figures of operations that share loops are sums over all their turns, so their shifts stand one after the other, each as
long as all of its turns. Where operations overlap, the shifts of a group are shortened to what the group takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...cost_models import Cost
from ...mapper.segmentation import NetworkAnswer
from .files import Strict


class Shift(Strict):
    """An operation at work.

    name           of it
    start, stop    in cycles of the whole run
    busy           the share of the time that the MACs and the busiest port of every memory are at work
    waits_for      what its latency is that of
    energy_pj      of one of its occurrences
    """

    name: str
    start: float
    stop: float
    busy: dict[str, float]
    waits_for: str
    energy_pj: float


def shifts_of_groups(answer: NetworkAnswer) -> Iterator[tuple[Shift, ...]]:
    """The shifts of every group of a network, at least one; what is no operation works while it moves words."""
    now, outermost = 0.0, answer.question.arch.memories[0].name
    for segment in answer.segments:
        cycles = segment.totals.latency_cycles
        if segment.answer is None:
            energy_pj, busy = segment.moves.energy_pj, {outermost: 1.0}
            found = [_shift("+".join(segment.names), now, now + cycles, busy, outermost, energy_pj)]
        else:
            cost = segment.answer.cost
            found = shifts_of_cost({name: cost.operations[name] for name in cost.occupancy}, cycles, now)
            if saved := segment.saved.latency_cycles:  # the same work in less time
                found = [_busier(shift, (cycles + saved) / cycles) for shift in found]
        yield tuple(found)
        now = found[-1].stop


def shifts_of_cost(parts: Mapping[str, Cost], cycles: float, start: float = 0.0) -> list[Shift]:
    """Operations one after the other, from a start on; together they take some cycles."""
    whole = sum(part.latency_cycles for part in parts.values())
    scale = cycles / whole if whole else 0.0
    found = []
    for name, part in parts.items():
        stop = start + scale * part.latency_cycles
        ports = {memory.name: memory.cycles / part.latency_cycles for memory in part.memories if memory.cycles}
        found.append(_shift(name, start, stop, {"MACs": part.utilization} | ports, part.limited_by, part.energy_pj))
        start = stop
    return found


def _busier(shift: Shift, factor: float) -> Shift:
    return shift.model_copy(update={"busy": {name: min(1.0, factor * part) for name, part in shift.busy.items()}})


def _shift(name: str, start: float, stop: float, busy: dict[str, float], waits_for: str, energy_pj: float) -> Shift:
    return Shift(name=name, start=start, stop=stop, busy=busy, waits_for=waits_for, energy_pj=energy_pj)
