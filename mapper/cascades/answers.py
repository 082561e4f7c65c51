"""Answers to questions about one form of a cascade, by the search that fits the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...cost_models import Objective
from ...ir import TilewrightError
from ..answer import Answer
from ..certificate import Points
from ..means import Means
from ..pareto.weights import ENERGY_ALONE, LATENCY_ALONE, weights_of
from ..question import TreeQuestion
from .objectives.search import CascadeSearch
from .question import NothingBelow, overlaps
from .recounts.filled import FilledSearch
from .recounts.overlapped import OverlappedSearch
from .relaxations.operation_bounds import Nearest
from .tree_searches import Corner


def search_alone(question: TreeQuestion) -> Answer:
    """The proven best fused mapping; where time or memory run out, the best found and its gap.

    Raises InfeasibleError when nothing fits, UndecidedError when time or memory run out before anything is found, and
    TilewrightError for what cannot be searched.
    """
    return _search(question).run()


def without_search(question: TreeQuestion) -> Answer | None:
    """Return the simplest mapping of each operation on its own, made without a search; None where no such mapping
    fits."""
    search = _kind(question, False)(question, Means.from_now(0.0, question.limits.memory_bytes))
    search.know_unsearched()
    return search.answer_about(search.corners[0], question.objective) if search.corners else None


def search_below(question: TreeQuestion) -> Answer | NothingBelow:
    """As `search_alone`, only for what is less than `below`; of objectives that add up over operations.

    Raises TilewrightError for what cannot be searched.
    """
    return _search(question).run_below()


def front_alone(question: TreeQuestion) -> Points[Answer]:
    """The front of energy and latency, from the least energy to the least latency; what it is least of is not looked
    at."""
    search = _search(question, whole_front=True)
    search.run()
    return search.front_answers()


def bound_alone(question: TreeQuestion, nearest: Nearest | None = None) -> float:
    """Return a lower bound on all trees by relaxations alone, without a search over trees; where means run out, the
    bound known from the start.

    nearest  what is known of single operations on the same machine, in the same space; more is noted there

    Raises TilewrightError for what cannot be searched, and for objectives that do not add up over operations.
    """
    weights = weights_of(question.objective)
    if weights is None:
        raise TilewrightError(f"objective {question.objective.name} has no bound that adds up over operations")
    search = _search(question, nearest=nearest)
    return max(search.from_the_start.value(question.objective), search.least_of(weights))


def least_energies(question: TreeQuestion, nearest: Nearest | None = None) -> dict[str, float]:
    """Return by operation the least energy that it takes in any tree of one form, as `TreeSearches.least_energies`.

    nearest  what is known of single operations on the same machine, in the same space; more is noted there
    """
    return {} if question.cascade.others else _search(question, nearest=nearest).least_energies()


@dataclass(frozen=True)
class Seen:
    """Lower bounds on all trees that need no search over trees; infinite where nothing fits.

    energy, latency  of each
    bound            of what is minimized
    """

    energy: float
    latency: float
    bound: float

    def bound_of(self, objective: Objective, minimized: Objective) -> float:
        """Return the lower bound by another objective.

        minimized  what `bound` is about
        """
        if math.inf in (self.energy, self.latency):
            return math.inf
        by_both = objective.value(self.energy, self.latency)
        return max(by_both, self.bound) if objective == minimized else by_both


def seen_of(question: TreeQuestion, means: Means, nearest: Nearest) -> Seen:
    """Return the lower bounds on all trees of a question by relaxations alone.

    nearest  what is known of single operations on the same machine, in the same space; more is noted there
    """
    search = _kind(question, whole_front=True)(question, means, nearest=nearest)
    least = search.from_the_start
    energy, latency = max(least.energy_pj, search.least_of(ENERGY_ALONE)), search.least_of(LATENCY_ALONE)
    latency = max(least.latency_cycles, latency)
    if math.inf in (energy, latency):
        return Seen(math.inf, math.inf, math.inf)
    weights = weights_of(question.objective)
    together = 0.0 if weights is None else search.least_of(weights)
    return Seen(energy, latency, max(together, question.objective.value(energy, latency)))


def search_against(
    question: TreeQuestion, means: Means, known: list[Corner], whole_front: bool, nearest: Nearest
) -> CascadeSearch:
    """A search for what is better than mappings of other forms; where latencies do not add up over operations, for its
    best."""
    kind = _kind(question, whole_front)
    corners = known if kind is CascadeSearch else []
    return kind(question, means, corners=corners, whole_front=whole_front, nearest=nearest)


def _search(question: TreeQuestion, whole_front: bool = False, nearest: Nearest | None = None) -> CascadeSearch:
    means = question.limits.means()
    known = {} if nearest is None else nearest
    return _kind(question, whole_front)(question, means, whole_front=whole_front, nearest=known)


def _kind(question: TreeQuestion, whole_front: bool) -> type[CascadeSearch]:
    """Return the class of search for a machine on which latencies add up over operations, or on which they do not."""
    if overlaps(question) or (whole_front and question.arch.overlap == "across_operations"):
        return OverlappedSearch
    adds_up = question.arch.latency == "steady" and not question.arch.refills
    is_filled = not adds_up and len(question.cascade.operations) > 1
    return FilledSearch if is_filled else CascadeSearch
