"""Heuristic searches: what they sample is legal and complete, what they find is never better than the proven best."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

import longer
from brute_force import all_mappings, count
from generators import memory, random_architecture, random_problem
from tilewright import load_arch, search
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import Cost, check_fit, evaluate, parse_objective
from tilewright.ir import (
    InfeasibleError,
    Loop,
    LoopNest,
    Mapping,
    MappingError,
    Problem,
    TilewrightError,
    ceil_div,
)
from tilewright.mapper.heuristics import PROPOSALS, search_heuristic, trajectory
from tilewright.mapper.heuristics.chains import count_chains, draw_chain
from tilewright.mapper.heuristics.moves import crossover, neighbour
from tilewright.mapper.heuristics.neighbourhood import neighbourhood
from tilewright.mapper.heuristics.sample import Genome, GenomeSpace
from tilewright.mapper.question import DEFAULT_LIMITS, Limits, NestQuestion, Question
from tilewright.mapper.tilings import TILINGS, Tiling
from tilewright.workloads import conv2d, gemm

MAY = Keeps(input="may", weight="may", output="may")


def random_space(seed: int, capacity: int | None = None, largest: int = 9) -> tuple[GenomeSpace, random.Random]:
    rng = random.Random(seed)
    problem = random_problem(rng, largest)
    return GenomeSpace(problem, random_architecture(rng, capacity=capacity), rng.choice(TILINGS)), rng


def genomes(space: GenomeSpace, rng: random.Random) -> list[Genome]:
    """Draws, and what moves and crossovers make of them."""
    drawn = [space.draw(rng) for _ in range(8)]
    walked = drawn[:1]
    for _ in range(30):
        walked.append(neighbour(space, walked[-1], rng))
    mixed = [crossover(space, *rng.sample(drawn + walked, 2), rng) for _ in range(15)]
    return drawn + walked + mixed


# ---- the space ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", longer.seeds(40))
def test_every_genome_is_a_mapping_and_fits_when_it_says_so(seed: int) -> None:
    space, rng = random_space(seed, capacity=(None, 40, 400)[seed % 3])
    space = GenomeSpace(space.problem, varied(space.arch, rng), space.tiling)
    for genome in genomes(space, rng):
        mapping = space.mapping(genome)  # raises where a dimension is not covered
        try:
            check_fit(mapping, space.arch)
            fits = True
        except MappingError:
            fits = False
        assert space.fits(genome) == fits
        if fits:
            assert evaluate(mapping, space.arch).energy_pj >= 0  # raises where a node or a loop is misplaced
        if space.tiling == "perfect":
            assert all(size % loop.trips == 0 for d, size in mapping.problem.dims for loop in loops(mapping, d))


def varied(arch: Architecture, rng: random.Random) -> Architecture:
    """Some memories with two copies of their tiles, some with a private part for one role."""
    levels = [
        level.model_copy(update=rng.choice([{}, {"double_buffered": True}, {"partition_bits": {"output": 64}}]))
        if isinstance(level, Memory) and level is not arch.levels[0]
        else level
        for level in arch.levels
    ]
    return arch.model_copy(update={"levels": tuple(levels)})


def loops(mapping: Mapping, dim: str) -> list[Loop]:
    return [loop for loop in mapping.nest.loops if loop.dim == dim]


@pytest.mark.parametrize("seed", longer.seeds(40))
def test_genome_to_mapping_and_back(seed: int) -> None:
    space, rng = random_space(seed)
    for genome in genomes(space, rng):
        mapping = space.mapping(genome)
        assert space.genome(mapping) == genome
        assert Mapping(space.problem, LoopNest.parse(str(mapping))) == mapping


def test_the_neighbourhood_of_a_mapping_fits_and_is_the_same_every_time() -> None:
    problem, arch = gemm(16, 16, 16), load_arch("three_level")
    start = search(problem, arch, "edp").mapping
    near = list(neighbourhood(start, arch))
    assert near == list(neighbourhood(start, arch))
    assert len(near) > 20
    assert len({start, *near}) == 1 + len(near)
    for mapping in near:
        check_fit(mapping, arch)


def test_loops_of_a_memory_that_keeps_nothing_join_those_further_out() -> None:
    levels = (memory("DRAM"), memory("L1", keeps=MAY), memory("L2", keeps=MAY))
    arch = Architecture(name="three", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    nothing, everything = (False,) * 3, (True,) * 3
    space = GenomeSpace(gemm(12, 12, 1), arch, "ragged")
    keeps, trips = (everything, everything, nothing), [(2, 3, 2), (1, 5, 4), (1, 1, 1)]
    assert space.assemble(keeps, trips, [()] * 3, random.Random(0)).trips == ((2, 6, 1), (1, 12, 1), (1, 1, 1))


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize(
    ("size", "limits"), [(12, (12, 1, 12)), (12, (12, 4, 3, 12)), (7, (2, 7)), (1, (1, 1)), (9, ())]
)
def test_chains_are_drawn_uniformly(size: int, limits: tuple[int, ...], tiling: Tiling) -> None:
    chains = set(listed_chains(size, limits, tiling))
    assert count_chains(size, limits, tiling) == len(chains)
    rng, draws = random.Random(0), 200 * len(chains)
    found = Counter(draw_chain(rng, size, limits, tiling) for _ in range(draws))
    assert set(found) == chains
    assert min(found.values()) > 130
    assert max(found.values()) < 270


def listed_chains(size: int, limits: tuple[int, ...], tiling: Tiling) -> list[tuple[int, ...]]:
    if not limits:
        return [(size,)]
    return [
        (trips, *rest)
        for trips in range(1, min(size, limits[0]) + 1)
        if tiling == "ragged" or size % trips == 0
        for rest in listed_chains(ceil_div(size, trips), limits[1:], tiling)
    ]


@pytest.mark.long
def test_chains_of_a_large_dimension() -> None:
    chain = draw_chain(random.Random(1), 1_000_003, (10**7, 16, 16, 10**7), "ragged")
    left = 1_000_003
    for trips in chain:
        left = ceil_div(left, trips)
    assert left == 1


def tiny_machine(*, axes: tuple[ArrayAxis, ...] = (), below: bool = True) -> Architecture:
    array = [Fanout(name="array", axes=axes)] if axes else []
    buffer = memory("buffer", keeps=MAY, size_bits=8 * 12)
    levels = (memory("DRAM"), *array, buffer) if below else (memory("DRAM"), buffer, *array)
    return Architecture(name="tiny", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))


BLIND_SPOTS = [
    (gemm(4, 3, 1), tiny_machine(), "perfect"),
    (gemm(3, 1, 2), tiny_machine(axes=(ArrayAxis(size=2), ArrayAxis(size=3))), "ragged"),
    (gemm(4, 1, 2), tiny_machine(axes=(ArrayAxis(size=2), ArrayAxis(size=2, dims=("M",))), below=False), "perfect"),
    (gemm(5, 1, 1), tiny_machine(axes=(ArrayAxis(size=3),)), "ragged"),
]


def fitting(problem: Problem, arch: Architecture, tiling: Tiling) -> set[str]:
    """Every mapping of the brute-force list that fits."""
    assert count(problem, arch, tiling == "ragged", 10_000) < 10_000
    found = set()
    for mapping in all_mappings(problem, arch, tiling == "ragged"):
        try:
            check_fit(mapping, arch)
        except MappingError:
            continue
        found.add(str(mapping))
    return found


@pytest.mark.some(1)
@pytest.mark.parametrize(("problem", "arch", "tiling"), BLIND_SPOTS)
def test_random_sampling_reaches_every_mapping_and_no_other(
    problem: Problem, arch: Architecture, tiling: Tiling
) -> None:
    space, rng = GenomeSpace(problem, arch, tiling), random.Random(0)
    draws = (space.draw(rng) for _ in range(25_000))
    assert {str(space.mapping(genome)) for genome in set(draws) if space.fits(genome)} == fitting(problem, arch, tiling)


@pytest.mark.some(1)
@pytest.mark.parametrize(("problem", "arch", "tiling"), BLIND_SPOTS)
def test_moves_reach_every_mapping(problem: Problem, arch: Architecture, tiling: Tiling) -> None:
    space, rng = GenomeSpace(problem, arch, tiling), random.Random(0)
    genome = space.draw(rng)
    walk = {genome}
    for _ in range(25_000):
        genome = neighbour(space, genome, rng)
        walk.add(genome)
    assert {str(space.mapping(genome)) for genome in walk if space.fits(genome)} == fitting(problem, arch, tiling)


# ---- the searches ------------------------------------------------------------------------------------------


def asked(
    problem: Problem,
    arch: Architecture,
    objective: str = "edp",
    tiling: Tiling = "perfect",
    limits: Limits = DEFAULT_LIMITS,
) -> NestQuestion:
    return Question(problem, arch, parse_objective(objective), tiling, limits=limits)


@pytest.mark.some(4)
@pytest.mark.parametrize("strategy", PROPOSALS)
@pytest.mark.parametrize("seed", range(5))
def test_never_better_than_the_proven_best(strategy: str, seed: int) -> None:
    rng = random.Random(1000 + seed)
    problem, arch = random_problem(rng, 4), random_architecture(rng, memories=1, capacity=200)
    tiling: Tiling = TILINGS[seed % 2]
    objective = ("energy", "latency", "edp")[seed % 3]
    proven = search(problem, arch, objective, tiling).certificate
    assert proven.proven
    result = search_heuristic(asked(problem, arch, objective, tiling), strategy, seed, evaluations=90)
    assert evaluate(result.mapping, arch) == result.cost
    assert result.cost.objective(objective) >= proven.value * (1 - 1e-9)
    values = [step.value for step in result.trajectory]
    assert values == sorted(set(values), reverse=True)
    assert values[-1] == result.cost.objective(objective)
    assert all(
        a.seconds <= b.seconds and a.evaluations < b.evaluations for a, b in itertools.pairwise(result.trajectory)
    )


@pytest.mark.some(1)
@pytest.mark.parametrize("strategy", ["anneal", "genetic"])
@pytest.mark.parametrize(
    ("problem", "arch", "tiling"),
    [(gemm(8, 8, 8), "three_level", "perfect"), (conv2d(K=4, C=2, P=4, Q=1, R=3, S=1), "eyeriss", "ragged")],
)
def test_finds_the_optimum_of_small_problems(problem: Problem, arch: str, tiling: Tiling, strategy: str) -> None:
    machine = load_arch(arch)
    proven = search(problem, machine, "energy", tiling).certificate.value
    found = search_heuristic(asked(problem, machine, "energy", tiling), strategy, seed=0, evaluations=800)
    assert found.cost.energy_pj == pytest.approx(proven, rel=1e-9)


LAYER = conv2d(K=8, C=6, P=6, Q=5, R=3, S=3)


@pytest.mark.some(1)
@pytest.mark.parametrize("strategy", PROPOSALS)
@pytest.mark.parametrize("tiling", TILINGS)
def test_same_seed_same_mapping(strategy: str, tiling: Tiling) -> None:
    first, again = (
        search_heuristic(asked(LAYER, load_arch("eyeriss"), "edp", tiling), strategy, seed=7, evaluations=30)
        for _ in range(2)
    )
    other = search_heuristic(asked(LAYER, load_arch("eyeriss"), "edp", tiling), strategy, seed=8, evaluations=30)
    assert (str(first.mapping), first.evaluated, first.rejected) == (
        str(again.mapping),
        again.evaluated,
        again.rejected,
    )
    assert [step[1:] for step in first.trajectory] == [step[1:] for step in again.trajectory]
    assert first.mapping != other.mapping
    assert first.evaluated == 30


@pytest.mark.long
def test_same_seed_same_mapping_under_any_hash_seed() -> None:
    program = (
        "import tilewright as tw; from tilewright.mapper.heuristics import PROPOSALS, search_heuristic\n"
        "from tilewright.cost_models import EDP; from tilewright.mapper.question import Question\n"
        "problem, arch = tw.conv2d(K=8, C=6, P=6, Q=5, R=3, S=3), tw.load_arch('three_level')\n"
        "question = Question(problem, arch, EDP, 'ragged')\n"
        "for name in PROPOSALS: print(search_heuristic(question, name, seed=5, evaluations=25).mapping)\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert printed[0].count("DRAM keeps") == 3


@pytest.mark.some(1)
@pytest.mark.parametrize("strategy", PROPOSALS)
def test_a_larger_budget_begins_like_a_smaller_one(strategy: str) -> None:
    small, large = (
        search_heuristic(asked(LAYER, load_arch("eyeriss")), strategy, evaluations=budget) for budget in (30, 75)
    )
    steps = [[step[1:] for step in result.trajectory] for result in (small, large)]
    assert steps[1][: len(steps[0])] == steps[0]
    assert large.cost.edp <= small.cost.edp


@pytest.mark.parametrize("strategy", PROPOSALS)
def test_a_time_limit_ends_the_search_but_not_before_something_is_found(strategy: str) -> None:
    result = search_heuristic(asked(LAYER, load_arch("eyeriss"), limits=Limits(0.0)), strategy)
    assert result.evaluated == 1
    result = search_heuristic(asked(LAYER, load_arch("eyeriss"), limits=Limits(0.2)), strategy)
    assert result.evaluated > 1
    assert result.trajectory[-1].seconds < 2


def test_a_space_smaller_than_the_budget_is_exhausted() -> None:
    problem, arch, tiling = BLIND_SPOTS[3]
    result = search_heuristic(asked(problem, arch, "edp", tiling), "random", evaluations=100_000)
    assert result.evaluated == len(fitting(problem, arch, tiling))


@pytest.mark.some(1)
@pytest.mark.parametrize("strategy", PROPOSALS)
def test_nothing_fits(strategy: str) -> None:
    levels = (memory("DRAM"), memory("buffer", keeps=Keeps(), size_bits=16))
    arch = Architecture(name="narrow", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    with pytest.raises(InfeasibleError, match=r"none of 20,000 mappings tried fits(.|\n)*buffer: tiles of .* need"):
        search_heuristic(asked(gemm(2, 2, 2), arch), strategy)


@pytest.mark.parametrize(
    ("limit", "options", "message"),
    [
        (None, {"heuristic": "aneal"}, "did you mean 'anneal'"),
        (-1.0, {}, "expected seconds, 0 or more"),
        (None, {"evaluations": 0}, "expected 1 or more"),
    ],
)
def test_wrong_options(limit: float | None, options: dict[str, Any], message: str) -> None:
    with pytest.raises(TilewrightError, match=message):
        search_heuristic(asked(gemm(2, 2, 2), load_arch("three_level"), limits=Limits(limit)), **options)


@pytest.mark.parametrize("calls", [5, 0])
def test_an_interrupted_search_returns_what_it_has(calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = itertools.count(1)

    def interrupted(mapping: Mapping, arch: Architecture) -> Cost:
        if next(counter) > calls:
            raise KeyboardInterrupt
        return evaluate(mapping, arch)

    monkeypatch.setattr(trajectory, "evaluate", interrupted)
    question = asked(LAYER, load_arch("three_level"))
    if calls:
        assert search_heuristic(question, evaluations=50).evaluated == calls
        return
    with pytest.raises(KeyboardInterrupt):
        search_heuristic(question, evaluations=50)
