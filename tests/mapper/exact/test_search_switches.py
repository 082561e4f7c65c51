"""The search finds the optimum of brute force under `footprint: box`, where larger tiles may move more words, and
`first_read_elision: false`."""

from __future__ import annotations

import random
from functools import cache

import pytest

import brute_force
import longer
from generators import random_architecture, random_problem, tensor
from tilewright.arch import Architecture, load_arch
from tilewright.cost_models import OBJECTIVES, evaluate
from tilewright.ir import InfeasibleError, Problem, TilewrightError
from tilewright.mapper.cpsat import search_cpsat
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.space import Space
from tilewright.mapper.tilings import TILINGS
from tilewright.workloads import conv2d

SEEDS = 20
MOST_MAPPINGS = 700


@cache
def pair_of(seed: int) -> tuple[Problem, Architecture, bool]:
    """A small problem whose tiles may have bands, a machine with a buffer, and whether tiles may be ragged."""
    rng = random.Random(seed)
    while True:
        alone = seed % 2 == 0
        problem = strided(rng) if alone else random_problem(rng, 3)
        arch = random_architecture(rng, memories=1 if alone else rng.randint(1, 2), capacity=8 if alone else 24)
        ragged = rng.random() < 0.5
        if not bands(problem) or problem.macs > 100 or problem.macs < 4:
            continue
        if brute_force.count(problem, arch, ragged, MOST_MAPPINGS) < MOST_MAPPINGS:
            return problem, arch.model_copy(update={"footprint": "box", "first_read_elision": seed % 3 > 0}), ragged


def strided(rng: random.Random) -> Problem:
    """A stride with nothing that fills its bands."""
    dims = (("K", rng.randint(3, 6)), ("C", rng.randint(1, 2)), ("P", rng.randint(3, 5)))
    operands = (tensor("I", "input", "C", {"P": rng.randint(2, 3)}), tensor("W", "weight", "K", "C"))
    return Problem("strided", dims, (*operands, tensor("O", "output", "K", "P")))


def bands(problem: Problem) -> bool:
    return any(c > 1 and problem.sizes[d] > 1 for t in problem.operands for rank in t.ranks for d, c in rank)


def searched(problem: Problem, arch: Architecture, objective: str, ragged: bool, space: Space = "even") -> float:
    try:
        mapping, cost, certificate = search_exact(problem, arch, objective, TILINGS[ragged], space)
    except InfeasibleError:
        return float("inf")
    assert certificate.proven
    assert evaluate(mapping, arch) == cost
    return certificate.value


def test_optimum_of_brute_force() -> None:
    different = 0
    for seed in longer.seeds(SEEDS):
        problem, arch, ragged = pair_of(seed)
        expected = brute_force.best(problem, arch, ragged, OBJECTIVES)
        found = {objective: searched(problem, arch, objective, ragged) for objective in OBJECTIVES}
        assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"
        exact = arch.model_copy(update={"footprint": "exact"})
        different += found != pytest.approx({o: searched(problem, exact, o, ragged) for o in OBJECTIVES}, rel=1e-9)
    assert longer.occurs(different >= 2)


@pytest.mark.long
def test_uneven_optimum_of_brute_force() -> None:
    tried = 0
    for seed in range(40):
        problem, arch, ragged = pair_of(seed)
        if problem.macs <= 40 and brute_force.count_uneven(problem, arch, TILINGS[ragged], 300) < 300:
            mappings = brute_force.uneven_mappings(problem, arch, TILINGS[ragged])
            expected = brute_force.best_of(mappings, arch, OBJECTIVES)
            found = {objective: searched(problem, arch, objective, ragged, "uneven") for objective in OBJECTIVES}
            assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"
            tried += 1
    assert tried >= 5


def test_a_real_layer_costs_no_less_in_boxes() -> None:
    """A 1x1 convolution at stride 2 reads a quarter of its box; a buffer that keeps several rows pays for them."""
    layer = conv2d(K=512, C=256, P=28, Q=28, R=1, S=1, stride=2)
    exact = load_arch("three_level")
    box = exact.model_copy(update={"footprint": "box"})
    assert searched(layer, box, "energy", False) > searched(layer, exact, "energy", False)


def test_cpsat_refuses_gaps() -> None:
    box = load_arch("three_level").model_copy(update={"footprint": "box"})
    with pytest.raises(TilewrightError, match="'footprint: box' is given, and tiles of I"):
        search_cpsat(conv2d(K=2, C=2, P=4, Q=1, R=1, S=1, stride=2), box)
