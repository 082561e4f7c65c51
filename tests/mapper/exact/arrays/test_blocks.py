"""Loops directly inside arrays: the space with all of them, by brute force, against the few that are tried."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import cache

import pytest

import brute_force
from generators import memory, random_architecture, random_problem, tensor, with_extras
from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac
from tilewright.cost_models import ENERGY, OBJECTIVES, evaluate
from tilewright.ir import InfeasibleError, Loop, MappingError, Problem
from tilewright.mapper.cpsat import search_cpsat
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.question import Question
from tilewright.mapper.several import search_best
from tilewright.mapper.space import SPACES, Space
from tilewright.mapper.tilings import TILINGS, Tiling
from tilewright.workloads import conv2d

STRIPES = Architecture(
    name="stripes",
    clock_hz=1e9,
    word_bits=8,
    levels=(
        memory("DRAM", read_energy_pj=10.0, write_energy_pj=10.0),
        Fanout(name="array", axes=(ArrayAxis(size=2),), multicast=False),
        memory("RF", size_bits=64),
    ),
    mac=Mac(energy_pj=0.0),
)
ROW = conv2d(K=1, C=1, P=8, Q=1, R=3, S=1)


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("space", SPACES)
def test_blocks_instead_of_stripes(tiling: Tiling, space: Space) -> None:
    """Each of two instances slides along four neighbours: 12 words of the input are read instead of 18."""
    mapping, cost, certificate = search_exact(ROW, STRIPES, "edp", tiling, space)
    assert cost.edp == certificate.value == certificate.lower_bound == 4488
    if space == "even":
        assert [str(item) for item in mapping.nest if isinstance(item, Loop)][:2] == [
            "parallel P in 2 on array.x",
            "for P in 4",
        ]


def test_the_constraint_model_has_them_too() -> None:
    _, cost, bound = search_cpsat(ROW, STRIPES, "edp")
    assert cost.edp == bound == 4488


SEEDS = 100
MOST_MAPPINGS = 500


@cache
def case_of(seed: int) -> tuple[Problem, Architecture, Tiling, Space]:
    """A small case with an array, most of them with windows, dilated or not, and with switches of all kinds."""
    rng = random.Random(seed)
    while True:
        problem = random_problem(rng, rng.choice([3, 4, 6]))
        window = any(sum(problem.sizes[d] > 1 for d, _ in rank) > 1 for t in problem.tensors for rank in t.ranks)
        reuse = "at_node" if rng.random() < 0.1 else "across_levels"
        capacity = 24 if rng.random() < 0.7 else None
        arch = random_architecture(rng, rng.randint(0, 2), capacity, reuse)  # type: ignore[arg-type]
        extras = ["leakage", "block", "hop", "fill", "ports", "serial", "widths"]
        arch = with_extras(rng, arch, *rng.sample(extras, 2)) if rng.random() < 0.4 else arch
        ragged, space = rng.random() < 0.5, rng.choice(SPACES)
        if not arch.fanouts or problem.macs > 100 or (not window and rng.random() < 0.7):
            continue
        few = brute_force.count(problem, arch, ragged, MOST_MAPPINGS) < MOST_MAPPINGS
        if few and space == "uneven":
            few = brute_force.count_uneven(problem, arch, TILINGS[ragged], MOST_MAPPINGS) < MOST_MAPPINGS
        if few:
            return problem, arch, TILINGS[ragged], space


@pytest.mark.parametrize("seeds", blocks(SEEDS, 20))
def test_no_loop_inside_an_array_is_missed(seeds: range) -> None:
    for seed in seeds:
        problem, arch, tiling, space = case_of(seed)
        mappings = (
            brute_force.all_mappings(problem, arch, tiling == "ragged")
            if space == "even"
            else brute_force.uneven_mappings(problem, arch, tiling)
        )
        expected = brute_force.best_of(mappings, arch, OBJECTIVES)
        for objective in OBJECTIVES:
            try:
                found = search_exact(problem, arch, objective, tiling, space)[2].value
            except InfeasibleError:
                found = float("inf")
            assert found == pytest.approx(expected[objective], rel=1e-9, abs=0), (seed, objective)


@pytest.mark.some(1)
@pytest.mark.parametrize("tiling", TILINGS)
def test_of_several_mappings_loops_stand_on_both_sides_of_an_array(tiling: Tiling) -> None:
    """Also those of a dimension that the array does not have: it costs more to begin a window anew half-way."""
    window = Problem(
        "window",
        (("P", 4), ("R", 2), ("C", 2)),
        (tensor("I", "input", "C", {"P": 1, "R": 1}), tensor("W", "weight", "C", "R"), tensor("O", "output", "P")),
    )
    levels = (
        memory("DRAM", read_energy_pj=6.0, write_energy_pj=2.0),
        Fanout(name="array", axes=(ArrayAxis(size=2),)),
        memory("L1", size_bits=512, halo="innermost"),
    )
    arch = Architecture(name="one", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.5))
    expected = set()
    for mapping in brute_force.all_mappings(window, arch, tiling == "ragged"):
        with suppress(MappingError):
            cost = evaluate(mapping, arch)
            expected.add((cost.energy_pj, cost.latency_cycles))
    found = search_best(Question(window, arch, ENERGY, tiling), len(expected) + 1)
    assert sorted((each.cost.energy_pj, each.cost.latency_cycles) for each in found) == sorted(expected)
