"""With which inputs and parameters all results of a network are exact."""

from __future__ import annotations

from .....ir import Call, Expression
from ...parts.exactness import Element, largest_exact
from .files import NetworkElement
from .program import ApartCall, NetworkProgram


def exact_magnitude(program: NetworkProgram, element: Element = "double") -> int:
    """The largest magnitude of inputs and parameters with which all results are exact in elements of a kind; 0
    where there is none, and for parameters that a model states."""
    if program.values is not None:
        return 0
    return largest_exact([(operation, call.keys) for call in program.calls for operation in call.cascade], element)


def is_rounded(program: NetworkProgram) -> bool:
    """Whether some words are rounded to whole numbers, or to single precision, as those of quantized models are, or are
    whole numbers with arithmetic of their own."""
    expressions: list[Expression | None] = [
        finish.expression for group in program.programs for finish in group.finishes.values()
    ]
    for step in program.steps:
        if isinstance(step, ApartCall):
            expressions += [step.operation.expression, step.operation.after]
            expressions += [step.finished.finish.expression] if step.finished is not None else []
    return any(map(_rounds, expressions))


def own_element(program: NetworkProgram) -> NetworkElement:
    """The elements of the model that a program is of: floats where all that it reads and makes is of single precision,
    and nothing needs more."""
    types = {program.types.get(key, "") for key in (*program.inputs, *program.outputs)}
    return "float" if types == {"FLOAT"} and not program.is_narrow and not is_rounded(program) else "double"


_ROUNDING = ("rint", "single", "trunc", "quotient", "wrapped")


def _rounds(expression: Expression | None) -> bool:
    if not isinstance(expression, Call):
        return False
    is_rounding = expression.function in _ROUNDING or expression.function.startswith("whole_")
    return is_rounding or any(map(_rounds, expression.arguments))
