"""Least traffic against the size of one buffer, beside minima that an exhaustive search found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tilewright.cost_models import count_words
from tilewright.cost_models.sparse import DensityLike, with_densities
from tilewright.cost_models.sparse.least import nonzero_shares, useful_macs
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.question import Limits
from tilewright.mapper.ski_slope import least_traffic, one_buffer, ski_slope
from tilewright.mapper.space import SPACES, Space
from tilewright.workloads import conv2d, gemm

SIZES = [3, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
CUBES = {
    16: [8448, 4352, 3328, 2304, 1792, 1280, 1024, 768, 768, 768, 768, 768],
    32: [66560, 33792, 25600, 17408, 13312, 9216, 7168, 5120, 4096, 3072, 3072, 3072],
}
"""Words read and written, of n x n x n products over all tilings by divisors and all orders."""


@pytest.mark.some(2)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("n", CUBES)
def test_least_traffic_of_cubes(n: int, space: Space) -> None:
    points = list(ski_slope(gemm(n, n, n), SIZES, "perfect", space))
    assert [point.traffic for point in points] == CUBES[n]
    assert all(point.proven for point in points)
    for point in points:
        assert point.bound == max(3 * n * n, 2 * n**3 / math.sqrt(point.words) - 2 * point.words)
        assert point.traffic is not None
        assert point.traffic >= point.bound


def test_even_mappings_are_enough_for_a_larger_cube() -> None:
    for words in (100, 2048):
        even, uneven = (least_traffic(gemm(64, 64, 64), words, "perfect", space) for space in SPACES)
        assert even.proven
        assert uneven.proven
        assert even.traffic == uneven.traffic


@pytest.mark.parametrize("n", [16, 32, 64, 128, 256])
def test_compulsory_traffic_of_cubes(n: int) -> None:
    """The bound of a large buffer, and the mapping that attains it: each tensor once."""
    point = least_traffic(gemm(n, n, n), 2 * n * n + n)
    assert point.traffic == point.bound == 3 * n * n


def test_square_tiles_are_best() -> None:
    """A b x b tile of the output, with b^2 + 2 b <= S: 2 n^3 / b + n^2 words."""
    for b in (2, 4, 8):
        assert least_traffic(gemm(64, 64, 64), b * b + 2 * b, "perfect").traffic == 2 * 64**3 // b + 64**2


def test_the_slope_falls() -> None:
    """Larger buffers never need more, and where every word moves once the search is over."""
    layer = conv2d(K=8, C=4, P=10, Q=10, R=3, S=3, bits={"weight": 4, "output": 32})
    points = list(ski_slope(layer, [4096, 16, 64, 256, 1024, 8192, 2]))
    assert [point.words for point in points] == [2, 16, 64, 256, 1024, 4096, 8192]
    assert points[0].traffic is None
    assert not points[0].proven
    traffic = [point.traffic for point in points[1:] if point.traffic is not None]
    assert traffic == sorted(traffic, reverse=True)
    assert points[-1].traffic == points[-1].bound == 4 * 12 * 12 + 8 * 4 * 9 + 8 * 10 * 10
    assert points[-1].mapping == points[-2].mapping


def test_traffic_is_what_the_mapping_moves() -> None:
    point = least_traffic(gemm(24, 20, 28), 100)
    assert point.mapping is not None
    counts = count_words(point.mapping, one_buffer(100)).total
    assert point.traffic == sum(a.reads + a.writes for (memory, _), a in counts.items() if memory == "memory")


def test_ragged_tiles_move_less() -> None:
    perfect, ragged = (least_traffic(gemm(31, 31, 31), 64, tiling).traffic for tiling in ("perfect", "ragged"))
    assert perfect is not None
    assert ragged is not None
    assert ragged < perfect / 2


def test_a_time_limit_leaves_a_bound() -> None:
    point = least_traffic(conv2d(K=64, C=64, P=28, Q=28, R=3, S=3), 1000, limits=Limits(0.0))
    assert point.traffic is not None
    assert point.least <= point.traffic


@pytest.mark.parametrize("density", [{"W": "2:4@K"}, {"A": 0.5, "W": 0.25}])
def test_no_format_moves_less_than_the_slope_with_zeros(density: dict[str, DensityLike]) -> None:
    """Nonzero words alone, on average: no mapping with any format, whatever is counted with it, moves fewer; nor has
    the bound of all schedules more."""
    problem = with_densities(gemm(8, 8, 8), density)
    for words in (24, 100):
        point = least_traffic(problem, words, "perfect")
        assert point.proven
        assert point.traffic is not None
        assert point.bound <= point.traffic < (least_traffic(gemm(8, 8, 8), words, "perfect").traffic or 0)
        for kind in ("bitmask", "coordinate", "csr", "runs"):
            machine = one_buffer(words)
            levels = [m.model_copy(update={"formats": {"input": (kind,), "weight": (kind,)}}) for m in machine.memories]
            cost = search_exact(problem, machine.model_copy(update={"levels": tuple(levels)}), "energy", "perfect")[1]
            assert cost.energy_pj >= point.traffic
    largest = least_traffic(problem, 1000, "perfect")
    shares = nonzero_shares(problem)
    assert largest.traffic == pytest.approx(64 * (1 + shares["A"] + shares["W"]), rel=1e-5)
    assert largest.bound == pytest.approx(largest.traffic, rel=1e-5)


def test_operations_without_zeros_are_those_of_masks() -> None:
    """A mask that no chance decides leaves as many operations as are counted."""
    mask = np.tri(6, 8) > 0
    problem = with_densities(gemm(4, 8, 6), {"W": mask, "A": 0.5})
    assert useful_macs(problem) == pytest.approx(4 * mask.sum() * 0.5)
    both = with_densities(gemm(4, 8, 6), {"W": mask, "A": np.tri(4, 6) > 0})
    done = (np.tri(4, 6)[:, :, None] * mask[None]).sum()
    assert useful_macs(both) <= done
