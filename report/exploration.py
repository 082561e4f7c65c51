"""A finished exploration: a network at every point of a design space, and the designs that nothing beats.

At every point each layer has its proven best mapping by the objective; the figures of a point are sums over the layers
of the network. The front is over these figures: designs that no other one equals or beats in energy, latency and
on-chip bytes at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..arch import Architecture
from ..ir.display import Shown
from .comparison import Comparison
from .figures import BLUE, GREY, figure_style, legend_above, new_figure
from .summaries import Summary
from .tables import Table, Value

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

JOULES = 1e-12  # in a picojoule
_MOST_NOTES = 12  # points whose values are written beside them: all, or those of the front


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
    def figures(self) -> tuple[float, float, float] | None:
        """Energy in pJ, latency in s, on-chip bytes; less is better. None where a layer has no mapping."""
        energy, latency = self.summary.energy_pj, self.summary.latency_s
        return (energy, latency, self.on_chip_bytes) if energy is not None and latency is not None else None


@dataclass(frozen=True, repr=False)
class Exploration(Shown):
    """Every point of a design space.

    fields      paths of the swept fields
    points      in the order of the sweeps
    comparison  the layers of the network at every point
    """

    fields: tuple[str, ...]
    points: tuple[Point, ...]
    comparison: Comparison

    def __str__(self) -> str:
        best = ", ".join(f"{field}={value}" for field, value in self.best.values.items()) if self.best else "none"
        points = f"{len(self.points):,} points over {' x '.join(self.fields)}, {len(self.front):,} on the front"
        return f"{self.comparison.networks[0]}: {points}; best {self.comparison.settings.objective.name} at {best}"

    def __repr__(self) -> str:
        return f"<Exploration: {self}>"

    @cached_property
    def front(self) -> tuple[Point, ...]:
        """The points that no other one beats in energy, latency and on-chip bytes, from the least energy on."""
        mapped = [(point.figures, point) for point in self.points if point.figures is not None]
        kept: list[tuple[tuple[float, ...], Point]] = []
        for figures, point in sorted(mapped, key=lambda pair: pair[0]):  # whatever beats a point stands before it
            if not any(_beats(other, figures) for other, _ in kept):
                kept.append((figures, point))
        return tuple(point for _, point in kept)

    @property
    def best(self) -> Point | None:
        """The point with the least objective of the whole network."""
        mapped = [point for point in self.points if point.summary.value is not None]
        return min(mapped, key=lambda point: point.summary.value or 0.0, default=None)

    def table(self) -> Table:
        """One row for each point, in the order of the sweeps."""
        columns = (
            *(*self.fields, "mac_units", "on_chip_B", "energy_pJ", "latency_cycles", "latency_s", "edp_pJ_s"),
            *("utilization_fraction", "proven", "missing_layers", "on_front"),
        )
        front = {id(point) for point in self.front}
        rows = [(*self._row(point), id(point) in front) for point in self.points]
        return Table("points", columns, rows)

    def to_frame(self) -> pandas.DataFrame:
        """The points as a pandas frame. Raises TilewrightError when pandas is not installed."""
        return self.table().to_frame()

    def figure(self) -> Figure:
        """Energy against latency of every point, as a matplotlib figure. Raises TilewrightError without matplotlib."""
        return front_figure(self)

    def _row(self, point: Point) -> tuple[Value, ...]:
        s = point.summary
        edp = s.energy_pj * s.latency_s if s.energy_pj is not None and s.latency_s is not None else None
        return (
            *(point.values[field] for field in self.fields),
            *(point.machine.mac_instances, point.on_chip_bytes, s.energy_pj, s.latency_cycles, s.latency_s, edp),
            *(s.utilization, s.proven, " ".join(s.missing)),
        )


def exploration_of(comparison: Comparison, values: Sequence[Mapping[str, str]]) -> Exploration:
    """The exploration that a comparison makes, in which every point is an architecture.

    values  of the swept fields, by point, in the order of the architectures
    """
    points = tuple(
        Point(point, comparison.machines[summary.arch], summary, on_chip_bytes(comparison.machines[summary.arch]))
        for point, summary in zip(values, comparison.summaries(), strict=True)
    )
    return Exploration(tuple(values[0]), points, comparison)


def on_chip_bytes(arch: Architecture) -> float:
    """Bytes of all memories but the outermost, over all instances; unbounded ones count nothing."""
    bits = 0
    for memory in arch.memories[1:]:
        held = (memory.size_bits or 0) + sum(memory.partition_bits.values())
        bits += held * arch.instances(memory.name)
    return bits / 8


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether a point is no worse in anything and better in something."""
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def front_figure(exploration: Exploration) -> Figure:
    """Energy against latency of every point; on-chip bytes are the area of its dot. The front stands out.

    Raises TilewrightError when matplotlib is not installed.
    """
    mapped = [(point, point.figures) for point in exploration.points if point.figures is not None]
    largest = max((figures[2] for _, figures in mapped), default=1.0) or 1.0
    front = {id(point) for point in exploration.front}
    comparison = exploration.comparison
    with figure_style():
        figure, axes = new_figure(6.4, 4.8)
        for on_front, colour, label in ((False, GREY, "beaten"), (True, BLUE, "on the front")):
            chosen = [figures for point, figures in mapped if (id(point) in front) is on_front]
            axes.scatter(
                [latency for _, latency, _ in chosen],
                [pj * JOULES for pj, _, _ in chosen],
                s=[20 + 180 * on_chip / largest for _, _, on_chip in chosen],
                c=colour,
                alpha=0.8,
                label=label,
            )
        few = len(mapped) <= _MOST_NOTES
        noted = [point for point, _ in mapped] if few else exploration.front if len(front) <= _MOST_NOTES else ()
        for number, point in enumerate(noted):
            pj, latency, _ = point.figures or (0.0, 0.0, 0.0)
            place = (latency, pj * JOULES)
            aside = (5, 5) if number % 2 else (5, -11)  # neighbours of one place would cover each other
            axes.annotate(", ".join(point.values.values()), place, aside, textcoords="offset points", fontsize=7)
        axes.set(xlabel="latency of the network (s)", ylabel="energy of the network (J)")
        axes.set_xscale(_scale([latency for _, (_, latency, _) in mapped]))
        axes.set_yscale(_scale([pj for _, (pj, _, _) in mapped]))
        axes.margins(0.15)
        what = f"{comparison.networks[0]}, {comparison.settings.objective.name}, {' x '.join(exploration.fields)}"
        figure.suptitle(f"{what}\narea of a dot: on-chip bytes; {comparison.written_by}", fontsize=9)
        legend_above(axes, 2)
    return figure


def _scale(values: Sequence[float]) -> str:
    """Logarithmic where values differ by more than a few times: its labels are hard to read elsewhere."""
    return "log" if values and max(values) > 5 * min(values) > 0 else "linear"
