"""Formulas in energy and latency that never fall when energy or latency grows: `energy * latency ** 0.5`.

That they never fall is read off the syntax. Energy, latency and numbers are never negative. Sums, products, max and
min of parts that never fall, and are never negative, are such parts again; so are quotients by positive numbers, and
powers with exponents of 0 or more. Everything else is refused, also where it happens to be harmless.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from ..ir import TilewrightError, did_you_mean

Function: TypeAlias = Callable[[Any, Any], Any]
"""A formula's value, given energy in pJ and latency in cycles, as numpy numbers or arrays."""

LONGEST = 200
"""Characters of the longest formula."""

LARGEST_FIGURE = 1e30
"""pJ, and cycles: far beyond any machine. No part of a formula may leave the range of floats there."""

SMALLEST_VALUE = 1e-100
"""The least value that a formula may have at 1 pJ and 1 cycle: floats lose digits where they are tiny."""

RULES = "sums, products, max and min of energy, latency and numbers; division by numbers; powers of 0 or more"

_FIGURES: dict[str, Function] = {"energy": lambda energy, _: energy, "latency": lambda _, latency: latency}
_CALLS: dict[str, Callable[[Any, Any], Any]] = {"max": np.maximum, "min": np.minimum}
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_REFUSED_OPERATIONS: dict[type[ast.AST], str] = {
    ast.Sub: "a difference falls when what is subtracted grows",
    ast.USub: "a negative part falls when energy or latency grows",
    ast.BitXor: "^ is not a power here, a power is written **",
    ast.FloorDiv: "// rounds, and is not known here",
    ast.Mod: "% falls at every turn",
}


_WARNED = re.compile(r"\\|\b[0-9][\w.]*(?:and|else|for|if|in|is|not|or)")
"""What the parser of the language warns of: escapes, and a keyword right behind a number. Warnings are switched off for
all threads at once, so such texts are refused instead; no formula has either."""


@dataclass(frozen=True)
class _Checked:
    """A checked part: never negative, never falling. `constant` is its value if it is made of numbers alone."""

    function: Function
    constant: float | None = None


def parse_expression(text: str) -> ast.expr:
    """The syntax tree of a formula or of a list of them, unchecked; TilewrightError when there is none."""
    if len(text) > LONGEST:
        raise TilewrightError(f"{len(text)} characters, expected {LONGEST} at most")
    try:
        if _WARNED.search(text):
            raise SyntaxError
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise TilewrightError(f"{text!r} cannot be read as a formula", hint=f"allowed are {RULES}") from None


def canonical(tree: ast.expr) -> str:
    """Return the text of a checked formula with uniform spaces, parentheses and numbers."""
    return ast.unparse(_PlainNumbers().visit(ast.parse(ast.unparse(tree), mode="eval")))


def number_text(value: float) -> str:
    """A number without digits that say nothing: 2 rather than 2.0."""
    return str(int(value)) if value.is_integer() and value < 1e15 else repr(value)


@cache
def function_of(text: str) -> Function:
    """Return the function of energy and latency that a formula stands for.

    Raises TilewrightError, with the part that is wrong, for a formula that is not known never to fall, or that
    leaves the range of floats.
    """
    tree = parse_expression(text)
    part = _part(tree)
    if part.constant is not None:
        raise _refused(tree, "names neither energy nor latency")
    if float(part.function(np.float64(1), np.float64(1))) < SMALLEST_VALUE:
        raise _refused(tree, f"less than {SMALLEST_VALUE:g} at 1 pJ and 1 cycle, too small to tell values apart")
    return part.function


def weights_in(text: str) -> tuple[float, float] | None:
    """Return the weights of energy and latency in a formula that is a weighted sum of the two; None for every other
    formula."""
    return _weights(parse_expression(text)) if text else None


def _weights(node: ast.expr) -> tuple[float, float] | None:
    match node:
        case ast.Name():
            return (1.0, 0.0) if node.id == "energy" else (0.0, 1.0)
        case ast.BinOp(op=ast.Add()):
            one, other = _weights(node.left), _weights(node.right)
            return None if one is None or other is None else (one[0] + other[0], one[1] + other[1])
        case ast.BinOp(left=ast.Constant(value=int() | float() as factor), op=ast.Mult()):
            of = _weights(node.right)
            return None if of is None else (factor * of[0], factor * of[1])
        case ast.BinOp(op=ast.Mult() | ast.Div() as operation, right=ast.Constant(value=int() | float() as factor)):
            of, share = _weights(node.left), factor if isinstance(operation, ast.Mult) else 1 / factor
            return None if of is None else (share * of[0], share * of[1])
    return None


def _part(node: ast.expr) -> _Checked:
    match node:
        case ast.Constant():
            return _number(node)
        case ast.Name():
            if node.id not in _FIGURES:
                near = did_you_mean(node.id, _FIGURES)
                raise TilewrightError(f"unknown name {node.id!r}, a formula names energy and latency only", hint=near)
            return _Checked(_FIGURES[node.id])
        case ast.BinOp():
            return _operation(node)
        case ast.Call():
            return _call(node)
        case ast.UnaryOp(op=ast.USub()):
            raise _refused(node, _REFUSED_OPERATIONS[ast.USub])
    raise _refused(node, "not known in a formula")


def _number(node: ast.Constant) -> _Checked:
    if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
        raise _refused(node, "not a number")
    value = np.float64(node.value)
    return _within_range(node, _Checked(lambda *_: value, float(value)))


def _operation(node: ast.BinOp) -> _Checked:
    kind = type(node.op)
    if kind not in _OPERATIONS:
        raise _refused(node, _REFUSED_OPERATIONS.get(kind, "not known in a formula"))
    if kind is ast.Pow:
        if isinstance(node.right, ast.UnaryOp) and isinstance(node.right.op, ast.USub):
            raise _refused(node, "falls when its base grows: an exponent must be 0 or more")
        if _part(node.right).constant is None:
            raise _refused(node, "an exponent must be a number")
    left, right = _part(node.left), _part(node.right)
    if kind is ast.Div and right.constant is None:
        raise _refused(node, f"falls when {ast.unparse(node.right)} grows: only a number may divide")
    if kind is ast.Div and right.constant == 0:
        raise _refused(node, "a division by 0")
    if kind is ast.Mult and 0 in (left.constant, right.constant):
        raise _refused(node, "a factor of 0 leaves nothing: leave the term out")
    return _joined(node, _OPERATIONS[kind], left, right)


def _call(node: ast.Call) -> _Checked:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _CALLS:
        raise _refused(node, "the only functions of a formula are max and min")
    if node.keywords or len(node.args) < 2:
        raise _refused(node, f"{name} takes two or more parts")
    first, *others = (_part(argument) for argument in node.args)
    for other in others:
        first = _joined(node, _CALLS[name], first, other)
    return first


def _joined(node: ast.expr, operation: Callable[[Any, Any], Any], left: _Checked, right: _Checked) -> _Checked:
    one, other = left.function, right.function

    def function(energy: Any, latency: Any) -> Any:
        return operation(one(energy, latency), other(energy, latency))

    if left.constant is None or right.constant is None:
        return _within_range(node, _Checked(function))
    with np.errstate(over="ignore"):
        value = np.float64(function(0.0, 0.0))
    return _within_range(node, _Checked(lambda *_: value, float(value)))


def _within_range(node: ast.expr, part: _Checked) -> _Checked:
    """The part; TilewrightError if it overflows for figures that are large, yet not impossible."""
    largest = np.float64(LARGEST_FIGURE)
    with np.errstate(over="ignore"):
        value = part.function(largest, largest)
    if not np.isfinite(value):
        figures = "" if part.constant is not None else f" at {LARGEST_FIGURE:g} pJ and cycles"
        raise _refused(node, f"too large for a number{figures}: expected smaller factors and exponents")
    return part


def _refused(node: ast.expr, why: str) -> TilewrightError:
    return TilewrightError(why, where=ast.unparse(node), hint=f"allowed are {RULES}")


class _PlainNumbers(ast.NodeTransformer):
    """Writes every number in the shortest way."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        value = float(node.value)  # type: ignore[arg-type]
        return ast.Constant(int(value) if value.is_integer() and value < 1e15 else value)
