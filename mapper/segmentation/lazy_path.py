"""The cheapest way through states when a step's cost takes long to find, and a bound on it does not.

Costs of steps are found only where it matters (lazy shortest path): the way that is cheapest by the bounds is looked
at; of the steps on it those that are only bounded are asked for; until a way of known steps is the cheapest by the
bounds. Nothing else can be cheaper, since every bound is at most its step's cost. A step is asked for together with
what it may cost to be of any use: the best way that is known, less what the rest of the way through it costs at least.

Where time is limited, what the bounds prefer may be left half known. Then ways are looked at that may still turn out
cheaper than the best that is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from ..kernel.tolerance import is_better, reaches

Each = TypeVar("Each")


@dataclass(eq=False)
class Edge:
    """An edge from a state to a later state, whose cost is known between a bound and a value.

    bound     it costs no less
    value     it can be had for this; infinite where no way to is known
    is_known  whether bound and value are all that will be found out
    stays     tensors that it finds on chip, or leaves there: of equal ways the one with fewer is taken
    spare     a way that has it may cost so much less than the sum of its edges, since it has it, at most
    """

    start: int
    end: int
    bound: float
    value: float
    is_known: bool
    stays: int
    spare: float = field(default=0.0, kw_only=True)


class Asked(NamedTuple):
    """An edge that there is something to find out of.

    below  what it has to cost less than to be of use
    """

    edge: Edge
    below: float


class ChosenWay(NamedTuple):
    """A way by what edges cost.

    value  it costs so much; infinite where there is none
    least  none costs less: as much, where it is the cheapest
    edges  of it
    """

    value: float
    least: float
    edges: list[Edge]


Choose = Callable[[Callable[[Edge], float]], ChosenWay]
"""By what an edge costs, the cheapest way, or one that is not proven to be."""


@dataclass(frozen=True)
class CheapestWay:
    """The cheapest known path, and a lower bound on every other path.

    edges  one after the other; none where no way is known
    """

    edges: tuple[Edge, ...]
    value: float
    bound: float


def cheapest_way(
    states: int,
    edges: Sequence[Edge],
    find_out: Callable[[Sequence[Asked]], None],
    goes_on: Callable[[], bool] = lambda: True,
    choose: Choose | None = None,
    learn: Callable[[float, float], None] | None = None,
    looks_on: bool = False,
) -> CheapestWay:
    """Find the cheapest path from state 0 to the last state; costs of edges are refined only where they matter.

    edges     by rising starts
    choose    chooses the cheapest way, where ways are no ways through states
    find_out  asked for all edges of a way that are not known: sets bound and value of at least one to what is found
              out, and `is_known` if that is all. Where it raises KeyboardInterrupt, what is known until then is handed
              over
    goes_on   whether there is time for another edge
    learn     called with the value of the best known path, and with what no path costs less than
    looks_on  whether to look for cheaper paths where the bounds of half known edges leave the cheapest one open

    An edge that is left half known keeps the bound below the value, and both are told.
    """

    def through_states(cost: Callable[[Edge], float]) -> ChosenWay:
        value, way = cheapest(states, edges, cost)
        return ChosenWay(value, value, way)

    find = choose or through_states
    try:
        while goes_on():
            _, least, open_way = find(bound_of)
            value = find(value_of).value
            if learn is not None:
                learn(value, least)
            if reaches(least, value):
                break
            unknown = [edge for edge in open_way if not edge.is_known]
            if not unknown and looks_on:
                _, least, open_way = find(hoped_of)
                unknown = [edge for edge in open_way if not edge.is_known]
                unknown = [] if reaches(least, value) else unknown
            if not unknown:
                break
            find_out([Asked(edge, value - (least - edge.bound) + edge.spare) for edge in unknown])
    except KeyboardInterrupt:
        pass
    value, _, way = find(value_of)
    return CheapestWay(tuple(way), value, min(value, find(bound_of).least))


def bound_of(edge: Edge) -> float:
    """Return the lower bound of an edge."""
    return edge.bound


def hoped_of(edge: Edge) -> float:
    """Return what an edge may turn out to cost: its bound, as long as more will be found out."""
    return edge.value if edge.is_known else edge.bound


def value_of(edge: Edge) -> float:
    """Return the known value of an edge."""
    return edge.value


def cheapest(
    states: int, edges: Sequence[Edge], cost: Callable[[Edge], float], first: int = 0, last: int | None = None
) -> tuple[float, list[Edge]]:
    """Return the cost and the edges of the cheapest path between two states.

    edges  by rising starts
    """
    return cheapest_but(states, edges, cost, (), first, last)


Label = tuple[float, int, Edge | None, tuple[Edge, ...]]
"""Of a way to a state: its cost, its rank among equal ones, its last edge, and how far it had come along a forbidden
run before that."""


def cheapest_but(
    states: int,
    edges: Sequence[Edge],
    cost: Callable[[Edge], float],
    forbidden: Collection[tuple[Edge, ...]],
    first: int = 0,
    last: int | None = None,
) -> tuple[float, list[Edge]]:
    """Return the cheapest path that contains none of some runs of edges.

    A way is told from others by its state, and by how far it has come along such runs.
    """
    last = states - 1 if last is None else last
    begun = {run[:length] for run in forbidden for length in range(1, len(run) + 1)}
    labels: dict[int, dict[tuple[Edge, ...], Label]] = {first: {(): (0.0, 0, None, ())}}
    for edge in edges:
        if edge.start not in labels or edge.start == last:
            continue
        more = cost(edge)
        if more == math.inf:
            continue
        for run, (so_far, rank, _, _) in labels[edge.start].items():
            along = along_runs((*run, edge), begun) if begun else ()
            if along in forbidden:
                continue
            reached, ranked = so_far + more, rank + 1000 * edge.stays - 1
            there = labels.setdefault(edge.end, {})
            known = there.get(along)
            if known is None or _is_less((reached, ranked), known[:2]):
                there[along] = reached, ranked, edge, run
    found = min(labels.get(last, {}).items(), key=lambda one: one[1][:2], default=None)
    if found is None:
        return math.inf, []
    way: list[Edge] = []
    _, (value, _, edge_before, run) = found
    while edge_before is not None:
        way.append(edge_before)
        _, _, edge_before, run = labels[edge_before.start][run]
    return value, way[::-1]


def along_runs(edges: tuple[Each, ...], begun: Collection[tuple[Each, ...]]) -> tuple[Each, ...]:
    """The longest end of a way that a forbidden run begins with, or is."""
    return next((edges[i:] for i in range(len(edges)) if edges[i:] in begun), ())


def _is_less(one: tuple[float, int], other: tuple[float, int]) -> bool:
    """Whether a path is cheaper than another; among equal costs, whether it leaves less on chip, then has shorter
    steps."""
    if is_better(one[0], other[0]):
        return True
    return reaches(other[0], one[0]) and one[1] < other[1]
