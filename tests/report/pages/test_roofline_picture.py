"""Rooflines: where the dots are, beside the counts of the mappings, and what the picture shows."""

from __future__ import annotations

from math import isinf
from pathlib import Path

import pytest

from tilewright import gemm, load_arch, load_network, search
from tilewright.cost_models.intensity import arithmetic_intensity, ridge_point
from tilewright.ir import TilewrightError
from tilewright.network_roofline import RooflineSearches, distinct_layers, searched_roofline
from tilewright.report.pages.roofline import Dot, RooflineChart, draw_roofline, rate, roofline_chart, roofline_page
from tilewright.report.parts.figures import check_pictures, save_figure
from tilewright.report.parts.text import plain_text

EYERISS = load_arch("eyeriss")


@pytest.mark.parametrize(("tflops", "terabytes", "ridge"), [(125, 0.9, 138.9), (312, 2.039, 153.0), (989, 3.35, 295.2)])
def test_ridge_points(tflops: float, terabytes: float, ridge: float) -> None:
    """V100, A100 80 GB, H100."""
    chart = RooflineChart("", "HBM", tflops * 1e12, terabytes * 1e12, ())
    assert chart.ridge == pytest.approx(ridge, abs=0.05)
    assert chart.ridge == ridge_point(tflops, terabytes)


@pytest.fixture(scope="module")
def small() -> RooflineChart:
    layers = [("first", 1, gemm(M=64, N=64, K=64)), ("second", 2, gemm(M=8, N=8, K=8)), ("third", 1, gemm(64, 64, 64))]
    return searched_roofline("small", RooflineSearches(EYERISS), layers)[0]


def test_a_dot_is_where_its_mapping_puts_it(small: RooflineChart) -> None:
    problem = gemm(M=64, N=64, K=64)
    found = search(problem, EYERISS)
    traffic = sum(t.read_bits + t.write_bits for t in found.cost.memories[0:1]) / 8
    dot = small.dots[0]
    assert dot.intensity == pytest.approx(2 * problem.macs / traffic)
    assert dot.attained == pytest.approx(2 * problem.macs / (found.cost.latency_cycles / EYERISS.clock_hz))
    assert dot.compulsory == pytest.approx(arithmetic_intensity(problem, 16))
    assert small.peak == 2 * 168 * 200e6
    assert small.bandwidth == pytest.approx(480e6)
    assert dot.limit == pytest.approx(min(small.peak, 480e6 * dot.compulsory))


def test_nothing_is_above_the_roofs(small: RooflineChart) -> None:
    for dot in small.dots:
        assert dot.intensity <= dot.compulsory * (1 + 1e-9)
        assert dot.attained <= dot.limit * (1 + 1e-9)
        assert small.bandwidth is not None
        assert dot.attained <= min(small.peak, small.bandwidth * dot.intensity) * (1 + 1e-9)


def test_layers_that_are_alike_are_searched_once(small: RooflineChart) -> None:
    assert [(dot.name, dot.repeat) for dot in small.dots] == [("first (and 1 alike)", 2), ("second", 2)]
    network = load_network("resnet50")
    rows = [(row.name, row.repeat, row.problem) for row in network.layers]
    distinct = distinct_layers(rows)
    assert sum(repeat for _, repeat, _ in distinct) == sum(row.repeat for row in network.layers)
    assert sum(repeat * problem.macs for _, repeat, problem in distinct) == network.macs
    assert len(distinct) < len(rows)


def test_searches_are_announced() -> None:
    seen: list[tuple[str, int, int]] = []
    layers = [("a", 1, gemm(M=8, N=8, K=8)), ("b", 1, gemm(M=8, N=8, K=16))]
    searched_roofline("", RooflineSearches(EYERISS), layers, before=lambda *now: seen.append(now))
    assert seen == [("a", 1, 2), ("b", 2, 2)]


def test_another_memory(small: RooflineChart) -> None:
    problem = gemm(M=64, N=64, K=64)
    cost = search(problem, EYERISS).cost
    chart = roofline_chart("", EYERISS, [("a", 1, problem, cost)], "GLB")
    glb = next(use for use in cost.memories if use.name == "GLB")
    assert chart.memory == "GLB"
    assert chart.dots[0].intensity == pytest.approx(2 * problem.macs / ((glb.read_bits + glb.write_bits) / 8))
    with pytest.raises(TilewrightError, match="has no memory 'GBL', expected one of DRAM, GLB, spad"):
        roofline_chart("", EYERISS, (), "GBL")


def test_a_memory_without_a_limit_has_no_ridge() -> None:
    chart = roofline_chart("", EYERISS, [], "spad")
    assert chart.bandwidth is None
    assert chart.ridge is None
    assert draw_roofline(chart).axes


def test_the_picture_has_the_dots_the_roofs_and_the_names(small: RooflineChart, tmp_path: Path) -> None:
    figure, again = draw_roofline(small), draw_roofline(small)
    (axes,) = figure.axes
    drawn = {
        (float(x), float(y))
        for line in axes.get_lines()
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }
    for dot in small.dots:
        assert {(dot.intensity, dot.attained), (dot.compulsory, dot.limit)} <= drawn
    assert (small.ridge, small.peak) in drawn
    first, second = (save_figure(made, tmp_path / name) for made, name in ((figure, "1.svg"), (again, "2.svg")))
    assert first.read_bytes() == second.read_bytes()
    assert b"second" in first.read_bytes()


def test_numbers_do_not_cover_each_other() -> None:
    """Twenty dots in one place, and room for all of their numbers around it."""
    from tilewright.report.pages.roofline import _text_box

    dot = Dot("a", 1, 100.0, 1e12, 120.0, 1.1e12, "compute")
    figure = draw_roofline(RooflineChart("", "DRAM", 2e12, 1e10, (dot,) * 20))
    numbers = [text for text in figure.axes[0].texts if text.get_text().isdigit()]
    boxes = [_text_box(number) for number in numbers]  # type: ignore[arg-type]
    assert len(boxes) == 20
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_a_layer_that_moves_nothing_has_no_dot() -> None:
    chart = RooflineChart("", "GLB", 1e12, 1e10, (Dot("still", 1, float("inf"), 1e11, 100.0, 1e12, "compute"),))
    assert isinf(chart.dots[0].intensity)
    assert not [text for text in draw_roofline(chart).axes[0].texts if text.get_text().isdigit()]
    assert " - " in plain_text(roofline_page(chart, EYERISS))


def test_the_page_has_a_line_for_each_layer(small: RooflineChart) -> None:
    text = plain_text(roofline_page(small, EYERISS))
    assert "ridge point at 140 FLOP/byte" in text
    assert "first (and 1 alike)" in text


def test_rates() -> None:
    assert [rate(value) for value in (3.12e14, 67.2e9, 999e6, 480e6, 12.0)] == [
        "312 T",
        "67.2 G",
        "999 M",
        "480 M",
        "12 ",
    ]


def test_pictures_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    assert check_pictures(None, tmp_path / "a.png") == [tmp_path / "a.png"]
    with pytest.raises(TilewrightError, match=r"ending '.png', expected .svg"):
        check_pictures(tmp_path / "a.png", None)
    with pytest.raises(TilewrightError, match="its folder cannot be made"):
        check_pictures(Path("/dev/null/a.svg"), None)
