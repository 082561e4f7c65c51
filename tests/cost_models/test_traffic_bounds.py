"""Bounds of traffic for all schedules, against formulas written out and against proven minima."""

from __future__ import annotations

import math
import random

import pytest

from generators import PROBLEM_KINDS, tensor
from tilewright.cost_models.intensity import compulsory_words
from tilewright.cost_models.traffic_bounds import reuse_bound, sharing_factor, traffic_bound
from tilewright.ir import Problem
from tilewright.mapper.ski_slope import least_traffic
from tilewright.workloads import batched_gemm, conv2d, gemm


@pytest.mark.parametrize("words", [16, 100, 4096])
def test_matrix_products(words: int) -> None:
    """2 M N K / sqrt(S) - 2 S, and every word once."""
    bound = 2 * 64 * 48 * 80 / math.sqrt(words) - 2 * words
    assert reuse_bound(gemm(64, 48, 80), words) == pytest.approx(bound)
    assert traffic_bound(gemm(64, 48, 80), words) == max(bound, 64 * 80 + 80 * 48 + 64 * 48)


@pytest.mark.parametrize(
    ("layer", "factor"),
    [
        (batched_gemm(3, 4, 5, 6), 1.0),
        (conv2d(K=8, C=8, P=14, Q=14, R=1, S=1), 1.0),
        (conv2d(K=8, C=8, P=14, Q=14, R=3, S=3), 3.0),
        (conv2d(K=8, C=8, P=14, Q=14, R=3, S=5, stride=2), math.sqrt(15)),
        (conv2d(K=8, C=8, P=14, Q=14, R=3, S=3, groups=8), 3.0),
        (conv2d(K=8, C=8, P=1, Q=1, R=7, S=7), 1.0),
    ],
)
def test_factors(layer: Problem, factor: float) -> None:
    """A filter as large as its input is a matrix product: there, r is looked at for every p."""
    assert sharing_factor(layer) == pytest.approx(factor)


def test_dimensions_of_one_tensor_or_of_none() -> None:
    """O[i] += A[i, j, l] * B[i]: j and l are in A alone; k, below, in no tensor."""
    sums = (tensor("A", "input", "I", "J", "L"), tensor("B", "weight", "I"), tensor("O", "output", "I"))
    assert sharing_factor(Problem("sums", (("I", 4), ("J", 9), ("L", 4)), sums)) == pytest.approx(6)
    assert sharing_factor(Problem("again", (("I", 4), ("J", 9), ("L", 4), ("K", 5)), sums)) == pytest.approx(30)


def test_three_operands_have_compulsory_traffic_alone() -> None:
    three = (*gemm(2, 2, 2).operands, tensor("B", "weight", "N"), gemm(2, 2, 2).output)
    layer = Problem("three", (("M", 20), ("N", 20), ("K", 20)), three)
    assert reuse_bound(layer, 16) is None
    assert traffic_bound(layer, 16) == sum(compulsory_words(layer).values())


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", PROBLEM_KINDS)
def test_no_mapping_is_below_the_bound(kind: str) -> None:
    """Nor can it be: the least over all mappings, uneven and ragged ones too, for buffers of all small sizes."""
    for seed in range(3):
        rng = random.Random(seed)
        dims, tensors = PROBLEM_KINDS[kind](lambda limit=8, rng=rng: rng.randint(min(limit, 2), limit), rng)
        layer = Problem(kind, tuple(dims.items()), tensors)
        for words in (4, 9, 25):
            point = least_traffic(layer, words, "ragged", "uneven")
            assert point.traffic is None or point.traffic >= traffic_bound(layer, words) * (1 - 1e-12), f"seed {seed}"
