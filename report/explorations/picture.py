"""An exploration as a picture: energy against latency of every point, and the front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..parts.figures import figure_style, legend_above, new_figure, plain_ticks
from ..parts.palette import BLUE, GREY
from .measures import MEASURES, Measure
from .points import ExplorationPoints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_JOULES = 1e-12  # in a picojoule
_MOST_NOTES = 12  # points whose values are written beside them: all, or those of the front


def front_figure(exploration: ExplorationPoints) -> Figure:
    """Energy against latency of every point; a measure of the chip is the area of its dot. The front stands out.

    Raises TilewrightError when matplotlib is not installed.
    """
    third = next((m for m in exploration.measures if m.of_chip is not None), MEASURES["on_chip"])
    measures = (MEASURES["energy"], MEASURES["latency"], third)
    mapped = [(point, figures) for point in exploration.points if (figures := point.figures(measures)) is not None]
    largest = max((figures[2] for _, figures in mapped), default=1.0) or 1.0
    front = {id(point) for point in exploration.front}
    with figure_style():
        figure, axes = new_figure(6.4, 4.8)
        for on_front, colour, label in ((False, GREY, "beaten"), (True, BLUE, "on the front")):
            chosen = [figures for point, figures in mapped if (id(point) in front) is on_front]
            if mapped and not chosen:
                continue  # the legend names what can be seen
            axes.scatter(
                [latency for _, latency, _ in chosen],
                [pj * _JOULES for pj, _, _ in chosen],
                s=[20 + 180 * of_chip / largest for _, _, of_chip in chosen],
                c=colour,
                alpha=0.8,
                label=label,
            )
        few = len(mapped) <= _MOST_NOTES
        noted = [point for point, _ in mapped] if few else exploration.front if len(front) <= _MOST_NOTES else ()
        for number, point in enumerate(noted):
            pj, latency, _ = point.figures(measures) or (0.0, 0.0, 0.0)
            place = (latency, pj * _JOULES)
            aside = (5, 5) if number % 2 else (5, -11)  # neighbours of one place would cover each other
            axes.annotate(", ".join(point.values.values()), place, aside, textcoords="offset points", fontsize=7)
        axes.set(xlabel="latency of the network (s)", ylabel="energy of the network (J)")
        if _are_far_apart([latency for _, (_, latency, _) in mapped]):
            axes.set_xscale("log")
            plain_ticks(axes.xaxis)
        if _are_far_apart([pj for _, (pj, _, _) in mapped]):
            axes.set_yscale("log")
            plain_ticks(axes.yaxis)
        axes.margins(0.15)
        figure.suptitle(_title(exploration, third), fontsize=9)
        legend_above(axes, 2)
    return figure


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
