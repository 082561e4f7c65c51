"""The lazy cheapest way against all ways, and what it leaves unasked."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

import pytest

import longer
from tilewright.mapper.segmentation.lazy_path import Asked, Edge, cheapest_but, cheapest_way


def edge(start: int, end: int, bound: float, value: float = math.inf, *, is_known: bool = False) -> Edge:
    return Edge(start, end, bound, value, is_known, 0)


def ways(places: int, edges: list[Edge], start: int = 0) -> Iterator[list[Edge]]:
    """All ways from a place to the last one."""
    if start == places - 1:
        yield []
    for edge in edges:
        if edge.start == start:
            yield from ([edge, *rest] for rest in ways(places, edges, edge.end))


def random_edges(rng: random.Random, places: int) -> tuple[list[Edge], dict[int, tuple[float, float]]]:
    """Edges with bounds, and what is to be found out of each: a bound that may lie above the first, and a value."""
    edges, truth = [], {}
    for start in range(places - 1):
        for end in range(start + 1, places):
            if end == start + 1 or rng.random() < 0.6:
                cost = rng.randrange(5, 40) * (end - start) ** 0.5
                closer = cost * rng.choice((1.0, 1.0, 0.8))
                edges.append(edge(start, end, closer * rng.random()))
                truth[id(edges[-1])] = closer, cost
    return edges, truth


@pytest.mark.parametrize("seed", longer.seeds(40))
def test_no_way_is_cheaper_and_the_bound_holds(seed: int) -> None:
    rng = random.Random(seed)
    places = rng.randrange(2, 8)
    edges, truth = random_edges(rng, places)
    asked: list[Edge] = []

    def find_out(several: Sequence[Asked]) -> None:
        """As searches of some of them at once."""
        for edge, below in several[: rng.randint(1, len(several))]:
            search(edge, below)

    def search(edge: Edge, below: float) -> None:
        """As a search for what is less than `below`: it says no more of what is not."""
        asked.append(edge)
        bound, value = truth[id(edge)]
        edge.bound, edge.value = (bound, value) if value < below else (max(edge.bound, min(bound, below)), math.inf)
        edge.is_known = value < below or bound < below

    found = cheapest_way(places, edges, find_out)
    everything = list(ways(places, edges))
    least = min(sum(truth[id(edge)][1] for edge in way) for way in everything)
    closest = min(sum(truth[id(edge)][0] for edge in way) for way in everything)
    assert found.value == pytest.approx(sum(truth[id(edge)][1] for edge in found.edges))
    assert found.bound <= closest * (1 + 1e-9) or found.bound == pytest.approx(closest)
    assert found.bound <= least * (1 + 1e-9)
    if all(closer == cost for closer, cost in truth.values()):
        assert found.value == pytest.approx(least)
        assert found.bound == pytest.approx(least)


def test_what_cannot_matter_is_not_asked_for() -> None:
    edges = [edge(0, 1, 5.0, 5.0, is_known=True), edge(0, 2, 11.0), edge(1, 2, 5.0, 5.0, is_known=True)]
    found = cheapest_way(3, edges, lambda asked: pytest.fail(f"asked for {asked}"))
    assert (found.value, found.bound) == (10.0, 10.0)


@pytest.mark.parametrize("looks_on", [False, True])
def test_where_the_best_by_bounds_stays_half_known_others_are_asked_for(*, looks_on: bool) -> None:
    """Of a large group nothing was found in its time; two of its parts together cost less than all of them alone."""
    edges = [
        edge(0, 3, 5.0, math.inf, is_known=True),
        edge(0, 1, 10.0, 10.0, is_known=True),
        edge(0, 2, 8.0),
        edge(1, 2, 10.0, 10.0, is_known=True),
        edge(1, 3, 25.0),
        edge(2, 3, 10.0, 10.0, is_known=True),
    ]
    asked: list[Edge] = []

    def find_out(several: Sequence[Asked]) -> None:
        for one, below in several:
            asked.append(one)
            one.bound, one.value, one.is_known = 12.0, 12.0, True
            assert below == 20.0

    found = cheapest_way(4, edges, find_out, looks_on=looks_on)
    assert (found.value, found.bound) == (22.0 if looks_on else 30.0, 5.0)
    assert asked == ([edges[2]] if looks_on else [])


def test_an_interrupt_leaves_what_is_known() -> None:
    edges = [edge(0, 1, 5.0, 5.0, is_known=True), edge(0, 2, 7.0), edge(1, 2, 5.0, 5.0, is_known=True)]

    def find_out(_: Sequence[Asked]) -> None:
        raise KeyboardInterrupt

    found = cheapest_way(3, edges, find_out)
    assert (found.value, found.bound) == (10.0, 7.0)


def test_of_equal_ways_the_one_of_more_steps_is_taken() -> None:
    pieces = [edge(i, i + 1, 0.1, 0.1, is_known=True) for i in range(3)]
    found = cheapest_way(4, [edge(0, 3, 0.3, 0.3, is_known=True), *pieces], lambda _: None)
    assert len(found.edges) == 3


@pytest.mark.parametrize("seed", longer.seeds(20))
def test_ways_with_forbidden_runs_are_left_out(seed: int) -> None:
    """Forbidding the best way's runs one after the other gives all ways, by rising costs."""
    rng = random.Random(seed)
    places = rng.randrange(3, 6)
    edges, _ = random_edges(rng, places)
    for one in edges:
        one.value = float(rng.randrange(1, 9))
    every = list(ways(places, edges))
    forbidden: set[tuple[Edge, ...]] = set()
    while True:
        left = [way for way in every if not any(_has(way, run) for run in forbidden)]
        value, way = cheapest_but(places, edges, lambda one: one.value, forbidden)
        if not left:
            assert not way
            return
        assert way in left
        assert value == min(sum(one.value for one in other) for other in left)
        first = rng.randrange(len(way))
        forbidden.add(tuple(way[first : rng.randrange(first, len(way)) + 1]))


def _has(way: list[Edge], run: tuple[Edge, ...]) -> bool:
    return any(tuple(way[i : i + len(run)]) == run for i in range(len(way)))
