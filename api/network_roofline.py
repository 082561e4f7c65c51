"""Rooflines of layers: each distinct layer's best mapping, searched once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

from .arch import Architecture
from .arguments import ArchitectureLike, ConstraintsLike, as_architecture, limits_of, question_of, tiling_or_default
from .ir import Problem
from .ir.display import Shown
from .many import LayersLike, rows_of
from .mapper.question import Limits
from .mapper.strategies import Exact
from .mapper.tilings import Tiling
from .options import LimitKeywords, takes
from .report.pages.roofline import RooflineChart, draw_roofline, roofline_chart
from .results import SearchResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


@dataclass(frozen=True)
class RooflineResult(Shown):
    """Layers under the roofs of a machine.

    chart    the roofs, and a dot for each distinct layer
    results  of the searches behind the dots
    """

    chart: RooflineChart
    results: tuple[SearchResult, ...]

    def figure(self) -> Figure:
        """The picture. Raises TilewrightError when matplotlib is missing."""
        return draw_roofline(self.chart)


@takes(LimitKeywords)
def roofline(
    layers: LayersLike,
    arch: ArchitectureLike,
    objective: str = "edp",
    tiling: Tiling | None = None,
    constraints: ConstraintsLike = None,
    memory: str | None = None,
    **options: Unpack[LimitKeywords],
) -> RooflineResult:
    """How near the best mappings of layers come to the roofs of a machine.

    layers  as of `search_many`: problems, layers by name, or a network
    arch, objective, tiling, constraints, time_limit, memory_limit  as of `search`, for every layer
    memory  whose traffic the intensity is about; the outermost one if not given

    Raises TilewrightError as `search` does, and when the machine has no such memory.
    """
    chip, limits = as_architecture(arch), limits_of(options["time_limit"], options["memory_limit"])
    name, rows = rows_of(layers)
    searches = RooflineSearches(chip, objective, tiling, constraints, limits)
    chart, results = searched_roofline(f"{name} on {chip.name}", searches, rows, memory)
    return RooflineResult(chart, tuple(results))


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
