"""What most machines leave out, in the search: leakage, whole blocks, network hops, fill times, two ports, memories
that do not overlap, wide partial sums. Its optimum is that of brute force."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

import brute_force
from generators import memory, random_architecture, random_problem, with_extras
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac
from tilewright.cost_models import OBJECTIVES, evaluate, parse_objective
from tilewright.ir import ConstraintError, InfeasibleError, Problem, TilewrightError
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.constraints.violations import violations
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.question import Question
from tilewright.mapper.space import Space
from tilewright.mapper.strategies import ConstraintModel
from tilewright.mapper.tilings import TILINGS, Tiling
from tilewright.workloads import gemm

EXTRAS = ("leakage", "block", "hop", "fill", "arrays")
PORTS = ("ports", "roles", "serial", "widths")
CASES = [*((extra,) for extra in EXTRAS), PORTS, ("arrays", "serial"), (*EXTRAS, *PORTS)]
PAIRS = 10
MOST = 120
"""Mappings that the oracle tries per pair at most."""


def pairs(extras: tuple[str, ...], uneven: bool) -> Iterator[tuple[int, Problem, Architecture, bool]]:
    for seed in itertools.count(1000 * uneven):
        rng = random.Random(seed)
        problem = random_problem(rng, 2 if uneven else 3)
        arch = random_architecture(rng, memories=rng.randint(0, 2), capacity=24)
        ragged = rng.random() < 0.4
        if {"hop", "arrays"} & set(extras) and not arch.fanouts:
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


@pytest.mark.some(1)
@pytest.mark.parametrize("extras", CASES, ids=",".join)
def test_optimum_of_brute_force(extras: tuple[str, ...]) -> None:
    for seed, problem, arch, ragged in itertools.islice(pairs(extras, uneven=False), PAIRS):
        expected = brute_force.best(problem, arch, ragged, OBJECTIVES)
        found = {o: searched(problem, arch, o, TILINGS[ragged], "even") for o in OBJECTIVES}
        assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"


@pytest.mark.some(1)
@pytest.mark.parametrize("extras", CASES, ids=",".join)
def test_uneven_optimum_of_brute_force(extras: tuple[str, ...]) -> None:
    for seed, problem, arch, ragged in itertools.islice(pairs(extras, uneven=True), PAIRS):
        tiling = TILINGS[ragged]
        expected = brute_force.best_of(brute_force.uneven_mappings(problem, arch, tiling), arch, OBJECTIVES)
        found = {o: searched(problem, arch, o, tiling, "uneven") for o in OBJECTIVES}
        assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"


def two_axes() -> Architecture:
    """A machine with an array of two axes whose hops cost more than anything else."""
    array = Fanout(name="array", axes=(ArrayAxis(size=4), ArrayAxis(size=4)), hop_pj_per_bit=4.0)
    levels = (memory("DRAM", shared_bits_per_cycle=8.0), array, memory("L1", size_bits=80))
    return Architecture(name="mesh", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))


@pytest.mark.some(1)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_constraints_on_the_axes_of_an_array_with_hops(objective: str) -> None:
    problem, arch = gemm(4, 2, 2), two_axes()
    asked = Constraints("asked", spatial={("array", 0, "M"): (2, 2), ("array", 1, "N"): (1, 1)})
    every = brute_force.all_mappings(problem, arch, False)
    expected = brute_force.best_of(every, arch, (parse_objective(objective),), asked)
    mapping, _, certificate = search_exact(problem, arch, objective, constraints=asked)
    assert not violations(mapping, arch, asked)
    assert certificate.proven
    assert [certificate.value] == pytest.approx(list(expected.values()))


def test_a_share_of_both_axes_with_hops_is_refused() -> None:
    asked = Constraints("asked", utilization={"array": 0.5})
    with pytest.raises(ConstraintError, match="two axes and hops is not searched for"):
        search_exact(gemm(4, 2, 2), two_axes(), constraints=asked)


@pytest.mark.parametrize("extra", [extra for extra in EXTRAS if extra != "arrays"])
def test_cpsat_refuses_what_it_does_not_know(extra: str) -> None:
    rng = random.Random(1)
    arch = random_architecture(rng, 1)
    while not arch.fanouts:
        arch = random_architecture(rng, 1)
    special = with_extras(rng, arch, extra)
    while special == arch:
        special = with_extras(rng, arch, extra)
    with pytest.raises(TilewrightError, match=r"^strategy cpsat: it does not know"):
        ConstraintModel().search(Question(gemm(2, 2, 2), special, parse_objective("energy"), "perfect"))
