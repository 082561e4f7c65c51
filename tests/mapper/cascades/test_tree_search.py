"""The search over trees finds what a brute force over all of them finds, for every objective, space and tiling."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from cascade_brute_force import OBJECTIVES
from cascade_cases import CHEAP, DEAR, KINDS, Case, features, random_case
from longer import TIMES, blocks
from tilewright.arch import load_arch
from tilewright.cost_models import evaluate, parse_objective
from tilewright.ir import InfeasibleError, MappingError
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.exact.search import ExactSearch
from tilewright.mapper.question import Question
from tilewright.workloads import cascade

SEEDS, BLOCK = 20, 4
SAMPLES = 4
"""Whole trees that are counted for a case."""

MOST = CHEAP if TIMES == 1 else DEAR


def searched(case: Case, objective: str, best: float) -> float:
    """The optimum that the search proves; infinite where it says that nothing fits. It knows no better bound where
    partial sums are wide and the best tree would fit if they were not: then it has to be right about the gap."""
    question = Question(case.cascade, case.arch, parse_objective(objective), case.tiling, case.space, fuse=case.fuse)
    try:
        answer = search_cascade(question)
    except InfeasibleError:
        return math.inf
    value, proven = answer.cost.objective(objective), answer.certificate
    if proven.gap > 0.0:
        assert case.arch.partial_sum_bits is not None
        assert proven.lower_bound <= best * (1 + 1e-9) <= value * (1 + 2e-9)
        return best
    return value


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(SEEDS, BLOCK))
def test_the_search_finds_the_best_of_all_trees(seeds: range) -> None:
    for seed in seeds:
        case = random_case(seed, MOST)
        best = case.trees.best()
        for objective in OBJECTIVES if TIMES > 1 else OBJECTIVES[seed % 3 :][:1]:
            expected = best[objective].value if best else math.inf
            assert searched(case, objective, expected) == pytest.approx(expected, rel=1e-9), (
                f"{seed}, {objective}\n{case}"
            )


@pytest.mark.parametrize("seeds", blocks(SEEDS // 2, BLOCK))
def test_composed_figures_are_those_of_whole_trees(seeds: range) -> None:
    for seed in seeds:
        case, rng = random_case(seed, CHEAP), random.Random(seed)
        for sample in filter(None, (case.trees.sample(rng) for _ in range(SAMPLES))):
            tree, energy, latency, fits = sample
            try:
                cost = evaluate(tree, case.arch)
            except MappingError:
                assert not fits, f"{seed}\n{case}\n{tree}"
                continue
            assert fits, f"{seed}\n{case}\n{tree}"
            assert (cost.energy_pj, cost.latency_cycles) == pytest.approx((energy, latency)), f"{seed}\n{case}\n{tree}"


def test_an_interrupt_inside_a_branch_ends_the_whole_search(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=8, k=8, n=8, p=8)
    question = Question(pair, load_arch("three_level"), parse_objective("energy"), "perfect", "even", fuse="all")

    solve = ExactSearch.solve

    def interrupted(search: ExactSearch, proof: bool = True) -> bool:
        """The search of a branch that was interrupted when it had a mapping: it hands that over."""
        solved = solve(search, proof)
        search.interrupted = True
        return solved

    monkeypatch.setattr(ExactSearch, "solve", interrupted)
    certificate = search_cascade(question).certificate
    assert certificate.interrupted
    assert not certificate.proven


@pytest.mark.long
def test_everything_occurs() -> None:
    found = Counter(feature for seed in range(200) for feature in features(random_case(seed, CHEAP)))
    expected = {
        *KINDS,
        *(f"{count} operations" for count in (2, 3, 4)),
        *("perfect", "ragged", "even", "uneven", "fuse all", "fuse whole", "fuse none", "at_node", "across_levels"),
        *("two consumers", "two producers", "a shared input", "element by element", "maximum", "orders"),
        *("two memories outside arrays", "memory inside an array", "multicast", "no multicast", "no spatial reduction"),
        *("keep must", "keep may", "keep never", "double buffered", "private part", "separate ports", "shared port"),
        *("no overlap", "leakage", "wide partial sums", "no first_read_elision", "no inner_drain_read"),
        "a window in a branch",
    }
    assert {feature for feature, times in found.items() if times >= 3} >= expected
