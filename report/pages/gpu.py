"""What is said about products on GPUs: pages of text, tables in files, and the picture of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, TypeVar

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ...cost_models.gpu import Advice, Gemm, GemmCost, Gpu, ModelAccuracy, SweepPoint
from ...cost_models.gpu.alignment import thread_width
from ...cost_models.gpu.sweep import largest_power_of_two
from ...ir.units import percent, plural, seconds, significant
from ..parts.figures import figure_style, legend_above, new_figure, new_panels
from ..parts.palette import BLACK, GREY
from ..parts.tables import Table as ValueTable
from ..parts.text import columns, pairs, section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = TypeVar("Point")

_TERA = 1e12
_FINEST = 64  # powers of two from here on share a colour: rows of 64 two-byte elements fill whole lines of memory
_COLORS = "viridis"  # dark to light in even steps, also for colour-blind readers and in grey
_MANY = 500  # points; more of them are drawn smaller, and as one image in an SVG file
_WORST = 5
_PAYS = 1.001  # a layout must save more than a thousandth of the time to be advised


def gpu_rows(gpu: Gpu, dtype: str) -> list[tuple[str, str]]:
    """What GPU it is, and its roofs."""
    peak = gpu.peak(dtype)
    ridge = significant(peak / gpu.hbm_bytes_per_s)
    return [
        ("GPU", f"{gpu.name}\n{gpu.description}"),
        (
            "Peak",
            f"{peak / _TERA:.1f} TFLOP/s in {dtype}, {gpu.hbm_bytes_per_s / _TERA:.3f} TB/s, ridge {ridge} FLOP/byte",
        ),
    ]


def advice_page(gpu: Gpu, gemm: Gemm, advice: Advice) -> Group:
    """The product as it is, and what padding would make of it."""
    table = columns(["pad", "M", "N", "K"], ["time", "speedup", "bytes", "waves", "tile", "bound by"])
    table.add_row("nothing", *_sizes(gemm), *_cells(advice.cost, 1.0, 1.0))
    for name, entry in advice.alone.items():
        table.add_row(f"only {name}", *_sizes(entry.cost.gemm), *_cells(entry.cost, entry.speedup, entry.growth))
    best = advice.best
    if best is not None and all(entry.sizes != best.sizes for entry in advice.alone.values()):
        table.add_row("together", *_sizes(best.cost.gemm), *_cells(best.cost, best.speedup, best.growth))
    rows = [*gpu_rows(gpu, gemm.dtype), ("Product", product_text(gemm)), ("Advice", advice_text(gemm, advice))]
    return Group(
        pairs(rows),
        section("Paddings that pay", table),
        section("Layouts, and the sectors of 32 B that a warp's load touches", _layout_table(advice)),
    )


def _layout_table(advice: Advice) -> Table:
    """A and B by rows or by columns; the part of the sectors that is wanted, along a row and across."""
    table = columns(["A", "B"], ["time", "speedup", "A along", "A across", "B along", "B across", "bound by"])
    for each in advice.layouts:
        loads = (
            percent(part, 1.0)
            for load in (each.a_loads, each.b_loads)
            for part in (load.wanted_along, load.wanted_across)
        )
        table.add_row(each.a, each.b, seconds(each.cost.seconds), f"{each.speedup:.3f}", *loads, each.cost.bound)
    return table


def advice_text(gemm: Gemm, advice: Advice) -> str:
    """The advice in a sentence."""
    best = advice.best
    if best is None:
        return f"no padding of M, N or K to a multiple of 2 to 256 pays{_layout_advice(advice)}"
    changed = [(name, size, best.sizes[name]) for name, size in gemm.sizes().items() if best.sizes[name] != size]
    parts = ", ".join(f"{name} from {size:,} to {padded:,}" for name, size, padded in changed)
    pays = f"{100 * (best.speedup - 1):.1f}% faster with {100 * (best.growth - 1):.1f}% more bytes"
    return f"pad {parts}: {pays}{_layout_advice(advice)}"


def _layout_advice(advice: Advice) -> str:
    """Which layouts would be faster than those that the operands have."""
    fastest = max(advice.layouts, key=lambda each: each.speedup, default=None)
    if fastest is None or fastest.speedup <= _PAYS:
        return ""
    return f"; A {fastest.a}-major and B {fastest.b}-major: {100 * (fastest.speedup - 1):.1f}% faster"


def product_text(gemm: Gemm) -> str:
    """Sizes, type and layouts in a line or two."""
    batch = f", {plural(gemm.batch, 'product')}" if gemm.batch > 1 else ""
    return f"M={gemm.m} N={gemm.n} K={gemm.k}{batch}\n{gemm.dtype}, A {gemm.a}-major, B {gemm.b}-major, C row-major"


def sweep_page(gpu: Gpu, dtype: str, points: Sequence[SweepPoint]) -> Group:
    """For every power of two: how many sizes there are, and how fast they run."""
    table = columns(["largest power of two in N"], ["sizes", "least TFLOP/s", "median", "most", "of peak"])
    for power, tier in tiers(points, lambda point: point.n).items():
        rates = sorted(point.flop_per_s for point in tier)
        table.add_row(
            tier_name(power),
            str(len(rates)),
            *(f"{value / _TERA:.1f}" for value in (rates[0], rates[len(rates) // 2], rates[-1])),
            percent(rates[-1], gpu.peak(dtype)),
        )
    return Group(pairs(gpu_rows(gpu, dtype)), section("Modelled", table))


def tiers(points: Sequence[Point], size: Callable[[Point], int]) -> dict[int, list[Point]]:
    """The points by the largest power of two that divides their size, those of 64 and more together; ascending."""
    found: dict[int, list[Point]] = {}
    for point in points:
        found.setdefault(min(largest_power_of_two(size(point)), _FINEST), []).append(point)
    return dict(sorted(found.items()))


def tier_name(power: int) -> str:
    """`16`, or `64 and more`."""
    return f"{power} and more" if power == _FINEST else str(power)


def sweep_csv(points: Sequence[SweepPoint]) -> bytes:
    """The points as a table, one a line."""
    rows = [point.as_dict() for point in points]
    return ValueTable("sweep", tuple(rows[0]), [tuple(row.values()) for row in rows]).to_csv()


@figure_style()
def draw_sweep(title: str, points: Sequence[SweepPoint]) -> Figure:
    """Rate against N, coloured by the largest power of two in N, under the roofs.

    Raises TilewrightError when matplotlib is missing.
    """

    figure, axes = new_figure(10, 5.6)
    shown = _draw_tiers(axes, [(point.n, point.flop_per_s) for point in points])
    _draw_roofs(axes, sorted(points, key=lambda point: point.n))
    axes.set_xlabel("N")
    axes.set_ylabel("TFLOP/s (modelled)")
    figure.suptitle(title, x=0.01, ha="left")
    legend_above(axes, shown + 2, "largest power of two that divides N", 3 if len(points) > _MANY else 1.5)
    return figure


@figure_style()
def draw_comparison(title: str, comparison: ModelAccuracy) -> Figure:
    """Measured and modelled rates against N, one below the other, coloured by the largest power of two in N.

    Raises TilewrightError when matplotlib is missing.
    """
    figure, axes = new_panels(10, 8.5, 2)
    rows = [(measurement.gemm, measurement.seconds, modelled) for measurement, modelled in comparison.rows]
    measured = [(gemm.n, gemm.flop / seconds) for gemm, seconds, _ in rows]
    modelled = [(gemm.n, gemm.flop / seconds) for gemm, _, seconds in rows]
    top = 1.05 / _TERA * max(rate for _, rate in (*measured, *modelled))
    for panel, points, name in zip(axes, (measured, modelled), ("measured", "modelled"), strict=True):
        shown = _draw_tiers(panel, points)
        panel.set_xlabel("N")
        panel.set_ylabel(f"TFLOP/s ({name})")
        panel.set_ylim(0, top)
    figure.suptitle(title, x=0.01, ha="left")
    legend_above(axes[0], shown, "largest power of two that divides N", 3 if len(rows) > _MANY else 1.5)
    return figure


def _draw_tiers(axes: Axes, points: Sequence[tuple[int, float]]) -> int:
    """Sizes and rates [FLOP/s] as dots, a colour for each power of two; how many of those there are."""
    import matplotlib

    found = tiers(points, lambda point: point[0])
    shades = matplotlib.colormaps[_COLORS].resampled(len(found) + 1)  # the lightest one is too pale on white
    many = len(points) > _MANY
    for shade, (power, tier) in enumerate(found.items()):
        sizes, rates = [n for n, _ in tier], [rate / _TERA for _, rate in tier]
        dots = axes.scatter(
            sizes, rates, s=7 if many else 26, color=shades(shade), label=tier_name(power), linewidths=0
        )
        dots.set(zorder=3, rasterized=many)
    return len(found)


def _draw_roofs(axes: Axes, points: Sequence[SweepPoint]) -> None:
    sizes = [point.n for point in points]
    compute, memory = ([getattr(point, roof) / _TERA for point in points] for roof in ("compute_roof", "memory_roof"))
    top = 1.08 * max(compute)
    seen = "memory roof" if min(memory) < top else "memory roof (beyond the picture)"
    axes.plot(sizes, compute, color=BLACK, linewidth=1.4, label="compute roof")
    axes.plot(sizes, memory, color=GREY, linewidth=1.4, linestyle="--", label=seen)
    axes.set_ylim(0, top)


def comparison_page(gpu: Gpu, comparison: ModelAccuracy) -> Group:
    """How near the model comes to measured times, by alignment, and where it is furthest off."""
    table = columns(["M", "N", "K", "type"], ["measured", "modelled", "modelled / measured"])
    worst = sorted(comparison.rows, key=lambda row: -abs(row[1] / row[0].seconds - 1))[:_WORST]
    for measurement, modelled in worst:
        gemm = measurement.gemm
        ratio = f"{modelled / measurement.seconds:.2f}"
        table.add_row(*_sizes(gemm), gemm.dtype, seconds(measurement.seconds), seconds(modelled), ratio)
    rows = [
        ("GPU", f"{gpu.name}\n{gpu.description}"),
        ("Products", str(len(comparison.rows))),
        ("Rank correlation", f"{comparison.rank_correlation:.3f}, of FLOP/s (Spearman)"),
        ("Median error", percent(comparison.median_error, 1)),
        ("Median ratio", f"{comparison.median_ratio:.3f} modelled / measured time"),
    ]
    return Group(
        pairs(rows),
        section("By what all three matrices are aligned to", _alignment_table(comparison)),
        section(f"The {plural(len(worst), 'product')} that the model is furthest off for", table),
    )


def _alignment_table(comparison: ModelAccuracy) -> Table:
    """Median rates and errors of products whose threads load so many bytes at once."""
    table = columns(["bytes"], ["products", "measured TFLOP/s", "modelled", "median error", "modelled / measured"])
    for width in sorted({thread_width(measurement.gemm) for measurement, _ in comparison.rows}):
        rows = [(m.gemm.flop, m.seconds, time) for m, time in comparison.rows if thread_width(m.gemm) == width]
        rates = (median(row[0] / row[kind] / _TERA for row in rows) for kind in (1, 2))
        ratios = [modelled / measured for _, measured, modelled in rows]
        error = percent(median(abs(ratio - 1) for ratio in ratios), 1)
        table.add_row(str(width), str(len(rows)), *(f"{rate:.1f}" for rate in rates), error, f"{median(ratios):.3f}")
    return table


def _sizes(gemm: Gemm) -> tuple[str, str, str]:
    return str(gemm.m), str(gemm.n), str(gemm.k)


def _cells(cost: GemmCost, speedup: float, growth: float) -> tuple[str | Text, ...]:
    return (
        seconds(cost.seconds),
        f"{speedup:.3f}",
        f"{100 * (growth - 1):+.1f}%",
        f"{cost.waves:.2f}",
        str(cost.plan),
        cost.bound,
    )
