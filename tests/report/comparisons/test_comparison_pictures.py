"""Pictures of a comparison: what they show is named, and the same comparison gives the same file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.report.comparisons.comparison import Comparison
from tilewright.report.comparisons.files import write_pictures
from tilewright.report.comparisons.pictures import dataflow_picture, energy_picture
from tilewright.report.comparisons.rows import FREE, Row
from tilewright.report.parts.figures import figure_style


def test_every_picture_names_what_it_shows(comparison: Comparison, tmp_path: Path) -> None:
    found = write_pictures(comparison, tmp_path)
    assert {path.name for path in found} == {"energy.svg", "energy.png", "dataflows.svg", "dataflows.png"}
    for name in ("energy.svg", "dataflows.svg"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert all(f">{word}<" in text for word in ("tiny", "eyeriss", "tpu_v1"))
        words = " ".join(" ".join(re.findall(r">([^<>]+)</", text)).split())  # however the caption is wrapped
        assert "Objective edp, even space" in words
    assert (tmp_path / "energy.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_the_same_comparison_gives_the_same_file(comparison: Comparison, tmp_path: Path) -> None:
    first = {path.name: path.read_bytes() for path in write_pictures(comparison, tmp_path)}
    assert {path.name: path.read_bytes() for path in write_pictures(comparison, tmp_path)} == first


def test_bars_and_marks_are_the_figures_of_the_comparison(comparison: Comparison) -> None:
    with figure_style():
        energy, dataflows = energy_picture(comparison), dataflow_picture(comparison)
    free = {s.arch: s.energy_pj for s in comparison.summaries() if s.dataflow == FREE}
    ends = [max(bar.get_x() + bar.get_width() for bar in bars) for bars in zip(*energy.axes[0].containers, strict=True)]
    for end, total in zip(ends, free.values(), strict=True):
        assert total is not None
        assert abs(end - total / 1e9) <= 1e-9 * end
    marks = [line for line in dataflows.axes[0].lines if line.get_marker() not in ("None", "")]
    seen = sorted(factor for line in marks for factor in line.get_xdata())
    assert seen == sorted(s.penalty for s in comparison.summaries() if s.dataflow != FREE and s.penalty is not None)
    places = [tuple(place) for line in marks for place in line.get_xydata()]
    assert len(set(places)) == len(places), "no mark hides another one"


def test_all_panels_have_one_scale_and_a_complete_legend(comparison: Comparison) -> None:
    """Whatever the factors are: a panel that is logarithmic beside one that is not would be read wrongly."""
    two = replace(comparison, rows=(*comparison.rows, *others(comparison)))
    with figure_style():
        figure = dataflow_picture(two)
    assert len({(panel.get_xscale(), panel.get_xlim()) for panel in figure.axes}) == 1
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == [dataflow for dataflow in comparison.dataflows if dataflow != FREE]


def others(comparison: Comparison) -> list[Row]:
    """The same rows as of another network."""
    return [replace(row, network="other") for row in comparison.rows]


def test_a_network_without_a_mapping_has_a_mark(with_a_gap: Comparison) -> None:
    with figure_style():
        panel = dataflow_picture(with_a_gap).axes[0]
    assert [text.get_text() for text in panel.texts] == ["x"]


def test_without_a_free_choice_there_is_no_price(comparison: Comparison, tmp_path: Path) -> None:
    fixed = tuple(row for row in comparison.rows if row.dataflow != FREE)
    alone = replace(comparison, rows=fixed)
    assert {path.stem for path in write_pictures(alone, tmp_path)} == {"energy"}
