"""Searches where first and last tiles take time: no tree lies below what is proven."""

from __future__ import annotations

import random

import pytest

from cascade_cases import CHEAP, Case, random_case
from generators import with_extras
from tilewright.arch import Fanout, Memory
from tilewright.cost_models import evaluate, parse_objective
from tilewright.ir import InfeasibleError, MappingError, TilewrightError
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.question import Question, TreeQuestion

SEEDS = 6


def filled_case(seed: int) -> Case:
    case = random_case(seed, CHEAP)
    arch = case.arch.model_copy(update={"latency": "with_fill", "partial_sum_bits": None})
    return Case(case.kind, case.cascade, arch, case.tiling, case.space, case.fuse)


def question(case: Case, objective: str) -> TreeQuestion:
    return Question(case.cascade, case.arch, parse_objective(objective), case.tiling, case.space, fuse=case.fuse)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_best_of_all_trees_lies_between_bound_and_answer(seed: int) -> None:
    case, objective = filled_case(seed), ("latency", "edp", "energy")[seed % 3]
    best = case.trees.best()
    try:
        answer = search_cascade(question(case, objective))
    except InfeasibleError:
        assert not best
        return
    more = 1 + 1e-9
    assert answer.certificate.lower_bound <= best[objective].value * more, f"{seed}\n{case}"
    assert best[objective].value <= answer.certificate.value * more, f"{seed}\n{case}"
    if objective == "energy" and not case.arch.total_leakage_pj_per_cycle:
        assert answer.certificate.proven


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_best_of_all_trees_is_proven_where_arrays_fill_in_every_visit(seed: int) -> None:
    case = random_case(seed, CHEAP)
    arch = with_extras(random.Random(seed), case.arch, "arrays")
    levels = tuple(level if isinstance(level, Fanout) else overlapping(level) for level in arch.levels)
    arch = arch.model_copy(update={"levels": levels})
    filled, objective = (
        Case(case.kind, case.cascade, arch, case.tiling, case.space, case.fuse),
        ("latency", "edp")[seed % 2],
    )
    best = filled.trees.best()
    try:
        answer = search_cascade(question(filled, objective))
    except InfeasibleError:
        assert not best
        return
    assert answer.certificate.proven
    assert answer.certificate.value == pytest.approx(best[objective].value, rel=1e-9), f"{seed}\n{filled}"


def overlapping(memory: Memory) -> Memory:
    return memory.model_copy(update={"overlaps": True})


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_tree_is_faster_than_what_is_proven_where_arrays_fill(seed: int) -> None:
    case, rng = random_case(seed, CHEAP), random.Random(seed)
    arch = with_extras(rng, case.arch, "arrays", "serial")
    filled = Case(case.kind, case.cascade, arch, case.tiling, case.space, case.fuse)
    try:
        answer = search_cascade(question(filled, "latency"))
    except InfeasibleError:
        return
    assert evaluate(answer.mapping, arch).latency_cycles == answer.certificate.value
    for tree, *_ in filter(None, (case.trees.sample(rng) for _ in range(20))):
        try:
            cost = evaluate(tree, arch)
        except MappingError:
            continue
        assert answer.certificate.lower_bound <= cost.latency_cycles * (1 + 1e-9), f"{seed}\n{filled}\n{tree}"


@pytest.mark.long
def test_composed_figures_are_those_of_whole_trees() -> None:
    compared = 0
    for seed in range(SEEDS):
        case, rng = filled_case(seed), random.Random(seed)
        for tree, energy, latency, _ in filter(None, (case.trees.sample(rng) for _ in range(4))):
            try:
                cost = evaluate(tree, case.arch)
            except MappingError:
                continue
            compared += sum(one.fill_cycles for one in cost.operations.values()) > 0
            assert (cost.energy_pj, cost.latency_cycles) == pytest.approx((energy, latency)), f"{seed}\n{case}\n{tree}"
    assert compared >= 3


def test_perfect_prefetching_leaves_nothing_to_fill() -> None:
    case = filled_case(2)
    both = case.arch.model_copy(update={"overlap": "across_operations"})
    with pytest.raises(TilewrightError, match="no operation waits for another"):
        search_cascade(Question(case.cascade, both, parse_objective("latency"), case.tiling, case.space, fuse="all"))
