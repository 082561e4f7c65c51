"""Tiles below loops directly inside an array: no bound on what these charge is above what a mapping with them costs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from generators import memory, tensor
from longer import blocks
from paths import Step, context_of, steps_to
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, load_arch
from tilewright.cost_models import OBJECTIVES, Cost, evaluate, parse_objective
from tilewright.ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem, ceil_div
from tilewright.mapper.exact.arrays.blocks import Blocks
from tilewright.mapper.exact.batch import Batch
from tilewright.mapper.exact.bounds.charged_inside import orders_of
from tilewright.mapper.exact.context import SearchContext
from tilewright.mapper.exact.hierarchy import BLOCK_END, MemoryBoundary
from tilewright.mapper.exact.loop_bands.first_tiles import GrownRows, hopeful_below_block
from tilewright.mapper.exact.rows import Flags, Ints
from tilewright.mapper.tilings import TILINGS
from tilewright.workloads import conv2d

SLACK = 1 + 1e-9


def machine(rng: random.Random) -> Architecture:
    """An array of registers."""
    may = Keeps(input="may", weight="may", output="may")
    axes = tuple(ArrayAxis(size=rng.randint(2, 6)) for _ in range(rng.randint(1, 2)))
    levels = (
        memory("DRAM", read_energy_pj=float(rng.randint(1, 9)), shared_bits_per_cycle=float(rng.choice([8, 32]))),
        Fanout(name="array", axes=axes, multicast=rng.random() < 0.9, spatial_reduction=rng.random() < 0.7),
        memory("RF", rng, keeps=may),
    )
    return Architecture(name="registers", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))


def convolution(rng: random.Random) -> Problem:
    sizes = {"K": rng.randint(1, 6), "C": rng.randint(1, 3), "P": rng.randint(4, 24), "R": rng.randint(2, 5)}
    steps = {"P": rng.randint(1, 2), "R": rng.randint(1, 2)}
    operands = (tensor("I", "input", "C", steps), tensor("W", "weight", "K", "C", "R"))
    return Problem("row", tuple(sizes.items()), (*operands, tensor("O", "output", "K", "P")))


def with_loops_inside(rng: random.Random, problem: Problem, arch: Architecture, ragged: bool) -> Mapping:
    """Loops below the registers, directly inside the array, of the array, and outside it."""
    room = [axis.size for axis in arch.fanouts[0].axes]
    slots: list[list[Loop]] = [[] for _ in range(4)]
    for dim, size in rng.sample(problem.dims, len(problem.dims)):
        left = size
        for place, slot in enumerate(slots):
            axis = rng.randrange(len(room)) if place == 2 else None
            most = left if axis is None else min(left, room[axis])
            options = [n for n in range(1, most + 1) if ragged or left % n == 0]
            trips = left if place == 3 else rng.choice(options) if rng.random() < 0.7 else 1
            if axis is not None:
                room[axis] //= trips
            left = ceil_div(left, trips)
            if trips > 1:
                slot.append(Loop(dim, trips, None if axis is None else Axis("array", axis)))
        rng.shuffle(slots[0])
    below, inside, spread, outside = (rng.sample(slot, len(slot)) for slot in slots)
    spread.sort(key=lambda loop: -loop.axis.index if loop.axis else 0)
    kept = [Node("RF", t.name) for t in problem.tensors if rng.random() < 0.7]
    nodes = [Node("DRAM", t.name) for t in problem.tensors]
    return Mapping(problem, LoopNest((*nodes, *outside, *spread, *inside, *kept, *below)))


def is_below_block(step: Step, context: SearchContext) -> bool:
    """Whether loops directly inside the array come next, above the innermost node group."""
    if len(step.path.node_groups) != 1 or step.path.bands or context.hierarchy.at_fanout(step.state):
        return False
    return step.state.block is not None and context.hierarchy.next_node_groups(step.state) == (BLOCK_END,)


def are_hopeful(step: Step, complete: Step, cost: Cost, context: SearchContext, part: float) -> list[bool]:
    """For every objective, whether the row of a step stays below so many times what its mapping costs."""
    batch = Batch(
        step.path,
        step.state,
        context.bounds,
        np.zeros(1, dtype=np.int64),
        step.rows,
        step.costs(context),
        context.model(complete.path).steps(complete.rows).astype(np.float64),
        np.zeros(1),
        np.zeros((1, 0), dtype=np.int64),
        [],
    )
    grown, found = GrownRows(np.zeros(1, dtype=np.int64), step.tile, batch.costs), []
    for name in OBJECTIVES:
        context.objective = parse_objective(name)
        below = cost.objective(name) * part
        found.append(bool(hopeful_below_block(context, batch, step.state, grown, below)[0]))
    return found


def all_may_pay(_blocks: Blocks, _block: object, _placement: object, arrays: list[Ints], *_: object) -> Flags:
    return np.ones(len(arrays[0]), dtype=bool)


@pytest.mark.parametrize("seeds", blocks(240, 80))
def test_no_mapping_with_loops_inside_is_left_aside(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Blocks, "may_pay_above", all_may_pay)
    checked = told = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch, ragged = convolution(rng), machine(rng), rng.random() < 0.7
        context = context_of(problem, arch, TILINGS[ragged], "even", rng.choice([None, 3.0]))
        for _ in range(6):
            mapping = with_loops_inside(rng, problem, arch, ragged)
            try:
                cost = evaluate(mapping, arch)
            except MappingError:  # loops that a ragged tile does not need
                continue
            *growing, complete = steps_to(mapping, context)
            for step in filter(lambda each: is_below_block(each, context), growing):
                checked += 1
                assert all(are_hopeful(step, complete, cost, context, SLACK)), (seed, str(mapping))
                told += not all(are_hopeful(step, complete, cost, context, 0.8))
    assert checked > 60
    assert told > checked / 3


def test_what_is_charged_first_has_nothing_inside_that_moves_the_other() -> None:
    """Inputs and weights: a loop over K, which moves weights alone, stands inside the charge of inputs only where
    weights have been charged."""
    inputs, weights = MemoryBoundary(0, 0, 1), MemoryBoundary(1, 0, 1)
    k, p, r, neither = range(4)
    moved = {
        k: frozenset([weights]),
        p: frozenset([inputs]),
        r: frozenset([inputs, weights]),
        neither: frozenset[MemoryBoundary](),
    }
    assert set(orders_of(frozenset([inputs]), moved)) == {((inputs, (neither,)),)}
    assert set(orders_of(frozenset([inputs, weights]), moved)) == {
        ((inputs, (neither,)), (weights, (p, neither))),
        ((inputs, (k, neither)), (weights, (neither,))),
    }


def test_tiles_slide_where_they_overlap() -> None:
    """Along P, tiles of one element along R have no word in common: a loop over P gains nothing inside the array."""
    problem = conv2d(K=64, C=1, P=64, Q=1, R=3, S=1)
    context = context_of(problem, load_arch("three_level"), "ragged", "even")
    p, r = (problem.dim_names.index(dim) for dim in ("P", "R"))
    outlines = context.blocks.outlines(context.hierarchy.fullest_placement)
    block = next(outline.blocks[0] for outline in outlines if outline.blocks)
    array, tiles = np.ones((2, len(problem.dims)), dtype=np.int64), np.ones((2, len(problem.dims)), dtype=np.int64)
    array[:, p] = 4
    tiles[1, r] = 3
    loops = (block.outermost, block.inner)
    pays = context.blocks.may_pay_above(block, context.hierarchy.fullest_placement, [array], tiles, loops)
    assert p in block.outermost
    assert pays.tolist() == [False, True]
