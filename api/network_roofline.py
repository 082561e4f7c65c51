"""The roofline of layers: each distinct layer's best mapping, searched once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from .arch import Architecture
from .arguments import ConstraintsLike, question_of, tiling_or_default
from .ir import Problem
from .mapper.question import Limits
from .mapper.strategies import Exact
from .mapper.tilings import Tiling
from .report.pages.roofline import RooflineChart, roofline_chart
from .results import SearchResult

Layer = tuple[str, int, Problem]
"""A layer's name, its occurrences, and the problem."""


def distinct_layers(layers: Iterable[Layer]) -> list[Layer]:
    """Layers that differ in more than their names; the first of each kind stands for all, with their occurrences."""
    groups: dict[Problem, list[Layer]] = {}
    for layer in layers:
        groups.setdefault(replace(layer[2], name=""), []).append(layer)
    return [
        (_common_name([name for name, _, _ in group]), sum(repeat for _, repeat, _ in group), group[0][2])
        for group in groups.values()
    ]


@dataclass(frozen=True)
class RooflineSearches:
    """What the searches of a roofline have in common.

    objective, tiling  as for `search`
    constraints  only mappings that satisfy them, as for `search`
    limits       of each search
    """

    arch: Architecture
    objective: str = "edp"
    tiling: Tiling | None = None
    constraints: ConstraintsLike = None
    limits: Limits = Limits()

    def best(self, problem: Problem) -> SearchResult:
        """The best mapping of a layer."""
        tiling = tiling_or_default(self.tiling)
        question = question_of(problem, self.arch, self.objective, tiling, "even", self.constraints, self.limits)
        return SearchResult.of(question, Exact().search(question))


def searched_roofline(
    title: str,
    searches: RooflineSearches,
    layers: Iterable[Layer],
    memory: str | None = None,
    before: Callable[[str, int, int], None] | None = None,
) -> tuple[RooflineChart, list[SearchResult]]:
    """The chart of the layers' best mappings, and the searches behind it.

    memory  whose traffic the intensity is about; the outermost one if not given
    before  called ahead of each search, with the layer's name, its number from 1, and how many there are

    Raises TilewrightError as `search` does, and when the machine has no such memory.
    """
    distinct = distinct_layers(layers)
    roofline_chart(title, searches.arch, (), memory)  # an unknown memory is better known before the searches
    results = []
    for number, (name, _, problem) in enumerate(distinct, 1):
        if before is not None:
            before(name, number, len(distinct))
        results.append(searches.best(problem))
    rows = [
        (name, repeat, problem, found.cost) for (name, repeat, problem), found in zip(distinct, results, strict=True)
    ]
    return roofline_chart(title, searches.arch, rows, memory), results


def _common_name(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} (and {len(names) - 1} alike)"
