"""The best segmentation within limits, against all ways to do small random networks on random machines."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path

import pytest
from test_residency import AllWays, graph_of, solve_once

import longer
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import EDP, ENERGY, LATENCY, Objective, parse_objective
from tilewright.ir import InfeasibleError
from tilewright.mapper.cascades import search_cascade_front
from tilewright.mapper.question import Question
from tilewright.mapper.segmentation import NetworkQuestion, OneAfterTheOther, segment

MAY = Keeps(input="may", weight="may", output="may")
Point = tuple[float, float]


def beaten_by_none(points: list[Point]) -> list[Point]:
    found: list[Point] = []
    for point in sorted(points):
        if not found or point[1] < found[-1][1] * (1 - 1e-9):
            found.append(point)
    return found


class AllFronts(AllWays):
    """Energy and latency of all groups in all orders, with everything between them on chip or not."""

    def __init__(self, asked: NetworkQuestion) -> None:
        super().__init__(asked)
        self.fronts: dict[tuple[object, ...], list[Point]] = {}
        self.rests: dict[tuple[int, frozenset[int]], list[Point]] = {}

    def front(self, number: int, stays: frozenset[int], others: int) -> list[Point]:
        """What the trees of a group cost that no other one beats, with some tensors on chip, and less room."""
        key = number, stays, others
        if key not in self.fronts:
            group, arch = self.groups[number], self.asked.arch
            assert group.cascade is not None
            left = arch.levels[1].model_copy(update={"size_bits": self.size - others})
            arch = arch.model_copy(update={"levels": (arch.levels[0], left, *arch.levels[2:])})
            named = tuple((group.tensors[self.reading.occurrences[place].name], "GLB") for place in sorted(stays))
            try:
                asked = Question(group.cascade, arch, ENERGY, "perfect", fuse=self.asked.fuse, stays=named)
                found = search_cascade_front(asked)
            except InfeasibleError:
                found = []
            costs = [one.cost for one in found]
            self.fronts[key] = [(group.times * one.energy_pj, group.times * one.latency_cycles) for one in costs]
        return self.fronts[key]

    def rest(self, done: int = 0, live: frozenset[int] = frozenset()) -> list[Point]:
        """What the rest costs."""
        if done == self.everything:
            return [(0.0, 0.0)]
        if (done, live) not in self.rests:
            self.rests[done, live] = beaten_by_none(list(self._rest(done, live)))
        return self.rests[done, live]

    def _rest(self, done: int, live: frozenset[int]) -> Iterator[Point]:
        for number, group in enumerate(self.groups):
            for own, others in self.choices(number, done, live) if self.asked.stays else self._none(number, done):
                after = done | sum(1 << place for place in group.places)
                still = frozenset(place for place in live | own if self.reading.readers[place] & ~after)
                for one, other in itertools.product(self.front(number, own, others), self.rest(after, still)):
                    yield one[0] + other[0], one[1] + other[1]

    def _none(self, number: int, done: int) -> Iterator[tuple[frozenset[int], int]]:
        yield from ((own, others) for own, others in self.choices(number, done, frozenset()) if not own)


class Case:
    """A random network on a random machine."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = random.Random(seed)
        self.arch = self._machine()
        graph = graph_of(folder, self._network(seed))
        if seed % 6 == 4:  # its second layer is done twice
            first, second, *rest = graph.occurrences
            graph = replace(graph, occurrences=(first, replace(second, times=2), *rest))
        self.asked = NetworkQuestion(
            graph,
            self.arch,
            ENERGY,
            "perfect",
            fuse="all" if seed % 6 else "whole",
            most=1 if seed % 6 else 2,
            stays=bool(seed % 2),
        )

    @cached_property
    def front(self) -> list[Point]:
        return AllFronts(self.asked).rest()

    def _machine(self) -> Architecture:
        rng = self.rng
        levels: list[Memory | Fanout] = [
            self._memory("DRAM", None, rng.choice([20, 100]), (8, 16, 32)),
            self._memory("GLB", rng.choice([12, 20, 40, 80]), rng.randint(1, 8), (2, 4, 8)),
        ]
        if rng.random() < 0.5:
            levels.append(Fanout(name="array", axes=(ArrayAxis(size=2),), multicast=rng.random() < 0.5))
        mac = Mac(energy_pj=0.5, per_cycle=rng.choice([1.0, 4.0]))
        return Architecture.model_validate(
            {"name": "tiny", "clock_hz": 1e9, "levels": levels, "mac": mac, "word_bits": 8}
        )

    def _memory(self, name: str, words: int | None, energy: int, bits: tuple[int, ...]) -> Memory:
        fields: dict[str, object] = {"name": name, "access_bits": 8, "read_energy_pj": energy}
        fields |= {"write_energy_pj": energy, "shared_bits_per_cycle": float(self.rng.choice(bits))}
        return Memory.model_validate(fields if words is None else {**fields, "size_bits": 8 * words, "keeps": MAY})

    def _network(self, seed: int) -> str:
        rows, *wide = (self.rng.choice([2, 2, 3] if seed % 6 else [2]) for _ in range(4))
        names = ["a", "b", "c"][: 3 if seed % 6 else 2]
        layers = "".join(
            f"  - {{name: {name}, op: gemm, M: {rows}, N: {n}, K: {k}, weight: true}}\n"
            for name, k, n in zip(names, [2, *wide], wide, strict=False)
        )
        return f"network: chain\nlayers:\n{layers}graph: [{', '.join(names)}]\n"


@cache
def case_of(seed: int, folder: Path) -> Case:
    return Case(seed, folder)


def limits_between(front: list[Point], rng: random.Random) -> list[Objective]:
    """Limits that bind, on points and between them, and a formula that is least above the hull."""
    slow, fast = rng.choice(list(itertools.pairwise(front)))
    (most_energy, fewest), (least_energy, slowest) = front[-1], front[0]
    middle = front[len(front) // 2]
    return [
        ENERGY.capped(latency=fast[1]),
        ENERGY.capped(latency=(slow[1] + fast[1]) / 2),
        LATENCY.capped(energy=slow[0]),
        LATENCY.capped(energy=(least_energy + most_energy) / 2),
        EDP.capped(latency=fewest + 0.3 * (slowest - fewest)),
        parse_objective("2 * energy + latency").capped(energy=middle[0], latency=middle[1]),
        parse_objective(f"max(energy, {middle[0] / middle[1]!r} * latency)"),
    ]


@pytest.mark.some(1)
@pytest.mark.parametrize("number", range(7))
@pytest.mark.parametrize("seed", longer.seeds(6))
def test_no_way_is_better(seed: int, number: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    case = case_of(seed, tmp_path_factory.getbasetemp())
    objective = limits_between(case.front, random.Random(seed))[number]
    answer = segment(replace(case.asked, objective=objective), OneAfterTheOther(solve_once))
    proof, least = answer.certificate, min(objective.value(*point) for point in case.front)
    assert proof.objective == objective.name
    assert proof.value == pytest.approx(objective.value(answer.energy_pj, answer.latency_cycles))
    assert proof.lower_bound <= least * (1 + 1e-9)
    assert proof.proven
    assert proof.value == pytest.approx(least)
    assert max(one.times for one in answer.segments) == (2 if seed % 6 == 4 else 1)


@pytest.mark.long
def test_that_no_way_keeps_a_limit_is_proven(tmp_path: Path) -> None:
    case = Case(0, tmp_path)
    fastest = case.front[-1][1]
    with pytest.raises(InfeasibleError, match=f"keeps the limit: the least latency is {fastest:.10g} cycles") as error:
        segment(replace(case.asked, objective=ENERGY.capped(latency=0.99 * fastest)))
    assert error.value.hint == "raise the limit"
    least = case.front[0][0]
    with pytest.raises(InfeasibleError, match=f"keeps the limit: the least energy is {least:.10g} pJ"):
        segment(replace(case.asked, objective=EDP.capped(energy=0.99 * least)))
