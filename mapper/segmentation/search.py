"""The best segmentation of a network: which of its operations are mapped together."""

from __future__ import annotations

from ...cost_models import Objective
from ...ir import TilewrightError
from ..cascades.weights import weights_of
from ..fusing import answer_below
from .corners import PRODUCTS
from .group_costs import Progress
from .group_search import GroupSearch
from .limits import LimitedSearch
from .products import ProductSearch
from .question import NetworkAnswer, NetworkQuestion
from .searching import GroupSolvers, OneAfterTheOther


def segment(
    question: NetworkQuestion, solvers: GroupSolvers | None = None, progress: Progress | None = None
) -> NetworkAnswer:
    """The best segmentation of a network, and the best tree of each of its groups.

    solvers   search groups, or know where to look up what was found; None: this process
    progress  called with how many groups have been searched, and how many more there may be at most

    Ctrl-C ends it with the best segmentation of what is known by then.

    Raises InfeasibleError where an operation fits in no group, or no segmentation keeps the limits of the objective;
    UndecidedError where that is not known in time, and TilewrightError for objectives of several parts.
    """
    check_objective(question.objective)
    solvers = solvers or OneAfterTheOther(answer_below)
    return _kind(question.objective)(question, solvers, progress).run()


def _kind(objective: Objective) -> type[GroupSearch] | type[ProductSearch] | type[LimitedSearch]:
    """What searches for an objective."""
    if weights_of(objective) is not None:
        return GroupSearch
    return ProductSearch if objective.name in PRODUCTS else LimitedSearch


def check_objective(objective: Objective) -> None:
    """TilewrightError for an objective of several parts."""
    if objective.is_lexicographic:
        first, second = (part.name for part in objective.parts)
        raise TilewrightError(
            f"objective {objective.name} is not known for networks, which have one value",
            hint=f"search for {first} first, then for '{second} where {first} <= ' and what it found",
        )
