"""What words of operands with zeros take in tiles, as the search sees them."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from generators import memory, tensor
from longer import blocks
from tilewright.arch import Architecture, Keeps, Mac
from tilewright.arch.spec import SPARSE_FORMATS
from tilewright.cost_models.sparse import DensityLike, densities_of, with_densities
from tilewright.cost_models.sparse.cost import fullest_bits
from tilewright.cost_models.sparse.formats import metadata_bits, nonzero_share
from tilewright.ir import Problem
from tilewright.mapper.exact.counting.zeros import ZeroBounds
from tilewright.mapper.exact.question.hierarchy import Hierarchy
from tilewright.mapper.exact.question.zero_rules import ZeroRules


def test_dimensions_of_one_element_leave_rows_as_they_are() -> None:
    """The search leaves such dimensions out. Tiles of tensors that have them were taken as rows of one word, and
    searches as proven that had charged too many bits."""
    tensors = (tensor("I", "input", "N", "M", "K"), tensor("W", "weight", "K"), tensor("O", "output", "N", "M"))
    problem = Problem("batch of one", (("N", 1), ("M", 4), ("K", 12)), tensors)
    problem = with_densities(problem, {"I": 0.4})
    keeps = Keeps(input="may", weight="may", output="may")
    levels = (memory("DRAM"), memory("L1", keeps=keeps, size_bits=4096, formats={"input": ("csr",)}))
    arch = Architecture(name="one", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    without = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K"), tensor("O", "output", "M"))
    seen = Problem("the same", (("M", 4), ("K", 12)), without)
    zeros = ZeroBounds(ZeroRules(problem, arch, "perfect"), Hierarchy(seen, arch))
    tiles = np.array([(m, k) for m in (1, 2, 4) for k in (1, 2, 3, 4, 6, 12)])
    density, shape = densities_of(problem)["I"], (1, 4, 12)
    expected = [
        8 * nonzero_share(density, shape) + metadata_bits("csr", density, (1, m, k), shape) / (m * k)
        for m, k in tiles.tolist()
    ]
    assert zeros.bits(0, 0, tiles) == pytest.approx(expected, rel=1e-12)


def random_density(rng: random.Random, shape: tuple[int, ...]) -> DensityLike:
    if rng.random() < 0.2:
        values = np.random.default_rng(rng.randrange(10**6)).random(shape) < 0.4
        values[0, 0] = True
        return values
    return rng.choice([0.05, 0.35, 0.5, 0.8, 1.0, "2:4@K", "1:4@M", "3:4@K", "band:1"])


@pytest.mark.parametrize("seeds", blocks(40, 20), ids=str)
def test_no_tile_that_fits_takes_fewer_bits_for_a_word(seeds: range) -> None:
    """`least_bits` against all tiles, whatever their sizes, that a memory has room for in some format."""
    for seed in seeds:
        rng = random.Random(seed)
        sizes = rng.randint(1, 9), rng.randint(1, 12)
        tensors = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K"), tensor("O", "output", "M"))
        problem = Problem("product", tuple(zip("MK", sizes, strict=True)), tensors)
        problem = with_densities(problem, {"I": random_density(rng, sizes)})
        density, twice = densities_of(problem)["I"], rng.random() < 0.3
        formats = tuple(rng.sample(SPARSE_FORMATS, rng.choice([1, 1, 2])))
        room = rng.choice([10**6, 400, 160, 80])
        size = {"partition_bits": {"input": room}} if rng.random() < 0.5 else {"size_bits": room}
        levels = (
            memory("DRAM", formats={"input": formats}),
            memory("L1", keeps=Keeps(output="may"), double_buffered=twice, formats={"input": formats}, **size),
        )
        arch = Architecture(name="two", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
        rules = ZeroRules(problem, arch, "ragged")
        zeros, width = ZeroBounds(rules, Hierarchy(problem, arch)), arch.word_bits
        least = {inner: zeros.least_bits(0 if inner else 1, 0) for inner in (True, False)}
        for tile in itertools.product(*(range(1, size + 1) for size in sizes)):
            for kind in rules.formats(arch.memories[1], problem.tensors[0]):
                share = 1.0 if kind == "uncompressed" else nonzero_share(density, sizes)
                bits = share * width + metadata_bits(kind, density, tile, sizes) / math.prod(tile)
                if fullest_bits(kind, density, tile, sizes, width) * (2 if twice else 1) <= room:
                    assert least[True] <= bits * (1 + 1e-12), (seed, tile, kind)
                if tile == sizes:
                    assert least[False] <= bits * (1 + 1e-12), (seed, kind)
