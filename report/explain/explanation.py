"""An explanation: the facts about a mapping, and what they look like in words and as a picture."""

from __future__ import annotations

from dataclasses import dataclass

from ...arch import Architecture
from ...cost_models import Cost
from ...cost_models.crossings import crossings_of
from ...ir import Mapping
from ...ir.display import Shown
from ..parts.html import document, picture, to_html
from ..parts.text import plain_text
from .distance import distance_of
from .energy import energy_parts
from .facts import Facts
from .latency import latency_of
from .loops import loops_of
from .page import explanation_page
from .picture import nest_svg
from .reuse import reuse_of
from .utilization import utilization_of


@dataclass(frozen=True)
class Explanation(Facts, Shown):
    """Why a mapping costs what it costs, and what would help, as data and in words; docs/explain.md goes through it."""

    def svg(self) -> str:
        """The picture of the nest: memories with their tiles, and the loops between them (picture.py)."""
        return nest_svg(self.mapping, self.arch, self.loops)

    def html(self) -> str:
        """Page and picture as one HTML file, complete in itself."""
        shown = picture(self.svg(), "Levels, tiles and loops") + to_html(explanation_page(self))
        return document(f"{self.mapping.problem.name} on {self.arch.name}", shown)

    def text(self) -> str:
        """All of it in sentences and tables, as `tilewright explain` prints it; so is `str` of it."""
        return plain_text(explanation_page(self))

    def __str__(self) -> str:
        return self.text()


def explain_mapping(mapping: Mapping, arch: Architecture, cost: Cost) -> Explanation:
    """All facts about a mapping that costs `cost`, except what searching again would say."""
    crossings = crossings_of(mapping, arch)
    return Explanation(
        mapping=mapping,
        arch=arch,
        cost=cost,
        energy=energy_parts(cost),
        latency=latency_of(cost, arch),
        utilization=utilization_of(mapping, arch, cost),
        reuse=reuse_of(mapping.problem, crossings),
        loops=loops_of(mapping, arch, crossings),
        distance=distance_of(mapping.problem, arch, cost, crossings),
    )
