"""Fronts, limits and formulas over trees: what a brute force over all trees finds."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from cascade_brute_force import Trees
from cascade_cases import CHEAP, DEAR, Case, random_case
from longer import TIMES, blocks
from tilewright.arch import Architecture, Keeps, Mac, Memory
from tilewright.cost_models import EDP, parse_objective
from tilewright.ir import InfeasibleError
from tilewright.mapper.cascades import search_cascade, search_cascade_front
from tilewright.mapper.question import Question, TreeQuestion
from tilewright.mapper.space import Space
from tilewright.workloads import cascade

SEEDS, BLOCK = 4, 2

MOST = CHEAP if TIMES == 1 else DEAR

Front = list[tuple[float, float]]


def question(case: Case, objective: str = "edp") -> TreeQuestion:
    return Question(case.cascade, case.arch, parse_objective(objective), case.tiling, case.space, fuse=case.fuse)


def distinct(front: Front) -> Front:
    """Points that differ by more than the rounding of floats."""
    found: Front = []
    for energy, latency in front:
        if not found or (energy > found[-1][0] * (1 + 1e-9) and latency < found[-1][1] * (1 - 1e-9)):
            found.append((energy, latency))
    return found


def contrary(case: Case, rng: random.Random) -> Case:
    """Often a machine whose memories on the chip take more energy than the outermost one: then what is fast is dear."""
    if rng.random() < 0.2:
        return case
    factor = rng.choice([10, 30])
    outermost, *others = case.arch.levels
    dear = [
        one.model_copy(
            update={"read_energy_pj": factor * one.read_energy_pj, "write_energy_pj": factor * one.write_energy_pj}
        )
        if isinstance(one, Memory)
        else one
        for one in others
    ]
    return replace(case, arch=case.arch.model_copy(update={"levels": (outermost, *dear)}))


def is_exact(case: Case) -> bool:
    """Whether partial sums are no wider than words: else the search knows bounds only."""
    return case.arch.partial_sum_bits is None


def cases(seeds: range) -> list[tuple[int, Case, Front]]:
    found = []
    for seed in seeds:
        case = contrary(random_case(seed, MOST), random.Random(seed))
        front = distinct(case.trees.front()) if is_exact(case) else []
        if front:
            found.append((seed, case, front))
    return found


DEAR_ON_CHIP = Architecture.model_validate(
    {
        "name": "dear on chip",
        "clock_hz": 1e9,
        "word_bits": 8,
        "levels": [
            Memory(name="DRAM", access_bits=8, read_energy_pj=20, write_energy_pj=20, shared_bits_per_cycle=8),
            Memory(
                name="GLB",
                access_bits=8,
                read_energy_pj=30,
                write_energy_pj=30,
                shared_bits_per_cycle=64,
                size_bits=8 * 8,
                keeps=Keeps(input="may", weight="may", output="may"),
            ),
        ],
        "mac": Mac(energy_pj=0.5, per_cycle=4),
    }
)


@pytest.mark.long
@pytest.mark.parametrize(("space", "reuse", "m"), [("even", "across_levels", 1), ("uneven", "at_node", 2)])
def test_a_front_of_many_points(space: Space, reuse: str, m: int) -> None:
    """By a search for each branch, and by tables."""
    pair = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], {"m": m, "k": 2, "n": 2, "p": 2})
    arch = DEAR_ON_CHIP.model_copy(update={"reuse": reuse})
    front = distinct(Trees(pair, arch, "perfect", space).front())
    assert len(front) > 2
    answers = search_cascade_front(Question(pair, arch, EDP, "perfect", space))
    assert [(a.cost.energy_pj, a.cost.latency_cycles) for a in answers] == front


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(SEEDS, BLOCK))
def test_the_front_is_that_of_all_trees(seeds: range) -> None:
    for seed, case, front in cases(seeds):
        answers = search_cascade_front(question(case))
        found = [(a.cost.energy_pj, a.cost.latency_cycles) for a in answers]
        assert found == [pytest.approx(point, rel=1e-9) for point in front], f"{seed}\n{case}"
        assert all(a.certificate.proven for a in answers)


FORMULAS = ("energy * latency ** 0.5", "max(energy, 30 * latency)", "energy + 100 * latency", "min(energy, latency)")


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(SEEDS, BLOCK))
def test_limits_and_formulas_take_the_best_of_the_front(seeds: range) -> None:
    for seed, case, front in cases(seeds):
        rng = random.Random(seed)
        energy, latency = rng.choice(front)
        factor = rng.choice([0.97, 1, 1.05])
        texts = [
            f"energy where latency <= {factor * latency!r}",
            f"edp where energy <= {factor * energy!r}",
            f"latency where energy <= {factor * energy!r} and latency <= {latency!r}",
            rng.choice(FORMULAS),
        ]
        for text in texts:
            objective = parse_objective(text)
            best = min(objective.value(*point) for point in front)
            try:
                proof = search_cascade(question(case, text)).certificate
            except InfeasibleError:
                assert best == math.inf, f"{seed}, {text}\n{case}"
                continue
            assert proof.proven
            assert proof.value == pytest.approx(best, rel=1e-9), f"{seed}, {text}\n{case}"


@pytest.mark.long
def test_a_limit_that_none_keeps_is_known_to_be_unmet() -> None:
    """Where bounds alone do not say so, and a search for what is faster is cut off at the limit."""
    case = contrary(random_case(7, DEAR), random.Random(7))
    fastest = search_cascade(question(case, "latency")).certificate.value
    for part in (0.95, 0.97, 0.99):
        with pytest.raises(InfeasibleError):
            search_cascade(question(case, f"energy where latency <= {part * fastest!r}"))
