"""A first tree is found with mappings that come to hand; none of them is taken for an answer later."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from accelforge_trees import machine_of
from tilewright.arch import Architecture, load_arch
from tilewright.cost_models import ENERGY, parse_objective
from tilewright.mapper.cascades import CascadeQuestion, search_cascade
from tilewright.mapper.cascades.branches.oracle import ExactBranches
from tilewright.mapper.cascades.objectives.weighted_sums import WeightedSums
from tilewright.mapper.cascades.tables.tables import TableBranches
from tilewright.mapper.cascades.terms.branch import BranchAnswer, BranchQuestion
from tilewright.mapper.cascades.terms.upper_memories import UpperMemories
from tilewright.mapper.cascades.terms.weights import ENERGY_ALONE
from tilewright.mapper.cascades.tree_search import TreeSearch
from tilewright.mapper.means import Means, OutOfMeans
from tilewright.mapper.question import Limits
from tilewright.mapper.tilings import Tiling
from tilewright.workloads import cascade

WHOLE = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=8, n=8, k=8, p=8)


def test_branches_that_are_not_proven_are_asked_again() -> None:
    arch = load_arch("three_level")
    solver = ExactBranches(WHOLE, arch, "even", "perfect", Means())
    operation = WHOLE.operation("T")
    homes = tuple((t.name, "DRAM") for t in operation.problem.tensors)
    question = BranchQuestion("T", operation.problem.dims, homes, UpperMemories(arch).room)
    replace(solver, proves=False).least(question, ENERGY_ALONE)
    assert solver.searches == 0
    solver.least(question, ENERGY_ALONE)
    assert solver.searches == 1


def test_parts_that_are_not_proven_are_searched_again() -> None:
    arch = load_arch("three_level")
    solver = ExactBranches(WHOLE, arch, "even", "perfect", Means())
    search = TreeSearch(WHOLE, UpperMemories(arch), "even", "perfect", ENERGY_ALONE, solver, Means())
    replace(search, solver=replace(solver, proves=False)).whole(["T", "O"])
    assert search.branches == 0
    found = search.whole(["T", "O"]).found
    assert found is not None
    assert search.branches > 0


def test_a_first_mapping_is_found_below_any_cutoff() -> None:
    arch = load_arch("three_level")
    solver = ExactBranches(WHOLE, arch, "even", "perfect", Means(), proves=False)
    homes = tuple((t.name, "GLB") for t in WHOLE.operation("T").problem.tensors)
    question = BranchQuestion("T", WHOLE.operation("T").problem.dims, homes, UpperMemories(arch).room)
    best = solver.least(question, ENERGY_ALONE).bound
    for times in (1.01, 5, 1000):
        again = ExactBranches(WHOLE, arch, "even", "perfect", Means(), proves=False)
        assert again.least(question, ENERGY_ALONE, times * best).mapping is not None


def test_a_single_split_keeps_the_rows_of_a_softmax_on_chip() -> None:
    """They fit only if loops are shared over what all five operations have: bounds lead there at once."""
    operations = [
        "S[b,m,n] += Q[b,m,k] * K[b,n,k]",
        "H[b,m] max= S[b,m,n]",
        "E[b,m,n] = exp(S[b,m,n] - H[b,m])",
        "D[b,m] += E[b,m,n]",
        "P[b,m,n] = E[b,m,n] / D[b,m]",
    ]
    softmax = cascade(operations, b=2, m=16, n=32, k=8)
    arch = load_arch("three_level", {"GLB.size": "768 B"})
    solver = ExactBranches(softmax, arch, "even", "perfect", Means(), proves=False)
    search = TreeSearch(softmax, UpperMemories(arch), "even", "perfect", ENERGY_ALONE, solver, Means(), flat=True)
    found = search.whole([operation.name for operation in softmax]).found
    assert found is not None
    assert not found.stored
    assert solver.searches < 100


def test_tables_look_at_single_splits_first() -> None:
    """Where splits stand in splits there are many more trees, and most cost more than the best with a single one."""
    three, four = (
        cascade([f"T{i}[m,{i}] += A[m,k] * B{i}[k,{i}]" for i in names], {"m": 8, "k": 8} | dict.fromkeys(names, 8))
        for names in ("abc", "abcd")
    )
    arch = machine_of({"machine": "F2", "glb_words": 128})
    timed = (three, "edp", False), (four, "edp", True)
    for whole, objective, looks in (*timed, (three, "energy", True), (WHOLE, "energy", False)):
        search = WeightedSums(CascadeQuestion(whole, arch, parse_objective(objective), "perfect", "uneven"), Means())
        assert isinstance(search.solver, TableBranches)
        found = search._first_tree(search.tree_search(ENERGY_ALONE), math.inf, before_all=True)
        assert (found is not None) == looks
        assert found is None or not any(branch.branches for branch in found.tree.branches)


@pytest.mark.parametrize(("seconds", "finds", "times"), [(None, True, 0), (1000.0, True, 0), (1000.0, False, 1)])
def test_nothing_fused_is_searched_by_itself_where_time_may_run_out_before_a_first_tree(
    monkeypatch: pytest.MonkeyPatch, seconds: float | None, finds: bool, times: int
) -> None:
    first, asked = WeightedSums._first_tree, []

    def noted(search: WeightedSums, trees: TreeSearch, *told: Any, **more: Any) -> object:
        if trees.fuse == "none":
            asked.append(trees.weights)
        return first(search, trees, *told, **more) if finds or trees.fuse == "none" else None

    monkeypatch.setattr(WeightedSums, "_first_tree", noted)
    arch = load_arch("three_level")
    question = CascadeQuestion(WHOLE, arch, ENERGY, "perfect", "even", limits=Limits(time_s=seconds))
    assert search_cascade(question).certificate.proven
    assert len(asked) == times


@pytest.mark.parametrize(
    ("arch", "tiling", "seconds"),
    [
        (machine_of({"machine": "F2", "glb_words": 128}), "perfect", None),
        (machine_of({"machine": "F2", "glb_words": 128}), "perfect", 1000.0),
        (load_arch("three_level"), "perfect", None),
        (load_arch("three_level"), "ragged", None),
    ],
)
def test_branches_of_first_trees_are_proven_where_that_is_soon_done(
    arch: Architecture, tiling: Tiling, seconds: float | None
) -> None:
    search = WeightedSums(CascadeQuestion(WHOLE, arch, ENERGY, tiling, "even"), Means.from_now(seconds))
    assert search._first_tree(search.tree_search(ENERGY_ALONE), math.inf) is not None
    assert ("_quick" not in vars(search)) == (tiling == "perfect")  # which proves no branch


def test_first_mappings_stand_for_branches_that_time_is_too_short_for(monkeypatch: pytest.MonkeyPatch) -> None:
    question = CascadeQuestion(WHOLE, load_arch("three_level"), ENERGY, "perfect", "even")
    search, least = WeightedSums(question, Means.from_now(1000.0)), ExactBranches.least

    def hurried(solver: ExactBranches, *asked: Any) -> BranchAnswer:
        if solver.proves:
            raise OutOfMeans
        return least(solver, *asked)

    monkeypatch.setattr(ExactBranches, "least", hurried)
    found = search._first_tree(search.tree_search(ENERGY_ALONE), math.inf)
    assert found is not None
    assert search.evaluated(found) is not None


def test_bounds_for_first_trees_leave_a_proof_its_time() -> None:
    """The seconds of a first tree became those of all branches after it: what takes longer was not proven."""
    question = CascadeQuestion(WHOLE, load_arch("three_level"), ENERGY, "perfect", "even")
    search = WeightedSums(question, Means.from_now(None))
    assert search._first_tree(search.tree_search(ENERGY_ALONE), math.inf) is not None
    assert isinstance(search.solver, ExactBranches)
    assert search.solver.searches > 0
    assert not search.solver.means.limits_time
