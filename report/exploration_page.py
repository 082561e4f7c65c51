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
from .exploration import JOULES, Exploration, Point, front_figure
from .figures import save_figure
from .text import columns, pairs, section
from .units import count, energy, percent, seconds, significant, size

if TYPE_CHECKING:
    pass


def exploration_page(exploration: Exploration, files: Iterable[object] = ()) -> Group:
    """The whole page: what was asked, every point, the front, what is missing."""
    settings = exploration.comparison.settings
    summaries = [point.summary for point in exploration.points]
    unproven = sum(not s.proven and not s.missing for s in summaries)
    best = exploration.best
    asked = [
        ("Network", exploration.comparison.networks[0]),
        ("Sweep", " x ".join(exploration.fields) + f", {count(len(summaries))} points"),
        ("Objective", f"{settings.objective.name}, {settings.space} space, {settings.tiling} tilings"),
        ("Proof", "all mappings proven optimal" if not unproven else f"{unproven:,} points are not proven"),
        ("Best", _values(best) if best else "no point has a mapping for every layer"),
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
    """Write the table of the points, those of all layers, and the picture if asked for; return the paths."""
    layers = (table(exploration.comparison) for table in (layer_table, energy_table, latency_table))
    paths = list(write_tables((exploration.table(), *layers), folder, formats))
    if picture:
        figure = front_figure(exploration)
        paths += [save_figure(figure, folder / f"front.{form}") for form in ("svg", "png")]
    return paths


def _table(exploration: Exploration) -> TextTable:
    figures = ("MACs", "on chip", "energy", "latency", "EDP (J s)", "utilization", "front")
    table = columns((), (*exploration.fields, *figures))
    front = {id(point) for point in exploration.front}
    for point in exploration.points:
        table.add_row(*point.values.values(), *_cells(point), "*" if id(point) in front else "")
    return table


def _cells(point: Point) -> tuple[str, ...]:
    s = point.summary
    place = (count(point.machine.mac_instances), size(point.on_chip_bytes * 8))
    if s.energy_pj is None or s.latency_s is None or s.utilization is None:
        return (*place, f"{len(s.missing)} without", "", "", "")
    edp = significant(s.energy_pj * s.latency_s * JOULES)
    return (*place, energy(s.energy_pj), seconds(s.latency_s), edp, percent(s.utilization, 1))


def _values(point: Point) -> str:
    return ", ".join(f"{path}={value}" for path, value in point.values.items())
