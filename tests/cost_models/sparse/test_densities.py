"""Densities against all masks of small tensors, and against seeded masks."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from occupancies import Occupancy, empty, hypergeometric, mean, nonzeros
from occupancies import brief as brief_of
from sparseloop import Even

from tilewright.cost_models.sparse.densities import (
    Banded,
    Density,
    Measured,
    Structured,
    Uniform,
)
from tilewright.ir import TilewrightError


def masks(words: int, nonzeros: int) -> Iterator[tuple[int, ...]]:
    """All masks of so many words."""
    for chosen in itertools.combinations(range(words), nonzeros):
        yield tuple(int(i in chosen) for i in range(words))


def tiles_of(mask: np.ndarray, tile: tuple[int, ...]) -> Iterator[np.ndarray]:
    """All tiles of a mask; the last ones may be smaller."""
    for starts in itertools.product(*(range(0, n, t) for n, t in zip(mask.shape, tile, strict=True))):
        yield mask[tuple(slice(start, start + t) for start, t in zip(starts, tile, strict=True))]


def counted(every: Iterator[np.ndarray], tile: tuple[int, ...]) -> Occupancy:
    """How often tiles of some equally likely masks hold each number of words."""
    found = Counter(int(part.sum()) for mask in every for part in tiles_of(mask, tile))
    return {count: times / found.total() for count, times in found.items()}


def same(one: Occupancy, other: Occupancy) -> bool:
    return all(math.isclose(one.get(k, 0.0), other.get(k, 0.0), abs_tol=1e-12) for k in {*one, *other})


@pytest.mark.parametrize(
    ("shape", "tile", "fraction"), [((2, 4), (1, 2), 0.5), ((3, 3), (3, 1), 0.2), ((8,), (8,), 0.3)]
)
def test_uniform_is_the_mean_over_all_masks(shape: tuple[int, ...], tile: tuple[int, ...], fraction: float) -> None:
    words = math.prod(shape)
    every = (np.array(mask).reshape(shape) for mask in masks(words, math.ceil(fraction * words)))
    assert same(nonzeros(Uniform(fraction), tile, shape), counted(every, tile))


@pytest.mark.parametrize("tile", [(1, 1), (2, 1), (1, 2), (2, 4), (1, 3), (2, 6), (2, 7), (1, 5)])
@pytest.mark.parametrize("along", [7, 8])
def test_structured_is_the_mean_over_all_masks(tile: tuple[int, int], along: int) -> None:
    """2:4 along the second rank of two; with a padded block, and with tiles that cut blocks."""
    blocks = [list(masks(min(4, along - start), min(2, along - start))) for start in range(0, along, 4)]
    lines = [sum(parts, ()) for parts in itertools.product(*blocks)]
    every = (np.array(pair) for pair in itertools.product(lines, repeat=2))
    tile = tile[0], min(tile[1], along)
    assert same(nonzeros(Structured(2, 4, 1), tile, (2, along)), counted(every, tile))


def test_blocks_in_brief_are_those_in_full() -> None:
    for along, block, lines in itertools.product(range(1, 12), range(1, 6), (1, 3)):
        for kept, extent in itertools.product(range(1, block + 1), range(1, along + 1)):
            density, tile, shape = Structured(kept, block, 0), (extent, lines), (along, 6)
            brief, full = density.words(tile, shape), brief_of(nonzeros(density, tile, shape))
            assert brief.most == full.most
            if along % extent == 0:
                assert brief.least == full.least
            else:  # the least of a whole tile, with as many zeros as any has
                assert full.least <= brief.least <= full.most
            assert (brief.mean, brief.empty) == pytest.approx((full.mean, full.empty), rel=1e-12, abs=1e-15)


def test_structured_tiles_of_whole_blocks_are_certain() -> None:
    assert nonzeros(Structured(2, 4, 0), (8, 512), (512, 512)) == {2048: 1.0}
    assert nonzeros(Structured(1, 4, 1), (512, 4), (512, 512)) == {512: 1.0}


@pytest.mark.parametrize("seed", range(4))
def test_measured_and_banded_count_a_mask(seed: int) -> None:
    draw = random.Random(seed)
    shape = draw.randint(1, 9), draw.randint(1, 9)
    tile = draw.randint(1, shape[0]), draw.randint(1, shape[1])
    values = np.random.default_rng(seed).integers(0, 2, shape)
    assert same(nonzeros(Measured(values), tile, shape), counted(iter([values]), tile))
    band = np.array([[abs(i - j) <= 1 for j in range(shape[1])] for i in range(shape[0])])
    assert same(nonzeros(Banded(1), tile, shape), counted(iter([band]), tile))
    for density in (Measured(values), Banded(1)):
        brief, full = density.words(tile, shape), brief_of(nonzeros(density, tile, shape))
        assert (brief.mean, brief.empty, brief.most) == pytest.approx((full.mean, full.empty, full.most))
        assert full.least <= brief.least <= full.most


def test_even_holds_its_share() -> None:
    assert Even(0.5).nonzeros((3,), (99,)) == {1: 0.5, 2: 0.5}
    assert Even(0.25).nonzeros((2, 4), (99, 99)) == {2: 1.0}


@pytest.mark.parametrize(
    "density", [Uniform(0.3), Even(0.3), Structured(1, 4, 1), Banded(2), Measured(np.eye(12, 16))], ids=repr
)
@pytest.mark.parametrize("tile", [(1, 1), (3, 4), (4, 2), (12, 16)])
def test_chances_add_up(density: Density, tile: tuple[int, int]) -> None:
    found = nonzeros(density, tile, (12, 16))
    assert math.fsum(found.values()) == pytest.approx(1)
    assert 0 <= empty(found) <= 1
    whole = mean(nonzeros(density, (12, 16), (12, 16)))
    assert mean(found) * (12 * 16 / math.prod(tile)) == pytest.approx(whole)


def test_large_tensors_agree_with_small_ones() -> None:
    """Beyond 2048 words chances come from logarithms."""
    words, nonzeros, tile = 4096, 1000, 32
    exact = math.comb(words - nonzeros, tile) / math.comb(words, tile)
    assert hypergeometric(words, nonzeros, tile)[0] == pytest.approx(exact, rel=1e-9)


def test_an_array_of_another_shape() -> None:
    with pytest.raises(TilewrightError, match=r"shape \(2, 3\) for a tensor of shape \(3, 2\)"):
        Measured(np.ones((2, 3))).words((1, 1), (3, 2))


def test_an_edge_has_no_more_zeros_than_its_words() -> None:
    """The last word of three stands alone: none of the tiles of two has no nonzero word, as for runs it would have."""
    values = np.array([1, 0, 0])
    assert Measured(values).words((2,), (3,)).least == 1
    assert Structured(1, 2, 0).words((2,), (3,)).least == 1
    assert Measured(np.array([1, 1, 0])).words((2,), (3,)).least == 1
