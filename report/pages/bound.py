"""The page and the picture of least traffic against the size of a buffer: beside what no schedule of a layer can go
below, or beside what is least of a cascade with nothing fused."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from markupsafe import escape
from rich.console import Group

from ...cost_models.traffic_bounds import done_macs, least_words, reuse_bound, sharing_factor
from ...ir import Cascade, Problem, Work
from ...ir.errors import on_one_line
from ...ir.units import count, percent
from ...mapper.ski_slope import SlopePoint, compulsory_of
from ..parts.figures import figure_style, legend_above, new_figure, plain_ticks, save_figure
from ..parts.palette import BLUE, GREY, VERMILION
from ..parts.text import columns, pairs, section
from ..parts.work import work_rows

_OF_LAYERS = ("buffer", "least traffic", "bound", "above it")
_OF_CASCADES = ("buffer", "least traffic", "nothing fused", "fusing saves", "above compulsory")
_WHAT = "words read and written between a memory without limit and a buffer of so many words"


def bound_page(work: Work, points: Sequence[SlopePoint], kind: str) -> Group:
    """A line for each size of the buffer; `kind` says which mappings were searched."""
    rows = [
        *zeros_rows(work),
        ("Traffic", _WHAT),
        ("Least", _least_text(work, kind)),
        *([("Bound", bound_text(work))] if isinstance(work, Problem) else []),
        ("Compulsory", _compulsory_text(work)),
    ]
    table = columns((), _head(work))
    for row in point_rows(work, points):
        table.add_row(*row)
    return Group(pairs([*work_rows(work), *rows]), section("Words moved, by words of the buffer", table))


def _head(work: Work) -> tuple[str, ...]:
    return _OF_CASCADES if isinstance(work, Cascade) else _OF_LAYERS


def _least_text(work: Work, kind: str) -> str:
    return f"proven over all {'trees' if isinstance(work, Cascade) else 'mappings'}: {kind}"


def _compulsory(work: Work) -> float:
    return compulsory_of(work) if isinstance(work, Cascade) else least_words(work)


def _compulsory_text(work: Work) -> str:
    whose = ": inputs and outputs of the cascade, every one once" if isinstance(work, Cascade) else ", every one once"
    return f"{count(_compulsory(work))} words{whose}"


def zeros_rows(problem: Work) -> list[tuple[str, str]]:
    """What is said of operands with zeros; nothing where there are none."""
    if isinstance(problem, Cascade):
        return []
    given = ", ".join(f"{tensor.name} {tensor.density}" for tensor in problem.operands if tensor.density is not None)
    if not given:
        return []
    macs = done_macs(problem)
    return [
        ("Density", given),
        ("", "nonzero words alone are moved and held, on average, without metadata: no format takes less"),
        ("", f"{count(round(macs))} MACs without a zero ({percent(macs, problem.macs)})"),
    ]


def bound_data(work: Work, points: Sequence[SlopePoint], kind: str) -> dict[str, Any]:
    """The same for programs, in words."""
    return {
        **_work_data(work),
        "macs": work.macs,
        "searched": kind,
        **_zeros_data(work),
        "compulsory_words": _compulsory(work),
        "points": [_point_data(point) for point in points],
    }


def _work_data(work: Work) -> dict[str, Any]:
    if isinstance(work, Cascade):
        return {"cascade": work.name, "operations": str(work).splitlines()[:-1]}
    return {"layer": work.name, "dims": dict(work.dims)}


def _zeros_data(work: Work) -> dict[str, Any]:
    if isinstance(work, Cascade) or not work.has_zeros:
        return {}
    densities = {tensor.name: tensor.density for tensor in work.operands if tensor.density is not None}
    return {"density": densities, "macs_without_zeros": done_macs(work)}


def _point_data(point: SlopePoint) -> dict[str, Any]:
    beside: dict[str, float | None] = {"bound_of_all_schedules_words": point.bound}
    if point.bound is None:
        beside = {"unfused_words": point.unfused}
    return {
        "buffer_words": point.words,
        "traffic_words": point.traffic,
        "proven": point.proven,
        "lower_bound_words": point.least if point.traffic is not None and isfinite(point.least) else None,
        **beside,
    }


def bound_text(problem: Problem) -> str:
    """The formula of the bound for all schedules."""
    if reuse_bound(problem, 1) is None:
        return "compulsory traffic alone"
    factor = sharing_factor(problem)
    macs = "2 MACs without a zero" if problem.has_zeros else "2 MACs"
    divisor = "sqrt(S)" if factor == 1 else f"({factor:.4g} sqrt(S))"
    return f"for all schedules: {macs} / {divisor} - 2 S, for a buffer of S words"


def point_rows(work: Work, points: Sequence[SlopePoint]) -> list[tuple[str, ...]]:
    """Buffer and least traffic, as texts; of a layer the bound, and how far the one is above the other; of a cascade
    what is least with nothing fused, what fusing saves, and how far it is above compulsory."""
    return [(count(point.words), _traffic(point), *_beside(work, point)) for point in points]


def _traffic(point: SlopePoint) -> str:
    if point.traffic is None:
        return "nothing fits"
    gap = "" if point.proven else f" (not proven: {count(round(point.least))} or more)"
    return count(point.traffic) + gap


def _beside(work: Work, point: SlopePoint) -> tuple[str, ...]:
    if point.bound is not None:
        return count(round(point.bound)), _above(point.traffic, point.bound)
    if point.traffic is None:
        return "-", "-", "-"
    unfused = count(point.unfused) if point.unfused is not None else "-"
    saved = percent(point.unfused - point.traffic, point.unfused) if point.unfused else "-"
    return unfused, saved, _above(point.traffic, _compulsory(work))


def _above(traffic: float | None, least: float) -> str:
    if traffic is None:
        return "-"
    return percent(traffic - least, least) if traffic > least else "0%"


def bound_document(work: Work, points: Sequence[SlopePoint], kind: str, command: str) -> str:
    """The same as a Markdown page, with the command that writes it and the pictures beside it."""
    head = _head(work)
    lines = [
        f"# Least traffic of {escape(work.name)}",
        "",
        f"    {command}",
        "",
        *_work_lines(work),
        "",
        *(f"{name or 'There'}: {text}." for name, text in zeros_rows(work)),
        *([""] if zeros_rows(work) else []),
        f"{_WHAT[0].upper()}{_WHAT[1:]};",
        f"the least is {_least_text(work, kind)}.",
        "",
        *([f"* Bound {bound_text(work)}."] if isinstance(work, Problem) else []),
        f"* Compulsory traffic: {_compulsory_text(work)}.",
        "",
        "![least traffic against the size of the buffer](traffic.svg)",
        "",
        *(f"| {' | '.join(row)} |" for row in (head, ["--:"] * len(head), *point_rows(work, points))),
    ]
    return "\n".join(lines) + "\n"


def _work_lines(work: Work) -> list[str]:
    if isinstance(work, Cascade):
        return [f"    {line}" for line in str(work).splitlines()]
    code = on_one_line(str(work)).replace("`", "'")
    return [f"`{code}`, {count(work.macs)} MACs."]


def draw(work: Work, points: Sequence[SlopePoint], paths: Sequence[Path]) -> None:
    """The ski slope with its bounds, as pictures of whatever kind the paths end in.

    Raises TilewrightError when matplotlib is not installed.
    """
    with figure_style():
        figure, axes = new_figure(6.4, 4.4)
        _curves(axes, work, points)
        _axes(figure, axes, _title(work))
        legend_above(axes, 3)
    for path in paths:
        save_figure(figure, path)


def _axes(figure: Any, axes: Any, title: str) -> None:
    """Words moved against words of a buffer, both by powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.set(xscale="log", yscale="log", xlabel="buffer (words)", ylabel="words moved")
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
    plain_ticks(axes.xaxis)
    plain_ticks(axes.yaxis)
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=99))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda words, _: _short(words)))
    axes.tick_params(axis="x", rotation=45)


def _curves(axes: Any, work: Work, points: Sequence[SlopePoint]) -> None:
    found = [p for p in points if p.traffic is not None]
    least = "least traffic, proven" if all(p.proven for p in found) else "least traffic found"
    compulsory = _compulsory(work)
    axes.plot([p.words for p in found], [p.traffic for p in found], "o-", color=BLUE, label=least)
    if isinstance(work, Cascade):
        label, style = "nothing fused", "s--"
        beside: list[tuple[int, float]] = [(p.words, p.unfused) for p in points if p.unfused is not None]
    else:
        label, style = "bound for all schedules", "--"
        reuse = [(p.words, reuse_bound(work, p.words) or 0.0) for p in points]
        beside = [(words, bound) for words, bound in reuse if bound > compulsory / 4]
    if beside:
        axes.plot(*zip(*beside, strict=True), style, color=VERMILION, label=label)
    axes.axhline(compulsory, linestyle=":", color=GREY, label="compulsory")


def _title(work: Work) -> str:
    if isinstance(work, Cascade):
        return work.name
    return f"{work.name}, {' '.join(f'{name}={size}' for name, size in work.dims)}"


def _short(words: float) -> str:
    """1024 as 1 Ki."""
    for unit, name in ((2**20, " Mi"), (2**10, " Ki")):
        if words >= unit:
            return f"{words / unit:.3g}{name}"
    return f"{words:.3g}"
