"""Ways of several costs at once against all ways of small random graphs."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import longer
from tilewright.mapper.pareto.weights import AtLeast
from tilewright.mapper.segmentation.front_path import StepChoice, StepWithChoices, TooManyLabels, front_of_ways
from tilewright.mapper.segmentation.group_edges import GroupEdge
from tilewright.mapper.segmentation.lagrangian_path import LagrangianPath
from tilewright.mapper.segmentation.lazy_path import Edge
from tilewright.mapper.segmentation.resident_weights import ResidentWeight
from tilewright.mapper.segmentation.states import GroupStep

STATES = 5


def all_ways(steps: list[StepWithChoices], state: int = 0) -> Iterator[tuple[StepChoice, ...]]:
    if state == STATES - 1:
        yield ()
        return
    for step in steps:
        if step.start == state:
            for rest in all_ways(steps, step.end):
                yield from ((choice, *rest) for choice in step.choices)


def total(way: tuple[StepChoice, ...]) -> tuple[float, ...]:
    return tuple(sum(one.least[i] for one in way) for i in range(3))


def random_steps(rng: random.Random) -> list[StepWithChoices]:
    steps = []
    for start in range(STATES - 1):
        for _ in range(rng.randint(1, 3)):
            end = rng.randint(start + 1, STATES - 1)
            costs = [AtLeast(*(float(rng.randint(0, 6)) for _ in range(3))) for _ in range(rng.randint(1, 3))]
            edges = [Edge(start, end, 0.0, 0.0, True, 0) for _ in costs]
            steps.append(StepWithChoices(start, end, 0, tuple(map(StepChoice, costs, edges))))
    return steps


@pytest.mark.parametrize("seeds", longer.blocks(60, 30), ids=lambda seeds: f"{seeds.start}")
def test_the_front_is_that_of_all_ways(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        steps = random_steps(rng)
        most = AtLeast(*(float(rng.randint(4, 16)) for _ in range(3)))
        ways = list(all_ways(steps))
        forbidden = {tuple(one.what for one in rng.choice(ways)[: rng.randint(1, 2)])} if ways else set()
        allowed = [
            way
            for way in ways
            if not any(
                tuple(one.what for one in way[at : at + len(run)]) == run for run in forbidden for at in range(len(way))
            )
        ]
        within = {total(way) for way in allowed if all(a <= b for a, b in zip(total(way), most, strict=True))}
        best = {one for one in within if not any(o != one and all(map(float.__le__, o, one)) for o in within)}
        found = front_of_ways(STATES, steps, most, forbidden)
        assert {tuple(way.least) for way in found} == best, seed
        for way in found:
            assert tuple(way.whats) in {tuple(one.what for one in each) for each in allowed}


def test_too_many_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.mapper.segmentation.front_path.MOST_LABELS", 3)
    choices = tuple(StepChoice(AtLeast(float(i), 3.0 - i, 3.0), i) for i in range(4))
    with pytest.raises(TooManyLabels):
        front_of_ways(2, [StepWithChoices(0, 1, 0, choices)], AtLeast(9.0, 9.0, 9.0))


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("seeds", longer.blocks(60, 30), ids=lambda seeds: f"{seeds.start}")
def test_no_way_that_has_room_is_cheaper(seeds: range, few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many to look at, what is said to be least is no more than what is."""
    if few:
        monkeypatch.setattr("tilewright.mapper.segmentation.front_path.MOST_LABELS", 5)
    exact = 0
    for seed in seeds:
        rng = random.Random(seed)
        costs, edges = dict[int, float](), list[GroupEdge]()
        for start in range(STATES - 1):
            for _ in range(rng.randint(2, 4)):
                end = min(STATES - 1, start + rng.randint(1, 2))
                weights = {"W": ResidentWeight(f"{len(edges)}", 0, 8 * rng.randint(0, 5), "")}
                step = GroupStep(start, end, 0, (), (0,))
                edges.append(GroupEdge(start, end, 0.0, 0.0, True, 0, step, None, (0,), weights))
                costs[id(edges[-1])] = float(rng.randint(0, 9))
        room = 8 * rng.randint(2, 12)
        steps = [
            StepWithChoices(e.start, e.end, 0, (StepChoice(AtLeast(costs[id(e)], e.weights["W"].bits, 0.0), e),))
            for e in edges
        ]
        fitting = [total(way)[0] for way in all_ways(steps) if total(way)[1] <= room]
        found = LagrangianPath(STATES, edges, room).cheapest(lambda edge, costs=costs: costs[id(edge)])
        best = min(fitting, default=float("inf"))
        assert found.least <= best + 1e-6, seed
        assert found.value >= best - 1e-6, seed
        if found.edges:
            assert sum(edge.weights["W"].bits for edge in found.edges if isinstance(edge, GroupEdge)) <= room
            assert sum(costs[id(edge)] for edge in found.edges) == pytest.approx(found.value)
        exact += found.value == pytest.approx(best)
        assert few or found.value == found.least == pytest.approx(best), seed
    assert exact > len(seeds) / 2
