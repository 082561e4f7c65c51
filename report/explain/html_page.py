"""An explanation as an HTML page: the picture first, then everything in sentences and tables."""

from __future__ import annotations

from ...ir.units import energy, percent, seconds
from ..web import Page, drawn, page_html, rendered
from .energy import energy_sentences
from .facts import Facts
from .latency import latency_sentences
from .page import explanation_page


def explanation_html(e: Facts, svg: str, caption: str) -> str:
    """The page as the text of an HTML file, complete in itself."""
    page = Page(
        title=f"{e.mapping.work.name} on {e.arch.name}, explained",
        asked=[("Energy", energy(e.cost.energy_pj)), ("Latency", seconds(e.cost.latency_s))],
        findings=_findings(e),
        picture=drawn(svg, caption),
        sections=[rendered(explanation_page(e))],
    )
    return page_html(page)


def _findings(e: Facts) -> list[str]:
    """Of a layer what takes its energy and what bounds its latency; of a cascade its costliest operation."""
    if len(e.operations) == 1:
        one = e.operations[0]
        return [next(energy_sentences(one.energy, one.points)), next(latency_sentences(one.latency))]
    most = max(e.operations, key=lambda one: one.energy_pj)
    slowest = max(e.operations, key=lambda one: one.cycles)
    time = sum(one.cycles for one in e.operations)
    return [
        f"{most.name} takes {percent(most.energy_pj, e.cost.energy_pj)} of the energy.",
        f"{slowest.name} takes {percent(slowest.cycles, time)} of the time; it waits for {slowest.latency.waits_for}.",
    ]
