"""The points of an exploration, a network at each of them, and the designs that nothing beats.

At every point each layer has its proven best mapping by the objective; the figures of a point are sums over the layers
of the network. The front is over some of these figures and some of the chip (`measures.py`): designs that no other one
equals or beats in all of them at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...arch import Architecture
from ..comparisons.compared import Compared, Summary
from ..parts.si import machines_compare
from .fixed_figures import fixed_figures
from .measures import MEASURES, Budget, Measure, parts_without_area


@dataclass(frozen=True)
class Point:
    """An architecture at one point.

    values         of the swept fields there
    machine        the architecture with these values
    summary        the network at this point; its figures are None where a layer has no mapping
    on_chip_bytes  of all memories but the outermost, all instances together
    """

    values: Mapping[str, str]
    machine: Architecture
    summary: Summary
    on_chip_bytes: float

    @property
    def area_mm2(self) -> float | None:
        """Of the chip; None where the architecture states none for one of its parts."""
        return None if parts_without_area(self.machine) else self.machine.total_area_mm2

    def figure(self, measure: Measure) -> float | None:
        """In the unit of the measure. None where a layer has no mapping."""
        if self.summary.energy_pj is None or self.summary.latency_s is None:
            return None
        of_network = {"energy": self.summary.energy_pj, "latency": self.summary.latency_s}
        return of_network[measure.name] if measure.of_chip is None else measure.of_chip(self.machine)

    def figures(self, measures: Sequence[Measure]) -> tuple[float, ...] | None:
        """In the order of the measures; less is better. None where a layer has no mapping."""
        found = [self.figure(measure) for measure in measures]
        known = tuple(figure for figure in found if figure is not None)
        return known if len(known) == len(found) else None


@dataclass(frozen=True)
class Beyond:
    """A point that was not searched, since its chip is beyond a limit.

    values   of the swept fields there
    machine  the architecture with these values
    limit    that it is beyond
    """

    values: Mapping[str, str]
    machine: Architecture
    limit: Budget


@dataclass(frozen=True, repr=False)
class ExplorationPoints:
    """The points of a design space.

    axes        paths of the swept fields, those together that change together
    points      in the order of the sweeps
    comparison  the layers of the network at every point; with fusing, the whole network
    measures    that the front is over
    limits      that points must keep to be on the front, or the best
    beyond      points that were not searched, since their chips are beyond a limit
    """

    axes: tuple[tuple[str, ...], ...]
    points: tuple[Point, ...]
    comparison: Compared[Any]
    measures: tuple[Measure, ...]
    limits: tuple[Budget, ...] = ()
    beyond: tuple[Beyond, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """Paths of all swept fields."""
        return tuple(field for axis in self.axes for field in axis)

    @property
    def sweep(self) -> str:
        """The fields in a line: `array with GLB.size x clock`."""
        return " x ".join(" with ".join(axis) for axis in self.axes)

    @property
    def front_words(self) -> str:
        """What the front is over: `energy, latency and area`."""
        *others, last = (measure.words for measure in self.measures)
        return f"{', '.join(others)} and {last}"

    @cached_property
    def front(self) -> tuple[Point, ...]:
        """The points within the limits that no other one beats in all measures, from the least of the first one on."""
        within = [(point.figures(self.measures), point) for point in self.points if self.is_within(point)]
        mapped = [(figures, point) for figures, point in within if figures is not None]
        kept: list[tuple[tuple[float, ...], Point]] = []
        for figures, point in sorted(mapped, key=lambda pair: pair[0]):  # whatever beats a point stands before it
            if not any(_beats(other, figures) for other, _ in kept):
                kept.append((figures, point))
        return tuple(point for _, point in kept)

    @property
    def unproven(self) -> tuple[Point, ...]:
        """Points of which something better than shown may be found."""
        return tuple(point for point in self.points if not point.summary.proven and not point.summary.missing)

    @property
    def is_front_complete(self) -> bool:
        """Whether the front is that of all mappings at all points: each is proven."""
        return not self.unproven

    @property
    def best(self) -> Point | None:
        """The point within the limits with the least objective of the whole network, in joules and seconds; None where
        there is none, or the objective counts cycles of different clocks."""
        if not self.compares:
            return None
        mapped = [point for point in self.points if point.summary.value is not None and self.is_within(point)]
        return min(mapped, key=lambda point: point.summary.value or 0.0, default=None)

    @cached_property
    def compares(self) -> bool:
        """Whether the objective says which point is the better one."""
        return machines_compare(self.comparison.settings.objective, [point.machine for point in self.points])

    def saves(self, point: Point) -> float | None:
        """The part of the objective that fusing saves at a point; None where nothing was fused, or nothing is known."""
        return (self.comparison.savings or {}).get((point.summary.network, point.summary.arch))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What the figures leave out: memories that change in size, while an access costs the same at every size."""
        return fixed_figures([point.machine for point in self.points])

    def is_within(self, point: Point) -> bool:
        """Whether a point keeps all limits; one without a mapping for every layer keeps none of the network."""
        figures = ((limit, point.figure(limit.measure)) for limit in self.limits)
        return all(figure is not None and limit.allows(figure) for limit, figure in figures)


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether a point is no worse in anything and better in something."""
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def drawn_points(exploration: ExplorationPoints) -> tuple[Measure, list[tuple[Point, tuple[float, ...]]], float]:
    """What pictures show as area, the points with figures of energy, latency and that, and the largest such area."""
    third = next((m for m in exploration.measures if m.of_chip is not None), MEASURES["on_chip"])
    measures = (MEASURES["energy"], MEASURES["latency"], third)
    mapped = [(point, figures) for point in exploration.points if (figures := point.figures(measures)) is not None]
    return third, mapped, max((figures[2] for _, figures in mapped), default=1.0) or 1.0
