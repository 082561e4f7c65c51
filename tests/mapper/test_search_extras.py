"""What most machines leave out, in the search: leakage, whole blocks, network hops, fill times, ports apart,
memories that do not overlap, wide partial sums. Its optimum is that of brute force."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

import brute_force
from generators import random_architecture, random_problem, with_extras
from tilewright.arch import Architecture
from tilewright.cost_models import OBJECTIVES, evaluate, parse_objective
from tilewright.ir import InfeasibleError, Problem, TilewrightError
from tilewright.mapper.hierarchy import Space
from tilewright.mapper.search import search_exact
from tilewright.mapper.strategies import search_by
from tilewright.mapper.tilings import TILINGS, Tiling
from tilewright.workloads import gemm

EXTRAS = ("leakage", "block", "hop", "fill")
PORTS = ("ports", "serial", "widths")
CASES = [*((extra,) for extra in EXTRAS), PORTS, (*EXTRAS, *PORTS)]
PAIRS = 10
MOST = 120
"""Mappings that the oracle tries per pair at most."""


def pairs(extras: tuple[str, ...], uneven: bool) -> Iterator[tuple[int, Problem, Architecture, bool]]:
    for seed in itertools.count(1000 * uneven):
        rng = random.Random(seed)
        problem = random_problem(rng, 2 if uneven else 3)
        arch = random_architecture(rng, memories=rng.randint(0, 2), capacity=24)
        ragged = rng.random() < 0.4
        if "hop" in extras and not arch.fanouts:
            continue
        limit = MOST // 3 if uneven else MOST
        few = problem.macs <= 200 and brute_force.count(problem, arch, ragged, limit) < limit
        if few and (not uneven or brute_force.count_uneven(problem, arch, TILINGS[ragged], MOST) < MOST):
            yield seed, problem, with_extras(rng, arch, *extras), ragged


def searched(problem: Problem, arch: Architecture, objective: str, tiling: Tiling, space: Space) -> float:
    try:
        mapping, cost, certificate = search_exact(problem, arch, objective, tiling, space)
    except InfeasibleError:
        return float("inf")
    assert certificate.proven
    assert evaluate(mapping, arch) == cost
    return certificate.value


@pytest.mark.parametrize("extras", CASES, ids=",".join)
def test_optimum_of_brute_force(extras: tuple[str, ...]) -> None:
    for seed, problem, arch, ragged in itertools.islice(pairs(extras, uneven=False), PAIRS):
        expected = brute_force.best(problem, arch, ragged, OBJECTIVES)
        found = {o: searched(problem, arch, o, TILINGS[ragged], "even") for o in OBJECTIVES}
        assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"


@pytest.mark.parametrize("extras", CASES, ids=",".join)
def test_uneven_optimum_of_brute_force(extras: tuple[str, ...]) -> None:
    for seed, problem, arch, ragged in itertools.islice(pairs(extras, uneven=True), PAIRS):
        tiling = TILINGS[ragged]
        expected = brute_force.best_of(brute_force.uneven_mappings(problem, arch, tiling), arch, OBJECTIVES)
        found = {o: searched(problem, arch, o, tiling, "uneven") for o in OBJECTIVES}
        assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"


@pytest.mark.parametrize("extra", EXTRAS)
def test_cpsat_refuses_what_it_does_not_know(extra: str) -> None:
    rng = random.Random(1)
    arch = random_architecture(rng, 1)
    while not arch.fanouts:
        arch = random_architecture(rng, 1)
    special = with_extras(rng, arch, extra)
    while special == arch:
        special = with_extras(rng, arch, extra)
    with pytest.raises(TilewrightError, match=r"^strategy cpsat: it does not know"):
        search_by("cpsat", gemm(2, 2, 2), special, parse_objective("energy"))
