"""The roofline of several layers on one machine: what each attains, beside what its memory and its MACs allow.

A layer has two places. Where its best mapping puts it: the operations per byte that this mapping moves through a
memory, and the rate that it attains. And its limit: the operations per byte if every word crossed once, and the roof
there.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from math import cos, inf, isfinite, radians, sin
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from ...arch import Architecture, Memory
from ...arch.ports import bits_per_cycle
from ...cost_models import Cost, roofline
from ...cost_models.intensity import FLOP_PER_MAC, arithmetic_intensity, attainable, ridge_point
from ...cost_models.padding import counted
from ...ir import Problem, TilewrightError, did_you_mean
from ...ir.units import percent, significant
from ..parts.figures import figure_style, legend_above, new_figure
from ..parts.palette import BLACK, BLUE, GREEN, GREY, ORANGE
from ..parts.text import architecture_rows, columns, pairs, section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

_BITS = 8
_MANY_DECADES = 1e3
_MOST_NAMES = 60  # below the axes
_TERA, _GIGA = 1e12, 1e9


@dataclass(frozen=True)
class Dot:
    """One layer. Intensities are FLOP/byte, rates FLOP/s, two FLOP to a MAC.

    name        of the layer
    repeat      occurrences of the layer
    intensity   with its best mapping; infinite if nothing moves
    attained    with its best mapping
    compulsory  if every word crossed the memory's port once
    limit       the roof at the compulsory intensity
    bound       what limits the mapping: compute, or a memory's name
    """

    name: str
    repeat: int
    intensity: float
    attained: float
    compulsory: float
    limit: float
    bound: str


@dataclass(frozen=True)
class RooflineChart:
    """All that a roofline shows.

    title      of the chart
    memory     whose port the bytes are counted at
    peak       FLOP/s of all MACs
    bandwidth  bytes/s of the port; None is unbounded, and then there is no ridge
    dots       a layer each
    """

    title: str
    memory: str
    peak: float
    bandwidth: float | None
    dots: tuple[Dot, ...]

    @property
    def ridge(self) -> float | None:
        """FLOP/byte from which on computing is the limit."""
        return None if self.bandwidth is None else ridge_point(self.peak, self.bandwidth)

    def as_dict(self) -> dict[str, object]:
        """Names and values, as `--json` prints them."""
        return {**asdict(self), "ridge": self.ridge}


def roofline_chart(
    title: str, arch: Architecture, layers: Iterable[tuple[str, int, Problem, Cost]], memory: str | None = None
) -> RooflineChart:
    """The chart of layers, each with its name, its occurrences and what its mapping costs.

    memory  whose traffic the intensity is about; the outermost one if not given. A memory with a port for each
            direction is drawn with both together, which is the most that any mixture of reads and writes gets.

    Raises TilewrightError when the machine has no such memory.
    """
    level = _memory_named(arch, memory)
    bandwidth = bytes_per_second(arch, level)
    peak = FLOP_PER_MAC * arch.mac_instances * arch.mac.per_cycle * arch.clock_hz
    dots = tuple(_dot(arch, level, peak, bandwidth, layer) for layer in layers)
    return RooflineChart(title, level.name, peak, bandwidth, dots)


def bytes_per_second(arch: Architecture, memory: Memory) -> float | None:
    """Bandwidth of all instances and ports of a memory together; None where one of them is unbounded."""
    per_cycle = bits_per_cycle(memory)
    if per_cycle is None:
        return None
    depth = arch.depth[memory.name]
    instances = 1
    for fanout in arch.fanouts:
        instances *= fanout.instances if arch.depth[fanout.name] < depth else 1
    return instances * per_cycle / _BITS * arch.clock_hz


def roofline_page(chart: RooflineChart, arch: Architecture) -> Group:
    """The chart as a table: a line for each layer."""
    table = columns(["#", "layer"], ["times", "FLOP/byte", "compulsory", "attained FLOP/s", "of its limit", "bound by"])
    for number, dot in enumerate(chart.dots, 1):
        table.add_row(
            str(number),
            Text(dot.name),
            str(dot.repeat),
            significant(dot.intensity) if isfinite(dot.intensity) else "-",
            significant(dot.compulsory),
            rate(dot.attained),
            percent(dot.attained, dot.limit),
            dot.bound,
        )
    rows = [*architecture_rows(arch), ("Peak", f"{rate(chart.peak)}FLOP/s, two FLOP to a MAC")]
    if chart.bandwidth is not None and chart.ridge is not None:
        rows.append((chart.memory, f"{rate(chart.bandwidth)}B/s, ridge point at {significant(chart.ridge)} FLOP/byte"))
    return Group(pairs(rows), section(f"Layers, by bytes through {chart.memory}", table))


@figure_style()
def draw_roofline(chart: RooflineChart) -> Figure:
    """The chart as a picture: dots with numbers under the roofs, and the names beside them.

    Raises TilewrightError when matplotlib is missing.
    """
    names = _name_lines([dot.name for dot in _drawn(chart)])
    figure, axes = new_figure(6.4, 4.4 + 0.15 * len(names))
    low, high = _intensity_range(chart)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(_lowest_rate(chart, low), chart.peak * 2)
    axes.set_xlabel(f"operational intensity at {chart.memory} [FLOP/byte]")
    axes.set_ylabel("rate [FLOP/s], two FLOP to a MAC")
    _label_ticks(axes.xaxis, axes.get_xlim(), lambda value: f"{value:g}")
    _label_ticks(axes.yaxis, axes.get_ylim(), lambda value: rate(value).strip())
    figure.suptitle(textwrap.fill(chart.title, 72), x=0.01, ha="left", fontsize="medium")
    _draw_roofs(axes, chart, low, high)
    _draw_dots(axes, chart)
    figure.supxlabel("\n".join(names), x=0.01, ha="left", fontsize=7, family="monospace")
    legend_above(axes, 2)
    _place_apart(figure, axes, [_number(axes, number, dot) for number, dot in enumerate(_drawn(chart), 1)])
    return figure


def rate(value: float) -> str:
    """A rate such as `312 T`, without its unit."""
    for scale, letter in ((_TERA, "T"), (_GIGA, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * scale:
            return f"{value / scale:.4g} {letter}"
    return f"{value:.4g} "


def _label_ticks(axis: Axis, limits: tuple[float, float], text: Callable[[float], str]) -> None:
    """Labels at powers of ten; where there are few of them, at twice and five times as well."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    few = limits[1] / limits[0] < _MANY_DECADES
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())


def _memory_named(arch: Architecture, name: str | None) -> Memory:
    if name is None:
        return arch.memories[0]
    names = [memory.name for memory in arch.memories]
    if not isinstance(name, str) or name not in names:
        hint = did_you_mean(name, names)
        raise TilewrightError(f"{arch.name} has no memory {name!r}, expected one of {', '.join(names)}", hint=hint)
    return arch.memories[names.index(name)]


def _dot(
    arch: Architecture,
    memory: Memory,
    peak: float,
    bandwidth: float | None,
    layer: tuple[str, int, Problem, Cost],
) -> Dot:
    name, repeat, problem, cost = layer
    lines = roofline(cost, arch)
    moved = sum(roof.bytes_moved for roof in lines.roofs if roof.memory == memory.name)
    compulsory = arithmetic_intensity(counted(problem, arch), arch.word_bits)
    return Dot(
        name=name,
        repeat=repeat,
        intensity=FLOP_PER_MAC * cost.macs / moved if moved else inf,
        attained=FLOP_PER_MAC * lines.attained * arch.clock_hz,
        compulsory=compulsory,
        limit=peak if bandwidth is None else attainable(peak, bandwidth, compulsory),
        bound=lines.binding.name if lines.binding else "compute",
    )


def _drawn(chart: RooflineChart) -> Sequence[Dot]:
    """The dots that have a place: those that move anything."""
    return [dot for dot in chart.dots if isfinite(dot.intensity)]


def _intensity_range(chart: RooflineChart) -> tuple[float, float]:
    values = [value for dot in _drawn(chart) for value in (dot.intensity, dot.compulsory)]
    if chart.ridge is not None:
        values.append(chart.ridge)
    values = values or [1.0]
    return min(values) / 3, max(values) * 3


def _lowest_rate(chart: RooflineChart, low: float) -> float:
    rates = [dot.attained for dot in _drawn(chart)]
    if chart.bandwidth is not None:
        rates.append(chart.bandwidth * low)
    return min([*rates, chart.peak / 10]) / 2


def _draw_roofs(axes: Axes, chart: RooflineChart, low: float, high: float) -> None:
    top = f"peak {rate(chart.peak)}FLOP/s"
    if chart.bandwidth is None or chart.ridge is None:
        axes.plot([low, high], [chart.peak, chart.peak], color=BLACK, linewidth=1.6, label=top)
        return
    slope = f"{chart.memory} {rate(chart.bandwidth)}B/s"
    axes.plot([chart.ridge, high], [chart.peak, chart.peak], color=BLACK, linewidth=1.6, label=top)
    axes.plot([low, chart.ridge], [chart.bandwidth * low, chart.peak], color=GREEN, linewidth=1.6, label=slope)
    axes.axvline(chart.ridge, color=GREY, linestyle=":", label=f"ridge point {chart.ridge:.4g} FLOP/byte")


def _draw_dots(axes: Axes, chart: RooflineChart) -> None:
    dots = _drawn(chart)
    for dot in dots:
        axes.plot([dot.intensity, dot.compulsory], [dot.attained, dot.limit], color=GREY, linewidth=0.6, zorder=2)
    axes.plot(
        [dot.compulsory for dot in dots],
        [dot.limit for dot in dots],
        linestyle="none",
        marker="D",
        markersize=5,
        markerfacecolor="white",
        markeredgecolor=GREY,
        label="every word once (compulsory)",
        zorder=3,
    )
    for bound, color, marker in (("compute", BLUE, "o"), ("memory", ORANGE, "s")):
        chosen = [dot for dot in dots if (dot.bound == "compute") == (bound == "compute")]
        if chosen:
            axes.plot(
                [dot.intensity for dot in chosen],
                [dot.attained for dot in chosen],
                linestyle="none",
                marker=marker,
                markersize=7,
                markerfacecolor=color,
                markeredgecolor="white",
                label=f"best mapping, bound by {'compute' if bound == 'compute' else 'a memory'}",
                zorder=4,
            )


def _name_lines(names: Sequence[str]) -> list[str]:
    """The names with the numbers of their dots, in two columns, for below the axes."""
    entries = [f"{number:>2} {name}" for number, name in enumerate(names, 1)]
    if len(entries) > _MOST_NAMES:
        entries = [*entries[: _MOST_NAMES - 1], f"and {len(entries) - _MOST_NAMES + 1} more"]
    half = -(-len(entries) // 2)
    return [f"{left:<50}{right}" for left, right in zip_longest(entries[:half], entries[half:], fillvalue="")]


def _number(axes: Axes, number: int, dot: Dot) -> Annotation:
    line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
    place = (dot.intensity, dot.attained)
    label = axes.annotate(
        str(number), place, (0, -14), textcoords="offset points", fontsize=7, zorder=5, arrowprops=line
    )
    label.set_in_layout(False)  # it stays near its dot, and would take long to lay out
    return label


def _place_apart(figure: Figure, axes: Axes, labels: Sequence[Annotation]) -> None:
    """Move labels around their dots, in growing rings, until they cover neither each other nor any dot."""
    from matplotlib.transforms import Bbox

    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
    figure.set_layout_engine("none")  # everything has its place now, and labels go between
    centres = [axes.transData.transform(label.xy) for label in labels]
    taken = [Bbox.from_bounds(x - 7, y - 7, 14, 14) for x, y in centres]
    pixels = figure.dpi / 72  # in a point
    for label in labels:
        here = _text_box(label)
        x, y = label.get_position()
        boxes = ((place, _moved(here, (place[0] - x) * pixels, (place[1] - y) * pixels)) for place in _rings())
        free = ((place, box) for place, box in boxes if not any(box.overlaps(other) for other in taken))
        place, box = next(free, ((x, y), here))
        label.set_position(place)
        taken.append(box)


def _text_box(label: Annotation) -> Bbox:
    """Where the text itself stands, without the line to its dot."""
    from matplotlib.text import Text as PlainText

    label.get_window_extent()  # brings the text to its place
    return PlainText.get_window_extent(label).padded(1)


def _moved(box: Bbox, x: float, y: float) -> Bbox:
    return type(box).from_extents(box.x0 + x, box.y0 + y, box.x1 + x, box.y1 + y)


def _rings() -> Iterator[tuple[float, float]]:
    """Offsets in points, nearest first: below and to the right before the others, away from the roof."""
    for ring in range(1, 16):
        radius = 6 + 6 * ring
        for degrees in (-60, -90, -30, -120, 120, 90, 150, 60):
            yield radius * cos(radians(degrees)) - 3, radius * sin(radians(degrees)) - 3
