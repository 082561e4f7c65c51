"""Operations that differ in names alone: one is searched for all, under its own names."""

from __future__ import annotations

from tilewright.arch import load_arch
from tilewright.cost_models import ENERGY
from tilewright.ir import Loop, Node
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.cascades.branches.oracle import ExactBranches
from tilewright.mapper.cascades.terms.branch import BranchQuestion
from tilewright.mapper.cascades.terms.upper_memories import UpperMemories
from tilewright.mapper.means import Means
from tilewright.mapper.pareto.weights import ENERGY_ALONE
from tilewright.mapper.question import Question
from tilewright.workloads import cascade

LINES = ["Q[m,n] += X[m,k] * A[k,n]", "K[m,n2] += X[m,k] * B[k,n2]"]


def test_one_of_two_equal_operations_is_searched() -> None:
    arch = load_arch("three_level")
    pair = cascade(LINES, m=16, n=32, k=8, n2=32)
    branches = ExactBranches(pair, arch, "even", "perfect", Means())
    room = UpperMemories(arch).room
    answers = []
    for operation in pair:
        homes = tuple(sorted((tensor.name, "DRAM") for tensor in operation.problem.tensors))
        asked = BranchQuestion(operation.name, operation.problem.dims, homes, room)
        answers.append(branches.least(asked, ENERGY_ALONE))
        found = answers[-1].mapping
        assert found is not None
        names = {item.dim if isinstance(item, Loop) else item.tensor for item in found.items}
        assert names <= {*operation.problem.dim_names, *(tensor.name for tensor in operation.problem.tensors)}
        assert any(isinstance(item, Node) for item in found.items)
    assert branches.searches == 1
    assert answers[0].bound == answers[1].bound


def test_arrays_know_a_letter_by_its_number_too() -> None:
    """A machine that names `N` allows `N2`, which is the `N` of another operation. (It was not: K cost more than Q, and
    two products together more than one after the other.)"""
    arch = load_arch("simba")
    alone = cascade(LINES[:1], m=64, n=64, k=64)
    pair = cascade(LINES, m=64, n=64, k=64, n2=64)
    one, two = (
        search_cascade(Question(each, arch, ENERGY, "perfect", fuse="none")).certificate for each in (alone, pair)
    )
    assert one.proven
    assert two.proven
    assert two.value <= 2 * one.value * (1 + 1e-9)
