"""Bits of words over lattices against those of every tile that there is."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from generators import memory, tensor
from tilewright.arch import Architecture, Keeps, Mac
from tilewright.cost_models.sparse import densities_of, with_densities
from tilewright.cost_models.sparse.formats import metadata_bits, nonzero_share
from tilewright.ir import Problem
from tilewright.mapper.exact.bounds.word_bits import WordBits
from tilewright.mapper.exact.counting.zero_rules import ZeroRules
from tilewright.mapper.exact.counting.zeros import ZeroBounds
from tilewright.mapper.exact.hierarchy import Hierarchy
from tilewright.mapper.exact.lattice import Lattice
from tilewright.mapper.tilings import Tiling

KINDS = ("coordinate", "runs", "csr", "bitmask", "uncompressed")


def random_zeros(rng: random.Random, tiling: Tiling) -> ZeroBounds:
    tensors = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N"))
    sizes = [rng.choice([3, 4, 6, 7, 12]) for _ in range(3)]
    problem = Problem("gemm", tuple(zip("MNK", sizes, strict=True)), tensors)
    problem = with_densities(problem, {"I": rng.choice([0.2, 0.6, "band:1"]), "W": rng.choice([0.3, "2:4@K"])})
    formats = {role: tuple(rng.sample(KINDS, rng.randint(1, 2))) for role in ("input", "weight")}
    keeps, size = Keeps(input="may", weight="may", output="may"), 8 * rng.choice([12, 30, 100])
    levels = (memory("DRAM"), memory("L1", keeps=keeps, size_bits=size, formats=formats))
    arch = Architecture(name="random", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    return ZeroBounds(ZeroRules(problem, arch, tiling), Hierarchy(problem, arch))


@pytest.mark.parametrize("seed", range(12))
def test_no_tile_around_or_inside_takes_less(seed: int) -> None:
    rng = random.Random(seed)
    tiling: Tiling = rng.choice(("perfect", "ragged"))
    zeros = random_zeros(rng, tiling)
    sizes = [size for _, size in zeros.hierarchy.problem.dims]
    lattice = Lattice(sizes, tiling, [False] * 3, rng.choice([30, 1000]))
    tables = WordBits(zeros, lattice)
    extents = [[n for n in range(1, size + 1) if tiling == "ragged" or size % n == 0] for size in sizes]
    tiles = np.array([*itertools.product(*extents)])
    for t in range(2):
        fits, bits = zeros.fits_alone(0, t, tiles), zeros.bits(0, t, tiles) / zeros.least_bits(0, t)
        larger, smaller = (
            table.ravel()[lattice.cell(tiles)] for table in (tables.of_larger(0, t), tables.of_smaller(0, t))
        )
        assert (bits[fits] >= 1 - 1e-12).all()
        for i in np.flatnonzero(fits):
            inside, around = (tiles <= tiles[i]).all(axis=1), (tiles >= tiles[i]).all(axis=1)
            assert (larger[inside] <= bits[i] + 1e-12).all(), (seed, t)
            assert (smaller[around] <= bits[i] + 1e-12).all(), (seed, t)


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
