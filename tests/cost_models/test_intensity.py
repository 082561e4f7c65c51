"""Compulsory traffic and arithmetic intensity, on the worked figures of texts on accelerators."""

from __future__ import annotations

import pytest

from tilewright.cost_models.intensity import (
    arithmetic_intensity,
    attainable,
    compulsory_bytes,
    compulsory_words,
    ridge_point,
)
from tilewright.ir import ProblemError
from tilewright.workloads import conv2d, gemm

FP16 = 16
A100_FLOPS, A100_BYTES = 312e12, 2.039e12


def test_compulsory_words_and_bytes() -> None:
    layer = conv2d(K=4, C=2, P=5, Q=5, R=3, S=3, stride=2, bits={"weight": 4, "output": 32})
    assert compulsory_words(layer) == {"I": 2 * 11 * 11, "W": 4 * 2 * 9, "O": 4 * 25}
    assert compulsory_words(layer, stored={"I": 2 * 9 * 9})["I"] == 162
    assert compulsory_bytes(layer, 8) == 242 + 72 / 2 + 100 * 4


def test_holes_of_a_stride_are_not_compulsory() -> None:
    """A 1 x 1 filter at stride 2 reads a quarter of its input."""
    assert compulsory_words(conv2d(K=1, C=1, P=28, Q=28, R=1, S=1, stride=2))["I"] == 28 * 28


def test_unknown_tensor() -> None:
    with pytest.raises(ProblemError, match=r"gemm: unknown tensor 'B'"):
        compulsory_words(gemm(2, 2, 2), stored={"B": 1})


def test_intensity_of_the_qkv_projection() -> None:
    """Hidden size 768, batch 32, sequence 512, FP16: queries, keys and values in one product."""
    assert arithmetic_intensity(gemm(M=32 * 512, N=3 * 768, K=768), FP16) == pytest.approx(556.4, abs=0.05)


def test_intensity_of_a_convolution() -> None:
    """3 x 3, batch 32, 128 to 256 channels, 56 x 56, FP16; the input without its padding, as it lies in memory."""
    layer = conv2d(N=32, K=256, C=128, P=56, Q=56, R=3, S=3)
    assert arithmetic_intensity(layer, FP16, {"I": 32 * 128 * 56 * 56}) == pytest.approx(762.2, abs=0.05)
    assert arithmetic_intensity(layer, FP16) == pytest.approx(744.3, abs=0.05), "padding counted as input"


def test_a_dense_layer_under_the_roof() -> None:
    """32 x 2048 x 2048, FP16: 31 FLOP/byte, of which 63.3 TFLOP/s can come, 20.3% of the peak."""
    intensity = arithmetic_intensity(gemm(M=32, N=2048, K=2048), FP16)
    assert intensity == pytest.approx(31, abs=0.05)
    speed = attainable(A100_FLOPS, A100_BYTES, intensity)
    assert speed / 1e12 == pytest.approx(63.3, abs=0.05)
    assert speed / A100_FLOPS == pytest.approx(0.203, abs=0.0005)


@pytest.mark.parametrize(
    ("peak", "bandwidth", "ridge"), [(125e12, 0.9e12, 138.9), (A100_FLOPS, A100_BYTES, 153.0), (989e12, 3.35e12, 295.2)]
)
def test_ridge_points(peak: float, bandwidth: float, ridge: float) -> None:
    at = ridge_point(peak, bandwidth)
    assert at == pytest.approx(ridge, abs=0.05)
    assert attainable(peak, bandwidth, at) == pytest.approx(peak)
    assert attainable(peak, bandwidth, 2 * at) == peak
    assert attainable(peak, bandwidth, at / 2) == pytest.approx(peak / 2)
