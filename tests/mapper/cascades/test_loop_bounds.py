"""Bounds of shared loops, for all trips at once, beside those of the nodes that are chosen for one of them."""

from __future__ import annotations

import math

import pytest

from cascade_cases import random_case
from longer import blocks
from tilewright.cost_models import ENERGY
from tilewright.mapper.cascades.question import CascadeQuestion
from tilewright.mapper.cascades.weighted_sums import WeightedSums
from tilewright.mapper.cascades.weights import ENERGY_ALONE, LATENCY_ALONE, Weights
from tilewright.mapper.means import Means


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
