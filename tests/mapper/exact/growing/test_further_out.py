"""Loops that may as well stand above the nodes that end their band: moved there they cost the same, joined with another
one no more, and so the optimum without them is that of all mappings."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import pairwise
from unittest import mock

import pytest

import longer
from generators import random_architecture, random_mapping, random_problem, with_extras
from tilewright.arch import Architecture, Memory, load_arch
from tilewright.cost_models import evaluate
from tilewright.ir import InfeasibleError, Loop, LoopNest, Mapping, Node, Problem, ceil_div
from tilewright.mapper.certificate import Certificate
from tilewright.mapper.exact.growing.context import SearchContext
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.space import SPACES, Space
from tilewright.mapper.tilings import TILINGS, Tiling
from tilewright.workloads import load_layer

EXTRAS = ("leakage", "block", "hop", "fill", "ports", "roles", "serial", "widths", "arrays")


def machine(rng: random.Random, **settings: int) -> Architecture:
    """Any machine, but no memory keeps overlaps at every loop."""
    arch = with_extras(rng, random_architecture(rng, **settings), *rng.sample(EXTRAS, 3))
    levels = (
        each.model_copy(update={"halo": "innermost"}) if isinstance(each, Memory) and each.halo == "exact" else each
        for each in arch.levels
    )
    return arch.model_copy(update={"levels": tuple(levels)})


def exchanged(mapping: Mapping, arch: Architecture) -> Iterator[Mapping]:
    """Nests in which a node and the loop directly below it, which does not move its tensor, have changed places."""
    items = mapping.nest.items
    tensors = {tensor.name: tensor for tensor in mapping.problem.tensors}
    for at, (above, below) in enumerate(pairwise(items)):
        if not isinstance(above, Node) or above.memory == arch.memories[0].name:
            continue
        if isinstance(below, Loop) and below.axis is None and not arch.loop_moves(below.dim, tensors[above.tensor]):
            yield Mapping(mapping.problem, LoopNest((*items[:at], below, above, *items[at + 2 :])))


def joined(mapping: Mapping) -> Iterator[Mapping]:
    """Nests in which a loop is joined with another one over the same dimension further in, with nothing but loops in
    time between them."""
    items = list(mapping.nest.items)
    for outer, loop in enumerate(items):
        for inner in range(outer + 1, len(items)):
            other = items[inner]
            if not isinstance(loop, Loop) or not isinstance(other, Loop) or loop.axis or other.axis:
                break
            if loop.dim == other.dim:
                covered = math.prod(x.trips for x in items[inner + 1 :] if isinstance(x, Loop) and x.dim == loop.dim)
                left = ceil_div(mapping.problem.sizes[loop.dim], covered)
                both = Loop(loop.dim, min(loop.trips * other.trips, left))
                nest = (*items[:outer], *items[outer + 1 : inner], both, *items[inner + 1 :])
                yield Mapping(mapping.problem, LoopNest(nest))
                break


def test_a_loop_and_a_node_that_it_does_not_move_may_change_places() -> None:
    found = 0
    for seed in longer.seeds(2000):
        rng = random.Random(seed)
        problem, arch = random_problem(rng), with_extras(rng, random_architecture(rng), *rng.sample(EXTRAS, 3))
        mapping = random_mapping(rng, problem, arch, ragged=rng.random() < 0.7)
        for other in exchanged(mapping, arch):
            cost, expected = evaluate(other, arch), evaluate(mapping, arch)
            assert cost.energy_pj == pytest.approx(expected.energy_pj, rel=1e-9), seed
            assert cost.latency_cycles == pytest.approx(expected.latency_cycles, rel=1e-9), seed
            found += 1
    assert longer.occurs(found > 500)


def test_two_loops_over_a_dimension_in_a_band_may_be_one() -> None:
    found = 0
    for seed in longer.seeds(4000):
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 9), machine(rng)
        mapping = random_mapping(rng, problem, arch, ragged=rng.random() < 0.7)
        for other in joined(mapping):
            cost, before = evaluate(other, arch), evaluate(mapping, arch)
            assert cost.energy_pj <= before.energy_pj * (1 + 1e-9), seed
            assert cost.latency_cycles <= before.latency_cycles * (1 + 1e-9), seed
            found += 1
    assert longer.occurs(found > 200)


LONG = {41, 49}
"""Seeds whose uneven searches take half of the time of all sixty together: others stand for them there."""


def searched(
    problem: Problem, arch: Architecture, objective: str, tiling: Tiling, space: Space, leaves_out: bool
) -> Certificate | None:
    with mock.patch.object(SearchContext, "may_stand_further_out", leaves_out):
        try:
            return search_exact(problem, arch, objective, tiling, space)[2]
        except InfeasibleError:
            return None


@pytest.mark.some(2)
@pytest.mark.parametrize("seeds", longer.blocks(60, 20))
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("tiling", TILINGS)
def test_the_optimum_does_not_need_them(tiling: Tiling, space: Space, seeds: range) -> None:
    for number in seeds:
        seed = number + 60 if space == "uneven" and number in LONG else number
        rng = random.Random(seed)
        largest = 5 if space == "uneven" else 9
        problem, arch = random_problem(rng, largest), machine(rng, memories=2, capacity=rng.randint(6, 40))
        objective = rng.choice(("energy", "latency", "edp"))
        without, expected = (searched(problem, arch, objective, tiling, space, own) for own in (True, False))
        assert (without is None) == (expected is None), seed
        if without is not None and expected is not None:
            assert without.proven, seed
            assert expected.proven, seed
            assert without.value == pytest.approx(expected.value, rel=1e-9), seed


def test_a_real_layer_takes_fewer_rows() -> None:
    """Each of three memories keeps one tensor: most loops move nothing that the next of them keeps."""
    layer, arch = load_layer("mobilenet_v2:b3.project"), load_arch("diannao")
    few, all_of_them = (searched(layer, arch, "energy", "ragged", "even", own) for own in (True, False))
    assert few is not None
    assert all_of_them is not None
    assert few.value == all_of_them.value
    assert sum(few.pruned.values()) < 0.7 * sum(all_of_them.pruned.values())
