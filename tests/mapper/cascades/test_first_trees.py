"""A first tree is found with mappings that come to hand; none of them is taken for an answer later."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tilewright.arch import load_arch
from tilewright.ir import Loop
from tilewright.mapper.cascades.branches.oracle import ExactBranches
from tilewright.mapper.cascades.terms.branch import BranchQuestion
from tilewright.mapper.cascades.terms.upper_memories import UpperMemories
from tilewright.mapper.cascades.tree_search import TreeSearch
from tilewright.mapper.heuristics.greedy import greedy_mappings
from tilewright.mapper.means import Means, OutOfMeans
from tilewright.mapper.pareto.weights import ENERGY_ALONE
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
    assert solver.searches == 0
    found = search.whole(["T", "O"]).found
    assert found is not None
    assert solver.searches > 0


def test_the_bound_of_one_order_of_operations_is_none_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where means ran out before anything of the next one was bounded, the bound was that of the one before."""
    arch = load_arch("three_level")
    solver = ExactBranches(WHOLE, arch, "even", "perfect", Means())
    search = TreeSearch(WHOLE, UpperMemories(arch), "even", "perfect", ENERGY_ALONE, solver, Means())
    search.whole(["T", "O"])
    assert search.open_bound > 0

    def stop(*_: object, **__: object) -> None:
        raise OutOfMeans

    monkeypatch.setattr(TreeSearch, "_several", stop)
    with pytest.raises(OutOfMeans):
        search.whole(["T", "O"], floor=1.0)
    assert search.open_bound == 1.0


def test_a_first_mapping_is_found_below_any_cutoff() -> None:
    arch = load_arch("three_level")
    solver = ExactBranches(WHOLE, arch, "even", "perfect", Means(), proves=False)
    homes = tuple((t.name, "GLB") for t in WHOLE.operation("T").problem.tensors)
    question = BranchQuestion("T", WHOLE.operation("T").problem.dims, homes, UpperMemories(arch).room)
    best = solver.least(question, ENERGY_ALONE).bound
    for times in (1.01, 5, 1000):
        again = ExactBranches(WHOLE, arch, "even", "perfect", Means(), proves=False)
        assert again.least(question, ENERGY_ALONE, times * best).mapping is not None


@pytest.mark.parametrize("tile", [4, 5])
def test_mappings_that_need_no_search_have_loops_over_visits_outermost(tile: int) -> None:
    """What stands below these is the branch: it made more or less than a visit else."""
    problem = WHOLE.operation("T").problem
    found = list(greedy_mappings(problem, load_arch("three_level"), {}, {"M": tile}))
    assert found
    for mapping in found:
        visits, *inside = [item for item in mapping.nest.items if isinstance(item, Loop) and item.dim == "M"]
        assert mapping.nest.items.index(visits) == len(problem.tensors)
        assert visits.trips == 2
        assert math.prod(loop.trips for loop in inside) == tile


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
