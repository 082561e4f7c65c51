"""No bound on a tile below loops directly inside an array lies above what a mapping with such loops costs."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from generators import memory, windows_below_arrays
from longer import blocks
from paths import Step, context_of, steps_to
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac, load_arch
from tilewright.cost_models import OBJECTIVES, Cost, evaluate, parse_objective
from tilewright.ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem, ceil_div
from tilewright.mapper.exact.batch import Batch
from tilewright.mapper.exact.bounds.array_groups import group_of
from tilewright.mapper.exact.bounds.bounds import Bounds
from tilewright.mapper.exact.context import SearchContext
from tilewright.mapper.exact.loop_bands.below_block import BelowBlock, GrownRows
from tilewright.mapper.tilings import TILINGS
from tilewright.workloads import conv2d

SLACK = 1 + 1e-9
FIRST = np.zeros(1, dtype=np.int64)


def machine(rng: random.Random) -> Architecture:
    """A memory, an array, and another memory inside it, that slides its tiles."""
    instances = (ArrayAxis(size=rng.randint(2, 4)), ArrayAxis(size=rng.randint(1, 3)))
    free = rng.random() < 0.7
    figures = {"read_energy_pj": 0.0, "write_energy_pj": 0.0} if free else {"write_bits_per_cycle": 8.0}
    levels = (
        memory("DRAM", shared_bits_per_cycle=8.0),
        Fanout(name="array", axes=instances, multicast=rng.random() < 0.8, spatial_reduction=rng.random() < 0.5),
        memory("RF", rng, halo=rng.choice(["innermost", "exact"]), **figures),
    )
    return Architecture(name="arrays", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))


def with_block(rng: random.Random, problem: Problem, arch: Architecture, ragged: bool) -> Mapping:
    """A mapping with loops directly inside the array, all tensors below them; capacities left aside."""
    fanout = arch.fanouts[0]
    left, room = dict(problem.sizes), [axis.size for axis in fanout.axes]

    def loops(most: list[int] | None = None, axis: Axis | None = None) -> list[Loop]:
        found = []
        for dim in rng.sample(problem.dim_names, len(problem.dim_names)):
            limit = left[dim] if most is None else most[0]
            options = [n for n in range(1, left[dim] + 1) if n <= limit and (ragged or left[dim] % n == 0)]
            trips = rng.choice(options) if rng.random() < 0.6 else 1
            if most is not None:
                most[0] //= trips
            left[dim] = ceil_div(left[dim], trips)
            found += [Loop(dim, trips, axis)] if trips > 1 else []
        return found

    inside, block = loops(), loops()
    spatial = [loops([size], Axis(fanout.name, i)) for i, size in enumerate(room)]
    outside = [Loop(dim, left[dim]) for dim in rng.sample(problem.dim_names, len(left)) if left[dim] > 1]
    outer, inner = ([Node(m.name, t.name) for t in problem.tensors] for m in (arch.memories[0], arch.memories[-1]))
    return Mapping(problem, LoopNest((*outer, *outside, *spatial[1], *spatial[0], *block, *inner, *inside)))


def block_of(steps: list[Step]) -> tuple[Step, Step] | None:
    """The steps below and above the loops directly inside the first array, where there are any, with nothing but one
    node group inside them."""
    below = next((s for s in steps if len(s.path.node_groups) == 1), None)
    if below is None or below.state.passed or below.state.block is None or below.path.bands:
        return None
    *_, above = (s for s in steps if len(s.path.node_groups) == 1)
    return (below, above) if (above.tile > below.tile).any() else None


def batch_of(step: Step, bounds: Bounds) -> Batch:
    """A row with the arrays of a mapping, of which nothing else is decided."""
    costs, one = np.zeros((bounds.columns.rows.count, 1)), np.zeros(1)
    orders = np.zeros((1, 0), dtype=np.int64)
    return Batch(step.path, step.state, bounds, FIRST, step.rows, costs, one, one, orders, [])


def check(mapping: Mapping, cost: Cost, context: SearchContext, found: Counter[str]) -> None:
    """The bounds of the loops that the mapping has: with its tile, and while that grows."""
    steps = list(steps_to(mapping, context))
    ends = block_of(steps)
    if ends is None:
        return
    below, above = ends
    dims, most = tuple(range(len(context.sizes))), cost.objective(context.objective.name) * SLACK
    charged = tuple(sorted(set(below.state.waiting) - set(above.state.waiting)))
    of_arrays = context.groups.of(group_of(context.hierarchy, context.tiling, steps[0].rows.arrays))
    for bounds in (context.bounds, of_arrays):
        under = BelowBlock(context, batch_of(steps[0], bounds), below.state)
        if (above.tile > under._largest).any():  # arrays are smaller in the search, for all instances to have work
            return
        under._pays = np.ones_like(under._pays)  # others are no part of the space, and bounded all the same
        tables = bounds.growing(steps[0].state, dims).tables
        for choice, *each in zip(under.choices, *tables, strict=True):
            (outermost,) = choice.loops.outermost
            if choice.charged != charged or above.tile[0, outermost] == below.tile[0, outermost]:
                continue
            found["loops"] += 1
            found["ragged"] += context.tiling == "ragged"
            found["slides"] += any(outermost in bounds.hierarchy.sliding(boundary) for boundary in charged)
            grown = GrownRows(FIRST, below.tile, below.costs(context))
            least = under._closely(choice, grown, np.inf)
            assert (least <= most).all(), (str(mapping), choice.loops)
            found["tight"] += bool(least[0] * SLACK >= cost.objective(context.objective.name))
            for decided, (_, far) in enumerate(each):
                tile = np.where(np.arange(len(dims)) < decided, below.tile, 1)
                growing = GrownRows(FIRST, tile, steps[0].costs(context))
                assert far is not None
                assert under.hopeful(choice, growing, far, most, dims[decided:]).all(), (str(mapping), choice.loops)


@pytest.mark.parametrize("seeds", blocks(400, 100))
def test_bounds_below_loops_inside_arrays(seeds: range) -> None:
    found: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        (problem, _), arch = windows_below_arrays(rng), machine(rng)
        ragged = rng.random() < 0.7
        objective = parse_objective(rng.choice([*OBJECTIVES]))
        context = context_of(problem, arch, TILINGS[ragged], "even", rng.choice([None, 3.0]), objective)
        for _ in range(8):
            mapping = with_block(rng, problem, arch, ragged)
            try:
                cost = evaluate(mapping, arch)
            except MappingError:
                continue
            check(mapping, cost, context, found)
    found["perfect"] = found["loops"] - found["ragged"]
    assert min(found[kind] for kind in ("ragged", "perfect", "slides", "tight")) > 25, found


def test_tiles_slide_where_they_overlap() -> None:
    """Along P, tiles of one element along R have no word in common: a loop over P gains nothing inside the array."""
    problem = conv2d(K=64, C=1, P=64, Q=1, R=3, S=1)
    context = context_of(problem, load_arch("three_level"), "ragged", "even")
    p, r = (problem.dim_names.index(dim) for dim in ("P", "R"))
    placement = context.hierarchy.fullest_placement
    block = next(outline.blocks[0] for outline in context.blocks.outlines(placement) if outline.blocks)
    array, tiles = np.ones((2, len(problem.dims)), dtype=np.int64), np.ones((2, len(problem.dims)), dtype=np.int64)
    array[:, p] = 4
    tiles[1, r] = 3
    assert p in block.outermost
    assert context.blocks.paying_above(block, placement, [array], tiles)[:, p].tolist() == [False, True]
    assert context.blocks.paying_above(block, placement, [array], tiles, growing=True)[:, p].all()
