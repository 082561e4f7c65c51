"""Pages, tables and the picture of products on GPUs."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tilewright.cost_models.gpu import Gemm, SweepPoint, advise, best_plan, compare, load_gpu, sweep
from tilewright.cost_models.gpu.comparison import Measurement
from tilewright.report.pages.gpu import (
    advice_page,
    comparison_page,
    draw_comparison,
    draw_sweep,
    sweep_csv,
    sweep_page,
    tiers,
)
from tilewright.report.parts.figures import save_figure
from tilewright.report.parts.text import plain_text

A100 = load_gpu("a100")


def points(sizes: range) -> list[SweepPoint]:
    return sweep(A100, [Gemm(n, n, n) for n in sizes])


def test_the_advice_names_sizes_and_worth() -> None:
    gemm = Gemm(8192, 50257, 768)
    text = plain_text(advice_page(A100, gemm, advise(A100, gemm)))
    assert "pad N from 50,257 to 50,272" in text
    assert "only N" in text
    assert "only M" not in text
    none = Gemm(4096, 4096, 4096)
    assert "no padding" in plain_text(advice_page(A100, none, advise(A100, none)))


def test_the_tiers_are_those_of_the_powers_of_two() -> None:
    found = tiers(points(range(1024, 1089)), lambda point: point.n)
    assert list(found) == [1, 2, 4, 8, 16, 32, 64]
    assert [point.n for point in found[64]] == [1024, 1088]
    page = plain_text(sweep_page(A100, "fp16", points(range(1024, 1089))))
    assert "64 and more" in page
    assert "Modelled" in page


def test_the_table_has_every_point() -> None:
    made = points(range(1024, 1100, 25))
    rows = list(csv.DictReader(io.StringIO(sweep_csv(made).decode())))
    assert [int(row["n"]) for row in rows] == [1024, 1049, 1074, 1099]
    assert [float(row["seconds"]) for row in rows] == [point.seconds for point in made]


def test_the_picture_shows_every_point_under_the_roofs(tmp_path: Path) -> None:
    made = points(range(256, 2049, 64))
    figure = draw_sweep("a title", made)
    (axes,) = figure.axes
    drawn = sorted(tuple(place) for dots in axes.collections for place in dots.get_offsets().tolist())
    assert drawn == sorted((point.n, point.flop_per_s / 1e12) for point in made)
    compute, memory = (line.get_ydata() for line in axes.get_lines())
    limit = dict(zip((point.n for point in made), zip(compute, memory, strict=True), strict=True))
    assert all(rate <= min(limit[n]) for n, rate in drawn)
    assert axes.get_legend() is not None
    assert b"a title" in save_figure(figure, tmp_path / "sweep.svg").read_bytes()


def test_a_roof_beyond_the_picture_is_said_to_be_there() -> None:
    labels = [
        text.get_text() for text in draw_sweep("", points(range(2048, 2300, 64))).axes[0].get_legend().get_texts()
    ]
    assert "memory roof (beyond the picture)" in labels


def test_the_comparison_says_how_near_and_where_not() -> None:
    gemms = [Gemm(n, n, n) for n in (512, 1024, 2048)]
    measured = [Measurement(gemm, seconds) for gemm, seconds in zip(gemms, (1e-5, 2e-5, 9e-5), strict=True)]
    page = plain_text(comparison_page(A100, compare(A100, measured)))
    assert "Rank correlation  1.000" in page
    assert "2048" in page


def test_what_is_compared_is_shown_by_alignment_and_drawn() -> None:
    """Sizes of 2, 8 and 16 bytes, which take twice, as long and half as long as modelled."""
    gemms = [Gemm(n, n, n) for n in (1023, 1028, 1032)]
    times = [factor * best_plan(A100, gemm).seconds for factor, gemm in zip((2, 1, 0.5), gemms, strict=True)]
    found = compare(A100, [Measurement(gemm, seconds) for gemm, seconds in zip(gemms, times, strict=True)])
    rows = [line.split() for line in plain_text(comparison_page(A100, found)).splitlines()]
    by_width = {row[0]: row[-1] for row in rows if len(row) == 6 and row[1] == "1"}
    assert by_width == {"2": "0.500", "8": "1.000", "16": "2.000"}
    drawn = [
        sorted(tuple(place) for dots in axes.collections for place in dots.get_offsets().tolist())
        for axes in draw_comparison("a title", found).axes
    ]
    measured = [(gemm.n, gemm.flop / seconds / 1e12) for gemm, seconds in zip(gemms, times, strict=True)]
    assert drawn[0] == measured
    assert [rate for _, rate in drawn[1]] == [best_plan(A100, gemm).flop_per_s / 1e12 for gemm in gemms]
