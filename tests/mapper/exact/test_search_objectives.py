"""Searches for objectives without a name: their optima are those of brute force."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

import pytest

import brute_force
from generators import memory, random_architecture, random_problem
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac, load_arch
from tilewright.cost_models import Cost, Objective, evaluate, parse_objective
from tilewright.ir import InfeasibleError, MappingError, Problem
from tilewright.ir.problem import ROLES
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.heuristics import search_heuristic
from tilewright.mapper.question import Question
from tilewright.mapper.tilings import Tiling
from tilewright.workloads import gemm

FORMULAS = ("ed2p", "energy * latency ** 0.5", "energy + 30 * latency", "max(energy, 20 * latency)")
PAIRS = 32
MOST_MAPPINGS = 400

Pair = tuple[Problem, Architecture, Tiling]


def small_pairs(rng: random.Random) -> Iterator[Pair]:
    """Pairs that brute force is quick with, and that have something to choose."""
    while True:
        problem, arch = random_problem(rng, 3), random_architecture(rng, memories=rng.randint(1, 2), capacity=24)
        tiling: Tiling = rng.choice(("perfect", "ragged"))
        ways = brute_force.count(problem, arch, tiling == "ragged", MOST_MAPPINGS)
        if problem.macs <= 200 and 8 <= ways < MOST_MAPPINGS:
            yield problem, arch, tiling


SMALL, DRAWN = small_pairs(random.Random(11)), list[Pair]()


def pair_of(number: int) -> Pair:
    """Drawn after those before it, which takes longer than to search them."""
    while len(DRAWN) <= number:
        DRAWN.append(next(SMALL))
    return DRAWN[number]


@cache
def costs_of(number: int) -> list[Cost]:
    """The costs of all mappings of a pair that fit."""
    problem, arch, tiling = pair_of(number)
    costs = []
    for mapping in brute_force.all_mappings(problem, arch, tiling == "ragged"):
        with suppress(MappingError):
            costs.append(evaluate(mapping, arch))
    return costs


def searched(problem: Problem, arch: Architecture, objective: str | Objective, tiling: Tiling) -> float:
    """The proven optimum; infinite if the search finds that there is none."""
    try:
        mapping, cost, certificate = search_exact(problem, arch, objective, tiling)
    except InfeasibleError:
        return math.inf
    assert certificate.proven
    assert certificate.objective == parse_objective(objective).name
    assert evaluate(mapping, arch) == cost
    assert cost.objective(objective) == certificate.value
    return certificate.value


@pytest.mark.some(1)
@pytest.mark.parametrize("start", range(0, PAIRS, 4))
def test_optimum_of_brute_force(start: int) -> None:
    for number in range(start, start + 4):
        problem, arch, tiling = pair_of(number)
        for text in FORMULAS:
            least = min((cost.objective(text) for cost in costs_of(number)), default=math.inf)
            assert searched(problem, arch, text, tiling) == pytest.approx(least, rel=1e-9, abs=0), (number, text)


@pytest.mark.some(1)
@pytest.mark.parametrize("start", range(0, PAIRS, 4))
def test_optimum_within_limits(start: int) -> None:
    """Of every pair, limits at just what some mappings need, and limits that none keeps."""
    for number in range(start, start + 4):
        problem, arch, tiling = pair_of(number)
        costs = costs_of(number)
        for factor in (0.99, 1, 1.3) if costs else ():
            fastest = factor * min(cost.latency_cycles for cost in costs)
            capped = parse_objective("energy").capped(latency=fastest)
            least = min(cost.objective(capped) for cost in costs)
            assert searched(problem, arch, capped, tiling) == pytest.approx(least, rel=1e-9, abs=0), (number, factor)


@pytest.mark.long
def test_pairs_tell_objectives_apart() -> None:
    """Otherwise the tests above would pass with any objective: mappings best by energy, or latency, are often not."""
    apart = 0
    for costs in map(costs_of, range(PAIRS)):
        for text in FORMULAS if costs else ():
            least = min(cost.objective(text) for cost in costs)
            named = [min(costs, key=lambda cost: cost.objective(name)) for name in ("energy", "latency")]
            apart += all(cost.objective(text) > least * (1 + 1e-9) for cost in named)
    assert apart >= 8


def test_limits_that_nothing_keeps() -> None:
    problem, arch = gemm(M=16, N=16, K=16), load_arch("eyeriss")
    for text, message in [
        ("energy where latency <= 60", "no mapping keeps the limit: the least latency is 640 cycles"),
        ("edp where energy <= 1 and latency <= 1", "both limits: the least energy is .* pJ, the least latency is 640"),
    ]:
        with pytest.raises(InfeasibleError, match=message) as caught:
            search_exact(problem, arch, text)
        assert caught.value.where == f"objective {text}"


def test_heuristics_take_every_objective_with_one_value() -> None:
    problem, arch = gemm(M=4, N=4, K=4), load_arch("three_level")
    question = Question(problem, arch, parse_objective("energy + 3*latency"), "perfect")
    found = search_heuristic(question, evaluations=50)
    assert found.trajectory[-1].value == found.cost.energy_pj + 3 * found.cost.latency_cycles


@pytest.mark.parametrize("tiling", ["perfect", "ragged"])
@pytest.mark.parametrize("size", [1, 3, 6, 16])
def test_latency_where_nothing_but_compute_takes_time(size: int, tiling: Tiling) -> None:
    """Columns without any cycles say nothing of what does not fit, or of arrays that tiles leave no room for."""
    array, inner = Fanout(name="array", axes=(ArrayAxis(size=4),)), memory("L1", keeps=dict.fromkeys(ROLES, "may"))
    levels = memory("DRAM"), array, inner
    arch = Architecture(name="free", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    assert searched(gemm(M=size, N=size, K=1), arch, "latency", tiling) == best_use(size, tiling)


def best_use(size: int, tiling: Tiling) -> int:
    """Time steps of size x size MACs on four instances: divisors of both, or any numbers with ragged tiles."""
    fine = [(m, n) for m in range(1, 5) for n in range(1, 4 // m + 1)]
    if tiling == "perfect":
        fine = [(m, n) for m, n in fine if size % m == 0 and size % n == 0]
    return min(math.ceil(size / m) * math.ceil(size / n) for m, n in fine)
