"""Where means run out in the search of a branch, what is said of it is a bound and no answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cascade_cases import Case, random_case
from generators import memory
from tilewright.arch import Architecture, Mac
from tilewright.cost_models import ENERGY
from tilewright.ir import InfeasibleError
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.cascades.branches.oracle import ExactBranches
from tilewright.mapper.cascades.terms.branch import BranchQuestion
from tilewright.mapper.cascades.terms.upper_memories import UpperMemories
from tilewright.mapper.means import Means, OutOfMeans
from tilewright.mapper.pareto.weights import ENERGY_ALONE, LATENCY_ALONE, Weights
from tilewright.mapper.question import Question
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


def test_what_has_no_room_is_infeasible_and_not_undecided() -> None:
    """Two operations read what stays; with what one of them leaves there, the other has no room. How much less than
    the bound of the other a branch may weigh was no number."""
    pair = cascade(["P[m,n] += X[m,k] * V[k,n]", "Q[m,l] += X[m,k] * W[k,l]"], m=4, n=4, k=3, l=3)
    levels = (
        memory("DRAM", read_energy_pj=200.0, write_energy_pj=300.0, shared_bits_per_cycle=4.0),
        memory("GLB", read_energy_pj=6.0, write_energy_pj=9.0, size_bits=224, shared_bits_per_cycle=1024.0),
    )
    arch = Architecture(name="full", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.5))
    stays = (("P", "GLB"), ("X", "GLB"))
    with pytest.raises(InfeasibleError):
        search_cascade(Question(pair, arch, ENERGY, "perfect", stays=stays))
