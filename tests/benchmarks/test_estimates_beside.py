"""The tables of results/estimates.md are those that the benchmark prints."""

from __future__ import annotations

from pathlib import Path

from estimates import area_rows, energy_rows

PAGE = Path(__file__).parents[2] / "results" / "estimates.md"


def test_the_page_has_the_tables() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "\n".join(energy_rows()) in page
    assert "\n".join(area_rows()) in page
