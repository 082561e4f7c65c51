"""The page and the picture of a cascade's least traffic against the size of a buffer; and that with nothing fused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import escape
from rich.console import Group

from ...ir import Cascade
from ...ir.units import count, percent
from ...mapper.fused_slope import FusedSlopePoint, compulsory_of
from ..parts.text import columns, pairs, section
from ..parts.work import work_rows

_HEAD = ("buffer", "least traffic", "nothing fused", "fusing saves", "above compulsory")


def fused_bound_page(cascade: Cascade, points: Sequence[FusedSlopePoint], kind: str) -> Group:
    """A line for each size of the buffer; `kind` says which mappings were searched."""
    rows = [
        ("Traffic", "words read and written between a memory without limit and a buffer of so many words"),
        ("Least", f"proven over all trees: {kind}"),
        ("Compulsory", f"{count(compulsory_of(cascade))} words: inputs and outputs of the cascade, every one once"),
    ]
    table = columns((), _HEAD)
    for row in fused_point_rows(cascade, points):
        table.add_row(*row)
    return Group(pairs([*work_rows(cascade), *rows]), section("Words moved, by words of the buffer", table))


def fused_bound_data(cascade: Cascade, points: Sequence[FusedSlopePoint], kind: str) -> dict[str, Any]:
    """The same for programs, in words."""
    return {
        "cascade": cascade.name,
        "operations": str(cascade).splitlines()[:-1],
        "macs": cascade.macs,
        "searched": kind,
        "compulsory_words": compulsory_of(cascade),
        "points": [
            {
                "buffer_words": p.words,
                "traffic_words": p.traffic,
                "proven": p.proven,
                "lower_bound_words": p.least if p.traffic is not None else None,
                "unfused_words": p.unfused,
            }
            for p in points
        ],
    }


def fused_point_rows(cascade: Cascade, points: Sequence[FusedSlopePoint]) -> list[tuple[str, ...]]:
    """Buffer, least traffic, that with nothing fused, what fusing saves, how far it is above compulsory, as texts."""
    compulsory = compulsory_of(cascade)
    rows: list[tuple[str, ...]] = []
    for p in points:
        if p.traffic is None:
            rows.append((count(p.words), "nothing fits", "-", "-", "-"))
            continue
        gap = "" if p.proven else f" (not proven: {count(round(p.least))} or more)"
        saved = percent(p.unfused - p.traffic, p.unfused) if p.unfused else "-"
        above = percent(p.traffic - compulsory, compulsory) if p.traffic > compulsory else "0%"
        unfused = count(p.unfused) if p.unfused is not None else "-"
        rows.append((count(p.words), count(p.traffic) + gap, unfused, saved, above))
    return rows


def fused_bound_document(cascade: Cascade, points: Sequence[FusedSlopePoint], kind: str, command: str) -> str:
    """The same as a Markdown page, with the command that writes it and the pictures beside it."""
    lines = [
        f"# Least traffic of {escape(cascade.name)}",
        "",
        f"    {command}",
        "",
        *(f"    {line}" for line in str(cascade).splitlines()),
        "",
        "Words read and written between a memory without limit and a buffer of so many words;",
        f"the least is proven over all trees: {kind}.",
        "",
        f"* Compulsory traffic: {count(compulsory_of(cascade))} words, inputs and outputs, every one once.",
        "",
        "![least traffic against the size of the buffer](traffic.svg)",
        "",
        *(f"| {' | '.join(row)} |" for row in (_HEAD, ["--:"] * len(_HEAD), *fused_point_rows(cascade, points))),
    ]
    return "\n".join(lines) + "\n"


def draw_fused(cascade: Cascade, points: Sequence[FusedSlopePoint], paths: Sequence[Path]) -> None:
    """The two curves as pictures of whatever kind the paths end in; TilewrightError without matplotlib."""
    from ..parts.figures import BLUE, GREY, VERMILION, figure_style, legend_above, new_figure, save_figure
    from .bound import slope_axes

    with figure_style():
        figure, axes = new_figure(6.4, 4.4)
        found = [(p.words, p.traffic) for p in points if p.traffic is not None]
        least = (
            "least traffic, proven" if all(p.proven for p in points if p.traffic is not None) else "least traffic found"
        )
        apart = [(p.words, p.unfused) for p in points if p.unfused is not None]
        if found:
            axes.plot(*zip(*found, strict=True), "o-", color=BLUE, label=least)
        if apart:
            axes.plot(*zip(*apart, strict=True), "s--", color=VERMILION, label="nothing fused")
        axes.axhline(compulsory_of(cascade), linestyle=":", color=GREY, label="compulsory")
        slope_axes(figure, axes, cascade.name)
        legend_above(axes, 3)
    for path in paths:
        save_figure(figure, path)
