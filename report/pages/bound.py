"""The page and the picture of least traffic against the size of a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from markupsafe import escape
from rich.console import Group
from rich.table import Table

from ...cost_models.traffic_bounds import done_macs, least_words, reuse_bound, sharing_factor
from ...ir import Problem
from ...ir.plain_text import on_one_line
from ...ir.units import count, percent
from ...mapper.ski_slope import SlopePoint
from ..parts.figures import BLUE, GREY, VERMILION, figure_style, legend_above, new_figure, plain_ticks, save_figure
from ..parts.text import columns, pairs, section
from ..parts.work import work_rows

_HEAD = ("buffer", "least traffic", "bound", "above it")


def bound_page(problem: Problem, points: Sequence[SlopePoint], kind: str) -> Group:
    """A line for each size of the buffer; `kind` says which mappings were searched."""
    rows = [
        *zeros_rows(problem),
        ("Traffic", "words read and written between a memory without limit and a buffer of so many words"),
        ("Least", f"proven over all mappings: {kind}"),
        ("Bound", bound_text(problem)),
        ("Compulsory", f"{count(least_words(problem))} words, every one once"),
    ]
    return Group(pairs([*work_rows(problem), *rows]), section("Words moved, by words of the buffer", _table(points)))


def zeros_rows(problem: Problem) -> list[tuple[str, str]]:
    """What is said of operands with zeros; nothing where there are none."""
    given = ", ".join(f"{tensor.name} {tensor.density}" for tensor in problem.operands if tensor.density is not None)
    if not given:
        return []
    macs = done_macs(problem)
    return [
        ("Density", given),
        ("", "nonzero words alone are moved and held, on average, without metadata: no format takes less"),
        ("", f"{count(round(macs))} MACs without a zero ({percent(macs, problem.macs)})"),
    ]


def bound_data(problem: Problem, points: Sequence[SlopePoint], kind: str) -> dict[str, Any]:
    """The same for programs, in words."""
    densities = {tensor.name: tensor.density for tensor in problem.operands if tensor.density is not None}
    return {
        "layer": problem.name,
        "dims": dict(problem.dims),
        "macs": problem.macs,
        "searched": kind,
        **({"density": densities, "macs_without_zeros": done_macs(problem)} if densities else {}),
        "compulsory_words": least_words(problem),
        "points": [
            {
                "buffer_words": p.words,
                "traffic_words": p.traffic,
                "proven": p.proven,
                "lower_bound_words": p.least if isfinite(p.least) else None,
                "bound_of_all_schedules_words": p.bound,
            }
            for p in points
        ],
    }


def bound_text(problem: Problem) -> str:
    """The formula of the bound for all schedules."""
    if reuse_bound(problem, 1) is None:
        return "compulsory traffic alone"
    factor = sharing_factor(problem)
    macs = "2 MACs without a zero" if problem.has_zeros else "2 MACs"
    divisor = "sqrt(S)" if factor == 1 else f"({factor:.4g} sqrt(S))"
    return f"for all schedules: {macs} / {divisor} - 2 S, for a buffer of S words"


def _table(points: Sequence[SlopePoint]) -> Table:
    table = columns((), _HEAD)
    for row in point_rows(points):
        table.add_row(*row)
    return table


def point_rows(points: Sequence[SlopePoint]) -> list[tuple[str, str, str, str]]:
    """Buffer, least traffic, bound, and how far the one is above the other, as texts."""
    return [(count(p.words), _traffic(p), count(round(p.bound)), _above(p)) for p in points]


def _traffic(point: SlopePoint) -> str:
    if point.traffic is None:
        return "nothing fits"
    gap = "" if point.proven else f" (not proven: {count(round(point.least))} or more)"
    return count(point.traffic) + gap


def _above(point: SlopePoint) -> str:
    if point.traffic is None:
        return "-"
    return percent(point.traffic - point.bound, point.bound) if point.traffic > point.bound else "0%"


def bound_document(problem: Problem, points: Sequence[SlopePoint], kind: str, command: str) -> str:
    """The same as a Markdown page, with the command that writes it and the pictures beside it."""
    code = on_one_line(str(problem)).replace("`", "'")
    lines = [
        f"# Least traffic of {escape(problem.name)}",
        "",
        f"    {command}",
        "",
        f"`{code}`, {count(problem.macs)} MACs.",
        "",
        *(f"{name or 'There'}: {text}." for name, text in zeros_rows(problem)),
        *([""] if problem.has_zeros else []),
        "Words read and written between a memory without limit and a buffer of so many words;",
        f"the least is proven over all mappings: {kind}.",
        "",
        f"* Bound {bound_text(problem)}.",
        f"* Compulsory traffic: {count(least_words(problem))} words, every one once.",
        "",
        "![least traffic against the size of the buffer](traffic.svg)",
        "",
        *(f"| {' | '.join(row)} |" for row in (_HEAD, ["--:"] * len(_HEAD), *point_rows(points))),
    ]
    return "\n".join(lines) + "\n"


def draw(problem: Problem, points: Sequence[SlopePoint], paths: Sequence[Path]) -> None:
    """The ski slope with its bounds, as pictures of whatever kind the paths end in.

    Raises TilewrightError when matplotlib is not installed.
    """
    with figure_style():
        figure, axes = new_figure(6.4, 4.4)
        _curves(axes, problem, points)
        slope_axes(figure, axes, _title(problem))
        legend_above(axes, 3)
    for path in paths:
        save_figure(figure, path)


def slope_axes(figure: Any, axes: Any, title: str) -> None:
    """Words moved against words of a buffer, both by powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.set(xscale="log", yscale="log", xlabel="buffer (words)", ylabel="words moved")
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
    plain_ticks(axes.xaxis)
    plain_ticks(axes.yaxis)
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=99))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda words, _: _short(words)))
    axes.tick_params(axis="x", rotation=45)


def _curves(axes: Any, problem: Problem, points: Sequence[SlopePoint]) -> None:
    found = [p for p in points if p.traffic is not None]
    least = "least traffic, proven" if all(p.proven for p in found) else "least traffic found"
    axes.plot([p.words for p in found], [p.traffic for p in found], "o-", color=BLUE, label=least)
    reuse = [(p.words, bound) for p in points if (bound := reuse_bound(problem, p.words) or 0.0) > 0]
    compulsory = least_words(problem)
    shown = [(words, bound) for words, bound in reuse if bound > compulsory / 4]
    if shown:
        axes.plot(*zip(*shown, strict=True), "--", color=VERMILION, label="bound for all schedules")
    axes.axhline(compulsory, linestyle=":", color=GREY, label="compulsory")


def _title(problem: Problem) -> str:
    return f"{problem.name}, {' '.join(f'{name}={size}' for name, size in problem.dims)}"


def _short(words: float) -> str:
    """1024 as 1 Ki."""
    for unit, name in ((2**20, " Mi"), (2**10, " Ki")):
        if words >= unit:
            return f"{words / unit:.3g}{name}"
    return f"{words:.3g}"
