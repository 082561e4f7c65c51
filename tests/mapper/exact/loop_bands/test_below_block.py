"""No bound on a tile below loops directly inside an array lies above what a mapping with such loops costs."""

from __future__ import annotations

import random

import numpy as np

from generators import memory
from paths import context_of
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac, load_arch
from tilewright.workloads import conv2d

SLACK = 1 + 1e-9


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
