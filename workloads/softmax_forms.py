"""The ways to compute the softmaxes of a cascade that stand between two products: each is a form of it.

two passes                 maximum, exponential, sum, division: as the operations are written (`graph/between.py`)
two passes, divided last   outputs are divided, in the place of weights (FuseMax)
one pass, 64 at a time     a running maximum and sum over blocks of keys (`one_pass.py`), for every size of blocks

Where there are several softmaxes, all are computed in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ..ir import Call, Cascade, Operand, Operation, Problem, ProblemError, Tensor
from .attention import Attention, attentions, fresh, output_dims, output_of, renamed, row_ranks
from .one_pass import in_one_pass


def in_any_way(parts: Cascade) -> Cascade:
    """The cascade with all its forms; as it is, where no softmax stands between two products."""
    if not list(attentions(parts)):
        return parts
    return replace(parts, form="two passes", others=(last_divided(parts), *_blocks(parts)))


def last_divided(parts: Cascade) -> Cascade:
    """The form in which outputs are divided; ProblemError where no softmax stands between two products."""
    _check(parts)
    return replace(_each(parts, divided_last), form="two passes, divided last")


def in_one_pass_alone(parts: Cascade) -> Cascade:
    """The forms in one pass alone; ProblemError where there are none."""
    _check(parts)
    first, *others = _blocks(parts)
    return replace(first, others=tuple(others))


def _blocks(parts: Cascade) -> tuple[Cascade, ...]:
    """The forms in one pass: for every size of blocks of which there are two or more, smaller ones first."""
    lengths = [one.length for one in attentions(parts)]
    common = math.gcd(*lengths)
    sizes = [size for size in range(1, common + 1) if common % size == 0 and size < min(lengths)]
    forms = (_each(parts, partial(in_one_pass, size=size)) for size in sizes)
    return tuple(replace(form, form=f"one pass, {size} at a time") for form, size in zip(forms, sizes, strict=True))


def _each(parts: Cascade, change: Callable[[Cascade, Attention], Cascade]) -> Cascade:
    """The cascade with every softmax computed in another way."""
    while (one := next(attentions(parts), None)) is not None:
        parts = change(parts, one)
    return parts


def _check(parts: Cascade) -> None:
    if not list(attentions(parts)):
        hint = "name the products with it, as in qk+softmax+av"
        message = "no softmax stands between two products that nothing else reads"
        raise ProblemError(message, where=parts.name, hint=hint)


# A row of scores has to be there before its maximum is known, as in two passes; but one pass over all weights less is
# made, and a division for each output takes the place of one for each weight (FuseMax, Nayak et al., MICRO 2024,
# calls it the cascade of two passes, and the softmax of four operations one of three).


def divided_last(cascade: Cascade, one: Attention) -> Cascade:
    """The cascade that sums exponentials times values first, and divides each sum of these by that of its row."""
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
