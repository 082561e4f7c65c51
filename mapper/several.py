"""Searches for more than one mapping: the best few, one objective after another, and the Pareto front."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ..arch import Architecture
from ..cost_models import ENERGY, LATENCY, Capped, Cost, Objective
from ..ir import InfeasibleError, Mapping, Problem
from .certificate import Certificate
from .constraints import Constraints
from .exact.search import FREE, ExactSearch, search_exact
from .means import Means
from .space import Space
from .tilings import Tiling

Answer = tuple[Mapping, Cost, Certificate]

STEP = 1e-7
"""A point of the front is better than the one before it in one objective by more than this fraction."""


def search_best(
    problem: Problem,
    arch: Architecture,
    count: int,
    objective: Objective,
    tiling: Tiling = "perfect",
    space: Space = "even",
    constraints: Constraints = FREE,
    time_limit: float | None = None,
) -> list[Answer]:
    """The best `count` mappings that differ in energy or latency, best first, each with its proof: no other mapping of
    the space, but those listed before it and those that cost the same as one of them, is better.

    All loop orders are looked at, those that only add to what another order moves included; with ragged tiles, of trips
    that leave as many tiles only those are that can pay (`tilings.ragged_trips`). Fewer than `count` are returned where
    there are no more. Raises InfeasibleError when nothing fits.
    """
    search = ExactSearch(problem, arch, objective, tiling, space, constraints, Means.from_now(time_limit), count)
    search.run()
    return [(found.mapping, found.cost, search.certificate(found)) for found in search.found]


def search_in_turn(
    problem: Problem,
    arch: Architecture,
    objective: Objective,
    tiling: Tiling = "perfect",
    space: Space = "even",
    constraints: Constraints = FREE,
    time_limit: float | None = None,
) -> Answer:
    """The best mapping for a lexicographic objective: the least of its first part, then of its second one among those.

    The certificate is that of the whole: its value and bound are those of the first part, and it is proven if both are.
    """
    first, second = objective.parts
    mapping, cost, proof = search_exact(problem, arch, first, tiling, space, constraints, time_limit)
    if proof.interrupted:
        return mapping, cost, replace(proof, objective=objective.name)
    limit = {"latency": cost.latency_cycles} if _is_latency(first) else {"energy": cost.energy_pj}
    mapping, cost, then = search_exact(problem, arch, second.capped(**limit), tiling, space, constraints, time_limit)
    bound = proof.lower_bound if then.proven else min(proof.lower_bound, proof.value * (1 - then.gap))
    return (
        mapping,
        cost,
        replace(
            proof,
            objective=objective.name,
            lower_bound=bound,
            evaluated=proof.evaluated + then.evaluated,
            pruned={
                rule: proof.pruned.get(rule, 0) + then.pruned.get(rule, 0) for rule in {**proof.pruned, **then.pruned}
            },
            seconds=proof.seconds + then.seconds,
        ),
    )


def search_front(
    problem: Problem,
    arch: Architecture,
    tiling: Tiling = "perfect",
    space: Space = "even",
    constraints: Constraints = FREE,
    time_limit: float | None = None,
    search: Callable[..., Answer] = search_exact,
) -> Iterator[Answer]:
    """The exact Pareto front of energy and latency, from the least energy to the least latency.

    Every point is the least energy among all mappings that are faster than the point before it, and the least latency
    at that energy, both proven. time_limit is for each search (seconds). An interrupted search gives the last point.

    search  that finds each of them, with the arguments of `search_exact`
    """
    objective: Objective = ENERGY
    while True:
        try:
            found = search(problem, arch, objective, tiling, space, constraints, time_limit)
        except InfeasibleError:
            if objective is ENERGY:
                raise
            return
        if found[2].interrupted:
            yield found
            return
        fastest = LATENCY.capped(energy=found[1].energy_pj)
        mapping, cost, proof = search(problem, arch, fastest, tiling, space, constraints, time_limit)
        yield mapping, cost, replace(proof, objective=fastest.name)
        if proof.interrupted:
            return
        objective = ENERGY.capped(latency=cost.latency_cycles * (1 - STEP))


def _is_latency(objective: Objective) -> bool:
    return (objective.base if isinstance(objective, Capped) else objective) == LATENCY
