"""Source text of what an operation does at its points: an expression on arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ....ir import Expression, Number, Operation
from ..parts.exactness import expression_text, parts_of

_SPELLED = {
    "abs": "np.abs({})",
    "add": "({} + {})",
    "ceil": "np.ceil({})",
    "div": "({} / {})",
    "equal": "np.equal({}, {}).astype(float)",
    "erf": "erf({})",
    "exp": "np.exp({})",
    "floor": "np.floor({})",
    "floored_mod": "np.mod({}, {})",
    "fmod": "np.fmod({}, {})",
    "less": "np.less({}, {}).astype(float)",
    "log": "np.log({})",
    "max": "np.maximum({}, {})",
    "min": "np.minimum({}, {})",
    "mul": "({} * {})",
    "neg": "(-{})",
    "not": "np.equal({}, 0).astype(float)",
    "pow": "np.power({}, {})",
    "relu": "np.maximum({}, 0)",
    "rint": "np.rint({})",
    "rsqrt": "(1 / np.sqrt({}))",
    "select": "np.where({} != 0, {}, {})",
    "sigmoid": "(1 / (1 + np.exp(-{})))",
    "single": "single({})",
    "sqrt": "np.sqrt({})",
    "sub": "({} - {})",
    "sin": "np.sin({})",
    "cos": "np.cos({})",
    "tanh": "np.tanh({})",
    "acos": "np.arccos({})",
    "acosh": "np.arccosh({})",
    "asin": "np.arcsin({})",
    "asinh": "np.arcsinh({})",
    "atan": "np.arctan({})",
    "atanh": "np.arctanh({})",
    "cosh": "np.cosh({})",
    "sinh": "np.sinh({})",
    "tan": "np.tan({})",
    "trunc": "np.trunc({})",
    "quotient": "quotient({}, {})",
    "whole_fmod": "whole_fmod({}, {})",
    "whole_power": "whole_power({}, {}, {}, {})",
    "whole_product": "whole_product({}, {}, {}, {})",
    "whole_remainder": "whole_remainder({}, {})",
    "wrapped": "wrapped({}, {}, {})",
}


def number_text(value: float) -> str:
    """A number in Python; one that is infinite, or none, has no literal."""
    return repr(value) if math.isfinite(value) else f"float('{value}')"


def point_text(expression: Expression, arrays: Mapping[str, str]) -> str:
    """The expression on arrays, given the text of each tensor's."""
    return expression_text(expression, arrays, _SPELLED, number_text)


def constant(operation: Operation) -> int | float:
    """The product of the numbers in a product."""
    return math.prod(part.value for part in parts_of(operation.expression) if isinstance(part, Number))
