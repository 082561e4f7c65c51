"""Attention whose outputs are divided, in the place of its weights: of a softmax between two products, the cascade that
sums exponentials times values first, and divides each sum of these by that of its row.

A row of scores has to be there before its maximum is known, as in two passes; but one pass over all weights less is
made, and a division for each output takes the place of one for each weight (FuseMax, Nayak et al., MICRO 2024, calls it
the cascade of two passes, and the softmax of four operations one of three).
"""

from __future__ import annotations

from dataclasses import replace

from ..ir import Call, Cascade, Operand, Operation, Problem, Tensor
from .attention import Attention, fresh, output_dims, output_of, renamed, row_ranks


def divided_last(cascade: Cascade, one: Attention) -> Cascade:
    """The cascade with one softmax computed so."""
    after, names = one.after, set(cascade.tensors)
    undivided = fresh(f"{output_of(after)}_sum", names)
    instead = {one.div.name: [], after.name: [_product(one, undivided), _division(one, undivided)]}
    operations = [each for operation in cascade for each in instead.get(operation.name, [operation])]
    return Cascade(cascade.name, tuple(operations))


def _product(one: Attention, undivided: str) -> Operation:
    """The second product, by exponentials that nothing has divided yet."""
    names = {output_of(one.div): output_of(one.exp), output_of(one.after): undivided}
    problem = one.after.problem
    tensors = tuple(replace(tensor, name=names.get(tensor.name, tensor.name)) for tensor in problem.tensors)
    named = Problem(f"{one.after.name}.sum", problem.dims, tensors)
    return replace(one.after, problem=named, expression=renamed(one.after.expression, names))


def _division(one: Attention, undivided: str) -> Operation:
    """Every output divided by the sum of its row."""
    output, sums = one.after.output, output_of(one.total)
    tensors = (
        Tensor(undivided, output.ranks, "input", output.bits),
        Tensor(sums, row_ranks(one), "input", one.total.output.bits),
        output,
    )
    expression = Call("div", (Operand(undivided), Operand(sums)))
    return Operation(Problem(one.after.name, output_dims(one), tensors), expression)
