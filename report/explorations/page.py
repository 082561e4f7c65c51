"""An exploration as a page of text, and as files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table as TextTable
from rich.text import Text

from ...ir.units import count, energy, joule_seconds, percent, plural, seconds, significant, size
from ..comparisons.comparison import Comparison
from ..comparisons.files import write_tables
from ..comparisons.tables import energy_table, latency_table, layer_table
from ..parts.figures import save_figure
from ..parts.files import write_bytes
from ..parts.tables import Table
from ..parts.text import columns, pairs, plain_text, section
from .exploration import Exploration
from .html_page import exploration_html
from .measures import Budget
from .points import Point


def exploration_page(exploration: Exploration, files: Iterable[object] = ()) -> Group:
    """The whole page: what was asked, every point, the front, what is missing."""
    parts: list[RenderableType] = [
        pairs(asked_rows(exploration)),
        section(f"Points, sums over all {exploration.comparison.parts}; * is on the front", _table(exploration)),
    ]
    written = [str(path) for path in files]
    if written:
        parts.append(section("Files", Text("\n".join(written), no_wrap=True)))
    return Group(*parts)


def asked_rows(exploration: Exploration) -> list[tuple[str, str]]:
    """What was asked, what is proven, the best point, and what to know of the figures."""
    settings = exploration.comparison.settings
    summaries = [point.summary for point in exploration.points]
    unproven = len(exploration.unproven)
    best = exploration.best
    return [
        ("Network", exploration.comparison.networks[0]),
        *(("MACs", told) for told in exploration.comparison.left_out.values()),
        ("Sweep", f"{exploration.sweep}, {count(len(summaries) + len(exploration.beyond))} points"),
        *(("Limit", _limit_text(exploration, limit)) for limit in exploration.limits),
        ("Objective", f"{settings.objective.name}, {settings.space} space, {settings.tiling} tilings"),
        ("Front", f"over {exploration.front_words}"),
        *([("", _front_told(unproven))] if unproven else []),
        ("Proof", "all mappings proven optimal" if not unproven else f"{unproven:,} points are not proven"),
        ("Best", _values(best) if best else _no_best(exploration)),
        *([("Area", f"estimates: {estimates}")] if (estimates := _estimated_areas(exploration)) else []),
        *(("Note", note) for note in exploration.notes),
    ]


def exploration_data(exploration: Exploration) -> dict[str, Any]:
    """The points and the layers at each of them, for programs."""
    best, comparison = exploration.best, exploration.comparison
    return {
        "command": comparison.command,
        "left_out": exploration.comparison.left_out,
        "best": dict(best.values) if best else None,
        "front_complete": exploration.is_front_complete,
        **{table.name: table.records() for table in (exploration.table(), _detail_tables(exploration)[0])},
    }


def write_exploration(exploration: Exploration, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write the table of the points, those of all layers, the page as a text and as index.html, and if matplotlib is
    there, the picture of the front; return the paths."""
    paths = list(write_tables((exploration.table(), *_detail_tables(exploration)), folder, formats))
    paths.append(write_bytes(folder / "page.txt", plain_text(exploration_page(exploration)).encode()))
    if find_spec("matplotlib"):
        figure = exploration.figure()
        paths += [save_figure(figure, folder / f"front.{form}") for form in ("svg", "png")]
    page = exploration_html(exploration, asked_rows(exploration))
    return [*paths, write_bytes(folder / "index.html", page.encode())]


def _front_told(unproven: int) -> str:
    """What a front is worth where points are not proven."""
    return f"not complete: {unproven:,} of the points may cost less than shown, and be on it"


def _detail_tables(exploration: Exploration) -> tuple[Table, ...]:
    """What the figures of points are made of: layers, or whole networks and their groups."""
    comparison = exploration.comparison
    if isinstance(comparison, Comparison):
        return layer_table(comparison), energy_table(comparison), latency_table(comparison)
    return comparison.tables()


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
    if not exploration.compares:
        return "points are not ranked: the objective counts cycles, and their clocks differ"
    within = " within the limits" if exploration.limits else ""
    return f"no point{within} has a mapping for every layer"


def _table(exploration: Exploration) -> TextTable:
    figures: tuple[str, ...] = (
        "MACs",
        "on chip",
        "area (mm2)",
        "energy",
        "latency",
        "EDP (J s)",
        "utilization",
        "front",
    )
    is_fused = exploration.comparison.savings is not None
    figures = (*figures, "fusing saves") if is_fused else figures
    table = columns((), (*exploration.fields, *figures))
    front = {id(point) for point in exploration.front}
    for point in exploration.points:
        saves = exploration.saves(point)
        saved = (percent(saves, 1) if saves is not None else "-",) if is_fused else ()
        table.add_row(*point.values.values(), *_cells(point), "*" if id(point) in front else "", *saved)
    return table


def _cells(point: Point) -> tuple[str, ...]:
    s = point.summary
    area = significant(point.area_mm2) if point.area_mm2 else "-"
    place = (count(point.machine.mac_instances), size(point.on_chip_bytes * 8), area)
    if s.energy_pj is None or s.latency_s is None or s.utilization is None:
        return (*place, f"{len(s.missing)} without", "", "", "")
    edp = significant(joule_seconds(s.energy_pj, s.latency_s))
    return (*place, energy(s.energy_pj), seconds(s.latency_s), edp, percent(s.utilization, 1))


def _values(point: Point) -> str:
    return ", ".join(f"{path}={value}" for path, value in point.values.items())
