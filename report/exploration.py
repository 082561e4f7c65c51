"""A finished exploration: a network at every point of a design space, and the designs that nothing beats.

At every point each layer has its proven best mapping by the objective; the figures of a point are sums over the layers
of the network. The front is over some of these figures and some of the chip (`measures.py`): designs that no other one
equals or beats in all of them at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..arch import Architecture
from ..ir.display import Shown
from .comparison import Comparison
from .fixed_figures import fixed_figures
from .measures import Budget, Measure, on_chip_bytes, parts_without_area
from .summaries import Summary
from .tables import Table, Value

if TYPE_CHECKING:
    import pandas


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
class Exploration(Shown):
    """Every point of a design space.

    axes        paths of the swept fields, those together that change together
    points      in the order of the sweeps
    comparison  the layers of the network at every point
    measures    that the front is over
    limits      that points must keep to be on the front, or the best
    beyond      points that were not searched, since their chips are beyond a limit
    """

    axes: tuple[tuple[str, ...], ...]
    points: tuple[Point, ...]
    comparison: Comparison
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

    def __str__(self) -> str:
        best = ", ".join(f"{field}={value}" for field, value in self.best.values.items()) if self.best else "none"
        points = f"{len(self.points):,} points over {self.sweep}, {len(self.front):,} on the front"
        return f"{self.comparison.networks[0]}: {points}; best {self.comparison.settings.objective.name} at {best}"

    def __repr__(self) -> str:
        return f"<Exploration: {self}>"

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
    def best(self) -> Point | None:
        """The point within the limits with the least objective of the whole network."""
        mapped = [point for point in self.points if point.summary.value is not None and self.is_within(point)]
        return min(mapped, key=lambda point: point.summary.value or 0.0, default=None)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What the figures leave out: memories that change in size, while an access costs the same at every size."""
        return fixed_figures([point.machine for point in self.points])

    def is_within(self, point: Point) -> bool:
        """Whether a point keeps all limits; one without a mapping for every layer keeps none of the network."""
        figures = ((limit, point.figure(limit.measure)) for limit in self.limits)
        return all(figure is not None and limit.allows(figure) for limit, figure in figures)

    def table(self) -> Table:
        """One row for each point, in the order of the sweeps."""
        columns = (
            *(*self.fields, "mac_units", "on_chip_B", "area_mm2", "energy_pJ", "latency_cycles", "latency_s"),
            *("edp_pJ_s", "utilization_fraction", "proven", "missing_layers", "within_limits", "on_front"),
        )
        front = {id(point) for point in self.front}
        rows = [(*self._row(point), self.is_within(point), id(point) in front) for point in self.points]
        return Table("points", columns, rows)

    def to_frame(self) -> pandas.DataFrame:
        """The points as a pandas frame. Raises TilewrightError when pandas is not installed."""
        return self.table().to_frame()

    def _row(self, point: Point) -> tuple[Value, ...]:
        s = point.summary
        edp = s.energy_pj * s.latency_s if s.energy_pj is not None and s.latency_s is not None else None
        return (
            *(point.values[field] for field in self.fields),
            *(
                point.machine.mac_instances,
                point.on_chip_bytes,
                point.area_mm2,
                s.energy_pj,
                s.latency_cycles,
                s.latency_s,
                edp,
            ),
            *(s.utilization, s.proven, " ".join(s.missing)),
        )


def exploration_of(
    comparison: Comparison,
    axes: Sequence[Sequence[str]],
    values: Sequence[Mapping[str, str]],
    measures: Sequence[Measure],
    limits: Sequence[Budget] = (),
    beyond: Sequence[Beyond] = (),
) -> Exploration:
    """The exploration that a comparison makes, in which every point is an architecture.

    axes    paths of the swept fields, as of an Exploration
    values  of the swept fields, by point, in the order of the architectures
    """
    points = tuple(
        Point(point, comparison.machines[summary.arch], summary, on_chip_bytes(comparison.machines[summary.arch]))
        for point, summary in zip(values, comparison.summaries(), strict=True)
    )
    return Exploration(tuple(map(tuple, axes)), points, comparison, tuple(measures), tuple(limits), tuple(beyond))


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether a point is no worse in anything and better in something."""
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))
