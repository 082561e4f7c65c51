"""What ONNX nodes do with whole numbers, as `onnx.reference` does it: arithmetic that wraps around in 8 to 32 bits,
division that leaves out what follows the point, remainders of either sign.

Programs hold words in doubles, which have the whole numbers below 2^53: of 64 bits, those are exact, and one beyond
becomes no number, which no check passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...ir import Call, Expression, Number, ProblemError
from .nodes import OnnxNode
from .quantized import RANGES

INTEGERS: Mapping[str, tuple[float, float]] = {
    **{name: (float(low), float(high - low + 1)) for name, (low, high) in RANGES.items()},
    "INT64": (-(2.0**63), 2.0**64),
    "UINT64": (0.0, 2.0**64),
}
"""The least number of each type, and how many it has."""

_Rule = Callable[[OnnxNode, Sequence[Expression], str], Expression]


def wrapped(word: Expression, kind: str) -> Expression:
    """A whole number as a type has it: what is beyond comes in again from the other end."""
    low, span = INTEGERS[kind]
    return Call("wrapped", (word, Number(low), Number(span)))


def product(left: Expression, right: Expression, kind: str) -> Expression:
    """The product of two whole numbers, as a type has it."""
    low, span = INTEGERS[kind]
    return Call("whole_product", (left, right, Number(low), Number(span)))


def quotient(left: Expression, right: Expression) -> Expression:
    """How often one whole number is in another, towards zero; nothing is 0 times in it."""
    return Call("quotient", (left, right))


def _wrapping(function: str) -> _Rule:
    def rule(_: OnnxNode, given: Sequence[Expression], kind: str) -> Expression:
        found = given[0]
        for other in given[1:]:
            found = wrapped(Call(function, (found, other)), kind)
        return found if len(given) > 1 else wrapped(Call(function, (found,)), kind)

    return rule


def _power(_: OnnxNode, given: Sequence[Expression], kind: str) -> Expression:
    low, span = INTEGERS[kind]
    return Call("whole_power", (*given, Number(low), Number(span)))


def _remainder(node: OnnxNode, given: Sequence[Expression], _: str) -> Expression:
    return Call("whole_fmod" if node.integer("fmod", 0) else "whole_remainder", tuple(given))


_ARITHMETIC: Mapping[str, _Rule] = {
    "Abs": _wrapping("abs"),
    "Add": _wrapping("add"),
    "Div": lambda _, given, kind: wrapped(quotient(*given), kind),
    "Mod": _remainder,
    "Mul": lambda _, given, kind: product(given[0], given[1], kind),
    "Neg": _wrapping("neg"),
    "Pow": _power,
    "Sub": _wrapping("sub"),
    "Sum": _wrapping("add"),
}

_SAME = frozenset(
    ("Cast", "Clip", "DequantizeLinear", "Dropout", "Identity", "Max", "Min", "QuantizeLinear", "Relu", "Sign", "Where")
)
"""Operators that stay in the range of their operands, or take care of it themselves."""


def whole_word(node: OnnxNode, given: Sequence[Expression]) -> Expression | None:
    """What a node makes of whole numbers; None for those that do the same as with others. ProblemError for what has no
    program."""
    kind = node.output.type
    if node.op in _ARITHMETIC:
        return _ARITHMETIC[node.op](node, given, kind)
    if node.op not in _SAME:
        raise ProblemError(f"there is no program for it with words of type {kind}", where=node.where)
    return None


def cast(word: Expression, source: str, target: str) -> Expression:
    """A word as a whole number of a type: fractions leave out what follows the point."""
    if source == "BOOL":
        return word
    if source in INTEGERS:
        (low, span), (least, count) = INTEGERS[target], INTEGERS[source]
        return word if low <= least and least + count <= low + span else wrapped(word, target)
    return wrapped(Call("trunc", (word,)), target)
