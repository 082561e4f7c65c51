"""What is done at a point, as text in some language, and its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ....ir import Call, Expression, Number, Operand


def expression_text(
    expression: Expression, words: Mapping[str, str], functions: Mapping[str, str], number: Callable[[float], str]
) -> str:
    """The expression in a language.

    words      the text of each tensor's word
    functions  the text of each function, with braces for its arguments
    number     writes a number
    """
    if isinstance(expression, Operand):
        return words[expression.tensor]
    if isinstance(expression, Number):
        return number(expression.value)
    arguments = (expression_text(part, words, functions, number) for part in expression.arguments)
    return functions[expression.function].format(*arguments)


def parts_of(expression: Expression) -> Iterator[Expression]:
    """The expression, and all expressions in it."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from parts_of(argument)
