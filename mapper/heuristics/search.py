"""Heuristic search: one strategy, one budget, the best mapping found."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

from ...arch import Architecture
from ...cost_models import Cost, ObjectiveLike, parse_objective
from ...ir import Problem, TilewrightError, did_you_mean
from ..tilings import Tiling
from .annealing import annealing
from .genetic import genetic
from .random_sampling import random_sampling
from .sample import Space
from .trajectory import HeuristicResult, Proposals, Run

STRATEGIES: Mapping[str, Callable[[Space, random.Random], Proposals]] = {
    "random": random_sampling,
    "anneal": annealing,
    "genetic": genetic,
}
"""A strategy is a generator of proposals: to add one, add a file and a line here."""

DEFAULT_EVALUATIONS = 2_000


def search_heuristic(
    problem: Problem,
    arch: Architecture,
    objective: ObjectiveLike | Callable[[Cost], float] = "edp",
    tiling: Tiling = "perfect",
    strategy: str = "random",
    seed: int = 0,
    time_limit: float | None = None,
    evaluations: int | None = None,
) -> HeuristicResult:
    """The best mapping of the even space that a heuristic finds within its budget; nothing is proven.

    objective    what `Cost.objective` understands, or a function of the cost; less is better
    strategy     "random", "anneal" or "genetic"
    seed         with the same seed and the same evaluations alone, the result is the same on every run
    time_limit   seconds; once they are over, the search goes on only until it has a first mapping
    evaluations  mappings whose cost is computed; 2,000 if there is no time limit either

    KeyboardInterrupt ends the search early, if it has found something.
    Raises InfeasibleError when nothing that was tried fits, TilewrightError for a wrong strategy or budget.
    """
    _check(strategy, time_limit, evaluations)
    if time_limit is None and evaluations is None:
        evaluations = DEFAULT_EVALUATIONS
    space = Space(problem, arch, tiling)
    run = Run(space, objective if callable(objective) else parse_objective(objective), time_limit, evaluations)
    proposals = STRATEGIES[strategy](space, random.Random(seed))
    try:
        genome = next(proposals)
        while not run.spent():
            genome = proposals.send(run.value(genome))
    except KeyboardInterrupt:
        if not run.found:
            raise
    return run.result()


def _check(strategy: str, time_limit: float | None, evaluations: int | None) -> None:
    if strategy not in STRATEGIES:
        raise TilewrightError(f"unknown strategy {strategy!r}", hint=did_you_mean(strategy, STRATEGIES))
    if time_limit is not None and not 0 <= time_limit < math.inf:
        raise TilewrightError(f"the time limit is {time_limit}, expected seconds, 0 or more")
    if evaluations is not None and evaluations < 1:
        raise TilewrightError(f"the budget is {evaluations} evaluations, expected 1 or more")
