"""The best few mappings, Pareto fronts and one objective after another: their costs are those of brute force."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

import pytest

import brute_force
from brute_force import Point, distinct, front
from generators import memory, random_architecture, random_problem
from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac
from tilewright.cost_models import EDP, ENERGY, LATENCY, evaluate, parse_objective
from tilewright.ir import InfeasibleError, MappingError, Problem
from tilewright.mapper.question import NestQuestion, Question
from tilewright.mapper.several import best_of, search_best, search_front, search_in_turn
from tilewright.workloads import gemm

PAIRS = 24
COUNT = 4
MOST_MAPPINGS = 250


@cache
def pairs() -> list[tuple[Problem, Architecture]]:
    return list(small_pairs(random.Random(5)))


def small_pairs(rng: random.Random) -> Iterator[tuple[Problem, Architecture]]:
    """Pairs that brute force is quick with, and of which some mapping fits."""
    found = 0
    while found < PAIRS:
        problem, arch = random_problem(rng, 3), random_architecture(rng, memories=rng.randint(1, 2), capacity=24)
        if problem.macs <= 200 and 8 <= brute_force.count(problem, arch, False, MOST_MAPPINGS) < MOST_MAPPINGS:
            found += 1
            yield problem, arch


@cache
def costs_of(number: int) -> list[Point]:
    """Energy and latency of all mappings of a pair that fit."""
    problem, arch = pairs()[number]
    found = []
    for mapping in brute_force.all_mappings(problem, arch, ragged=False):
        with suppress(MappingError):
            cost = evaluate(mapping, arch)
            found.append((cost.energy_pj, cost.latency_cycles))
    return found


def asked(problem: Problem, arch: Architecture, objective: str = "edp") -> NestQuestion:
    return Question(problem, arch, parse_objective(objective), "perfect")


@pytest.mark.some(1)
@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize("start", range(0, PAIRS, 8))
def test_the_best_few_of_brute_force(start: int, objective: str) -> None:
    for number, (problem, arch) in enumerate(pairs()[start : start + 8], start):
        value = {"energy": lambda p: p[0], "edp": lambda p: p[0] * p[1]}[objective]
        expected = sorted(distinct(costs_of(number)), key=value)
        if not expected:
            with pytest.raises(InfeasibleError):
                search_best(asked(problem, arch, objective), COUNT)
            continue
        answers = search_best(asked(problem, arch, objective), COUNT)
        found = [(answer.cost.energy_pj, answer.cost.latency_cycles) for answer in answers]
        assert list(map(value, found)) == pytest.approx(list(map(value, expected[:COUNT])), rel=1e-9), number
        # Of points with one value, any may be among the best few, but each must be there, and once.
        assert all(any(p == pytest.approx(e, rel=1e-9, abs=0) for e in expected) for p in found)
        assert len(distinct(found)) == len(found)
        for answer in answers:
            assert evaluate(answer.mapping, arch) == answer.cost
            assert answer.certificate.proven
            assert answer.certificate.value == answer.cost.objective(objective)


@pytest.mark.some(1)
@pytest.mark.parametrize("start", range(0, PAIRS, 8))
def test_the_front_of_brute_force(start: int) -> None:
    for number, (problem, arch) in enumerate(pairs()[start : start + 8], start):
        expected = front(costs_of(number))
        if not expected:
            with pytest.raises(InfeasibleError):
                list(search_front(asked(problem, arch)))
            continue
        answers = list(search_front(asked(problem, arch)))
        assert all(answer.certificate.proven for answer in answers)
        found = [(answer.cost.energy_pj, answer.cost.latency_cycles) for answer in answers]
        assert found == [pytest.approx(point, rel=1e-9, abs=0) for point in expected], number


@pytest.mark.some(1)
@pytest.mark.parametrize("start", range(0, PAIRS, 8))
def test_one_objective_after_another(start: int) -> None:
    for number, (problem, arch) in enumerate(pairs()[start : start + 8], start):
        points = costs_of(number)
        for text, first in (("energy,latency", 0), ("latency,energy", 1)) if points else ():
            least = min(point[first] for point in points)
            then = min(p[1 - first] for p in points if p[first] <= least * (1 + 1e-9))
            best = search_in_turn(asked(problem, arch, text), best_of)
            found = (best.cost.energy_pj, best.cost.latency_cycles)
            assert (found[first], found[1 - first]) == pytest.approx((least, then), rel=1e-9, abs=0), (number, text)
            assert best.certificate.proven


@pytest.mark.long
def test_pairs_have_something_to_choose() -> None:
    """Otherwise the tests above would pass with one mapping for every answer."""
    fronts = [len(front(costs_of(number))) for number in range(PAIRS)]
    assert sum(length > 1 for length in fronts) >= 5
    assert sum(len(distinct(costs_of(number))) > COUNT for number in range(PAIRS)) >= PAIRS // 2


@pytest.mark.long
def test_fewer_are_returned_where_there_are_no_more() -> None:
    number = min((n for n in range(PAIRS) if costs_of(n)), key=lambda n: len(distinct(costs_of(n))))
    expected = len(distinct(costs_of(number)))
    assert len(search_best(asked(*pairs()[number], "energy"), expected + 5)) == expected


@pytest.mark.long
def test_a_mapping_does_not_depend_on_the_order_of_hashes() -> None:
    code = (
        "import tilewright as tw\n"
        "for space in ('even', 'uneven'):\n"
        "    for tiling in ('perfect', 'ragged'):\n"
        "        result = tw.search(tw.gemm(M=6, N=10, K=12), 'three_level', tiling=tiling, space=space)\n"
        "        print(result.mapping.nest, result.cost, result.certificate.pruned, result.certificate.evaluated)\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert "DRAM keeps" in printed.pop()


@pytest.mark.parametrize("number", [16, 22])
def test_the_best_few_where_first_tiles_take_time(number: int) -> None:
    """Mappings that move the same words, and differ in fill times alone, are different ones."""
    problem, arch = pairs()[number]
    ports = {"shared_bits_per_cycle": None, "read_bits_per_cycle": 7.0, "write_bits_per_cycle": 3.0}
    levels = tuple(lv.model_copy(update=ports) if lv in arch.memories else lv for lv in arch.levels)
    arch = arch.model_copy(update={"levels": levels, "latency": "with_fill"})
    costs = []
    for mapping in brute_force.all_mappings(problem, arch, ragged=False):
        with suppress(MappingError):
            cost = evaluate(mapping, arch)
            costs.append((cost.energy_pj, cost.latency_cycles))
    expected = sorted(energy * latency for energy, latency in distinct(costs))[:COUNT]
    found = search_best(asked(problem, arch), COUNT)
    assert [answer.cost.edp for answer in found] == pytest.approx(expected, rel=1e-9)


# ---- ragged ------------------------------------------------------------------------------------------------


def test_second_places_with_ragged_tiles() -> None:
    """Three steps in each of two instances are worse than two, and better than four in one; nobody needs them to be
    best."""
    levels = (memory("DRAM"), Fanout(name="array", axes=(ArrayAxis(size=2),)), memory("RF", size_bits=800))
    arch = Architecture(name="two", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))
    expected = sorted({point[1] for point in costs_by_brute_force(gemm(4, 1, 1), arch, True)})
    found = search_best(Question(gemm(4, 1, 1), arch, LATENCY, "ragged"), 3)
    assert sorted({answer.cost.latency_cycles for answer in found})[:3] == expected[: len(found)]
    values = [
        answer.cost.latency_cycles for answer in search_best(Question(gemm(4, 1, 1), arch, LATENCY, "ragged"), 20)
    ]
    assert sorted(set(values)) == expected


def costs_by_brute_force(problem: Problem, arch: Architecture, ragged: bool) -> list[Point]:
    found = []
    for mapping in brute_force.all_mappings(problem, arch, ragged):
        with suppress(MappingError):
            cost = evaluate(mapping, arch)
            found.append((cost.energy_pj, cost.latency_cycles))
    return found


def ragged_pairs(seeds: range) -> Iterator[tuple[Problem, Architecture]]:
    for seed in seeds:
        rng = random.Random(seed)
        while True:
            problem, arch = random_problem(rng, 4), random_architecture(rng, memories=rng.randint(0, 1), capacity=24)
            if problem.macs <= 60 and 8 <= brute_force.count(problem, arch, True, MOST_MAPPINGS) < MOST_MAPPINGS:
                yield problem, arch
                break


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(24, 6))
def test_the_best_few_with_ragged_tiles(seeds: range) -> None:
    for number, (problem, arch) in zip(seeds, ragged_pairs(seeds), strict=True):
        points = distinct(costs_by_brute_force(problem, arch, True))
        for objective, value in ((ENERGY, lambda p: p[0]), (EDP, lambda p: p[0] * p[1])):
            expected = sorted(map(value, points))[:8]
            if expected:
                best = search_best(Question(problem, arch, objective, "ragged"), 8)
                found = [(answer.cost.energy_pj, answer.cost.latency_cycles) for answer in best]
                assert list(map(value, found)) == pytest.approx(expected, rel=1e-9), number
        if points:
            answers = search_front(Question(problem, arch, ENERGY, "ragged"))
            found = [(answer.cost.energy_pj, answer.cost.latency_cycles) for answer in answers]
            assert found == [pytest.approx(point, rel=1e-9, abs=0) for point in front(points)], number
