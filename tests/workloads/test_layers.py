from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.ir import ProblemError
from tilewright.workloads import batched_gemm, conv2d, gemm

small = st.integers(1, 9)


def ranks(problem, name):
    return problem.tensor(name).ranks


def test_conv_without_groups():
    conv = conv2d(K=64, C=3, P=112, Q=56, R=7, S=5, N=2, stride=(2, 4), dilation=(1, 3))
    assert conv.name == "conv2d"
    assert conv.dims == (("N", 2), ("K", 64), ("C", 3), ("P", 112), ("Q", 56), ("R", 7), ("S", 5))
    assert ranks(conv, "I") == ((("N", 1),), (("C", 1),), (("P", 2), ("R", 1)), (("Q", 4), ("S", 3)))
    assert str(conv.tensor("W")) == "W[k, c, r, s]"
    assert str(conv.output) == "O[n, k, p, q]"
    assert [t.role for t in conv.tensors] == ["input", "weight", "output"]


def test_groups_divide_the_channels():
    conv = conv2d(256, 96, 27, 27, 5, 5, groups=2, name="conv2")
    assert conv.dims[:4] == (("N", 1), ("G", 2), ("K", 128), ("C", 48))
    assert str(conv) == (
        "conv2: O[n, g, k, p, q] += I[n, g, c, p+r, q+s] * W[g, k, c, r, s]  (N=1 G=2 K=128 C=48 P=27 Q=27 R=5 S=5)"
    )


def test_depthwise_keeps_dimensions_of_size_one():
    conv = conv2d(32, 32, 7, 7, 3, 3, groups=32)
    assert conv.dim_names == ("N", "G", "K", "C", "P", "Q", "R", "S")
    assert (conv.sizes["G"], conv.sizes["K"], conv.sizes["C"]) == (32, 1, 1)


@settings(deadline=None)
@given(small, small, small, small, small, small, small, small)
def test_conv_macs_are_the_product_over_all_groups(k, c, p, q, r, s, n, groups):
    conv = conv2d(k * groups, c * groups, p, q, r, s, n, groups)
    assert conv.macs == n * groups * k * c * p * q * r * s
    assert math.prod(conv.sizes[d] for d in conv.output.dims) == n * groups * k * p * q


def test_matrix_products():
    assert str(gemm(4, 5, 6)) == "gemm: O[m, n] += A[m, k] * W[k, n]  (M=4 N=5 K=6)"
    assert str(batched_gemm(3, 4, 5, 6, name="qk")) == "qk: O[b, m, n] += A[b, m, k] * W[b, k, n]  (B=3 M=4 N=5 K=6)"


@pytest.mark.parametrize(
    "layer", [lambda bits: conv2d(2, 2, 2, 2, 1, 1, bits=bits), lambda bits: gemm(2, 2, 2, bits=bits)]
)
def test_widths_by_role(layer):
    problem = layer({"input": 8, "weight": 4, "partial": 32, "output": 16})
    assert [(t.bits, t.partial_bits) for t in problem.tensors] == [(8, None), (4, None), (16, 32)]
    assert [(t.bits, t.partial_bits) for t in layer({"partial": 24}).tensors] == [(None, None)] * 2 + [(None, 24)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": 65}, "c1: K is 65 channels, which 2 groups do not divide\nhint: K and C are total channels"),
        ({"C": 3}, "c1: C is 3 channels, which 2 groups do not divide"),
        ({"P": 0}, "c1: P is 0, expected 1 or more"),
        ({"R": 3.0}, "c1: R is 3.0, expected a whole number"),
        ({"groups": True}, "c1: groups is True, expected a whole number"),
        ({"groups": 0}, "c1: groups is 0, expected 1 or more"),
        ({"stride": 0}, "c1: stride is 0, expected 1 or more"),
        ({"stride": (2, -1)}, "c1: stride (width) is -1, expected 1 or more"),
        ({"dilation": (1, 2, 3)}, "c1: dilation has 3 numbers, expected one or (height, width)"),
        ({"dilation": "2"}, "c1: dilation is '2', expected a whole number"),
        ({"bits": {"inputs": 8}}, "c1: bits: unknown key 'inputs'\nhint: did you mean 'input'?"),
        ({"bits": {"Weight": 8}}, "c1: bits: unknown key 'Weight'\nhint: did you mean 'weight'?"),
        ({"bits": {"weight": 0}}, "c1: bits: weight is 0, expected 1 or more"),
    ],
)
def test_errors_name_the_argument(change, message):
    arguments = {"K": 64, "C": 32, "P": 8, "Q": 8, "R": 3, "S": 3, "groups": 2, "name": "c1"}
    with pytest.raises(ProblemError) as error:
        conv2d(**{**arguments, **change})
    assert str(error.value).startswith(message)


def test_gemm_sizes_are_checked():
    with pytest.raises(ProblemError, match=r"^gemm: N is 0, expected 1 or more$"):
        gemm(4, 0, 4)
    with pytest.raises(ProblemError, match=r"^batched_gemm: B is '2', expected a whole number$"):
        batched_gemm("2", 4, 4, 4)
