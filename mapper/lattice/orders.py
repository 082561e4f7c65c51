"""Ways to order the loops of a band.

Loops of a band can stand in any order, but only two things about it count: over which loops each tensor *stays* (those
inside the innermost one that moves it), and, where an operand slides, over which dimension that innermost one, its
*mover*, runs.

Lemma. Splitting a loop of a band gains nothing, and it is enough to try, for every distinct choice of what stays over
what and what slides along what, one order of whole loops.

Proof. Let a dimension have two loops in a band. Join them at the place of the inner one. A tensor that they move has
its innermost mover where it was, or inside them; if the mover is one of them (the inner one, or else another loop
stands inside), it has more trips now, and (n - 1) / n of the visits slide instead of less. A tensor that they do not
move stays over more loops than before, or as many. So nothing gets dearer. Of an order of whole loops only the
dimensions matter before all tensors have been moved, and costs are functions of what stays and what slides. A dimension
that has no loop in the band may be thought at the end. (With halo `exact` every loop counts, and the lemma does not
hold.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .plain_question import PlainTensor

Dims: TypeAlias = tuple[int, ...]
Movers: TypeAlias = tuple[int | None, ...]
"""Per tensor the dimension along which it slides; None: it does not."""

Stays: TypeAlias = tuple[Dims, ...]
"""Per tensor the dimensions of the loops over which it stays."""


@dataclass(frozen=True)
class Order:
    """Loops that each tensor stays over, and in which ways tiles may slide then, each with all dimensions from the
    inside out."""

    stays: Stays
    movers: tuple[tuple[Movers, Dims], ...]


def orders_of(tensors: Sequence[PlainTensor], slides: Mapping[int, frozenset[int]], dims: int) -> list[Order]:
    """All orders worth trying of so many dimensions.

    slides  tensor -> dimensions along which it may slide
    """
    found: dict[Stays, dict[Movers, Dims]] = {}
    for stays, movers, order in _grown(tensors, slides, dims, ()):
        found.setdefault(stays, {}).setdefault(movers, order)
    worth = [s for s in found if not any(s != o and _reaches(s, o) and _as_good(found[s], found[o]) for o in found)]
    return [Order(s, tuple((m, o) for m, o in found[s].items() if not _useless(m, found[s]))) for s in worth]


def _grown(
    tensors: Sequence[PlainTensor], slides: Mapping[int, frozenset[int]], dims: int, order: Dims
) -> Iterator[tuple[Stays, Movers, Dims]]:
    """All orders that begin, from the inside, with some loops; no more loops are told apart once all tensors have
    moved."""
    waiting = [t for t, tensor in enumerate(tensors) if not tensor.dims & set(order)]
    rest = [d for d in range(dims) if d not in order]
    free = [d for d in rest if not any(d in tensors[t].dims for t in waiting)]
    rest = [d for d in rest if d not in free]
    order = (*order, *free)
    if waiting and rest:
        for d in rest:
            yield from _grown(tensors, slides, dims, (*order, d))
        return
    order = (*order, *rest)
    first = [next((i for i, d in enumerate(order) if d in tensor.dims), dims) for tensor in tensors]
    movers = tuple(order[i] if i < dims and order[i] in slides.get(t, ()) else None for t, i in enumerate(first))
    yield tuple(tuple(sorted(order[:i])) for i in first), movers, order


def _reaches(stays: Stays, other: Stays) -> bool:
    """Whether every tensor stays over as much in another order."""
    return all(set(a) <= set(b) for a, b in zip(stays, other, strict=True))


def _as_good(movers: Collection[Movers], others: Collection[Movers]) -> bool:
    """Whether of each way to slide there is one among others that slides the same, or more."""
    return all(any(_slides_as(m, other) for other in others) for m in movers)


def _useless(movers: Movers, among: Collection[Movers]) -> bool:
    return any(m != movers and _slides_as(movers, m) for m in among)


def _slides_as(movers: Movers, other: Movers) -> bool:
    """Whether another way slides the same, or more."""
    return all(a is None or a == b for a, b in zip(movers, other, strict=True))
