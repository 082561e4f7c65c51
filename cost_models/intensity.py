"""The demands of an operation on any machine: compulsory words, arithmetic intensity, and the roof that limits it.

A multiply-accumulate counts as 2 floating-point operations. The roofline is that of Williams, Waterman, Patterson,
Communications of the ACM 52(4), 2009: attainable = min(peak, bandwidth x intensity).
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC

from ..ir import Problem, ProblemError, did_you_mean
from .cost import tensor_tile_words

FLOP_PER_MAC = 2

_NONE: MappingABC[str, int] = {}


def compulsory_words(problem: Problem, stored: MappingABC[str, int] = _NONE) -> dict[str, int]:
    """Distinct words of every tensor, by name: each has to cross into or out of a machine at least once.

    stored  words of a tensor as it lies in memory, where that is less than what the problem touches: a problem counts
            a convolution's padding as input, and zeros that are made on the way in are not in memory

    Raises ProblemError when `stored` names a tensor that the problem does not have.
    """
    for name in stored:
        if name not in (names := [tensor.name for tensor in problem.tensors]):
            raise ProblemError(f"unknown tensor {name!r}", where=problem.name, hint=did_you_mean(name, names))
    return {t.name: stored.get(t.name, tensor_tile_words(t, problem.sizes)) for t in problem.tensors}


def compulsory_bytes(problem: Problem, word_bits: int, stored: MappingABC[str, int] = _NONE) -> float:
    """Bytes of all tensors, each moved once; `word_bits` is the width of tensors that state none."""
    words = compulsory_words(problem, stored)
    return sum(words[t.name] * (t.bits or word_bits) for t in problem.tensors) / 8


def arithmetic_intensity(problem: Problem, word_bits: int, stored: MappingABC[str, int] = _NONE) -> float:
    """FLOP per byte when every tensor moves once: the most that any schedule reaches."""
    return FLOP_PER_MAC * problem.macs / compulsory_bytes(problem, word_bits, stored)


def ridge_point(peak: float, bandwidth: float) -> float:
    """The intensity (FLOP/byte) from which on computing is the limit; peak in FLOP/s, bandwidth in bytes/s."""
    return peak / bandwidth


def attainable(peak: float, bandwidth: float, intensity: float) -> float:
    """FLOP/s under the roof, at an intensity in FLOP/byte; peak in FLOP/s, bandwidth in bytes/s."""
    return min(peak, bandwidth * intensity)
