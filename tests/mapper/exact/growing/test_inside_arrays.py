"""Loops in time directly inside arrays: in no space that is searched; what that loses, and where it loses nothing."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

import longer
from generators import memory, random_architecture, random_mapping, random_problem
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac
from tilewright.cost_models import evaluate
from tilewright.ir import Axis, Loop, LoopNest, Mapping, Node
from tilewright.mapper.cpsat import search_cpsat
from tilewright.mapper.exact.search import search_exact
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


def test_instances_that_work_on_neighbours_can_be_written_down() -> None:
    """Each of two instances slides along four neighbours: 12 words of the input are read."""
    top, inside = ([Node(name, t.name) for t in ROW.tensors] for name in ("DRAM", "RF"))
    blocks = [Loop("P", 2, Axis("array")), Loop("P", 4)]
    assert evaluate(Mapping(ROW, LoopNest((*top, *blocks, *inside, Loop("R", 3)))), STRIPES).edp == 4488


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("space", SPACES)
def test_no_search_has_them(tiling: Tiling, space: Space) -> None:
    """The least is that of tiles that alternate: 18 words are read. In the uneven space a node of another tensor, which
    none of these loops moves, may stand above them."""
    mapping, cost, certificate = search_exact(ROW, STRIPES, "edp", tiling, space)
    assert certificate.proven
    assert cost.edp == certificate.value == {"even": 5280, "uneven": 4488}[space]
    assert not has_inside(mapping)


def test_the_constraint_model_has_them_neither() -> None:
    _, cost, bound = search_cpsat(ROW, STRIPES, "edp")
    assert cost.edp == bound == 5280


def has_inside(mapping: Mapping) -> bool:
    """Whether a loop in time stands directly below a spatial one."""
    loops = [item if isinstance(item, Loop) else None for item in mapping.nest.items]
    return any(above and above.axis and below and below.axis is None for above, below in pairwise(loops))


def moved_out(mapping: Mapping) -> Mapping:
    """With all loops directly inside an array directly outside it, in the same order."""
    items: list[Loop | Node] = []
    for item in mapping.nest.items:
        place = len(items)
        if isinstance(item, Loop) and item.axis is None:
            while place and isinstance(above := items[place - 1], Loop) and above.axis is not None:
                place -= 1
        items.insert(place, item)
    return Mapping(mapping.problem, LoopNest(tuple(items)))


def test_without_windows_they_cost_the_same_outside() -> None:
    """With perfect tiles, where no rank sums dimensions."""
    found = 0
    for seed in longer.seeds(2000):
        rng = random.Random(seed)
        problem, arch = random_problem(rng), random_architecture(rng)
        if any(sum(problem.sizes[d] > 1 for d, _ in rank) > 1 for t in problem.tensors for rank in t.ranks):
            continue
        mapping = random_mapping(rng, problem, arch, ragged=False)
        if has_inside(mapping):
            assert evaluate(moved_out(mapping), arch) == evaluate(mapping, arch), seed
            found += 1
    assert longer.occurs(found > 20)


def test_with_a_dense_window_they_cost_no_less() -> None:
    """With perfect tiles and coefficients of 1, on a machine with one array and without halo."""
    less = 0
    for seed in longer.seeds(2000):
        rng = random.Random(seed)
        problem = conv2d(K=rng.randint(1, 2), C=1, P=2 * rng.randint(1, 4), Q=1, R=rng.randint(2, 3), S=1)
        arch = random_architecture(rng)
        if len(arch.fanouts) > 1:
            continue
        levels = [x if isinstance(x, Fanout) else x.model_copy(update={"halo": "none"}) for x in arch.levels]
        arch = arch.model_copy(update={"levels": tuple(levels)})
        mapping = random_mapping(rng, problem, arch, ragged=False)
        if not has_inside(mapping):
            continue
        own, outside = evaluate(mapping, arch), evaluate(moved_out(mapping), arch)
        assert outside.energy_pj <= own.energy_pj, seed
        assert outside.latency_cycles <= own.latency_cycles, seed
        less += outside != own
    assert longer.occurs(less > 3)
