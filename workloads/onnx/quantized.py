"""What quantized ONNX operators do with words, to the last bit: rounding, saturation, zero points, scales.

Programs compute in doubles, in which whole numbers of 32 bits and products of a few of them are exact. What ONNX does
in single precision is rounded to it after every step (`single`): a sum, product, quotient or root of two singles that
is computed in double and rounded once more is the one that single precision gives. Factors are read as distances from
their zero points, so that zeros around an image are what ONNX means by them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...ir import Call, Expression, Number, ProblemError
from .nodes import OnnxNode

RANGES: Mapping[str, tuple[int, int]] = {
    **{f"INT{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (2, 4, 8, 16, 32)},
    **{f"UINT{bits}": (0, 2**bits - 1) for bits in (2, 4, 8, 16, 32)},
}
"""The least and the largest number of the types whose arithmetic is exact here."""

ZERO_POINTS: Mapping[str, Mapping[int, int]] = {
    "ConvInteger": {0: 2, 1: 3},
    "MatMulInteger": {0: 2, 1: 3},
    "QLinearConv": {0: 2, 3: 5},
    "QLinearMatMul": {0: 2, 3: 5},
}
"""By operator and the position of a factor among the inputs, the position of its zero point."""

QUANTIZED = frozenset((*ZERO_POINTS, "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"))
"""Operators of whole numbers: floats of a model that has them are rounded to single precision after every step."""

Given = Callable[[int], Expression]
"""The word of an input, by its position."""


def single(value: Expression) -> Expression:
    """Rounded to single precision."""
    return Call("single", (value,))


def saturated(value: Expression, kind: str, where: str) -> Expression:
    """The nearest number of a type."""
    if kind not in RANGES:
        raise ProblemError(f"there is no program for quantized words of type {kind}", where=where)
    low, high = RANGES[kind]
    return Call("min", (Call("max", (value, Number(low))), Number(high)))


def rounded(value: Expression) -> Expression:
    """The nearest whole number, of two the even one."""
    return Call("rint", (value,))


def requantized(node: OnnxNode, summed: Expression, given: Given) -> Expression:
    """What QLinearConv and QLinearMatMul make of a sum of products: the bias is added, scales are joined in single
    precision, and the result is rounded where it has its zero point already, as `onnx.reference` does."""
    is_conv = node.op == "QLinearConv"
    if is_conv and node.has(8):
        summed = Call("add", (summed, given(8)))
    scale = single(Call("div", (single(Call("mul", (given(1), given(4)))), given(6))))
    word: Expression = Call("mul", (summed, scale))
    word = Call("add", (word, given(7))) if node.has(7) else word
    return rounded(saturated(word, node.output.type, node.where))


def quantize_linear(node: OnnxNode, given: Sequence[Expression]) -> Expression:
    """x, its scale, and the zero point if there is one."""
    check_scales(node)
    x, scale, *zero = given
    word = rounded(single(Call("div", (x, scale))))
    word = Call("add", (word, zero[0])) if zero else word
    return saturated(word, node.output.type, node.where)


def dequantize_linear(node: OnnxNode, given: Sequence[Expression]) -> Expression:
    """x, its scale, and the zero point if there is one."""
    check_scales(node)
    x, scale, *zero = given
    if node.input(0).bits == 32:
        x = single(x)
    return single(Call("mul", (Call("sub", (x, zero[0])) if zero else x, scale)))


def check_scales(node: OnnxNode) -> None:
    """ProblemError for what is scaled in another way than word by word or channel by channel, or in another precision
    than single."""
    if node.integer("block_size", 0) > 0:
        raise ProblemError("there is no program for scales of blocks", where=node.where)
    if node.has(1) and node.input(1).type not in ("FLOAT", ""):
        raise ProblemError(f"there is no program for scales of type {node.input(1).type}", where=node.where)
    if not node.has(1) or not node.input(1).constant or (node.has(2) and not node.input(2).constant):
        raise ProblemError("its scale or zero point is no stored parameter", where=node.where)
