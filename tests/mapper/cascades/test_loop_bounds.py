"""Bounds of shared loops, for all trips at once, beside those of the nodes that are chosen for one of them."""

from __future__ import annotations

import math

import pytest

from cascade_cases import random_case
from longer import blocks
from tilewright.arch import load_arch
from tilewright.cost_models import EDP, ENERGY
from tilewright.mapper.cascades.objectives.weighted_sums import WeightedSums
from tilewright.mapper.cascades.question import CascadeQuestion
from tilewright.mapper.cascades.relaxations.loop_choices import Choices, KnownChoices, Least
from tilewright.mapper.cascades.terms.weights import ENERGY_ALONE, LATENCY_ALONE, Weights
from tilewright.mapper.means import Means
from tilewright.workloads import cascade


@pytest.mark.parametrize("seeds", blocks(12, 12))
def test_loops_weigh_no_more_than_any_nodes_with_them(seeds: range) -> None:
    compared = tight = 0
    for seed in seeds:
        case = random_case(seed)
        asked = CascadeQuestion(case.cascade, case.arch, ENERGY, case.tiling, case.space)
        weights = (ENERGY_ALONE, Weights(1.0, 10.0), LATENCY_ALONE)[seed % 3]
        search = WeightedSums(asked, Means()).tree_search(weights)
        part = search._root([operation.name for operation in case.cascade])
        for bound, loops in search.loops.choices(part, math.inf):
            chosen = search.above.choices(part, loops, math.inf)
            least = min((nodes.bound for nodes in chosen), default=math.inf)
            assert bound <= least * (1 + 1e-9), (seed, loops)
            compared += least < math.inf
            tight += bound >= least * (1 - 1e-9)
    assert compared > 0
    assert tight > compared / 4


def test_where_an_intermediate_cannot_pass_on_chip_bounds_know_it() -> None:
    """On gemmini no memory keeps what is written and what is read. So T goes out and comes back, and no operation has
    all its tensors near."""
    chain = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=64, n=96, k=32, p=48)
    asked = CascadeQuestion(chain, load_arch("gemmini"), EDP, "perfect")
    search = WeightedSums(asked, Means()).tree_search(Weights(1.0, 300.0))
    part = search._root(["T", "O"])
    compared = 0
    for bound, loops in search.loops.choices(part, math.inf):
        least = min((nodes.bound for nodes in search.above.choices(part, loops, math.inf)), default=math.inf)
        assert least == math.inf or 0.9 * least <= bound <= least * (1 + 1e-9)
        compared += least < math.inf
    assert compared > 10


@pytest.mark.parametrize("seed", range(6))
def test_what_one_weighted_sum_knows_of_loops_changes_nothing_for_the_next(seed: int) -> None:
    case = random_case(seed)
    asked = CascadeQuestion(case.cascade, case.arch, ENERGY, case.tiling, case.space)
    together, names = WeightedSums(asked, Means()), [operation.name for operation in case.cascade]
    for weights in (ENERGY_ALONE, Weights(1.0, 10.0), LATENCY_ALONE, ENERGY_ALONE):
        found = []
        for searches in (together, WeightedSums(asked, Means())):
            search = searches.tree_search(weights)
            root = search._root(names)
            loops = list(search.loops.choices(root, math.inf))
            nodes = [one for _, each in loops[:8] for one in search.above.choices(root, each, math.inf)]
            close = [search.above.close(root, each, one) for _, each in loops[:1] for one in nodes if not one.chains]
            found.append((loops, [(one.chains, one.bound, one.energy_pj, one.taken) for one in nodes], close))
        assert found[0] == found[1]


def test_choices_are_kept_as_far_as_there_is_memory_for_them() -> None:
    known, made = KnownChoices(left=140), []

    def choices() -> Choices:
        made.append(len(made))
        return Choices(Least.nothing(1, 1, 1, 2), (), ())  # 64 bytes

    for key in (1, 2, 3, 1, 2, 3):
        known.of((key,), choices)
    assert len(made) == 4  # the third is made again
