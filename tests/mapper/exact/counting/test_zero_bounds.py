"""What words of operands with zeros take in tiles, as the search sees them."""

from __future__ import annotations

import numpy as np
import pytest

from generators import memory, tensor
from tilewright.arch import Architecture, Keeps, Mac
from tilewright.cost_models.sparse import densities_of, with_densities
from tilewright.cost_models.sparse.formats import metadata_bits, nonzero_share
from tilewright.ir import Problem
from tilewright.mapper.exact.counting.zero_rules import ZeroRules
from tilewright.mapper.exact.counting.zeros import ZeroBounds
from tilewright.mapper.exact.hierarchy import Hierarchy


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
