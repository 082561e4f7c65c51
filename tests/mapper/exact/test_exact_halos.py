"""Memories that keep overlaps at every move, whichever loop makes it."""

from __future__ import annotations

import random

import pytest
from clocks import ticking

import brute_force
import tilewright as tw
from generators import random_architecture, random_mapping, random_problem, windows_below_arrays
from longer import blocks, occurs
from tilewright.arch import Architecture, Memory
from tilewright.cost_models import OBJECTIVES, evaluate
from tilewright.ir import Problem
from tilewright.mapper.exact.exploring.finishing import all_orders
from tilewright.mapper.exact.exploring.orders import moves_windows_of_others, useful_orders
from tilewright.mapper.exact.question.hierarchy import Hierarchy
from tilewright.mapper.exact.search import search_exact


def with_exact_halos(arch: Architecture) -> Architecture:
    levels = (each.model_copy(update={"halo": "exact"}) if isinstance(each, Memory) else each for each in arch.levels)
    return arch.model_copy(update={"levels": tuple(levels)})


def has_window(problem: Problem) -> bool:
    return any(sum(problem.sizes[d] > 1 for d, _ in rank) > 1 for t in problem.tensors for rank in t.ranks)


@pytest.mark.some(1)
@pytest.mark.parametrize("seeds", blocks(40, 10))
def test_optimum_of_brute_force(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        while True:
            problem, arch = random_problem(rng, 4), random_architecture(rng, rng.randint(1, 2), capacity=40)
            if has_window(problem) and 40 < brute_force.count(problem, arch, False, 600) < 600:
                break
        arch = with_exact_halos(arch)
        expected = brute_force.best(problem, arch, False, OBJECTIVES)
        found = {
            each: search_exact(problem, arch, each)[2].value for each in OBJECTIVES if expected[each] < float("inf")
        }
        assert found == pytest.approx({each: expected[each] for each in found}, rel=1e-9), seed


@pytest.mark.some(1)
@pytest.mark.parametrize("seeds", blocks(120, 40))
def test_no_order_left_aside_is_better(seeds: range) -> None:
    fewer = tried = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = windows_below_arrays(rng, 4)
        if rng.random() < 0.5:
            arch = with_exact_halos(arch)
        mapping = random_mapping(rng, problem, arch, ragged=False)
        mapping = next(iter(all_orders(mapping, len(problem.tensors))))
        if moves_windows_of_others(mapping):
            continue
        hierarchy = Hierarchy(problem, arch, "uneven", follows_halos=True)
        useful = list(useful_orders(mapping, hierarchy, len(problem.tensors)))
        every = list(all_orders(mapping, len(problem.tensors)))
        if len(every) > 200:
            continue
        tried, fewer = tried + 1, fewer + (len(useful) < len(every))
        for objective in OBJECTIVES:
            least = min(evaluate(each, arch).objective(objective) for each in every)
            assert min(evaluate(each, arch).objective(objective) for each in useful) == pytest.approx(least), seed
    assert occurs(tried > 15)
    assert occurs(fewer > 8)


def test_a_layer_is_proven_soon() -> None:
    """It was left open after eight seconds of a processor: distinct words were all that bounds knew of."""
    arch = with_exact_halos(tw.load_arch("eyeriss"))
    _, _, certificate = search_exact(tw.load_layer("resnet50:layer3.x.conv2"), arch, "edp")
    assert certificate.proven
    assert certificate.evaluated < 50


def test_a_cut_search_is_no_worse_than_with_less_of_the_halo_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without such a beginning it had 20 times as much, and no proof, after as many looks at the clock."""
    layer = tw.conv2d(K=256, C=256, P=14, Q=14, R=3, S=3)
    less = search_exact(layer, tw.load_arch("three_level"), "energy")[2]
    arch = tw.load_arch("three_level", set={"GLB.halo": "exact", "RF.halo": "exact"})
    ticking(monkeypatch)
    found = search_exact(layer, arch, "energy", time_limit=20.0)[2]
    assert less.proven
    assert found.lower_bound <= found.value <= less.value
