"""The best few mappings and Pareto fronts on machines with lines: those of brute force over mappings and layouts."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from lined_cases import banked, case_of, different_layouts, orders, stated

import brute_force
from brute_force import Point, distinct, front
from generators import memory
from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac
from tilewright.cost_models import EDP, ENERGY, Objective, evaluate
from tilewright.ir import MappingError, Problem
from tilewright.mapper.question import NestQuestion, Question
from tilewright.mapper.several import search_best, search_front
from tilewright.mapper.tilings import Tiling
from tilewright.workloads import gemm

SEEDS = 6
COUNT = 4
MOST_MACHINES = 12
"""Layouts that the oracle tries."""
VALUES = {ENERGY.name: lambda p: p[0], EDP.name: lambda p: p[0] * p[1]}


def points_of(problem: Problem, machines: tuple[Architecture, ...], tiling: Tiling) -> list[list[Point]]:
    """Energy and latency of every mapping that fits, on every one of some machines."""
    found: list[list[Point]] = []
    for mapping in brute_force.all_mappings(problem, machines[0], tiling == "ragged"):
        with suppress(MappingError):
            costs = [evaluate(mapping, machine) for machine in machines]
            found.append([(cost.energy_pj, cost.latency_cycles) for cost in costs])
    return found


def check(problem: Problem, asked: Architecture, machines: tuple[Architecture, ...], tiling: Tiling) -> None:
    """A front is that of all mappings in all layouts; of a ranking, each mapping stands in its best layouts alone."""
    points = points_of(problem, machines, tiling)
    if not points:
        return
    question = Question(problem, asked, ENERGY, tiling)
    answers = list(search_front(question))
    assert all(answer.certificate.proven for answer in answers)
    expected = front([point for each in points for point in each])
    found = [(answer.cost.energy_pj, answer.cost.latency_cycles) for answer in answers]
    assert found == [pytest.approx(point, rel=1e-9, abs=0) for point in expected]
    for objective in (ENERGY, EDP):
        _check_best(question, objective, points)


def _check_best(question: NestQuestion, objective: Objective, points: list[list[Point]]) -> None:
    value = VALUES[objective.name]
    asked = Question(question.problem, question.arch, objective, question.tiling)
    ranked = sorted(map(value, distinct([min(each, key=value) for each in points])))[:COUNT]
    answers = search_best(asked, COUNT)
    assert all(answer.certificate.proven for answer in answers)
    assert [answer.certificate.value for answer in answers] == pytest.approx(ranked, rel=1e-9, abs=0)


@pytest.mark.parametrize("seeds", blocks(SEEDS, 3))
def test_stated_layouts(seeds: range) -> None:
    for seed in seeds:
        (problem, arch, ragged), rng = case_of(seed), random.Random(seed)
        arch = banked(rng, arch) if seed % 2 else arch
        places = [(m.name, t.name) for m in arch.memories for t in problem.tensors]
        arch = stated(arch, {(m, t): rng.choice(orders(problem, t)) for m, t in places})
        check(problem, arch, (arch,), "ragged" if ragged else "perfect")


@pytest.mark.parametrize("seeds", blocks(SEEDS, 3))
def test_open_layouts(seeds: range) -> None:
    """Of one tensor in one memory."""
    for seed in seeds:
        (problem, arch, ragged), rng = case_of(seed), random.Random(seed)
        memory = rng.choice([m for m in arch.memories if m.line_bits])
        tensor = rng.choice(problem.tensors).name
        texts = different_layouts(problem, arch, memory, tensor)[:MOST_MACHINES]
        machines = tuple(stated(arch, {(memory.name, tensor): text}) for text in texts)
        if len(texts) < MOST_MACHINES:
            check(problem, stated(arch, {(memory.name, tensor): "any"}), machines, "ragged" if ragged else "perfect")


def machine(*fanouts: Fanout, **changes: object) -> Architecture:
    """A memory with lines around arrays."""
    memories = memory("DRAM", read_energy_pj=7.0, write_energy_pj=8.0, line_bits=32)
    levels = (memories, *fanouts)
    return Architecture(
        name="lined",
        clock_hz=1e9,
        word_bits=8,
        levels=levels,
        mac=Mac(energy_pj=0.0),
        **changes,  # type: ignore[arg-type]
    )


def test_sums_are_as_wide_where_a_line_holds_as_many() -> None:
    """Of an output of one word, a line holds it whole, finished or not."""
    axes = (ArrayAxis(size=2), ArrayAxis(size=2))
    apart = Fanout(name="apart", axes=axes[:1], spatial_reduction=False)
    arch = machine(apart, Fanout(name="together", axes=axes, spatial_reduction=True), partial_sum_bits=16)
    check(gemm(M=1, N=1, K=3), arch, (arch,), "ragged")
