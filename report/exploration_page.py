"""An exploration as a page of text, as files, and as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table as TextTable
from rich.text import Text

from .comparison_files import write_tables
from .comparison_tables import energy_table, latency_table, layer_table
from .exploration import Exploration, Point
from .figures import BLUE, GREY, figure_style, legend_above, new_figure, save_figure
from .files import write_bytes
from .measures import MEASURES, Budget, Measure
from .text import columns, pairs, plain_text, section
from .units import count, energy, percent, plural, seconds, significant, size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_JOULES = 1e-12  # in a picojoule
_MOST_NOTES = 12  # points whose values are written beside them: all, or those of the front


def exploration_page(exploration: Exploration, files: Iterable[object] = ()) -> Group:
    """The whole page: what was asked, every point, the front, what is missing."""
    settings = exploration.comparison.settings
    summaries = [point.summary for point in exploration.points]
    unproven = sum(not s.proven and not s.missing for s in summaries)
    best = exploration.best
    asked = [
        ("Network", exploration.comparison.networks[0]),
        ("Sweep", f"{exploration.sweep}, {count(len(summaries) + len(exploration.beyond))} points"),
        *(("Limit", _limit_text(exploration, limit)) for limit in exploration.limits),
        ("Objective", f"{settings.objective.name}, {settings.space} space, {settings.tiling} tilings"),
        ("Front", f"over {_measures(exploration)}"),
        ("Proof", "all mappings proven optimal" if not unproven else f"{unproven:,} points are not proven"),
        ("Best", _values(best) if best else _no_best(exploration)),
        *([("Area", f"estimates: {estimates}")] if (estimates := _estimated_areas(exploration)) else []),
        *(("Note", note) for note in exploration.notes),
    ]
    parts: list[RenderableType] = [
        pairs(asked),
        section("Points, sums over all layers; * is on the front", _table(exploration)),
    ]
    written = [str(path) for path in files]
    if written:
        parts.append(section("Files", Text("\n".join(written), no_wrap=True)))
    return Group(*parts)


def exploration_data(exploration: Exploration) -> dict[str, Any]:
    """The points and the layers at each of them, for programs."""
    best, comparison = exploration.best, exploration.comparison
    return {
        "command": comparison.command,
        "best": dict(best.values) if best else None,
        **{table.name: table.records() for table in (exploration.table(), layer_table(comparison))},
    }


def write_exploration(exploration: Exploration, folder: Path, formats: Sequence[str], picture: bool) -> list[Path]:
    """Write the table of the points, those of all layers, the page as a text, and the picture if asked for; return the
    paths."""
    layers = (table(exploration.comparison) for table in (layer_table, energy_table, latency_table))
    paths = list(write_tables((exploration.table(), *layers), folder, formats))
    paths.append(write_bytes(folder / "page.txt", plain_text(exploration_page(exploration)).encode()))
    if picture:
        figure = front_figure(exploration)
        paths += [save_figure(figure, folder / f"front.{form}") for form in ("svg", "png")]
    return paths


def front_figure(exploration: Exploration) -> Figure:
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
        axes.set_xscale(_scale([latency for _, (_, latency, _) in mapped]))
        axes.set_yscale(_scale([pj for _, (pj, _, _) in mapped]))
        axes.margins(0.15)
        figure.suptitle(_title(exploration, third), fontsize=9)
        legend_above(axes, 2)
    return figure


def _title(exploration: Exploration, third: Measure) -> str:
    """What is drawn, what the front is over, and what the figures leave out."""
    comparison = exploration.comparison
    what = f"{comparison.networks[0]}, {comparison.settings.objective.name}, {exploration.sweep}"
    lines = [what, f"front over {_measures(exploration)}", f"area of a dot: {third.words}; {comparison.written_by}"]
    fixed = "sizes change, energies do not: see the notes of the page"
    return "\n".join([*lines, fixed] if exploration.notes else lines)


def _measures(exploration: Exploration) -> str:
    *others, last = (measure.words for measure in exploration.measures)
    return f"{', '.join(others)} and {last}"


def _estimated_areas(exploration: Exploration) -> str:
    """Whose areas are estimates; nothing, if none are."""
    words = (part for point in exploration.points for part in point.machine.estimates.split("; "))
    return next((part for part in words if part.startswith("area of")), "")


def _limit_text(exploration: Exploration, limit: Budget) -> str:
    """The limit, and how many points are beyond it."""
    unsearched = sum(beyond.limit == limit for beyond in exploration.beyond)
    if unsearched:
        return f"{limit.text}: {plural(unsearched, 'point is', 'points are')} beyond it, not searched"
    figures = [point.figure(limit.measure) for point in exploration.points]
    beyond = sum(figure is not None and not limit.allows(figure) for figure in figures)
    return f"{limit.text}: {plural(beyond, 'point is', 'points are')} beyond it" if beyond else limit.text


def _no_best(exploration: Exploration) -> str:
    within = " within the limits" if exploration.limits else ""
    return f"no point{within} has a mapping for every layer"


def _scale(values: Sequence[float]) -> str:
    """Logarithmic where values differ by more than a few times: its labels are hard to read elsewhere."""
    return "log" if values and max(values) > 5 * min(values) > 0 else "linear"


def _table(exploration: Exploration) -> TextTable:
    figures = ("MACs", "on chip", "area (mm2)", "energy", "latency", "EDP (J s)", "utilization", "front")
    table = columns((), (*exploration.fields, *figures))
    front = {id(point) for point in exploration.front}
    for point in exploration.points:
        table.add_row(*point.values.values(), *_cells(point), "*" if id(point) in front else "")
    return table


def _cells(point: Point) -> tuple[str, ...]:
    s = point.summary
    area = significant(point.area_mm2) if point.area_mm2 else "-"
    place = (count(point.machine.mac_instances), size(point.on_chip_bytes * 8), area)
    if s.energy_pj is None or s.latency_s is None or s.utilization is None:
        return (*place, f"{len(s.missing)} without", "", "", "")
    edp = significant(s.energy_pj * s.latency_s * _JOULES)
    return (*place, energy(s.energy_pj), seconds(s.latency_s), edp, percent(s.utilization, 1))


def _values(point: Point) -> str:
    return ", ".join(f"{path}={value}" for path, value in point.values.items())
