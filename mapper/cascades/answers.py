"""The search over trees of one form of a cascade that fits the machine, and what is known without it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...cost_models import Objective
from ...ir import TilewrightError
from ..answer import Answer
from ..means import Means
from ..pareto.weights import ENERGY_ALONE, LATENCY_ALONE, weights_of
from ..question import TreeQuestion
from .objectives.search import CascadeSearch
from .question import overlaps
from .recounts.filled import FilledSearch
from .recounts.overlapped import OverlappedSearch
from .relaxations.operation_bounds import Nearest
from .tree_searches import Corner


def search_for(
    question: TreeQuestion,
    means: Means | None = None,
    whole_front: bool = False,
    nearest: Nearest | None = None,
    known: Sequence[Corner] = (),
) -> CascadeSearch:
    """The search for the trees of one form.

    means    None: those of the question
    nearest  what is known of single operations on the same machine, in the same space; more is noted there
    known    mappings of other forms, that are to be beaten; where latencies do not add up over operations they are not

    Raises TilewrightError for what cannot be searched.
    """
    kind, arch = CascadeSearch, question.arch
    if overlaps(question) or (whole_front and arch.overlap == "across_operations"):
        kind = OverlappedSearch
    elif (arch.latency != "steady" or arch.refills) and len(question.cascade.operations) > 1:
        kind = FilledSearch
    return kind(
        question,
        question.limits.means() if means is None else means,
        corners=list(known) if kind is CascadeSearch else [],
        whole_front=whole_front,
        nearest={} if nearest is None else nearest,
    )


def without_search(question: TreeQuestion) -> Answer | None:
    """Return the simplest mapping of each operation on its own, made without a search; None where no such mapping
    fits."""
    search = search_for(question, Means.from_now(0.0, question.limits.memory_bytes))
    search.know_unsearched()
    return search.answer_about(search.corners[0], question.objective) if search.corners else None


def bound_alone(question: TreeQuestion, nearest: Nearest | None = None) -> float:
    """Return a lower bound on all trees by relaxations alone, without a search over trees; where means run out, the
    bound known from the start.

    Raises TilewrightError for what cannot be searched, and for objectives that do not add up over operations.
    """
    weights = weights_of(question.objective)
    if weights is None:
        raise TilewrightError(f"objective {question.objective.name} has no bound that adds up over operations")
    search = search_for(question, nearest=nearest)
    return max(search.from_the_start.value(question.objective), search.least_of(weights))


def least_energies(question: TreeQuestion, nearest: Nearest | None = None) -> dict[str, float]:
    """Return by operation the least energy that it takes in any tree of one form, as `TreeSearches.least_energies`."""
    return {} if question.cascade.others else search_for(question, nearest=nearest).least_energies()


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
    """Return the lower bounds on all trees of a question by relaxations alone."""
    search = search_for(question, means, whole_front=True, nearest=nearest)
    least = search.from_the_start
    energy = max(least.energy_pj, search.least_of(ENERGY_ALONE))
    latency = max(least.latency_cycles, search.least_of(LATENCY_ALONE))
    if math.inf in (energy, latency):
        return Seen(math.inf, math.inf, math.inf)
    weights = weights_of(question.objective)
    together = 0.0 if weights is None else search.least_of(weights)
    return Seen(energy, latency, max(together, question.objective.value(energy, latency)))
