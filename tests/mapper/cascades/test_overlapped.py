"""Searches where operations overlap: no tree lies below what is proven, and answers are the cost model's."""

from __future__ import annotations

import itertools
import random

import pytest

import tilewright as tw
from cascade_cases import CHEAP, Case, random_case
from longer import blocks
from tilewright.cost_models import Cost, evaluate, parse_objective
from tilewright.ir import InfeasibleError, MappingError
from tilewright.mapper.answer import Answer
from tilewright.mapper.cascades import search_cascade, search_cascade_front
from tilewright.mapper.cascades.recounts.prices import Resources
from tilewright.mapper.question import Question, TreeQuestion

SEEDS, BLOCK, SAMPLES = 6, 3, 12


def overlapping_case(seed: int) -> Case:
    case = random_case(seed, CHEAP)
    changes = {"overlap": "across_operations", "partial_sum_bits": None}
    arch = case.arch.model_copy(update=changes)
    return Case(case.kind, case.cascade, arch, case.tiling, case.space, case.fuse)


def question(case: Case, objective: str) -> TreeQuestion:
    return Question(case.cascade, case.arch, parse_objective(objective), case.tiling, case.space, fuse=case.fuse)


def sampled(case: Case, rng: random.Random) -> list[Cost]:
    """What some random trees cost."""
    found = []
    for _ in range(SAMPLES):
        sample = case.trees.sample(rng)
        try:
            found += [] if sample is None else [evaluate(sample[0], case.arch)]
        except MappingError:
            continue
    return found


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(SEEDS, BLOCK))
def test_no_tree_lies_below_what_is_proven(seeds: range) -> None:
    for seed in seeds:
        case, objective = overlapping_case(seed), ("latency", "edp", "energy + 30 * latency")[seed % 3]
        costs = sampled(case, random.Random(seed))
        try:
            answer = search_cascade(question(case, objective))
        except InfeasibleError:
            assert not costs, f"{seed}\n{case}"
            continue
        told = evaluate(answer.mapping, case.arch)
        assert (told.energy_pj, told.latency_cycles) == (answer.cost.energy_pj, answer.cost.latency_cycles)
        for cost in costs:
            assert answer.certificate.lower_bound <= cost.objective(objective) * (1 + 1e-9), (
                f"{seed}, {objective}\n{case}"
            )


@pytest.mark.long
def test_prices_weigh_no_more_than_latency() -> None:
    for seed in range(3):
        case, rng = overlapping_case(seed), random.Random(seed)
        resources = Resources(case.arch)
        for cost in sampled(case, rng)[:6]:
            prices = {}
            for group in resources.groups:
                parts = [rng.random() for _ in group]
                prices |= {one: part / sum(parts) for one, part in zip(group, parts, strict=True)}
            computing = sum(each.compute_cycles for each in cost.operations.values())
            cycles = resources.cycles(cost, computing)
            assert sum(prices[one] * cycles[one] for one in prices) <= cost.latency_cycles * (1 + 1e-9)


def pair(objective: str, **changes: object) -> Answer:
    whole = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=16, k=16, n=16, p=16)
    arch = tw.load_arch("eyeriss").model_copy(update={"overlap": "across_operations", **changes})
    return search_cascade(Question(whole, arch, parse_objective(objective), "perfect"))


def test_a_pair_is_proven() -> None:
    answer = pair("latency")
    assert answer.certificate.gap < 0.02
    assert answer.cost.latency_cycles < sum(each.latency_cycles for each in answer.cost.operations.values()) + 1


def test_a_front() -> None:
    case = overlapping_case(3)
    answers = search_cascade_front(question(case, "energy"))
    assert all(one.cost.energy_pj < other.cost.energy_pj for one, other in itertools.pairwise(answers))
    assert answers
    assert all(answer.certificate.lower_bound <= answer.certificate.value for answer in answers)


@pytest.mark.long
def test_prices_without_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    best = pair("latency").cost.latency_cycles
    monkeypatch.setattr("tilewright.mapper.cascades.recounts.prices.find_spec", lambda _: None)
    answer = pair("latency")
    assert 0 < answer.certificate.lower_bound <= best <= answer.cost.latency_cycles
