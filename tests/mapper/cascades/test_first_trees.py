"""A first tree is found with mappings that come to hand; none of them is taken for an answer later."""

from __future__ import annotations

from dataclasses import replace

from tilewright.arch import load_arch
from tilewright.mapper.cascades.branch import BranchQuestion
from tilewright.mapper.cascades.oracle import ExactBranches
from tilewright.mapper.cascades.tree_search import TreeSearch
from tilewright.mapper.cascades.upper_memories import UpperMemories
from tilewright.mapper.cascades.weights import ENERGY_ALONE
from tilewright.mapper.means import Means
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
