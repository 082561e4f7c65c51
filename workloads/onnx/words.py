"""What ONNX nodes do with one word after the other, as expressions: functions, and arithmetic with parameters."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence

from ...ir import Call, Expression, Number, ProblemError
from .integers import INTEGERS, cast, whole_word
from .nodes import OnnxNode
from .quantized import dequantize_linear, quantize_linear, single

Operands = Sequence[Expression]
"""Of each input that is there: what it is made of."""


def _times(left: Expression, right: Expression) -> Expression:
    return Call("mul", (left, right))


def _plus(left: Expression, right: Expression) -> Expression:
    return Call("add", (left, right))


def _between(x: Expression, low: float, high: float) -> Expression:
    return Call("min", (Call("max", (x, Number(low))), Number(high)))


def _clip(node: OnnxNode, given: Operands) -> Expression:
    found, *bounds = given
    if "min" in node.attributes or "max" in node.attributes:  # before operator set 11
        low, high = node.number("min", -math.inf), node.number("max", math.inf)
        found = found if low == -math.inf else Call("max", (found, Number(low)))
        return found if high == math.inf else Call("min", (found, Number(high)))
    functions = [name for position, name in ((1, "max"), (2, "min")) if node.has(position)]
    for name, bound in zip(functions, bounds, strict=True):
        found = Call(name, (found, bound))
    return found


def _leaky(node: OnnxNode, given: Operands) -> Expression:
    slope = Number(node.number("alpha", 0.01))
    return _sloped(given[0], slope)


def _sloped(x: Expression, slope: Expression) -> Expression:
    return _plus(Call("relu", (x,)), _times(slope, Call("min", (x, Number(0.0)))))


def _gelu(node: OnnxNode, given: Operands) -> Expression:
    (x,) = given
    if node.attributes.get("approximate", "none") != "tanh":
        return _times(_times(Number(0.5), x), _plus(Number(1.0), Call("erf", (_times(Number(math.sqrt(0.5)), x),))))
    cubic = _times(Number(0.044715), _times(x, _times(x, x)))
    inner = Call("tanh", (_times(Number(math.sqrt(2 / math.pi)), _plus(x, cubic)),))
    return _times(_times(Number(0.5), x), _plus(Number(1.0), inner))


def _batch_norm(node: OnnxNode, given: Operands) -> Expression:
    x, scale, bias, mean, variance = given
    if node.attributes.get("training_mode", 0):
        raise ProblemError("a batch norm that is being trained has no program", where=node.where)
    epsilon = Number(node.number("epsilon", 1e-5))
    deviation = Call("rsqrt", (_plus(variance, epsilon),))
    return _plus(_times(Call("sub", (x, mean)), _times(scale, deviation)), bias)


def _function(name: str) -> Callable[[OnnxNode, Operands], Expression]:
    return lambda _, given: Call(name, tuple(given))


def _elu(node: OnnxNode, given: Operands) -> Expression:
    (x,) = given
    below = Call("sub", (Call("exp", (Call("min", (x, Number(0.0))),)), Number(1.0)))
    return _plus(Call("relu", (x,)), _times(Number(node.number("alpha", 1.0)), below))


def _celu(node: OnnxNode, given: Operands) -> Expression:
    (x,) = given
    alpha = Number(node.number("alpha", 1.0))
    below = Call("sub", (Call("exp", (Call("div", (Call("min", (x, Number(0.0))), alpha)),)), Number(1.0)))
    return _plus(Call("relu", (x,)), _times(alpha, below))


def _swish(node: OnnxNode, given: Operands) -> Expression:
    (x,) = given
    return _times(x, Call("sigmoid", (_times(Number(node.number("alpha", 1.0)), x),)))


def _cast(node: OnnxNode, given: Operands) -> Expression:
    source, target = node.input(0).type, node.output.type
    if target == "BOOL":
        return _truth(given[0])
    if target in INTEGERS:
        return cast(given[0], source, target)
    if target not in ("FLOAT", "DOUBLE"):
        raise ProblemError(f"there is no program for a cast to {target or 'this type'}", where=node.where)
    is_wider = source in ("INT32", "UINT32", "INT64", "UINT64", "DOUBLE")
    return single(given[0]) if target == "FLOAT" and is_wider else given[0]


def _mod(node: OnnxNode, given: Operands) -> Expression:
    return Call("fmod" if node.integer("fmod", 0) else "floored_mod", tuple(given))


def _folded(name: str) -> Callable[[OnnxNode, Operands], Expression]:
    """A function of two, of as many as there are."""
    return lambda _, given: functools.reduce(lambda left, right: Call(name, (left, right)), given)


def _mean(node: OnnxNode, given: Operands) -> Expression:
    return Call("div", (_folded("add")(node, given), Number(float(len(given)))))


def _is(function: str, *, swapped: bool = False) -> Callable[[OnnxNode, Operands], Expression]:
    """A comparison of two, 0 or 1."""
    return lambda _, given: Call(function, tuple(given[::-1] if swapped else given))


def _or_equal(*, swapped: bool) -> Callable[[OnnxNode, Operands], Expression]:
    """Less or equal: of what is no number neither, as ONNX means it."""
    return lambda node, given: Call("max", (_is("less", swapped=swapped)(node, given), Call("equal", tuple(given))))


def _both(_: OnnxNode, given: Operands) -> Expression:
    return Call("min", tuple(map(_truth, given)))


def _either(_: OnnxNode, given: Operands) -> Expression:
    return Call("max", tuple(map(_truth, given)))


def _one_of(_: OnnxNode, given: Operands) -> Expression:
    return _not(Call("equal", tuple(map(_truth, given))))


def _not(word: Expression) -> Expression:
    return Call("not", (word,))


def _truth(word: Expression) -> Expression:
    """1 for all but 0."""
    return _not(_not(word))


def _sign(_: OnnxNode, given: Operands) -> Expression:
    (x,) = given
    return Call("sub", (Call("less", (Number(0.0), x)), Call("less", (x, Number(0.0)))))


def _is_infinite(node: OnnxNode, given: Operands) -> Expression:
    """Of either sign, unless one is left out."""
    (x,) = given
    kept = {"detect_negative": -math.inf, "detect_positive": math.inf}
    found = [Call("equal", (x, Number(one))) for name, one in kept.items() if node.integer(name, 1)]
    return functools.reduce(lambda left, right: Call("max", (left, right)), found or [Call("less", (x, x))])


def _shrunk(node: OnnxNode, given: Operands) -> Expression:
    """Words near zero are zero, others come nearer to it."""
    (x,) = given
    edge, bias = Number(node.number("lambd", 0.5)), Number(node.number("bias", 0.0))
    below, above = Call("less", (x, Call("neg", (edge,)))), Call("less", (edge, x))
    high = Call("select", (above, Call("sub", (x, bias)), Number(0.0)))
    return Call("select", (below, _plus(x, bias), high))


def _mish(node: OnnxNode, given: Operands) -> Expression:
    return _times(given[0], Call("tanh", (WORDS["Softplus"](node, given),)))


def _selu(node: OnnxNode, given: Operands) -> Expression:
    (x,) = given
    alpha, gamma = node.number("alpha", 1.6732632), node.number("gamma", 1.0507010)
    below = Call("sub", (Call("exp", (Call("min", (x, Number(0.0))),)), Number(1.0)))
    return _times(Number(gamma), _plus(Call("relu", (x,)), _times(Number(alpha), below)))


def _dropout(node: OnnxNode, given: Operands) -> Expression:
    if node.has(2):  # `expanded` has left it, since it is no identity, or may be none
        raise ProblemError("its words are random while training_mode is true", where=node.where)
    return given[0]


def _itself(_: OnnxNode, given: Operands) -> Expression:
    return given[0]


WORDS: Mapping[str, Callable[[OnnxNode, Operands], Expression]] = {
    **{name: _function(name.lower()) for name in ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh")},
    **{name: _function(name.lower()) for name in ("Cosh", "Sinh", "Tan")},
    "Abs": _function("abs"),
    "Add": _function("add"),
    "And": _both,
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Celu": _celu,
    "Ceil": _function("ceil"),
    "Clip": _clip,
    "Cos": _function("cos"),
    "DequantizeLinear": dequantize_linear,
    "Div": _function("div"),
    "Dropout": _dropout,
    "Elu": _elu,
    "Equal": _is("equal"),
    "Erf": _function("erf"),
    "Exp": _function("exp"),
    "Floor": _function("floor"),
    "Gelu": _gelu,
    "Greater": _is("less", swapped=True),
    "GreaterOrEqual": _or_equal(swapped=True),
    "HardSigmoid": lambda node, given: _between(
        _plus(
            _times(given[0], Number(node.number("alpha", 0.2))),
            Number(node.number("beta", 0.5)),
        ),
        0.0,
        1.0,
    ),
    "HardSwish": lambda _, given: _times(
        given[0], _between(_plus(_times(given[0], Number(1 / 6)), Number(0.5)), 0.0, 1.0)
    ),
    "Identity": _itself,
    "IsInf": _is_infinite,
    "IsNaN": lambda _, given: _not(Call("equal", (given[0], given[0]))),
    "LeakyRelu": _leaky,
    "Less": _is("less"),
    "LessOrEqual": _or_equal(swapped=False),
    "Log": _function("log"),
    "Max": _folded("max"),
    "Mean": _mean,
    "Min": _folded("min"),
    "Mish": _mish,
    "Mod": _mod,
    "Mul": _function("mul"),
    "Neg": _function("neg"),
    "Not": lambda _, given: _not(given[0]),
    "Or": _either,
    "PRelu": lambda _, given: _sloped(*given),
    "Pow": _function("pow"),
    "QuantizeLinear": quantize_linear,
    "Reciprocal": lambda _, given: Call("div", (Number(1.0), given[0])),
    "Relu": _function("relu"),
    "Round": _function("rint"),
    "Selu": _selu,
    "Shrink": _shrunk,
    "Sigmoid": _function("sigmoid"),
    "Sign": _sign,
    "Sin": _function("sin"),
    "Softplus": lambda _, given: Call("log", (_plus(Number(1.0), Call("exp", (given[0],))),)),
    "Softsign": lambda _, given: Call("div", (given[0], _plus(Number(1.0), Call("abs", (given[0],))))),
    "Sqrt": _function("sqrt"),
    "Sub": _function("sub"),
    "Sum": _folded("add"),
    "Swish": _swish,
    "Tanh": _function("tanh"),
    "ThresholdedRelu": lambda node, given: Call(
        "select", (Call("less", (Number(node.number("alpha", 1.0)), given[0])), given[0], Number(0.0))
    ),
    "Where": _function("select"),
    "Xor": _one_of,
}
"""The operators that are done word by word, with programs for them."""


_ROUNDED = frozenset(("Add", "Div", "Mul", "Sqrt", "Sub", "Sum"))
"""What single precision rounds once; the other exact ones are exact there, too."""


def word_of(node: OnnxNode, given: Operands, *, singles: bool = False) -> Expression:
    """What a node makes of a word. ProblemError for operators and attributes that have no program.

    singles  floats are rounded to single precision after every step, as a quantized model means it
    """
    if node.op not in WORDS:
        raise ProblemError("there is no program for this operator", where=node.where)
    kind = node.output.type
    whole = whole_word(node, given) if kind in INTEGERS else None
    if whole is not None:
        return whole
    found = WORDS[node.op](node, given)
    return single(found) if singles and kind == "FLOAT" and node.op in _ROUNDED else found
