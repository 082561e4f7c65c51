"""Operators of com.microsoft that do something with every word, row or quantized tensor, in standard operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .contrib_attention import Heads, by_head, hidden_scores, in_rows, products, score_mask
from .rewrites.writer import NodeWriter
from .shapes import attributes

_NORM, _AXES_AS_INPUT = 17, 18
"""Operator sets: with LayerNormalization, and since when reductions read their axes."""

GELU_TANH = (math.sqrt(2 / math.pi), 0.044715 * math.sqrt(2 / math.pi))


def _gelu(writer: NodeWriter, words: str) -> bool:
    """Half of a word times one more than the error function of it."""
    number = partial(writer.number, like=writer.node.input[0])
    scaled = writer.made("Erf", "erf", writer.made("Mul", "scaled", words, number(math.sqrt(0.5))))
    both = writer.made("Mul", "times", words, writer.made("Add", "more", scaled, number(1.0)))
    writer.end("Mul", both, number(0.5))
    return True


def _fast_gelu(writer: NodeWriter, words: str) -> bool:
    """The same by a hyperbolic tangent."""
    number = partial(writer.number, like=writer.node.input[0])
    square = writer.made("Mul", "square", words, words)
    slope = writer.made("Add", "slope", writer.made("Mul", "bent", square, number(GELU_TANH[1])), number(GELU_TANH[0]))
    bent = writer.made("Tanh", "tanh", writer.made("Mul", "inner", words, slope))
    both = writer.made("Mul", "times", words, writer.made("Add", "more", bent, number(1.0)))
    writer.end("Mul", both, number(0.5))
    return True


def _quick_gelu(writer: NodeWriter, words: str) -> bool:
    slope = writer.number(attributes(writer.node).get("alpha", 1.702), like=writer.node.input[0])
    writer.end("Mul", words, writer.made("Sigmoid", "sigmoid", writer.made("Mul", "scaled", words, slope)))
    return True


def _biased(function: Callable[[NodeWriter, str], bool]) -> Callable[[NodeWriter], bool]:
    """A function of words to which the second input is added, if it is there."""

    def written(writer: NodeWriter) -> bool:
        words, bias = [*writer.node.input, ""][:2]
        return function(writer, writer.made("Add", "biased", words, bias) if bias else words)

    return written


def _mean(writer: NodeWriter, what: str, words: str) -> str:
    """The mean of rows."""
    if writer.edit.version < _AXES_AS_INPUT:
        return writer.made("ReduceMean", what, words, axes=[-1], keepdims=1)
    return writer.made("ReduceMean", what, words, writer.shape(-1), keepdims=1)


def _normed(writer: NodeWriter, words: str, scale: str, bias: str, *, centered: bool) -> None:
    """Rows in units of their deviation, or of the root of their mean square."""
    epsilon = attributes(writer.node).get("epsilon", 1e-5 if not centered else 1e-12)
    if centered and writer.edit.version >= _NORM:
        writer.end("LayerNormalization", words, scale, bias, epsilon=epsilon)
        return
    apart = writer.made("Sub", "apart", words, _mean(writer, "mean", words)) if centered else words
    square = _mean(writer, "variance", writer.made("Mul", "squares", apart, apart))
    root = writer.made(
        "Sqrt", "root", writer.made("Add", "more", square, writer.number(epsilon, like=writer.node.input[0]))
    )
    found = writer.made("Div", "units", apart, root)
    if bias:
        writer.end("Add", writer.made("Mul", "scaled", found, scale), bias)
    else:
        writer.end("Mul", found, scale)


def _skip_norm(writer: NodeWriter, *, centered: bool) -> bool:
    """The norm of a sum of two tensors, and of a bias, if there is one; the sum is its last output."""
    if any(writer.node.output[1:3]):
        return False
    words, skipped, scale, *more = [*writer.node.input, "", ""]
    shift, bias = (more[0], more[1]) if centered else ("", more[0])
    total = writer.made("Add", "sum", words, skipped)
    if bias:
        total = writer.made("Add", "biased", total, bias)
    _normed(writer, total, scale, shift, centered=centered)
    if len(writer.node.output) > 3 and writer.node.output[3]:
        writer.end("Identity", total, output=3)
    return True


def _simplified_norm(writer: NodeWriter) -> bool:
    if attributes(writer.node).get("axis", -1) != -1 or len(writer.node.output) > 1:
        return False
    words, scale = writer.node.input
    _normed(writer, words, scale, "", centered=False)
    return True


def _quantized(writer: NodeWriter, operands: int, operator: str, **options: Any) -> bool:
    """What an operator makes of dequantized words, quantized: each tensor with its scale and zero point behind it."""
    given = list(writer.node.input)
    found = []
    for number in range(operands):
        triple = [*given[3 * number : 3 * number + 3]]
        found.append(writer.made("DequantizeLinear", f"words {number}", *triple))
    ends = [*given[3 * operands : 3 * operands + 2]]
    writer.end("QuantizeLinear", writer.made(operator, "floats", *found, **options), *ends)
    return True


def _quantized_concat(writer: NodeWriter) -> bool:
    """Inputs: the scale and zero point of the result, and then three for each tensor."""
    scale, zero, *given = writer.node.input
    found = [
        writer.made("DequantizeLinear", f"words {place}", *given[place : place + 3])
        for place in range(0, len(given), 3)
    ]
    axis = attributes(writer.node).get("axis", 0)
    writer.end("QuantizeLinear", writer.made("Concat", "floats", *found, axis=axis), scale, zero)
    return True


def _quantized_like(operator: str, *taken: str) -> Callable[[NodeWriter], bool]:
    """One of one operand, with some of its attributes."""

    def written(writer: NodeWriter) -> bool:
        given = attributes(writer.node)
        if given.get("channels_last"):
            return False
        options = {name: given[name] for name in taken if name in given}
        return _quantized(writer, 1, operator, **options)

    return written


def _quantized_softmax(writer: NodeWriter) -> bool:
    given, shape = attributes(writer.node), writer.edit.shape(writer.node.input[0])
    axis = given.get("axis", -1)
    if shape is None or (given.get("opset", 13) < 13 and axis not in (-1, len(shape) - 1)):
        return False
    return _quantized(writer, 1, "Softmax", axis=axis)


def _dynamic_product(writer: NodeWriter) -> bool:
    """A product of words that are quantized by their own range with stored integers."""
    words, weight, scale, zero, bias = [*writer.node.input, "", ""][:5]
    if (writer.edit.shape(scale) or ()) not in ((), (1,)):
        return False
    own = [writer.edit.new_name(f"{writer.node.name}.{what}") for what in ("quantized", "scale", "zero")]
    writer.several("DynamicQuantizeLinear", "quantize", (words,), own)
    product = writer.product("MatMulInteger", own[0], weight, own[2], zero)
    floats = writer.made("Cast", "words", product, to=1)
    factor = writer.made("Mul", "factor", own[1], scale)
    if bias:
        writer.end("Add", writer.made("Mul", "scaled", floats, factor), bias)
    else:
        writer.end("Mul", floats, factor)
    return True


def _multi_head_attention(writer: NodeWriter) -> bool:
    """Inputs: queries, keys, values, the bias of all, a mask of keys, and what is added to scores."""
    given, edit = attributes(writer.node), writer.edit
    query, key, value, bias, mask, added, *past = [*writer.node.input, *[""] * 8]
    shapes = [edit.shape(name) for name in (query, key, value) if name]
    heads = given.get("num_heads", 0)
    if len(shapes) < 3 or any(shape is None or len(shape) != 3 for shape in shapes) or any(past) or not heads:
        return False
    if any(writer.node.output[1:]):
        return False
    known = [shape for shape in shapes if shape is not None]
    if any(shape[2] % heads for shape in known):
        return False
    ends = [0, known[0][2], known[0][2] + known[1][2], known[0][2] + known[1][2] + known[2][2]]
    split = []
    for number, (name, words) in enumerate(zip(("query", "key", "value"), (query, key, value), strict=True)):
        if bias:
            part = writer.made("Slice", f"{name} bias", bias, *map(writer.shape, (ends[number], ends[number + 1], 0)))
            words = writer.made("Add", f"{name} biased", words, part)
        split.append(by_head(writer, words, heads, name))
    masked = hidden_scores(writer, known[0][1], 0, is_causal=bool(given.get("unidirectional")))
    if mask:
        found = score_mask(writer, mask, query, known[0], known[1][1], given.get("mask_filter_value", -10000.0))
        if found is None:
            return False
        masked.append(found)
    masked += [added] if added else []
    scale = given.get("scale", 0.0) or 1 / math.sqrt(known[0][2] // heads)
    in_rows(writer, products(writer, Heads(split[0], split[1], split[2], 1, known[0][1], scale), masked), known[2][2])
    return True


CONTRIB_WORDS: Mapping[str, Callable[[NodeWriter], bool]] = {
    "BiasGelu": _biased(_gelu),
    "DynamicQuantizeMatMul": _dynamic_product,
    "FastGelu": _biased(_fast_gelu),
    "Gelu": _biased(_gelu),
    "MultiHeadAttention": _multi_head_attention,
    "QLinearAdd": lambda writer: _quantized(writer, 2, "Add"),
    "QLinearAveragePool": _quantized_like(
        "AveragePool", "auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"
    ),
    "QLinearConcat": _quantized_concat,
    "QLinearGlobalAveragePool": _quantized_like("GlobalAveragePool"),
    "QLinearLeakyRelu": _quantized_like("LeakyRelu", "alpha"),
    "QLinearMul": lambda writer: _quantized(writer, 2, "Mul"),
    "QLinearSigmoid": _quantized_like("Sigmoid"),
    "QLinearSoftmax": _quantized_softmax,
    "QuickGelu": _biased(_quick_gelu),
    "SkipLayerNormalization": partial(_skip_norm, centered=True),
    "SkipSimplifiedLayerNormalization": partial(_skip_norm, centered=False),
}
"""Of com.microsoft, by name."""

SIMPLIFIED: Mapping[str, Callable[[NodeWriter], bool]] = {"SimplifiedLayerNormalization": _simplified_norm}
"""Of the standard domain, where that has none of this name: onnxruntime writes it."""
