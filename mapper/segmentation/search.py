"""The best segmentation of a network: which of its operations are mapped together."""

from __future__ import annotations

from dataclasses import replace

from ...cost_models import Objective
from ...ir import InfeasibleError, TilewrightError, UndecidedError
from ..cascades import SharedBranches, sharing
from ..fusing import answer_below
from ..means import one_call
from ..pareto.supported import PRODUCTS
from ..pareto.weights import weights_of
from ..progress import NETWORK, SearchProgress, answering
from .corners import Corners
from .left_aside import of_all_plans
from .limits import LimitedSearch
from .question import NetworkAnswer, NetworkQuestion
from .searching import GroupSolvers, OneAfterTheOther
from .weight_choice import least_of_sum


def segment(question: NetworkQuestion, solvers: GroupSolvers | None = None) -> NetworkAnswer:
    """The best segmentation of a network, and the best tree of each of its groups.

    solvers  search groups, or know where to look up what was found; None: this process

    Where the weights of all operations are to lie on chip, and have no room there, those do that are best to keep.

    Ctrl-C ends it with the best segmentation of what is known by then.

    Raises InfeasibleError where an operation fits in no group, or no segmentation keeps the limits of the objective;
    UndecidedError where that is not known in time, and TilewrightError for objectives of several parts.
    """
    check_objective(question.objective)
    solvers = solvers or OneAfterTheOther(answer_below)
    with (
        one_call(question.total_s, question.limits.memory_bytes) as means,
        sharing(SharedBranches()),
        answering(lambda: SearchProgress(doing="looking at the network", objective=question.objective.name), NETWORK),
    ):
        try:
            return of_all_plans(_segment(question, solvers))
        except (InfeasibleError, UndecidedError):
            if [one.operations for one in question.weights_in] != [()]:
                raise
        (all_in,) = question.weights_in
        left = means.seconds_left if means.limits_time else None
        chosen = replace(question, weights_in=(replace(all_in, are_chosen=True),), total_s=left)
        return of_all_plans(_segment(chosen, solvers))


def _segment(question: NetworkQuestion, solvers: GroupSolvers) -> NetworkAnswer:
    """By the search for the objective."""
    if weights_of(question.objective) is not None:
        return least_of_sum(question, solvers)
    if question.objective.name not in PRODUCTS:
        return LimitedSearch(question, solvers).run()
    corners = Corners(question, solvers)
    corners.explore()
    return corners.answer()


def check_objective(objective: Objective) -> None:
    """TilewrightError for an objective of several parts."""
    if objective.is_lexicographic:
        first, second = (part.name for part in objective.parts)
        raise TilewrightError(
            f"objective {objective.name} is not known for networks, which have one value",
            hint=f"search for {first} first, then for '{second} where {first} <= ' and what it found",
        )
