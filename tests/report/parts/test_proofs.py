"""Bounds and gaps as they are printed."""

from __future__ import annotations

import pytest

import tilewright as tw
from cases import CASES
from tilewright.mapper.certificate import Certificate, PartProof, Points
from tilewright.report.networks.network_plan import network_plan_page
from tilewright.report.parts.proofs import front_words, proof_rows, pruned_row, ranking_words, verdict
from tilewright.report.parts.text import plain_text


def proof(value: float, bound: float, *parts: PartProof) -> Certificate:
    return Certificate("energy", "perfect", value, bound, None, 0, 1, {"loops": 3}, 0.1, parts=parts)


@pytest.mark.parametrize(
    ("bound", "told"),
    [(100.0, "proven"), (100.1, "proven"), (97.0, "gap 3.0%"), (-0.0, "gap 100.0%"), (-5.0, "gap 100.0%")],
)
def test_a_verdict(bound: float, told: str) -> None:
    assert verdict(100.0, bound) == told


def test_what_is_proven_of_a_part_is_a_line_of_its_own() -> None:
    part = PartProof("trees whose tiles divide", 100.0)
    rows = list(proof_rows(proof(100.0, -0.0, part)))
    assert rows[0] == ("Objective", "energy: gap 100.0%, not proven optimal")
    assert rows[2:] == [("Lower bound", "0 pJ"), ("Of a part", "proven among trees whose tiles divide")]
    assert [name for name, _ in proof_rows(proof(100.0, 100.0))] == ["Objective", "Value", "Lower bound"]
    assert pruned_row(proof(1.0, 1.0)) == ("Pruned", "loops 3")


def test_a_bound_of_all_leaves_parts_that_say_more() -> None:
    found = proof(100.0, 10.0, PartProof("some", 50.0), PartProof("others", 100.0))
    assert found.proven_among == ("others",)
    assert [part.among for part in found.with_bound(60.0).parts] == ["others"]
    assert (found.with_bound(200.0).lower_bound, found.with_bound(200.0).proven_among) == (100.0, ())


def test_what_is_missing_is_said() -> None:
    assert "is complete" in front_words(Points((1, 2), complete=True))
    assert "up to 7.2% less energy and latency" in front_words(Points((1, 2), complete=False, gap=0.072))
    assert ranking_words(Points((1, 2), complete=True)) == ""
    assert "ran out" in ranking_words(Points((1,), complete=False))


def test_a_plan_without_time_has_a_bound_and_no_sentence_on_fusing() -> None:
    plan = tw.compile(CASES / "networks" / "mlp.yaml", "three_level", "energy", total_limit=1e-3)
    proof, page = plan.certificate, plain_text(network_plan_page(plan.answer))
    assert 0 < proof.lower_bound <= proof.value
    assert proof.proven == ("Fusing wins nothing" in page or bool(plan.saves))
