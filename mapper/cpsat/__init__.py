"""An independent exact strategy: the even space with perfect tiling as a constraint model for CP-SAT.

    mapping, cost, lower_bound = search_cpsat(problem, arch, objective="edp")

It shares problems, architectures and nests with the search, and no code: it states the counting rules of
docs/cost-model.md once more, as constraints over whole numbers, and leaves the proof to the solver. Trips are
products of primes, so a product of trips is a sum of exponents and a table from exponents to values.

    slots.py      places for loops, and which memories may keep a tensor
    orders.py     loop orders, as far as they decide what is charged
    windows.py    words of sliding windows, by sets
    loops.py      the decisions: trips, orders, placements; what is charged
    words.py      words that cross boundaries
    costs.py      capacities, energy, latency, as whole numbers
    solver.py     solving for one figure; the time limit
    product.py    solving for energy x latency; from the solver's values to a mapping
    strategy.py   all of it, confirmed by the cost model
"""

from __future__ import annotations

from ...arch import Architecture
from ...cost_models import EDP, ENERGY, LATENCY, Cost, ObjectiveLike, parse_objective
from ...ir import Mapping, Problem, TilewrightError, need_package
from ..means import DEFAULT_MEMORY_LIMIT, one_call

__all__ = ["search_cpsat"]


def search_cpsat(
    problem: Problem,
    arch: Architecture,
    objective: ObjectiveLike = "edp",
    tiling: str = "perfect",
    time_limit: float | None = None,
    memory_limit: int = DEFAULT_MEMORY_LIMIT,
) -> tuple[Mapping, Cost, float]:
    """The best mapping of the even space, its cost, and a proven lower bound of the objective over the space.

    time_limit  seconds after which the best mapping so far is taken, and the bound proven by then; None: until the
                bound meets the objective
    memory_limit  bytes that the process may grow by

    Raises InfeasibleError, with a diagnosis, when nothing fits; TilewrightError when `ortools` is not installed, when
    the tiling is not perfect, or for what cannot be modelled: overlapping tiles in a memory with `halo: exact`, windows
    with too many tilings for a table, and figures beyond 60 bits.
    """
    if tiling != "perfect":
        raise TilewrightError(
            f"tiling is {tiling!r}, and the CP-SAT model is of perfect tilings of the even space only",
            where="cpsat",
            hint="use tiling='perfect', or the exact search",
        )
    wanted = parse_objective(objective)
    if wanted not in (ENERGY, LATENCY, EDP):
        raise TilewrightError(
            f"the objective is {wanted}, and the CP-SAT model minimizes energy, latency or edp",
            where="cpsat",
            hint="use the exact search for other objectives",
        )
    need_package("ortools", "cpsat", "cpsat")
    from .strategy import solve

    with one_call(time_limit, memory_limit):
        return solve(problem, arch, wanted)
