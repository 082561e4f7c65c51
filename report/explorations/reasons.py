"""Why a point of an exploration is as it is: what its network waits for, which layers take the time, and what the next
change of the machine would be worth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...cost_models import Cost
from ...ir.units import count, percent, seconds, significant
from ..comparisons.comparison import Comparison
from ..comparisons.fused import FusedComparison
from .measures import MEASURES
from .points import ExplorationPoints, Point

COMPUTE = "compute"
_SAME = 0.002
"""Two latencies that differ by less are called the same."""
_NEAR, _SMALLER = 0.01, 0.05
"""A chip is nearly as good as the best one up to this factor, and smaller from this part on."""


@dataclass(frozen=True)
class LayerTime:
    """What one layer, or one operation of a group, takes of a network's time.

    name, kind  of it
    repeat      how often it occurs
    cost        of one occurrence
    """

    name: str
    kind: str
    repeat: int
    cost: Cost

    @property
    def seconds(self) -> float:
        """All occurrences, one after the other."""
        return self.repeat * self.cost.latency_s

    @property
    def at_work(self) -> float:
        """MACs at work at a time, on average over the steps that compute."""
        return self.cost.macs / self.cost.steps if self.cost.steps else 0.0


@dataclass(frozen=True)
class Neighbour:
    """A neighbour of a point: one axis of the sweep has another value.

    point    the neighbour
    changes  the fields that differ, with their values there
    factor   its objective over that of the point
    """

    point: Point
    changes: dict[str, str]
    factor: float

    @property
    def words(self) -> str:
        """The change in a line."""
        return ", ".join(f"{field}={value}" for field, value in self.changes.items())


def layer_times(exploration: ExplorationPoints, point: Point) -> tuple[LayerTime, ...]:
    """The layers of the network at a point, or the operations of its groups, those that take most time first."""
    network, arch = point.summary.network, point.summary.arch
    comparison = exploration.comparison
    found: list[LayerTime] = []
    if isinstance(comparison, FusedComparison):
        answer = comparison.row(network, arch).answer
        for segment in answer.segments if answer else ():
            costs = segment.answer.cost.operations.items() if segment.answer else ()
            found += [LayerTime(name, "operation", segment.times, cost) for name, cost in costs]
    else:
        assert isinstance(comparison, Comparison)
        found += _of_layers(comparison, network, arch)
    return tuple(sorted(found, key=lambda one: -one.seconds))


def _of_layers(comparison: Comparison, network: str, arch: str) -> Iterable[LayerTime]:
    for row in comparison.of(network, arch, comparison.dataflows[0]):
        if row.cost is not None:
            yield LayerTime(row.layer, row.kind, row.repeat, row.cost)


def waits(times: Sequence[LayerTime]) -> dict[str, float]:
    """Seconds by what they wait for, most first."""
    found: dict[str, float] = {}
    for one in times:
        found[one.cost.limited_by] = found.get(one.cost.limited_by, 0.0) + one.seconds
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def of_kinds(times: Sequence[LayerTime]) -> dict[str, list[LayerTime]]:
    """Layers by their kind, the kind that takes most time first."""
    found: dict[str, list[LayerTime]] = {}
    for one in times:
        found.setdefault(one.kind, []).append(one)
    return dict(sorted(found.items(), key=lambda pair: -sum(one.seconds for one in pair[1])))


def at_work(times: Sequence[LayerTime]) -> float:
    """MACs at work on average over the steps of several layers."""
    steps = sum(one.repeat * one.cost.steps for one in times)
    return sum(one.repeat * one.cost.macs for one in times) / steps if steps else 0.0


def saved_by_doubling(times: Sequence[LayerTime]) -> dict[str, float]:
    """The part of the latency that is saved, with the same mappings, where the computation or the ports of one memory
    are twice as fast; most first."""
    whole = sum(one.seconds for one in times)
    places = dict.fromkeys([COMPUTE, *(memory.name for one in times for memory in one.cost.memories)])
    saved = {
        place: sum(one.repeat * _saved_cycles(one.cost, place) / one.cost.clock_hz for one in times) / whole
        for place in places
        if whole
    }
    return dict(sorted(((place, part) for place, part in saved.items() if part > 0), key=lambda pair: -pair[1]))


def _saved_cycles(cost: Cost, place: str) -> float:
    return _busy_cycles(cost, None) - _busy_cycles(cost, place)


def _busy_cycles(cost: Cost, doubled: str | None) -> float:
    """The most of the cycles that run beside each other, and those that add."""
    beside = [cost.compute_cycles / (2 if doubled == COMPUTE else 1)]
    added = 0.0
    for memory in cost.memories:
        cycles = memory.cycles / (2 if doubled == memory.name else 1)
        if memory.overlaps:
            beside.append(cycles)
        else:
            added += cycles
    return max(beside) + added


def steps_from(exploration: ExplorationPoints, point: Point) -> tuple[Neighbour, ...]:
    """The points that differ from one in a single axis, the best first; none where the objective does not compare."""
    value = point.summary.value
    if value is None or not value or not exploration.compares:
        return ()
    found = []
    for other in exploration.points:
        differing = [axis for axis in exploration.axes if any(point.values[f] != other.values[f] for f in axis)]
        if len(differing) == 1 and other.summary.value is not None:
            changes = {field: other.values[field] for field in differing[0]}
            found.append(Neighbour(other, changes, other.summary.value / value))
    return tuple(sorted(found, key=lambda step: step.factor))


def why_sentences(exploration: ExplorationPoints, point: Point) -> list[str]:
    """What the network waits for at a point, the kind of layer that takes most time, and what would change that."""
    times = layer_times(exploration, point)
    if not times:
        return []
    return [*_waiting(times), *_slowest(exploration, point, times), *_worth(exploration, point, times)]


def _waiting(times: Sequence[LayerTime]) -> list[str]:
    whole = sum(one.seconds for one in times)
    (place, most), *others = waits(times).items()
    if most >= 0.995 * whole:
        return [f"All of its {seconds(whole)} wait for {place}."]
    beside = "".join(f", {percent(part, whole)} for {name}" for name, part in others[:1])
    return [f"{percent(most, whole)} of its {seconds(whole)} wait for {place}{beside}."]


def _slowest(exploration: ExplorationPoints, point: Point, times: Sequence[LayerTime]) -> list[str]:
    """The kind of layer that takes most time, with its MACs at work; whether more MACs have been seen to help it."""
    kind, layers = next(iter(of_kinds(times).items()))
    taken = sum(one.seconds for one in layers)
    place = next(iter(waits(layers)))
    used = f"{significant(at_work(layers), 3)} of {count(point.machine.mac_instances)} MACs at work"
    why = used if place == COMPUTE else f"most of it waiting for {place}"
    return [f"{_several(kind)} take {seconds(taken)} of it, {why}{_more_macs(exploration, point)}."]


def _several(kind: str) -> str:
    """A kind of layer in the plural, at the start of a sentence."""
    first, _, rest = kind.partition(" of ")
    return f"{first[0].upper()}{first[1:]}s{' of ' if rest else ''}{rest}"


def _more_macs(exploration: ExplorationPoints, point: Point) -> str:
    """Whether a step to more MACs leaves the latency as it is."""
    time, macs = point.summary.latency_s or 0.0, point.machine.mac_instances
    wider = [step.point for step in steps_from(exploration, point) if step.point.machine.mac_instances > macs]
    if not wider or any((other.summary.latency_s or 0.0) < time * (1 - _SAME) for other in wider):
        return ""
    return "; a larger array does not help"


def _worth(exploration: ExplorationPoints, point: Point, times: Sequence[LayerTime]) -> list[str]:
    """The best step within the sweep, and the part of the machine whose doubled speed would save most."""
    found = []
    name = shown_name(exploration)
    steps = steps_from(exploration, point)
    if steps and steps[0].factor < 1:
        found.append(f"The next best change is {steps[0].words}: {percent(1 - steps[0].factor, 1)} less {name}.")
    doubled = saved_by_doubling(times)
    if doubled:
        place, part = next(iter(doubled.items()))
        what = "its computation" if place == COMPUTE else f"the ports of {place}"
        found.append(f"With {what} twice as fast, the same mappings would take {percent(part, 1)} less time.")
    return found


def smaller_sentence(exploration: ExplorationPoints) -> list[str]:
    """The smallest chip that is nearly as good as the best point."""
    best = exploration.best
    if best is None or not best.summary.value:
        return []
    measure = next((m for m in exploration.measures if m.of_chip is not None), MEASURES["on_chip"])
    near = [
        (figure, point)
        for point in exploration.points
        if (figure := point.figure(measure)) is not None
        and exploration.is_within(point)
        and (point.summary.value or 0.0) <= best.summary.value * (1 + _NEAR)
    ]
    least, point = min(near, key=lambda pair: pair[0])
    own = best.figure(measure) or 0.0
    if least > own * (1 - _SMALLER):
        return []
    more = percent((point.summary.value or 0.0) / best.summary.value - 1, 1)
    chip = f"{measure.show(least)} of {measure.words} instead of {measure.show(own)}"
    return [f"{point_words(point.values.items())} has {more} more {shown_name(exploration)}, with {chip}."]


def shown_name(exploration: ExplorationPoints) -> str:
    """The objective as sentences have it."""
    name = exploration.comparison.settings.objective.name
    return name.upper() if name in ("edp", "ed2p") else name


def point_words(values: Iterable[tuple[str, str]]) -> str:
    """The values of a point in a line."""
    return ", ".join(f"{path}={value}" for path, value in values)
