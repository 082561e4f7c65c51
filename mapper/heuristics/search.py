"""Heuristic search: one strategy, one budget, the best mapping found."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

from ...ir import TilewrightError, did_you_mean
from ..progress import answering
from ..question import NestQuestion
from .annealing import annealing
from .genetic import genetic
from .random_sampling import random_sampling
from .sample import GenomeSpace
from .trajectory import HeuristicResult, Proposals, Run

PROPOSALS: Mapping[str, Callable[[GenomeSpace, random.Random], Proposals]] = {
    "random": random_sampling,
    "anneal": annealing,
    "genetic": genetic,
}
"""A heuristic is a generator of proposals: to add one, add a file, a line here and one in `mapper/strategies.py`."""


def search_heuristic(
    question: NestQuestion, heuristic: str = "random", seed: int = 0, evaluations: int | None = None
) -> HeuristicResult:
    """The best mapping of the even space that a heuristic finds within its budget; nothing is proven.

    question     its space and its constraints are not looked at; once its time limit is over, the search goes on only
                 until it has a first mapping
    heuristic    "random", "anneal" or "genetic"
    seed         with the same seed and the same evaluations alone, the result is the same on every run
    evaluations  mappings whose cost is computed; 2,000 if there is no time limit either

    KeyboardInterrupt ends the search early, if it has found something.
    Raises InfeasibleError when nothing that was tried fits, TilewrightError for an unknown heuristic or a wrong budget.
    """
    _check(heuristic, question.limits.time_s, evaluations)
    if question.limits.time_s is None and evaluations is None:
        evaluations = 2_000
    space = GenomeSpace(question.problem, question.arch, question.tiling)
    run = Run(space, question.objective, question.limits.time_s, evaluations)
    proposals = PROPOSALS[heuristic](space, random.Random(seed))
    try:
        with answering(run.progress):
            genome = next(proposals)
            while not run.spent():
                genome = proposals.send(run.value(genome))
    except KeyboardInterrupt:
        if not run.found:
            raise
    return run.result()


def _check(heuristic: str, time_limit: float | None, evaluations: int | None) -> None:
    if heuristic not in PROPOSALS:
        raise TilewrightError(f"unknown heuristic {heuristic!r}", hint=did_you_mean(heuristic, PROPOSALS))
    if time_limit is not None and not 0 <= time_limit < math.inf:
        raise TilewrightError(f"the time limit is {time_limit}, expected seconds, 0 or more")
    if evaluations is not None and evaluations < 1:
        raise TilewrightError(f"the budget is {evaluations} evaluations, expected 1 or more")
