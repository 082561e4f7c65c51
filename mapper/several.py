"""Searches for more than one mapping: the best few, one objective after another, and the Pareto front."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import Field, replace
from typing import Any, ClassVar, Protocol, TypeVar

from ..cost_models import ENERGY, LATENCY, Capped, Cost, Objective
from ..cost_models.cascades import FusedCost
from ..ir import InfeasibleError
from .certificate import Certificate
from .exact.search import ExactSearch
from .garbage import collecting_rarely
from .means import Means
from .question import Answer, Limits, Question

STEP = 1e-7
"""A point of the front is better than the one before it in one objective by more than this fraction."""


class _WithLimits(Protocol):
    """A question, about one operation or several."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def objective(self) -> Objective: ...
    @property
    def limits(self) -> Limits: ...


class _Answered(Protocol):
    """What a search comes to."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def cost(self) -> Cost | FusedCost: ...
    @property
    def certificate(self) -> Certificate: ...


Asked = TypeVar("Asked", bound=_WithLimits)
Answered = TypeVar("Answered", bound=_Answered)


@collecting_rarely
def search_best(question: Question, count: int) -> list[Answer]:
    """The best `count` mappings that differ in energy or latency, best first, each with its proof: no other mapping of
    the space, but those listed before it and those that cost the same as one of them, is better.

    All loop orders, trips and numbers of instances are looked at, those that only cost more than others included. Fewer
    than `count` are returned where there are no more. Raises InfeasibleError when nothing fits.
    """
    search = _exact(question, count)
    search.run()
    return [Answer(found.mapping, found.cost, search.certificate(found)) for found in search.found]


def best_of(question: Question) -> Answer:
    """The best mapping, with its proof."""
    return search_best(question, 1)[0]


def _exact(question: Question, count: int) -> ExactSearch:
    """The exact search of a question: the one place where it is made. Its time runs from this call."""
    return ExactSearch(
        question.problem,
        question.arch,
        question.objective,
        question.tiling,
        question.space,
        question.constraints,
        Means.from_now(question.limits.time_s, question.limits.memory_bytes),
        count,
    )


def search_in_turn(question: Asked, search: Callable[[Asked], Answered]) -> Answered:
    """The best mapping for a lexicographic objective: the least of its first part, then of its second one among those.

    search  that finds each of the two

    The certificate is that of the whole: its value and bound are those of the first part, and it is proven if both are.
    The time limit is for both searches together.
    """
    started = time.perf_counter()
    first, second = question.objective.parts
    best = search(replace(question, objective=first))
    proof = best.certificate
    if proof.interrupted:
        return replace(best, certificate=replace(proof, objective=question.objective.name))
    limit = {"latency": best.cost.latency_cycles} if _is_latency(first) else {"energy": best.cost.energy_pj}
    among = replace(with_time_left(question, started), objective=second.capped(**limit))
    found = search(among)
    then = found.certificate
    bound = proof.lower_bound if then.proven else min(proof.lower_bound, proof.value * (1 - then.gap))
    rules = {**proof.pruned, **then.pruned}
    whole = replace(
        proof,
        objective=question.objective.name,
        lower_bound=bound,
        evaluated=proof.evaluated + then.evaluated,
        pruned={rule: proof.pruned.get(rule, 0) + then.pruned.get(rule, 0) for rule in rules},
        seconds=proof.seconds + then.seconds,
    )
    return replace(found, certificate=whole)


def with_time_left(question: Asked, started: float) -> Asked:
    """A question with the time that is left of its limit since it was started, by `perf_counter`."""
    if question.limits.time_s is None:
        return question
    left = max(question.limits.time_s - (time.perf_counter() - started), 0.0)
    return replace(question, limits=replace(question.limits, time_s=left))


def search_front(question: Question, search: Callable[[Question], Answer] = best_of) -> Iterator[Answer]:
    """The exact Pareto front of energy and latency, from the least energy to the least latency.

    Every point is the least energy among all mappings that are faster than the point before it, and the least latency
    at that energy, both proven. An interrupted search gives the last point.

    question  its objective is not looked at; its limits are for each search
    search    that finds each of the two mappings of a point
    """
    objective: Objective = ENERGY
    while True:
        try:
            found = search(replace(question, objective=objective))
        except InfeasibleError:
            if objective is ENERGY:
                raise
            return
        if found.certificate.interrupted:
            yield found
            return
        fastest = LATENCY.capped(energy=found.cost.energy_pj)
        point = search(replace(question, objective=fastest))
        proof = replace(point.certificate, objective=fastest.name)
        yield replace(point, certificate=proof)
        if proof.interrupted:
            return
        objective = ENERGY.capped(latency=point.cost.latency_cycles * (1 - STEP))


def _is_latency(objective: Objective) -> bool:
    return (objective.base if isinstance(objective, Capped) else objective) == LATENCY
