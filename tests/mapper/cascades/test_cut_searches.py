"""Searches over trees that are cut short prove what they looked at, and never more: compared with all trees."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from clocks import ticking

import tilewright as tw
from cascade_cases import Case, ragged_case, random_case
from cases import CASES
from longer import blocks
from tilewright.cost_models import ENERGY, parse_objective
from tilewright.ir import InfeasibleError, UndecidedError
from tilewright.mapper.cascades import search_cascade_front
from tilewright.mapper.fusing import answer_cascade
from tilewright.mapper.question import Limits, Question

OBJECTIVES = ("energy", "latency", "edp")
SECONDS = (0, 0.3, 1, 3)

WINDOW_CHIP = CASES / "machines" / "window_chip.yaml"
LEAST_PJ = 26_982_224
"""The optimum of two products with a window between them on that chip, perfect tiles."""


FRONT = {(12_636, 236), (14_820, 212), (15_552, 192), (17_736, 168)}
"""Energies and cycles of all best trees of two products on front_chip."""


def in_a_window() -> tw.Cascade:
    lines = ["T[k,y] += X[c,y] * A[k,c]", "O[l,p] += T[k,p+r] * B[l,k,r]"]
    return tw.cascade(lines, c=100, k=30, y=65, p=64, r=2, l=32)


@pytest.mark.parametrize("seeds", blocks(4, 2))
def test_no_tree_lies_below_the_bound_of_a_cut_search(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch)
    for seed in seeds:
        case = ragged_case(seed) if seed % 2 else random_case(seed)
        best, objective = case.trees.best(), OBJECTIVES[seed % 3]
        for seconds in SECONDS:
            check(case, objective, seconds, best[objective].value if best else math.inf)


def check(case: Case, objective: str, seconds: float, best: float) -> None:
    asked = parse_objective(objective)
    question = Question(case.cascade, case.arch, asked, case.tiling, case.space, fuse=case.fuse, limits=Limits(seconds))
    try:
        answer = answer_cascade(question)
    except UndecidedError:
        return
    except InfeasibleError:
        assert best == math.inf, case
        return
    proof = answer.certificate
    assert 0 < proof.lower_bound <= best * (1 + 1e-9) <= proof.value * (1 + 2e-9), f"{seconds}\n{case}"
    assert not proof.proven or proof.value == pytest.approx(best), f"{seconds}\n{case}"
    assert all(part.lower_bound > proof.lower_bound for part in proof.parts)


@pytest.mark.long
def test_what_is_proven_without_loops_along_windows_is_said_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch)
    told = set[str]()
    for seconds in (24, 40, 60):
        proof = tw.search(in_a_window(), WINDOW_CHIP, "energy", "perfect", time_limit=seconds).certificate
        assert 0 < proof.lower_bound <= LEAST_PJ <= proof.value
        assert proof.proven == (proof.lower_bound == LEAST_PJ)
        told.update(proof.proven_among)
    assert told == {"trees without shared loops along windows"}


def check_front(case: Case, seconds: float, front: list[tuple[float, float]]) -> None:
    """No tree of the front of all is further below what a cut search found than it says."""
    question = Question(
        case.cascade, case.arch, ENERGY, case.tiling, case.space, fuse=case.fuse, limits=Limits(seconds)
    )
    try:
        found = search_cascade_front(question)
    except (InfeasibleError, UndecidedError):
        return
    left = (1 - found.gap) * (1 - 1e-9)
    points = [(point.cost.energy_pj * left, point.cost.latency_cycles * left) for point in found]
    assert all(any(e <= energy and c <= cycles for e, c in points) for energy, cycles in front), f"{seconds}\n{case}"
    assert found.complete == (found.gap == 0.0)


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(4, 2))
def test_no_tree_is_further_below_a_cut_front_than_its_gap(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch)
    for seed in seeds:
        case = ragged_case(seed) if seed % 2 else random_case(seed)
        front = case.trees.front()
        for seconds in (*SECONDS, 20):
            check_front(case, seconds, front)


def front_of_two_products(seconds: float | None) -> tuple[bool, float, set[tuple[float, float]]]:
    pair = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=4, k=3, n=4, p=2)
    front = tw.search_pareto(pair, CASES / "machines" / "front_chip.yaml", "perfect", time_limit=seconds)
    return front.complete, front.gap, {(point.cost.energy_pj, point.cost.latency_cycles) for point in front}


@pytest.mark.long
def test_a_front_that_lacks_points_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch)
    complete, gap, found = front_of_two_products(60)
    assert not complete
    assert found != FRONT
    left = 1 - gap
    assert 0 < left < 1
    assert all(any(left * e <= energy and left * c <= cycles for e, c in found) for energy, cycles in FRONT)


@pytest.mark.long
def test_a_front_without_a_limit_is_complete() -> None:
    assert front_of_two_products(None) == (True, 0.0, FRONT)


@pytest.mark.long
def test_a_cut_answer_is_no_answer_to_a_longer_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "results.sqlite3"
    with monkeypatch.context() as patched:
        ticking(patched)
        cut = tw.search(in_a_window(), WINDOW_CHIP, "energy", "perfect", time_limit=8, store=store)
    assert not cut.certificate.proven
    whole = tw.search(in_a_window(), WINDOW_CHIP, "energy", "perfect", store=store)
    assert (whole.certificate.value, whole.certificate.proven) == (LEAST_PJ, True)


EYERISS_PJ = 1_803_026_432
"""The optimum of two products on eyeriss, m=1024 k=128 n=1024 p=128: tiles of shared loops do not divide."""


def two_products(**given: Any) -> tw.SearchResult:
    pair = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"]
    return tw.search(tw.cascade(pair, m=1024, k=128, n=1024, p=128), "eyeriss", "energy", **given)


@pytest.mark.long
def test_what_is_proven_of_tiles_that_divide_is_said_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch)
    cut = two_products(time_limit=100).certificate
    assert 0 < cut.lower_bound < EYERISS_PJ < cut.value
    assert not cut.proven
    assert cut.proven_among == ("trees in which tiles of shared loops, and all below them, divide",)


@pytest.mark.long
def test_what_is_stored_of_a_cut_search_is_bettered(tmp_path: Path) -> None:
    store = tmp_path / "results.sqlite3"
    cut = two_products(time_limit=1, store=store).certificate
    assert cut.lower_bound <= EYERISS_PJ <= cut.value
    whole = two_products(time_limit=600, store=store).certificate
    assert (whole.value, whole.proven) == (pytest.approx(EYERISS_PJ), True)
    assert two_products(store=store).certificate == whole
