"""Whole networks with and without fusing: figures against what `segment` finds, sentences, tables, the picture."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.arch import Architecture
from tilewright.cost_models import ENERGY
from tilewright.ir import TilewrightError
from tilewright.mapper.segmentation import NetworkAnswer, NetworkQuestion, segment
from tilewright.report.comparisons.fused import FusedComparison, FusedRow, fused_comparison_of
from tilewright.report.comparisons.fused.findings import saving_words
from tilewright.report.comparisons.fused.html_page import fused_html
from tilewright.report.comparisons.page import comparison_page
from tilewright.report.parts.text import plain_text
from tilewright.run.batch.job import Failure
from tilewright.run.batch.plan import Settings
from tilewright.run.store import NoMapping
from tilewright.workloads.graph import NetworkGraph

FUSED = Path(__file__).parent.parent.parent.parent / "golden" / "fused"

PAIR = """
network: pair
layers:
  - {name: up, op: gemm, M: 4, N: 8, K: 4, weight: true}
  - {name: down, op: gemm, M: 4, N: 4, K: 8, weight: true}
graph: [up, down]
"""


ALONE = """
network: alone
layers:
  - {name: up, op: gemm, M: 4, N: 8, K: 4, weight: true}
graph: [up, {name: s, op: softmax}]
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> NetworkGraph:
    path = tmp_path_factory.mktemp("network") / "pair.yaml"
    path.write_text(PAIR, encoding="utf-8")
    found = tw.load_network(path).wiring
    assert found is not None
    return found


@cache
def machine(name: str) -> Architecture:
    arch = tw.load_arch(FUSED / "F2.yaml", {"GLB.size": "128 B"}).model_copy(update={"name": name})
    if name == "roomy":
        return arch
    outer, glb = arch.memories
    wired = glb.model_copy(update={"keeps": glb.keeps.model_copy(update={"output": "never"})})
    return arch.model_copy(update={"levels": (outer, wired)})


@pytest.fixture(scope="module")
def answers(graph: NetworkGraph) -> dict[str, NetworkAnswer]:
    return {
        name: segment(NetworkQuestion(graph, machine(name), ENERGY, "perfect", stays=False))
        for name in ("roomy", "wired")
    }


@pytest.fixture
def comparison(answers: dict[str, NetworkAnswer]) -> FusedComparison:
    nothing = NoMapping("pair", "up does not fit", "GLB", None)
    places = [("pair", machine(name), f"on {name}") for name in ("roomy", "wired")]
    places += [("other", machine(name), f"on {name}") for name in ("roomy", "wired")]
    outcomes = [*answers.values(), nothing, Failure("its worker died")]
    return fused_comparison_of(places, outcomes, Settings(ENERGY, "perfect"), 4, "the command", "tilewright")


def unproven(answer: NetworkAnswer, bound: float) -> FusedRow:
    proof = replace(answer.certificate, lower_bound=bound * answer.certificate.value)
    return FusedRow("pair", machine("roomy"), "", replace(answer, certificate=proof))


def test_what_is_proven_is_what_is_saved(comparison: FusedComparison, answers: dict[str, NetworkAnswer]) -> None:
    row = comparison.row("pair", "roomy")
    apart = answers["roomy"].apart
    assert apart is not None
    assert row.status == "proven"
    assert row.saves == pytest.approx(1 - row.outcome.certificate.value / apart.value)  # type: ignore[union-attr]
    assert row.saves is not None
    assert row.saves > 0.1
    assert row.saves_between == pytest.approx((row.saves, row.saves))
    assert row.fewer_words == pytest.approx(1 - answers["roomy"].outer_words / apart.outer_words)
    assert (row.operations, row.groups, row.fused_groups) == (2, 1, 1)


def test_what_is_not_proven_has_two_ends(answers: dict[str, NetworkAnswer]) -> None:
    row = unproven(answers["roomy"], 0.5)
    assert row.saves_between is not None
    assert row.saves is not None
    least, most = row.saves_between
    assert least == pytest.approx(row.saves)
    assert 1 - most == pytest.approx((1 - least) / 2)
    assert saving_words(row).count("%") == 3


def test_sentences_say_why(comparison: FusedComparison) -> None:
    most, first, *rest = comparison.findings
    assert most.startswith("Fusing saves up to ")
    assert most.endswith("% of energy: pair on roomy.")
    assert first.startswith("pair: fusing saves most on roomy, ")
    assert "by groups of several operations; nothing on wired, since no memory but DRAM may keep" in first
    assert [line.partition(":")[0] for line in rest] == ["other on roomy", "other on wired"]
    assert all(len(re.findall(r"\d+(?:\.\d+)?%?", line)) <= 2 for line in (most, first))
    assert [row.status for row in comparison.rows] == ["proven", "proven", "infeasible", "failed"]
    assert [row.place for row in comparison.failures] == ["other on wired"]


def test_what_stays_on_chip_inside_a_single_operation_is_named(tmp_path: Path) -> None:
    """A softmax is several steps, whose rows stay on chip though no group has several operations."""
    path = tmp_path / "alone.yaml"
    path.write_text(ALONE, encoding="utf-8")
    graph = tw.load_network(path).wiring
    assert graph is not None
    answer = segment(NetworkQuestion(graph, machine("roomy"), ENERGY, "perfect", stays=False, most=1))
    row = FusedRow("alone", machine("roomy"), "", answer)
    assert (row.fused_groups, row.staying) == (0, 0)
    assert row.saves is not None
    assert row.saves > 0.05
    assert "max of s in GLB" in row.saved_by


def test_summaries_add_up(comparison: FusedComparison, answers: dict[str, NetworkAnswer]) -> None:
    roomy, _, nothing, _ = comparison.summaries()
    assert (roomy.energy_pj, roomy.latency_cycles) == (answers["roomy"].energy_pj, answers["roomy"].latency_cycles)
    (group,) = answers["roomy"].answers
    assert roomy.utilization == pytest.approx(group.cost.utilization)
    assert nothing.energy_pj is None
    assert nothing.missing == ("other",)


def test_tables_page_and_picture(comparison: FusedComparison, answers: dict[str, NetworkAnswer]) -> None:
    networks, groups = comparison.to_frame(), comparison.to_frame("groups")
    assert list(networks["energy_pJ"].dropna()) == [answer.energy_pj for answer in answers.values()]
    assert sum(groups["energy_pJ"]) == pytest.approx(sum(networks["energy_pJ"].dropna()))
    page = plain_text(comparison_page(comparison, ["a.csv"]))
    for part in ("nothing fused", "no mapping", "failed", "all proven optimal", "a.csv", "pair: fusing saves most"):
        assert part in page
    html = fused_html(comparison)
    tiles = re.findall(r'<td class="tile" data-of="([^"]*)"[^>]*><button[^>]*>([^<]*)<small>([^<]*)</small>', html)
    saves = f"{100 * (comparison.rows[0].saves or 0):.1f}%"
    assert tiles == [
        ("pair on roomy", saves, "1 group"),
        ("pair on wired", "0.0%", ""),
        ("other on roomy", "no mapping", ""),
        ("other on wired", "no mapping", ""),
    ]
    (axes,) = comparison.figure().axes
    assert [text.get_text().split("\n")[0] for text in axes.texts] == [saves, "0.0%", "no mapping", "no mapping"]
    assert "<table" in comparison._repr_html_()
    with pytest.raises(TilewrightError, match="unknown table 'layers'"):
        comparison.to_frame("layers")
