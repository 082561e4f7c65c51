"""Pictures of a comparison: what they show is named, and the same comparison gives the same file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tilewright.report.comparison import Comparison
from tilewright.report.comparison_pictures import dataflow_picture, energy_picture, write_pictures
from tilewright.report.comparison_rows import FREE
from tilewright.report.figures import figure_style


def test_every_picture_names_what_it_shows(comparison: Comparison, tmp_path: Path) -> None:
    found = write_pictures(comparison, tmp_path)
    assert {path.name for path in found} == {"energy.svg", "energy.png", "dataflows.svg", "dataflows.png"}
    for name in ("energy.svg", "dataflows.svg"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert all(f">{word}<" in text for word in ("tiny", "eyeriss", "tpu_v1"))
        words = " ".join(" ".join(re.findall(r">([^<>]+)</", text)).split())  # however the caption is wrapped
        assert "Objective edp, even space" in words
    assert (tmp_path / "energy.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_comparison_gives_the_same_file(comparison: Comparison, tmp_path: Path) -> None:
    first = {path.name: path.read_bytes() for path in write_pictures(comparison, tmp_path)}
    assert {path.name: path.read_bytes() for path in write_pictures(comparison, tmp_path)} == first


def test_bars_are_the_figures_of_the_comparison(comparison: Comparison) -> None:
    with figure_style():
        energy, dataflows = energy_picture(comparison), dataflow_picture(comparison)
    free = {s.arch: s.energy_pj for s in comparison.summaries() if s.dataflow == FREE}
    tops = [
        max(bar.get_y() + bar.get_height() for bar in bars) for bars in zip(*energy.axes[0].containers, strict=True)
    ]
    for top, total in zip(tops, free.values(), strict=True):
        assert total is not None
        assert abs(top - total / 1e9) <= 1e-9 * top
    heights = sorted(bar.get_height() for bars in dataflows.axes[0].containers for bar in bars)
    assert heights == sorted(s.penalty for s in comparison.summaries() if s.dataflow != FREE and s.penalty is not None)


def test_a_network_without_a_mapping_has_a_mark(with_a_gap: Comparison) -> None:
    with figure_style():
        panel = dataflow_picture(with_a_gap).axes[0]
    assert [text.get_text() for text in panel.texts] == ["x"]


def test_without_a_free_choice_there_is_no_price(comparison: Comparison, tmp_path: Path) -> None:
    fixed = tuple(row for row in comparison.rows if row.dataflow != FREE)
    alone = replace(comparison, rows=fixed, dataflows=comparison.dataflows[1:])
    assert {path.stem for path in write_pictures(alone, tmp_path)} == {"energy"}
