"""An exploration as a picture: energy against latency of every point, and the front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...ir.units import energy, seconds
from ..parts.figures import figure_style, legend_above, new_figure, plain_ticks
from ..parts.palette import BLACK, BLUE, GREY
from .measures import Measure
from .points import ExplorationPoints, Point, drawn_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_ASIDE = ((8, 5), (8, -11), (-8, 5), (-8, -11), (8, 16), (-8, 16), (8, -22), (-8, -22))  # places of a name, in points
_MOST_NOTES = 12  # points whose values are written beside them: all, or those of the front


def front_figure(exploration: ExplorationPoints) -> Figure:
    """Energy against latency of every point; a measure of the chip is the area of its dot. The front stands out.

    Raises TilewrightError when matplotlib is not installed.
    """
    third, mapped, largest = drawn_points(exploration)
    front = {id(point) for point in exploration.front}
    best = exploration.best
    with figure_style():
        figure, axes = new_figure(6.4, 4.8)
        for on_front, colour, name in ((False, GREY, "beaten"), (True, BLUE, "on the front")):
            chosen = [figures for point, figures in mapped if (id(point) in front) is on_front]
            if mapped and not chosen:
                continue  # the legend names what can be seen
            axes.scatter(
                [latency for _, latency, _ in chosen],
                [pj for pj, _, _ in chosen],
                s=[20 + 180 * of_chip / largest for _, _, of_chip in chosen],
                c=colour,
                alpha=0.8,
                label=name,
            )
        for point, (pj, latency, of_chip) in mapped:
            if point is best:
                ring = 120 + 260 * of_chip / largest
                axes.scatter([latency], [pj], s=ring, facecolors="none", edgecolors=BLACK, label="the best")
        for axis, at, show in ((axes.xaxis, 1, seconds), (axes.yaxis, 0, energy)):
            values = [figures[at] for _, figures in mapped]
            _scale(axes, axis, values, show)
        axes.set(xlabel="latency of the network", ylabel="energy of the network")
        axes.margins(0.15)
        figure.suptitle(_title(exploration, third), fontsize=9)
        legend_above(axes, 3)
        few = len(mapped) <= _MOST_NOTES
        ranked = sorted(mapped, key=lambda pair: (pair[0] is not best, id(pair[0]) not in front))
        named = [
            pair for pair in ranked if few or pair[0] is best or (id(pair[0]) in front and len(front) <= _MOST_NOTES)
        ]
        _name_points(figure, axes, [(point, figures[1], figures[0]) for point, figures in named], best)
    return figure


def _scale(axes: Axes, axis: Axis, values: Sequence[float], show: Callable[[float], str]) -> None:
    """Ticks with units that people read; logarithmic where values are far apart."""
    from matplotlib.ticker import FuncFormatter

    if _are_far_apart(values):
        set_scale = axes.set_xscale if axis is axes.xaxis else axes.set_yscale
        set_scale("log")
        plain_ticks(axis)
        axis.set_minor_formatter(FuncFormatter(lambda value, _: show(value)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: show(value)))


def _name_points(figure: Figure, axes: Axes, named: Sequence[tuple[Point, float, float]], best: Point | None) -> None:
    """The values of points beside them, the first ones first, each where it covers no other; or not at all."""
    from matplotlib.transforms import Bbox

    figure.canvas.draw()
    places: Any = axes.transData.transform([(latency, pj) for _, latency, pj in named]) if named else []
    taken = [Bbox.from_extents(x - 5, y - 5, x + 5, y + 5) for x, y in places]
    for point, latency, pj in named:
        words = ", ".join(point.values.values())
        for aside in _ASIDE:
            text = axes.annotate(
                words,
                (latency, pj),
                aside,
                textcoords="offset points",
                fontsize=7,
                fontweight="bold" if point is best else "normal",
                ha="left" if aside[0] > 0 else "right",
            )
            box = text.get_window_extent()
            inside = axes.get_window_extent().contains(*box.min) and axes.get_window_extent().contains(*box.max)
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()


def _title(exploration: ExplorationPoints, third: Measure) -> str:
    """What is drawn, what the front is over, and what the figures leave out."""
    comparison = exploration.comparison
    what = f"{comparison.networks[0]}, {comparison.settings.objective.name}, {exploration.sweep}"
    lines = [what, f"front over {exploration.front_words}", f"area of a dot: {third.words}; {comparison.written_by}"]
    fixed = "sizes change, energies do not: see the notes of the page"
    return "\n".join([*lines, fixed] if exploration.notes else lines)


def _are_far_apart(values: Sequence[float]) -> bool:
    """Whether values differ by more than a few times: labels of a logarithmic axis are hard to read elsewhere."""
    return bool(values) and max(values) > 5 * min(values) > 0
