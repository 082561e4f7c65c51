"""Room that tiles with zeros take at least: no more than the fullest one does, and no less in larger tiles."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from generators import memory, tensor
from tilewright.arch import Architecture, Mac
from tilewright.cost_models.sparse import with_densities
from tilewright.ir import Problem
from tilewright.mapper.exact.counting.zeros import ZeroBounds
from tilewright.mapper.exact.question.hierarchy import Hierarchy
from tilewright.mapper.exact.question.zero_rules import ZeroRules

TENSORS = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N"))


def bounds_of(density: object, kinds: tuple[str, ...], sizes: tuple[int, int] = (7, 5)) -> ZeroBounds:
    """Of weights of K x N words, in a buffer."""
    problem = Problem("gemm", (("M", 1), ("N", sizes[1]), ("K", sizes[0])), TENSORS)
    problem = with_densities(problem, {"W": density})
    levels = (memory("DRAM"), memory("buffer", size_bits=4096, formats={"weight": kinds}))
    arch = Architecture(name="two", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    return ZeroBounds(ZeroRules(problem, arch, "ragged"), Hierarchy(problem, arch))


@pytest.mark.parametrize("kind", ["uncompressed", "bitmask", "coordinate", "runs", "csr", "blocks"])
@pytest.mark.parametrize("density", [0.3, "2:4@K", "1:3@N", "2:3@K", "band:1", "array"])
def test_room_at_least(kind: str, density: object) -> None:
    given = np.random.default_rng(3).random((7, 5)) < 0.4 if density == "array" else density
    bounds = bounds_of(given, (kind,))
    tiles = np.array([(1, n, k) for k, n in itertools.product(range(1, 8), range(1, 6))], dtype=np.int64)
    exactly, least = (bounds.room(0, 1, tiles, exactly=each) for each in (True, False))
    assert (least <= exactly).all()
    room = least.reshape(7, 5)
    assert (np.diff(room, axis=0) >= 0).all()
    assert (np.diff(room, axis=1) >= 0).all()


def test_metadata_of_blocks_counts() -> None:
    """Whole blocks of 2:4 take two words of eight bits, and two bits for each of them: nothing of it is left out."""
    tiles = np.array([(1, 3, 4), (1, 1, 8)], dtype=np.int64)
    assert bounds_of("2:4@K", ("blocks",), (8, 3)).room(0, 1, tiles, exactly=False).tolist() == [60, 40]


def test_lists_of_figures_say_the_same_as_dictionaries(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    tiles = np.array([(1, rng.randint(1, 5), rng.randint(1, 7)) for _ in range(200)], dtype=np.int64)
    for density, kinds in ((0.3, ("csr",)), (0.3, ("runs",)), ("2:4@K", ("csr", "bitmask"))):
        listed = bounds_of(density, kinds)
        found = listed.bits(0, 1, tiles), listed.room(0, 1, tiles, exactly=True)
        monkeypatch.setattr("tilewright.mapper.exact.counting.zeros.MOST_LISTED", 0)
        other = bounds_of(density, kinds)
        assert (found[0] == other.bits(0, 1, tiles)).all()
        assert (found[1] == other.room(0, 1, tiles, exactly=True)).all()
        monkeypatch.undo()
