"""What a built problem computes, point by point, against numpy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from point_by_point import computed, shape_of
from tilewright.workloads import batched_gemm, conv2d, einsum, gemm


def integers(problem):
    rng = np.random.default_rng(0)
    return [rng.integers(-4, 5, shape_of(problem, tensor)) for tensor in problem.operands]


def convolved(image, weight, groups, stride, dilation, size):
    """A grouped convolution written for total channels: image (N, C, H, W), weight (K, C/groups, R, S)."""
    (n, c), (k, _, r, s), (p, q) = image.shape[:2], weight.shape, size
    output = np.zeros((n, k, p, q), dtype=np.int64)
    for channel in range(k):
        first = channel // (k // groups) * (c // groups)
        seen = image[:, first : first + c // groups]
        for y, x in itertools.product(range(p), range(q)):
            rows, columns = y * stride[0] + dilation[0] * np.arange(r), x * stride[1] + dilation[1] * np.arange(s)
            window = seen[:, :, rows][:, :, :, columns]
            output[:, channel, y, x] = np.einsum("ncrs,crs->n", window, weight[channel])
    return output


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(("stride", "dilation"), [((1, 1), (1, 1)), ((2, 1), (1, 3)), ((3, 2), (2, 1))])
def test_convolution(groups, stride, dilation):
    problem = conv2d(8, 4, 2, 3, 3, 2, N=2, groups=groups, stride=stride, dilation=dilation)
    image, weight = integers(problem)
    total_image = image.reshape(2, 4, *image.shape[-2:])
    total_weight = weight.reshape(8, 4 // groups, 3, 2)
    found = computed(problem, [image, weight]).reshape(2, 8, 2, 3)
    np.testing.assert_array_equal(found, convolved(total_image, total_weight, groups, stride, dilation, (2, 3)))


@pytest.mark.parametrize("problem", [gemm(3, 4, 5), batched_gemm(2, 3, 4, 5)], ids=str)
def test_matrix_products(problem):
    a, w = integers(problem)
    np.testing.assert_array_equal(computed(problem, [a, w]), a @ w)


@pytest.mark.parametrize("spec", ["bhqd,bhkd->bhqk", "ij,jk,kl->li", "ijk->ki", "ij,jk", "ba", "i,i->", "aA,Ab->ba"])
def test_einsum(spec):
    letters = sorted(set(spec) - set(",->"))
    problem = einsum(spec, {letter: 2 + position % 3 for position, letter in enumerate(letters)})
    operands = integers(problem)
    np.testing.assert_array_equal(computed(problem, operands), np.einsum(spec, *operands))
