"""An exploration as a page of text, as files, and as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table as TextTable
from rich.text import Text

from ..ir import TilewrightError
from .comparison_files import write_tables
from .comparison_tables import energy_table, latency_table, layer_table
from .exploration import Exploration, Point
from .files import write_bytes
from .text import columns, pairs, section
from .units import count, energy, percent, seconds, significant, size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EDP_SECONDS = 1e-12  # pJ s to J s


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


def write_exploration(exploration: Exploration, folder: Path, formats: Sequence[str], picture: bool) -> list[Path]:
    """Write the table of the points, those of all layers, and the picture if asked for; return the paths."""
    layers = (table(exploration.comparison) for table in (layer_table, energy_table, latency_table))
    paths = list(write_tables((exploration.table(), *layers), folder, formats))
    if picture:
        figure = front_figure(exploration)
        paths += [write_bytes(folder / f"front.{form}", picture_bytes(figure, form)) for form in ("svg", "png")]
    return paths


def front_figure(exploration: Exploration) -> Figure:
    """Energy against latency of every point, on-chip bytes as size, and the front as a line through its points.

    Raises TilewrightError when matplotlib is not installed.
    """
    check_matplotlib()
    from matplotlib.figure import Figure

    mapped = [(point, point.figures) for point in exploration.points if point.figures is not None]
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.add_subplot()
    largest = max((figures[2] for _, figures in mapped), default=1.0) or 1.0
    front = {id(point) for point in exploration.front}
    for on_front, colour, label in ((False, "#9a9a9a", "beaten"), (True, "#0072b2", "on the front")):
        chosen = [figures for point, figures in mapped if (id(point) in front) is on_front]
        axes.scatter(
            [latency for _, latency, _ in chosen],
            [pj * 1e-12 for pj, _, _ in chosen],
            s=[20 + 180 * on_chip / largest for _, _, on_chip in chosen],
            c=colour,
            alpha=0.8,
            label=label,
        )
    for point in exploration.front:
        if len(front) <= 12 and point.figures is not None:
            pj, latency, _ = point.figures
            note = ", ".join(point.values.values())
            axes.annotate(note, (latency, pj * 1e-12), xytext=(4, 4), textcoords="offset points", fontsize=7)
    axes.set(xlabel="latency of the network (s)", ylabel="energy of the network (J)")
    axes.set_xscale(_scale([latency for _, (_, latency, _) in mapped]))
    axes.set_yscale(_scale([pj for _, (pj, _, _) in mapped]))
    axes.margins(0.15)
    comparison = exploration.comparison
    title = f"{comparison.networks[0]}: {comparison.settings.objective.name}, sweep of {', '.join(exploration.fields)}"
    axes.set_title(f"{title}\narea of a dot: on-chip bytes ({comparison.written_by})", fontsize=9)
    axes.legend(fontsize=8)
    return figure


def _scale(values: Sequence[float]) -> str:
    """Logarithmic where values differ by more than a few times: its labels are hard to read elsewhere."""
    return "log" if values and max(values) > 5 * min(values) > 0 else "linear"


def picture_bytes(figure: Figure, form: str) -> bytes:
    """The picture as `svg` or `png`; the same data give the same file."""
    import io

    import matplotlib

    data = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "tilewright"}):
        figure.savefig(data, format=form, dpi=200, metadata={"Date": None} if form == "svg" else None)
    return data.getvalue()


def check_matplotlib() -> None:
    """TilewrightError when it is not installed: better before a batch than after it."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise TilewrightError("matplotlib is not installed", hint="pip install 'tilewright[plots]'") from None


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
    edp = significant(s.energy_pj * s.latency_s * _EDP_SECONDS)
    return (*place, energy(s.energy_pj), seconds(s.latency_s), edp, percent(s.utilization, 1))


def _values(point: Point) -> str:
    return ", ".join(f"{path}={value}" for path, value in point.values.items())
