"""What values show in notebooks: everything in one piece, nothing loaded, and short texts beside it."""

from __future__ import annotations

import base64
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

import tilewright as tw
from tilewright.mapper.progress import SearchProgress
from tilewright.report.comparisons.comparison import Comparison
from tilewright.report.parts import progress

VOID = {"img", "progress", "br"}


class Balanced(HTMLParser):
    """Tags that are opened and closed as they should be, and what is written between them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(page: str) -> str:
    """The words of a page that stands by itself: it loads nothing, and has neither scripts nor style sheets."""
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert not re.search(r"<(script|style|link)\b", page)
    assert all(source.startswith("data:") for source in re.findall(r'(?:src|href)="([^"]*)"', page))
    for data in re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', page):
        ElementTree.fromstring(base64.b64decode(data))
    return " ".join(" ".join(parser.words).split())


@pytest.fixture(scope="module")
def result() -> tw.SearchResult:
    return tw.search(tw.gemm(M=8, N=8, K=8), "three_level")


def test_a_result_shows_the_page_of_its_search(result: tw.SearchResult) -> None:
    words = read(result._repr_html_())  # type: ignore[attr-defined]
    for part in ("Loop nest", "DRAM keeps A", "Words moved", "Memories", "proven optimal", "512 MACs"):
        assert part in words
    assert "<table" in result._repr_html_()  # type: ignore[attr-defined]


def test_every_value_has_a_page(result: tw.SearchResult) -> None:
    shown = {
        "DRAM keeps A": result.mapping,
        "parallel": result.mapping.nest,
        "M=8 N=8 K=8": result.problem,
        "Hierarchy": result.arch,
        "conv5": tw.load_network("alexnet"),
        "All-reduce over all devices": tw.load_system("tpu_v4"),
        "every word": tw.explain(result, changes=False),
    }
    for part, value in shown.items():
        assert part in read(value._repr_html_()), type(value)


def test_costs_and_plans_have_a_page_and_a_short_text(result: tw.SearchResult) -> None:
    cascade = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "U[m,p] += T[m,n] * C[n,p]"], m=4, n=4, k=4, p=4)
    tree = "DRAM keeps A B C T U\nbranch T\n  for M in 4\n    for N in 4\n      for K in 4\nbranch U\n  for M in 4\n"
    fused = tw.Mapping.parse(cascade, tree + "    for P in 4\n      for N in 4\n")
    zeros = tw.search(tw.gemm(M=8, N=8, K=8), "three_level", tiling="perfect", density={"W": "2:4"})
    shown = {
        "Memories, with": zeros.cost,
        "proven optimal": zeros,
        "Memories": tw.evaluate(result.mapping, "three_level"),
        "one after the other": tw.evaluate(fused, "three_level"),
        "The same 450 GB/s out of a device": tw.collective("all_reduce", "1 GB", "h100x8"),
        "Live at most": tw.plan_memory([("a", 0, 3, 64), ("b", 1, 4, 32)]),
    }
    for part, value in shown.items():
        assert part in read(value._repr_html_() or ""), type(value)
        assert len(str(value)) < 80


def test_a_comparison_starts_with_what_it_found(comparison: Comparison) -> None:
    page = comparison._repr_html_()
    assert page is not None
    words = read(page)
    assert words.index("All ") < words.index("Networks, repeats counted")
    assert page.index("<img") < page.index("<table")


@pytest.mark.long
def test_an_exploration_has_its_front(tmp_path: Path) -> None:
    found = tw.explore(tiny(tmp_path), "three_level", ["GLB.size=64KiB,128KiB"], workers=1, cache=False)
    page = found._repr_html_()
    assert page is not None
    assert "on the front" in read(page)
    assert "<img" in page
    assert len(str(found)) < 200


def tiny(folder: Path) -> str:
    path = folder / "tiny.yaml"
    path.write_text("network: tiny\nlayers:\n  - {name: only, op: gemm, M: 4, N: 4, K: 4, weight: true}\n")
    return str(path)


def test_texts_are_short(comparison: Comparison, result: tw.SearchResult) -> None:
    assert len(str(comparison)) < 2000
    assert len(repr(comparison)) < 200
    assert "proven optimal" in str(comparison)
    assert len(repr(result)) < 200
    assert len(str(result.arch)) < 300
    assert len(str(tw.load_network("resnet50"))) < 200


def test_tables_are_frames_and_pictures_are_figures(comparison: Comparison, result: tw.SearchResult) -> None:
    pytest.importorskip("pandas")
    assert len(comparison.to_frame()) == len(comparison.rows)
    assert list(comparison.to_frame("networks")["network"].unique()) == ["tiny"]
    assert result.to_frame()["energy_pJ"].sum() == pytest.approx(result.cost.energy_pj)
    with pytest.raises(tw.TilewrightError, match="unknown table 'network'"):
        comparison.to_frame("network")
    for name in ("finding", "energy", "dataflows"):
        assert comparison.figure(name).axes
    with pytest.raises(tw.TilewrightError, match="unknown picture"):
        comparison.figure("nonsense")
    assert result.figure().axes


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a notebook shows in place of the page before. As IPython would show it; it is no part of tilewright."""
    pages: list[str] = []
    handle = SimpleNamespace(update=pages.append)

    def first(page: str, display_id: bool) -> SimpleNamespace:
        pages.append(page)
        return handle

    display = SimpleNamespace(HTML=lambda text: text, display=first)
    monkeypatch.setattr(progress, "LONG", 0.0)
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return pages


@pytest.mark.long
def test_a_notebook_has_a_bar_that_moves(pages: list[str]) -> None:
    tw.search_many([tw.gemm(2, 2, 2), tw.gemm(4, 2, 2)], "three_level", workers=1, cache=False, progress=True)
    assert "2 of 2 searches done" in read(pages[-1])
    assert '<progress max="2" value="2">' in pages[-1]


def test_compiling_has_a_bar(pages: list[str], tmp_path: Path) -> None:
    table = tmp_path / "pair.yaml"
    rows = "\n".join(f"  - {{name: {name}, op: gemm, M: 2, N: 2, K: 2, weight: true}}" for name in ("up", "down"))
    table.write_text(f"network: pair\nlayers:\n{rows}\ngraph: [up, down]\n", encoding="utf-8")
    told: list[SearchProgress] = []
    asked = {"tiling": "perfect", "most": 1, "progress": True}
    tw.compile(table, "three_level", watch=told.append, **asked)  # type: ignore[arg-type]
    assert told[-1].gap == 0
    assert told[-1].objective == "energy"
    assert [one.value for one in told] == sorted((one.value for one in told), reverse=True)
    assert "groups searched" in read(pages[-1])


@pytest.mark.long
def test_a_terminal_has_a_bar(capfd: pytest.CaptureFixture[str]) -> None:
    tw.search_many([tw.gemm(2, 2, 2)], "three_level", workers=1, cache=False, progress=True)
    shown = capfd.readouterr()
    assert shown.out == ""
    tw.search_many([tw.gemm(2, 2, 2)], "three_level", workers=1, cache=False)
    assert capfd.readouterr().err == ""


def test_a_figure_shows_itself(comparison: Comparison) -> None:
    picture = comparison.figure()._repr_svg_()
    assert ElementTree.fromstring(picture.partition("?>")[2].partition('.dtd">')[2]).tag.endswith("svg")
