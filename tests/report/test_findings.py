"""The sentences of a report say what the tables say."""

from __future__ import annotations

import re
from dataclasses import replace

from tilewright.report.comparison import Comparison
from tilewright.report.comparison_rows import FREE
from tilewright.report.findings import findings


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


def test_the_price_of_one_dataflow_is_that_of_the_best_one(comparison: Comparison) -> None:
    factors = {h.arch: (h.single_value or 0.0) / (h.free_value or 1.0) for h in comparison.hybrids()}
    worst = max(factors, key=factors.__getitem__)
    sentence = the_one(comparison, "best single fixed dataflow")
    assert f"at worst {times(factors[worst])} (tiny on {worst}" in sentence


def test_dataflows_are_ranked(comparison: Comparison) -> None:
    sentence = the_one(comparison, "^Layer by layer")
    means = [float(mean) for mean in re.findall(r"stationary ([\d.]+) times", sentence)]
    assert len(means) == 2
    assert means == sorted(means)
    assert means[0] >= 1


def test_what_has_no_mapping_is_counted(comparison: Comparison, with_a_gap: Comparison) -> None:
    assert not any(text.startswith("No mapping") for text in findings(comparison))
    assert "1 of 24 rows (1 under weight-stationary)" in the_one(with_a_gap, "^No mapping")


def test_the_proof_comes_last(comparison: Comparison) -> None:
    assert findings(comparison)[-1] == "All 24 mappings are proven optimal in the even space with perfect tilings."


def test_without_a_free_choice_nothing_is_compared_with_it(comparison: Comparison) -> None:
    fixed = tuple(row for row in comparison.rows if row.dataflow != FREE)
    alone = replace(comparison, rows=fixed, dataflows=comparison.dataflows[1:])
    assert not any("free" in text for text in findings(alone))
