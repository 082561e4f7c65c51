"""The cheapest way through a row of places when an edge's cost takes long to find, and a bound on it does not.

Costs of edges are found only where it matters (lazy shortest path): the way that is cheapest by the bounds is looked
at; of the edges on it those that are only bounded are asked for; until a way of known edges is the cheapest by the
bounds. Nothing else can be cheaper, since every bound is at most its edge's cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..certificate import RELATIVE_TOLERANCE


@dataclass
class Edge:
    """From one place to a later one.

    bound     it costs no less
    value     it can be had for this; infinite where no way to is known
    is_known  whether bound and value are all that will be found out
    """

    start: int
    end: int
    bound: float
    value: float = math.inf
    is_known: bool = False


@dataclass(frozen=True)
class CheapestWay:
    """The way that costs least of those that are known, and what no other one costs less than.

    edges  one after the other; none where no way is known
    """

    edges: tuple[Edge, ...]
    value: float
    bound: float


def cheapest_way(places: int, edges: Sequence[Edge], find_out: Callable[[Edge], None]) -> CheapestWay:
    """The cheapest way from place 0 to the last one.

    find_out  sets bound and value of an edge to what is found out, and `is_known`. Where it raises KeyboardInterrupt,
              what is known until then is handed over

    An edge that is left half known keeps the bound below the value, and both are told.
    """
    try:
        while unknown := [edge for edge in _cheapest(places, edges, lambda e: e.bound)[1] if not edge.is_known]:
            # Of several the one that is bounded by most: what it turns out to cost changes the way soonest.
            find_out(max(unknown, key=lambda edge: edge.bound))
    except KeyboardInterrupt:
        pass
    value, way = _cheapest(places, edges, lambda edge: edge.value)
    return CheapestWay(tuple(way), value, min(value, _cheapest(places, edges, lambda edge: edge.bound)[0]))


def _cheapest(places: int, edges: Iterable[Edge], cost: Callable[[Edge], float]) -> tuple[float, list[Edge]]:
    """What the cheapest way costs, and its edges."""
    least = [0.0, *[math.inf] * (places - 1)]
    last: list[Edge | None] = [None] * places
    for edge in sorted(edges, key=lambda each: (each.end, -each.start)):
        reached = least[edge.start] + cost(edge)
        if reached < least[edge.end] * (1 - RELATIVE_TOLERANCE):  # of equal ways the one of shorter steps
            least[edge.end], last[edge.end] = reached, edge
    way: list[Edge] = []
    edge_before = last[-1]
    while edge_before is not None:
        way.append(edge_before)
        edge_before = last[edge_before.start]
    return least[-1], way[::-1]
