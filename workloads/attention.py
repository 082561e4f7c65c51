"""Attention in a cascade: a softmax between two products, by its operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from ..ir import Call, Cascade, Expression, Operand, Operation, Rank, plain_rank


@dataclass(frozen=True)
class Attention:
    """A softmax between two products, by its operations.

    scores, after         the products
    top, exp, total, div  maximum, exponential of the difference, sum, division
    """

    scores: Operation
    top: Operation
    exp: Operation
    total: Operation
    div: Operation
    after: Operation

    @property
    def keys(self) -> str:
        """The dimension of the maximum over which it is taken."""
        (dim,) = self.top.reduced_dims
        return dim

    @property
    def length(self) -> int:
        """How many keys there are."""
        return self.top.problem.sizes[self.keys]


def attentions(cascade: Cascade) -> Iterator[Attention]:
    """All softmaxes of a cascade whose scores and whose weights nothing else reads."""
    for top in cascade:
        if top.reduction == "max" and isinstance(top.expression, Operand) and len(top.reduced_dims) == 1:
            found = _around(cascade, top)
            if found is not None and not any(one.pads for one in vars(found).values()):
                yield found


def _around(cascade: Cascade, top: Operation) -> Attention | None:
    """The operations around a maximum, if they are those of a softmax between two products."""
    (scored,) = top.problem.operands
    scores = cascade.producers.get(scored.name)
    exp, div = _only(cascade, scored.name, top), None
    if exp is not None and exp.expression == Call(
        "exp", (Call("sub", (Operand(scored.name), Operand(output_of(top)))),)
    ):
        readers = cascade.consumers[output_of(exp)]
        total = next(
            (one for one in readers if one.expression == Operand(output_of(exp)) and one.reduction == "sum"), None
        )
        div = None if total is None else _only(cascade, output_of(exp), total)
    if scores is None or exp is None or div is None or total is None or not scores.multiplies:
        return None
    weights = Call("div", (Operand(output_of(exp)), Operand(output_of(total))))
    alone = [cascade.consumers[output_of(one)] for one in (top, total, div)]
    if div.expression != weights or [len(one) for one in alone] != [1, 1, 1] or not alone[2][0].multiplies:
        return None
    found = Attention(scores, top, exp, total, div, alone[2][0])
    return found if _reduces_keys(found) else None


def _only(cascade: Cascade, tensor: str, other: Operation) -> Operation | None:
    """The one reader of a tensor besides another one."""
    readers = [one for one in cascade.consumers[tensor] if one is not other]
    return readers[0] if len(readers) == 1 else None


def output_of(operation: Operation) -> str:
    """The tensor that an operation writes."""
    return operation.output.name


def _reduces_keys(one: Attention) -> bool:
    """Whether all of them see the keys as one rank alone, and the second product sums over them."""
    dims = [keys_in(one, operation) for operation in (one.scores, one.exp, one.total, one.div, one.after)]
    return None not in dims and dims[-1] in one.after.reduced_dims and dims[0] in one.scores.output.dims


def keys_in(one: Attention, operation: Operation) -> str | None:
    """What an operation calls the keys."""
    rank = plain_rank(one.top, output_of(one.scores), one.keys)
    if operation is one.after:
        made = keys_in(one, one.div)
        tensor = output_of(one.div)
        rank = None if made is None else plain_rank(one.div, tensor, made)
    elif operation in (one.total, one.div):
        made = keys_in(one, one.exp)
        tensor = output_of(one.exp)
        rank = None if made is None else plain_rank(one.exp, tensor, made)
    else:
        tensor = output_of(one.scores)
    if rank is None:
        return None
    terms = operation.problem.tensor(tensor).ranks[rank]
    return terms[0][0] if len(terms) == 1 and terms[0][1] == 1 else None


# ---- what its other forms are made of ----------------------------------------------------------------------


def row_ranks(one: Attention) -> tuple[Rank, ...]:
    """The ranks of a row's maximum, or sum, as the second product calls them."""
    weights, found = output_of(one.div), []
    for rank in one.div.problem.tensor(output_of(one.total)).ranks:
        ((dim, _),) = rank
        made = plain_rank(one.div, weights, dim)
        assert made is not None
        found.append(one.after.problem.tensor(weights).ranks[made])
    return tuple(found)


def output_dims(one: Attention) -> tuple[tuple[str, int], ...]:
    """Dimensions of the second product that its output has, with their sizes."""
    return tuple(pair for pair in one.after.problem.dims if pair[0] in one.after.output.dims)


def fresh(wanted: str, known: set[str]) -> str:
    """A name that nothing has yet; it is known from now on."""
    found = next(name for name in (f"{wanted}{n or ''}" for n in count()) if name not in known)
    known.add(found)
    return found


def renamed(expression: Expression, names: dict[str, str]) -> Expression:
    """An expression of tensors with other names."""
    if isinstance(expression, Operand):
        return Operand(names.get(expression.tensor, expression.tensor))
    if isinstance(expression, Call):
        return Call(expression.function, tuple(renamed(part, names) for part in expression.arguments))
    return expression
