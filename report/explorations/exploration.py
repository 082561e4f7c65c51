"""A finished exploration: its points, as a table, and as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...ir.display import Shown
from ...ir.units import joule_seconds
from ..comparisons.compared import Compared
from ..parts.tables import Table, Value
from .measures import Budget, Measure, on_chip_bytes
from .picture import front_figure
from .points import Beyond, ExplorationPoints, Point

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Exploration(ExplorationPoints, Shown):
    """Every point of a design space.

    axes        paths of the swept fields, those together that change together
    points      in the order of the sweeps
    comparison  the layers of the network at every point; with fusing, the whole network
    measures    that the front is over
    limits      that points must keep to be on the front, or the best
    beyond      points that were not searched, since their chips are beyond a limit
    """

    def __str__(self) -> str:
        best = ", ".join(f"{field}={value}" for field, value in self.best.values.items()) if self.best else "none"
        points = f"{len(self.points):,} points over {self.sweep}, {len(self.front):,} on the front"
        return f"{self.comparison.networks[0]}: {points}; best {self.comparison.settings.objective.name} at {best}"

    def __repr__(self) -> str:
        return f"<Exploration: {self}>"

    def table(self) -> Table:
        """One row for each point, in the order of the sweeps."""
        columns = (
            *(*self.fields, "mac_units", "on_chip_B", "area_mm2", "energy_pJ", "latency_cycles", "latency_s"),
            *("edp_J_s", "utilization_fraction", "proven", "missing_layers", "within_limits", "on_front"),
        )
        front = {id(point) for point in self.front}
        rows = [(*self._row(point), self.is_within(point), id(point) in front) for point in self.points]
        if self.comparison.savings is not None:
            rows = [(*row, self.saves(point)) for row, point in zip(rows, self.points, strict=True)]
            columns = (*columns, "saves_fraction")
        return Table("points", columns, rows)

    def to_frame(self) -> pandas.DataFrame:
        """The points as a pandas frame. Raises TilewrightError when pandas is not installed."""
        return self.table().to_frame()

    def figure(self) -> Figure:
        """Energy against latency of every point, as a matplotlib figure; the area of a dot is a measure of the chip.

        Raises TilewrightError when matplotlib is not installed.
        """
        return front_figure(self)

    def _row(self, point: Point) -> tuple[Value, ...]:
        s = point.summary
        is_known = s.energy_pj is not None and s.latency_s is not None
        edp = joule_seconds(s.energy_pj or 0.0, s.latency_s or 0.0) if is_known else None
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
    comparison: Compared[Any],
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
