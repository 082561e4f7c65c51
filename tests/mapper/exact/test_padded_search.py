"""Zeros of padding that are no words (`padding: free`), in the search: its optimum is that of brute force."""

from __future__ import annotations

import random

import pytest

import brute_force
from generators import random_architecture, random_problem, windows_below_arrays, with_extras, with_pads
from longer import blocks
from tilewright.arch import Architecture
from tilewright.cost_models import OBJECTIVES, evaluate
from tilewright.ir import InfeasibleError, Problem
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.space import Space
from tilewright.mapper.tilings import TILINGS, Tiling

MOST = 200
"""Mappings that the oracle tries per pair at most."""


def pair(seed: int, uneven: bool) -> tuple[Problem, Architecture, bool]:
    """Windows with zeros around them, a machine of one of several kinds, and whether tiles may be ragged."""
    rng = random.Random(seed)
    while True:
        problem, ragged = random_problem(rng, 2 if uneven else 4), rng.random() < 0.4
        if not any(len(rank) > 1 for tensor in problem.tensors for rank in tensor.ranks):
            continue
        arch = random_architecture(rng, memories=rng.randint(0, 2), capacity=rng.choice([None, 24]))
        if rng.random() < 0.3:
            arch = windows_below_arrays(rng, 2)[1]
        extras = rng.choice([(), (), ("block", "ports", "serial"), ("hop", "fill", "arrays", "widths")])
        switches = {"padding": "free", "footprint": rng.choice(["exact", "exact", "box"])}
        arch = with_extras(rng, arch, *extras).model_copy(update=switches)
        few = problem.macs <= 300 and brute_force.count(problem, arch, ragged, MOST) < MOST
        if few and (not uneven or brute_force.count_uneven(problem, arch, TILINGS[ragged], MOST) < MOST):
            return with_pads(problem, rng), arch, ragged


def searched(problem: Problem, arch: Architecture, objective: str, tiling: Tiling, space: Space) -> float:
    try:
        mapping, cost, certificate = search_exact(problem, arch, objective, tiling, space)
    except InfeasibleError:
        return float("inf")
    assert certificate.proven
    assert evaluate(mapping, arch) == cost
    assert mapping.problem == problem
    return certificate.value


@pytest.mark.parametrize("block", blocks(300, 15))
def test_optimum_of_brute_force(block: range) -> None:
    for seed in block:
        problem, arch, ragged = pair(seed, uneven=False)
        expected = brute_force.best(problem, arch, ragged, OBJECTIVES)
        found = {o: searched(problem, arch, o, TILINGS[ragged], "even") for o in OBJECTIVES}
        assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"


@pytest.mark.parametrize("block", blocks(150, 15))
def test_uneven_optimum_of_brute_force(block: range) -> None:
    for seed in block:
        problem, arch, ragged = pair(seed, uneven=True)
        tiling = TILINGS[ragged]
        expected = brute_force.best_of(brute_force.uneven_mappings(problem, arch, tiling), arch, OBJECTIVES)
        found = {o: searched(problem, arch, o, tiling, "uneven") for o in OBJECTIVES}
        assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"
