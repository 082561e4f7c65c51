"""Searches for more than one mapping: the best few, one objective after another, and the Pareto front."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ..cost_models import ENERGY, LATENCY, Capped, Objective
from ..cost_models.least_cost import least_cost
from ..ir import InfeasibleError, UndecidedError
from .answer import Answer
from .certificate import Points
from .exact.search import ExactSearch
from .garbage import collecting_rarely
from .kernel.tolerance import RELATIVE_TOLERANCE
from .pareto.front import Point, front_in_turn, front_of
from .question import Asked, NestQuestion


@collecting_rarely
def search_best(question: NestQuestion, count: int) -> Points[Answer]:
    """The best `count` mappings that differ in energy or latency, best first, each with its proof: no other mapping of
    the space, but those listed before it and those that cost the same as one of them, is better.

    All loop orders, trips and numbers of instances are looked at, those that only cost more than others included. Fewer
    than `count` are returned where there are no more, or where means run out. Raises InfeasibleError when nothing fits.
    """
    search = _exact(question, count)
    search.run()
    found = [Answer(found.mapping, found.cost, search.certificate(found)) for found in search.found]
    return ranking(found, are_all=len(found) == count or search.is_finished)


def ranking(answers: Sequence[Answer], are_all: bool) -> Points[Answer]:
    """Answers, the best first.

    are_all  whether there are as many as were asked for, or no more
    """
    complete = are_all and all(answer.certificate.proven for answer in answers)
    return Points(tuple(answers), complete, max(answer.certificate.gap for answer in answers))


def best_of(question: NestQuestion) -> Answer:
    """The best mapping, with its proof."""
    return search_best(question, 1)[0]


def _exact(question: NestQuestion, count: int) -> ExactSearch:
    """The exact search of a question: the one place where it is made. Its time runs from this call."""
    return ExactSearch(
        question.problem,
        question.arch,
        question.objective,
        question.tiling,
        question.space,
        question.constraints,
        question.limits.means(),
        count,
        known=question.known,
    )


def search_in_turn(question: Asked, search: Callable[[Asked], Answer]) -> Answer:
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
    limit = (
        {"latency": best.cost.latency_cycles}
        if ((first.base if isinstance(first, Capped) else first) == LATENCY)
        else {"energy": best.cost.energy_pj}
    )
    among = replace(with_time_left(question, started), objective=second.capped(**limit), known=best.mapping)
    try:
        found = search(among)
    except UndecidedError:
        return replace(best, certificate=replace(proof, objective=question.objective.name, lower_bound=0.0))
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


def search_front(question: NestQuestion, search: Callable[[NestQuestion], Answer] = best_of) -> Points[Answer]:
    """The exact Pareto front of energy and latency, from the least energy to the least latency.

    Where means run out, or someone interrupts, the front ends there, and says that it is not complete.

    question  its objective is not looked at; its limits are for each search
    search    that finds each of the two mappings of a point
    """
    return _Front(question, search).points()


@dataclass
class _Front:
    """One search for a front.

    found    its points so far, faster and faster
    fewer    the most by which energy may be less than that of a point, among all that are faster than the one before
    has_end  whether nothing is faster than the last point
    is_over  whether nothing more is searched
    """

    question: NestQuestion
    search: Callable[[NestQuestion], Answer]
    found: list[Answer] = field(default_factory=list)
    fewer: float = 0.0
    has_end: bool = False
    is_over: bool = False

    def points(self) -> Points[Answer]:
        """Those that none of the others beats, and how far what is missing could be."""
        for one in front_in_turn(self._best, _cost):
            self.found.append(one)
        gap, last = self.fewer, min(one.cost.latency_cycles for one in self.found)
        if not self.has_end:
            fewest = least_cost(self.question.problem, self.question.arch).latency_cycles
            gap = max(gap, 1 - fewest / last)
        return Points(tuple(front_of(self.found, _cost)), self.has_end and gap <= RELATIVE_TOLERANCE, gap)

    def _best(self, objective: Objective) -> Answer | None:
        """The best by an objective; None where there is none, or where it is not known in time."""
        if self.is_over:
            return None
        try:
            answer = self.search(replace(self.question, objective=objective))
        except (InfeasibleError, UndecidedError, KeyboardInterrupt) as error:
            if not self.found:
                raise
            self.is_over, self.has_end = True, isinstance(error, InfeasibleError)
            return None
        self.is_over = answer.certificate.interrupted
        if objective.unit == ENERGY.unit:
            self.fewer = max(self.fewer, answer.certificate.gap)
            return answer
        return replace(answer, certificate=replace(answer.certificate, objective=objective.name))


def _cost(answer: Answer) -> Point:
    return answer.cost.energy_pj, answer.cost.latency_cycles
