"""Ways to search: the exact one, an independent exact model, and heuristics to compare with."""

from __future__ import annotations

import time
from dataclasses import replace

from ..arch import Architecture
from ..cost_models import Cost, Objective
from ..ir import Mapping, Problem, TilewrightError
from .certificate import Certificate
from .constraints import Constraints
from .exact.bounds.lattice import check_searchable
from .exact.search import FREE, search_exact
from .space import Space
from .space.regions import placements
from .space.size import count_mappings
from .tilings import Tiling

STRATEGIES = ("exact", "cpsat", "random", "anneal", "genetic")
"""exact and cpsat prove their answer; the others are how users of other tools search."""


def search_by(
    strategy: str,
    problem: Problem,
    arch: Architecture,
    objective: Objective,
    tiling: Tiling = "perfect",
    space: Space = "even",
    constraints: Constraints = FREE,
    time_limit: float | None = None,
    seed: int = 0,
) -> tuple[Mapping, Cost, Certificate]:
    """The best mapping that a strategy finds, its cost, and what is proven of it.

    seed  of the heuristics: with the same seed, and no time limit, they find the same on every run

    Raises TilewrightError for what a strategy cannot do, InfeasibleError when nothing fits.
    """
    if strategy == "exact":
        from .several import search_in_turn

        run = search_in_turn if objective.is_lexicographic else search_exact
        return run(problem, arch, objective, tiling, space, constraints, time_limit)
    where, started = f"strategy {strategy}", time.perf_counter()
    check_searchable(problem, tiling)
    if space != "even":
        raise TilewrightError("it searches the even space only", where=where, hint='take strategy "exact"')
    if not constraints.is_free:
        raise TilewrightError("it knows no constraints", where=where, hint='take strategy "exact"')
    if strategy == "cpsat":
        _refuse_what_cpsat_lacks(arch, where)
        from .cpsat import search_cpsat

        mapping, cost, bound = search_cpsat(problem, arch, objective, tiling, time_limit)
        proof = _certificate(strategy, problem, arch, objective, tiling, cost, bound, 0)
        return mapping, cost, replace(proof, seconds=time.perf_counter() - started)
    from .heuristics.search import search_heuristic

    found = search_heuristic(problem, arch, objective, tiling, strategy, seed, time_limit)
    proof = _certificate(strategy, problem, arch, objective, tiling, found.cost, 0.0, found.evaluated)
    return found.mapping, found.cost, replace(proof, seconds=time.perf_counter() - started)


def _refuse_what_cpsat_lacks(arch: Architecture, where: str) -> None:
    lacking = {
        "leakage": arch.total_leakage_pj_per_cycle > 0,
        "block": any(memory.block_bits for memory in arch.memories),
        "hop": any(fanout.hop_pj_per_bit for fanout in arch.fanouts),
        "latency: with_fill": arch.latency == "with_fill",
    }
    for key, asked in lacking.items():
        if asked:
            raise TilewrightError(f"it does not know {key}, which {arch.name} has", where=where, hint='take "exact"')


def _certificate(
    strategy: str,
    problem: Problem,
    arch: Architecture,
    objective: Objective,
    tiling: Tiling,
    cost: Cost,
    bound: float,
    evaluated: int,
) -> Certificate:
    return Certificate(
        objective=objective.name,
        tiling=tiling,
        value=cost.objective(objective),
        lower_bound=bound,
        space_size=count_mappings(problem, arch, tiling),
        placements=placements(problem, arch),
        evaluated=evaluated,
        pruned={},
        seconds=0.0,
        strategy=strategy,
    )
