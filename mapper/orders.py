"""Loop orders, as far as they matter.

Between two storage nodes the order of temporal loops decides one thing: which tensors are charged at which loop.
Read from the inside out, a tensor waits while the loops do not move it; the first loop that does charges it, and
every loop further out only multiplies. So an order is a sequence of charging dimensions; dimensions that charge
nobody who still waits come as early as they can, since they are free for all who wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

Order = tuple[str, ...]
"""Dimensions of a gap, innermost loop first."""


@lru_cache(maxsize=1024)
def charging_orders(
    dims: tuple[str, ...], relevant: tuple[frozenset[str], ...], sliding: tuple[frozenset[str], ...]
) -> tuple[Order, ...]:
    """Orders of `dims`, innermost first, among which every order has one that charges each tensor no more.

    relevant  per waiting tensor, the dimensions that move it
    sliding   per waiting tensor, those along which its tiles may overlap: which of them charges it matters;
              the others all charge alike, so one of them stands for all
    """
    return tuple(tuple(order) for order in _sequences(dims, tuple(zip(relevant, sliding, strict=True))))


def _sequences(dims: tuple[str, ...], waiting: tuple[tuple[frozenset[str], frozenset[str]], ...]) -> list[list[str]]:
    free = [d for d in dims if not any(d in relevant for relevant, _ in waiting)]
    rest = tuple(d for d in dims if d not in free)
    if not rest:
        return [free]
    groups: dict[tuple[object, ...], list[str]] = {}
    for dim in rest:
        charged = tuple(dim in relevant for relevant, _ in waiting)
        slides = any(dim in relevant and dim in sliding for relevant, sliding in waiting)
        groups.setdefault((*charged, dim if slides else None), []).append(dim)
    found: list[list[str]] = []
    for group in groups.values():
        still = tuple(pair for pair in waiting if group[0] not in pair[0])
        others = tuple(d for d in rest if d not in group)
        found += [[*free, *group, *tail] for tail in _sequences(others, still)]
    return found


def absorbed(order: Sequence[str], relevant: frozenset[str]) -> tuple[str, ...]:
    """The loops of a gap over which a tensor stays, if the order's first loop that moves it is a real one."""
    taken: list[str] = []
    for dim in order:
        if dim in relevant:
            break
        taken.append(dim)
    return tuple(taken)
