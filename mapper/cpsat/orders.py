"""Loop orders between two memories, reduced to what they decide: which loops are free, and which one moves a window.

Seen from the inside of a slot outwards, loops that do not move a tensor are free for it until the first loop that
does: the node below is not served again for them. From there on every loop is charged. A loop of one trip changes
nothing wherever it stands, so orders are listed as if all loops were real; where some are not, an order that has
them outermost is on the list too, and frees at least as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...arch import Reuse
from ...ir import Problem
from .slots import moving_dims, windows


@dataclass(frozen=True)
class OrderClass:
    """Orders that charge alike.

    order  dimensions, innermost loop first; dimensions left out stand outside all of them
    free   per tensor, the dimensions whose loops are inside all loops that move it
    mover  per tensor with windows, the innermost dimension that moves it (None for other tensors)
    """

    order: tuple[str, ...]
    free: tuple[frozenset[str], ...]
    mover: tuple[str | None, ...]

    def covers(self, other: OrderClass) -> bool:
        """Whether this class never charges more than the other one."""
        return self.mover == other.mover and all(a >= b for a, b in zip(self.free, other.free, strict=True))


def order_classes(problem: Problem, reuse: Reuse = "across_levels") -> tuple[OrderClass, ...]:
    """Classes of which every order is one, or is charged at least as much as one.

    With `reuse: at_node` every loop is charged, and an order decides only which loop stands innermost.
    """
    if reuse == "at_node":
        nothing_free = (frozenset[str](),) * len(problem.tensors)
        return tuple(replace(_class_of(problem, (dim,)), free=nothing_free) for dim in moving_dims(problem))
    found: dict[tuple[object, ...], OrderClass] = {}
    for order in _orders(problem, ()):
        each = _class_of(problem, order)
        found.setdefault((each.free, each.mover), each)
    classes = list(found.values())
    return tuple(c for c in classes if not any(other.covers(c) for other in classes if other is not c))


def _orders(problem: Problem, inner: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Orders, as far as they still decide something: until every tensor has been moved."""
    left = [dim for dim in moving_dims(problem) if dim not in inner]
    waiting = [t for t in problem.tensors if not any(dim in t.dims for dim in inner)]
    if not left or not waiting:
        yield inner
        return
    for dim in left:
        yield from _orders(problem, (*inner, dim))


def _class_of(problem: Problem, order: tuple[str, ...]) -> OrderClass:
    free, mover = [], []
    for tensor in problem.tensors:
        first = next((i for i, dim in enumerate(order) if dim in tensor.dims), len(order))
        free.append(frozenset(order[:first]))
        mover.append(order[first] if first < len(order) and windows(problem, tensor) else None)
    return OrderClass(order, tuple(free), tuple(mover))
