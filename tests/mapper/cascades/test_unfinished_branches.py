"""Where means run out in the search of a branch, what is said of it is a bound and no answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cascade_cases import Case, random_case
from tilewright.arch import load_arch
from tilewright.mapper.cascades.branch import BranchQuestion
from tilewright.mapper.cascades.oracle import ExactBranches
from tilewright.mapper.cascades.upper_memories import UpperMemories
from tilewright.mapper.cascades.weights import ENERGY_ALONE, LATENCY_ALONE, Weights
from tilewright.mapper.exact.search import ExactSearch
from tilewright.mapper.means import Means, OutOfMeans
from tilewright.workloads import cascade


def question_of(solver: ExactBranches, finished: bool = False) -> BranchQuestion:
    """The whole first operation, all tensors in the outermost memory."""
    operation, memories = solver.cascade.operations[0], UpperMemories(solver.arch)
    homes = tuple(sorted((tensor.name, memories.outermost) for tensor in operation.problem.tensors))
    return BranchQuestion(operation.name, operation.problem.dims, homes, memories.room, finished=finished)


def bounds_of(case: Case, weights: Weights, memory_limit: int) -> Iterator[float | None]:
    """What the solver says with so much memory, asked in three ways; None where it says nothing."""

    def fresh() -> ExactBranches:
        return ExactBranches(case.cascade, case.arch, case.space, case.tiling, Means(memory_limit=memory_limit))

    asked = question_of(fresh())
    try:
        yield fresh().least(asked, weights).bound
    except OutOfMeans:
        yield None
    yield fresh().lower(asked, weights)
    yield fresh().fastest(asked.operation, asked.sizes)


@pytest.mark.parametrize("seed", [12, 19])
@pytest.mark.parametrize("weights", [ENERGY_ALONE, LATENCY_ALONE])
def test_what_was_let_go_of_for_lack_of_memory_counts(seed: int, weights: Weights) -> None:
    """A search that had room for few open rows ended with none left, and what it had found was taken as the best."""
    case = random_case(seed, 200)
    for enough, little in zip(*(bounds_of(case, weights, limit) for limit in (2**30, 100)), strict=True):
        assert enough is not None
        assert little is None or little <= enough * (1 + 1e-9)


def stopped(monkeypatch: pytest.MonkeyPatch, finds: bool) -> None:
    """Searches that run out of time when they have solved their question, or before they have found anything."""
    solve = ExactSearch.solve

    def stop(search: ExactSearch, proof: bool = True) -> bool:
        solve(search, proof)
        search.out_of_time = True
        if finds:
            search.frontier.let_go = 0.5 * search.found[0].value
        else:
            search.found._kept.clear()
        return finds

    monkeypatch.setattr(ExactSearch, "solve", stop)


PAIR = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=4, k=4, n=4, p=4)


def test_a_bound_of_some_constraints_is_none_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a branch that hands over finished sums, each set of constraints is searched on its own."""
    stopped(monkeypatch, finds=True)
    for finished in (False, True):
        solver = ExactBranches(PAIR, load_arch("three_level"), "even", "perfect", Means())
        with pytest.raises(OutOfMeans):
            solver.least(question_of(solver, finished), ENERGY_ALONE)
        assert solver.unfinished is not None
        assert (solver.unfinished[0] > 0) == (not finished)


def test_what_another_search_has_left_is_no_bound_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = ExactBranches(PAIR, load_arch("three_level"), "even", "perfect", Means())
    with monkeypatch.context() as patch:
        stopped(patch, finds=True)
        with pytest.raises(OutOfMeans):
            solver.least(question_of(solver), LATENCY_ALONE)
    assert solver.unfinished is not None
    stopped(monkeypatch, finds=False)
    with pytest.raises(OutOfMeans):
        solver.least(question_of(solver), ENERGY_ALONE)
    assert solver.unfinished is None
