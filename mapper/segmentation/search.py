"""The best segmentation of a network: which of its operations are mapped together."""

from __future__ import annotations

from ...ir import TilewrightError
from ..cascades.weights import weights_of
from ..fusing import answer_cascade
from .group_search import GroupSearch, Progress, Solve
from .products import ProductSearch
from .question import NetworkAnswer, NetworkQuestion


def segment(
    question: NetworkQuestion, solve: Solve = answer_cascade, progress: Progress | None = None
) -> NetworkAnswer:
    """The best segmentation of a network, and the best tree of each of its groups.

    solve     answers a question about one group: from a store, if need be
    progress  called with how many groups have been searched, and how many more there may be at most

    Ctrl-C ends it with the best segmentation of what is known by then.

    Raises InfeasibleError where an operation fits in no group, UndecidedError where that is not known in time, and
    TilewrightError for objectives that neither add up over groups nor are products of energy and latency.
    """
    objective = question.objective
    if weights_of(objective) is not None:
        return GroupSearch(question, solve, progress).run()
    if objective.name in ("edp", "ed2p"):
        return ProductSearch(question, solve, progress).run()
    raise TilewrightError(
        f"objective {objective.name} is not known for networks",
        hint="use energy, latency, edp, ed2p, or a weighted sum such as 'energy + 100 * latency'",
    )
