"""The page of a comparison: complete in itself, with the figures of the comparison, whatever its names are."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from tilewright.report.comparisons.comparison import Comparison
from tilewright.report.comparisons.html import html_page
from tilewright.report.comparisons.html.page import SCRIPTS
from tilewright.report.web.template import static_text


def data_of(page: str) -> Any:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    return json.loads(match[1])


def test_the_figures_are_those_of_the_comparison(comparison: Comparison) -> None:
    data = data_of(html_page(comparison))
    assert [(r["network"], r["layer"], r["arch"], r["dataflow"]) for r in data["rows"]] == [
        (row.network, row.layer, row.arch, row.dataflow) for row in comparison.rows
    ]
    for shown, row in zip(data["rows"], comparison.rows, strict=True):
        assert row.cost is not None
        assert shown["energy"] == row.cost.energy_pj
        assert shown["seconds"] == row.cost.latency_s
        assert sum(amount for _, _, amount in shown["parts"]) == sum(p.energy_pj for p in row.energy_parts)
        detail = data["details"][shown["detail"]]
        parts = [data["shared"][part["shared"]] for part in detail["parts"]]
        assert next(part["text"] for part in parts if part["head"] == "Loop nest") == row.nest
        assert detail["command"] == row.command
    assert [s["value"] for s in data["summaries"]] == [s.value for s in comparison.summaries()]


def test_the_time_of_a_network_is_split_by_what_it_waits_for(comparison: Comparison) -> None:
    data = data_of(html_page(comparison))
    for shown, summary in zip(data["summaries"], comparison.summaries(), strict=True):
        assert summary.latency_s is not None
        assert abs(sum(shown["limits"].values()) - summary.latency_s) <= 1e-9 * summary.latency_s


def test_texts_stand_once(comparison: Comparison) -> None:
    texts = [json.dumps(part) for part in data_of(html_page(comparison))["shared"]]
    assert len(set(texts)) == len(texts)


def test_what_has_no_mapping_says_why(with_a_gap: Comparison) -> None:
    data = data_of(html_page(with_a_gap))
    (missing,) = (row for row in data["rows"] if row["status"] == "infeasible")
    assert "no mapping of" in missing["why"]
    assert data["details"][missing["detail"]]["figures"] == "There is no mapping."
    assert "energy" not in missing


def test_nothing_is_loaded_from_elsewhere(comparison: Comparison) -> None:
    page = html_page(comparison)
    assert re.findall(r"\b(?:src|srcset|@import)\b", page) == []
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}


def test_names_are_never_markup(comparison: Comparison) -> None:
    hostile = "</script><img src=x onerror=alert(1)>{{scripts}}<!--"
    rows = tuple(replace(row, network=hostile) for row in comparison.rows)
    page = html_page(replace(comparison, rows=rows))
    assert data_of(page)["networks"] == [hostile]
    assert "<img" not in page
    assert page.count("</script>") == html_page(comparison).count("</script>")


def test_every_script_is_in_the_page(comparison: Comparison) -> None:
    page = html_page(comparison)
    assert all(static_text(name, "tilewright.report.comparisons.html") in page for name in SCRIPTS)
