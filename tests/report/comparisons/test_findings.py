"""The sentences of a report say what the tables say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tilewright.report.comparisons.comparison import Comparison
from tilewright.report.comparisons.findings import findings
from tilewright.report.comparisons.page import best_text, comparison_page
from tilewright.report.comparisons.rows import FREE, Row
from tilewright.report.comparisons.summaries import tied_best
from tilewright.report.parts.text import plain_text


@pytest.fixture(scope="module")
def priced(comparison: Comparison) -> Comparison:
    """The same where dataflows have a price: their mappings take two and three times as much energy."""
    factors = {"weight-stationary": 2.0, "output-stationary": 3.0}

    def dearer(row: Row) -> Row:
        if row.answer is None or row.dataflow not in factors:
            return row
        factor, cost, proof = factors[row.dataflow], row.answer.cost, row.answer.certificate
        cost = replace(cost, energy_pj=factor * cost.energy_pj)
        proof = replace(proof, value=factor * proof.value, lower_bound=factor * proof.lower_bound)
        return replace(row, outcome=replace(row.answer, cost=cost, certificate=proof))

    return replace(comparison, rows=tuple(map(dearer, comparison.rows)))


def times(factor: float) -> str:
    return f"{factor:.2f} times" if factor < 10 else f"{factor:.3g} times"


def the_one(comparison: Comparison, words: str) -> str:
    (sentence,) = (text for text in findings(comparison) if re.search(words, text))
    return sentence


def test_the_best_machine_is_named_with_its_lead(comparison: Comparison) -> None:
    free = {s.arch: s.value for s in comparison.summaries() if s.dataflow == FREE}
    (best, least), (second, more) = sorted(free.items(), key=lambda pair: pair[1] or 0.0)
    assert least is not None
    assert more is not None
    sentence = the_one(comparison, "^tiny: ")
    assert f"{best} has the least EDP" in sentence
    assert f"{second} has {times(more / least)} as much" in sentence


def test_the_price_of_one_dataflow_is_that_of_the_best_one(priced: Comparison) -> None:
    factors = {h.arch: (h.single_value or 0.0) / (h.free_value or 1.0) for h in priced.hybrids()}
    worst = max(factors, key=factors.__getitem__)
    sentence = the_one(priced, "best single fixed dataflow")
    assert f"at worst {times(factors[worst])} (tiny on {worst}" in sentence


def test_dataflows_are_ranked(priced: Comparison) -> None:
    sentence = the_one(priced, "^Layer by layer")
    means = [float(mean) for mean in re.findall(r"stationary ([\d.]+) times", sentence)]
    assert len(means) == 2
    assert means == sorted(means)
    assert means[0] >= 1


def test_ties_are_ties(comparison: Comparison, priced: Comparison) -> None:
    """Where no dataflow is better than another one, none is called the best."""
    assert all(hybrid.makes_no_difference for hybrid in comparison.hybrids())
    the_one(comparison, "^The dataflow makes no difference here: all 2 cost 1.00 times the free optimum")
    the_one(comparison, "^A fixed dataflow costs nothing here")
    text = plain_text(comparison_page(comparison))
    assert "makes no difference" in text
    assert not re.search("(eyeriss|tpu_v1) +.*(weight|output)-stationary +[0-9]+ +[0-9]+ +1.000", text)
    assert not any(hybrid.makes_no_difference for hybrid in priced.hybrids())
    assert "makes no difference" not in plain_text(comparison_page(priced))


@pytest.mark.parametrize(
    ("ties", "words"),
    [("abc", "makes no difference"), ("ab", "all but c"), ("a", "a"), ("", "")],
)
def test_the_best_of_some_is_one_name_or_says_how_many_tie(ties: str, words: str) -> None:
    assert best_text(ties, "abc") == words


def test_equal_is_what_differs_by_less_than_half_a_percent() -> None:
    assert tied_best([("a", 1.004), ("b", 1.0), ("c", 1.006)]) == ("a", "b")


def test_what_has_no_mapping_is_counted(comparison: Comparison, with_a_gap: Comparison) -> None:
    assert not any(text.startswith("No mapping") for text in findings(comparison))
    assert "1 of 24 rows (1 under weight-stationary)" in the_one(with_a_gap, "^No mapping")


def test_the_proof_comes_last(comparison: Comparison) -> None:
    assert findings(comparison)[-1] == "All 24 mappings are proven optimal in the even space with perfect tilings."


def test_without_a_free_choice_nothing_is_compared_with_it(comparison: Comparison) -> None:
    fixed = tuple(row for row in comparison.rows if row.dataflow != FREE)
    alone = replace(comparison, rows=fixed)
    assert not any("free" in text for text in findings(alone))
