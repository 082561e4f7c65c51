"""The best segmentation of a network: which of its operations are mapped together."""

from __future__ import annotations

from ...cost_models import Objective
from ...ir import TilewrightError
from ..cascades.weights import weights_of
from ..fusing import answer_below
from .group_costs import Progress
from .group_search import GroupSearch
from .products import ProductSearch
from .question import NetworkAnswer, NetworkQuestion
from .searching import GroupSolvers, OneAfterTheOther

_PRODUCTS = ("edp", "ed2p")


def segment(
    question: NetworkQuestion, solvers: GroupSolvers | None = None, progress: Progress | None = None
) -> NetworkAnswer:
    """The best segmentation of a network, and the best tree of each of its groups.

    solvers   search groups, or know where to look up what was found; None: this process
    progress  called with how many groups have been searched, and how many more there may be at most

    Ctrl-C ends it with the best segmentation of what is known by then.

    Raises InfeasibleError where an operation fits in no group, UndecidedError where that is not known in time, and
    TilewrightError for objectives that neither add up over groups nor are products of energy and latency.
    """
    check_objective(question.objective)
    search = GroupSearch if weights_of(question.objective) is not None else ProductSearch
    return search(question, solvers or OneAfterTheOther(answer_below), progress).run()


def check_objective(objective: Objective) -> None:
    """TilewrightError for an objective that neither adds up over groups nor is a product of energy and latency."""
    if weights_of(objective) is None and objective.name not in _PRODUCTS:
        raise TilewrightError(
            f"objective {objective.name} is not known for networks",
            hint="use energy, latency, edp, ed2p, or a weighted sum such as 'energy + 100 * latency'",
        )
