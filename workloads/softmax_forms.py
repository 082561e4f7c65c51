"""The ways to compute the softmaxes of a cascade that stand between two products: each is a form of it.

two passes                 maximum, exponential, sum, division: as the operations are written (`graph/between.py`)
two passes, divided last   outputs are divided, in the place of weights (`divided_last.py`)
one pass, 64 at a time     a running maximum and sum over blocks of keys (`one_pass.py`), for every size of blocks

Where there are several softmaxes, all are computed in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ..ir import Cascade, ProblemError
from .attention import Attention, attentions
from .divided_last import divided_last
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
