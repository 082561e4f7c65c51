"""What follows from known answers is what a search finds."""

from __future__ import annotations

import random

import pytest

from tilewright.arch import load_arch
from tilewright.mapper.cascades.branches.oracle import ExactBranches
from tilewright.mapper.cascades.relaxations.known_branches import KnownBranches
from tilewright.mapper.cascades.terms.branch import BranchAnswer, BranchQuestion
from tilewright.mapper.cascades.terms.upper_memories import UpperMemories
from tilewright.mapper.means import Means
from tilewright.mapper.pareto.weights import ENERGY_ALONE, LATENCY_ALONE, Weights
from tilewright.workloads import cascade

SOFTMAX = cascade(
    ["S[b,m,n] += Q[b,m,k] * K[b,n,k]", "H[b,m] max= S[b,m,n]", "E[b,m,n] = exp(S[b,m,n] - H[b,m])"],
    b=4, m=6, n=4, k=2,
)  # fmt: skip
OPERATIONS = {operation.name: operation for operation in SOFTMAX}
MACHINES = ["three_level", "tpu_v4i"]


def _solver(machine: str) -> ExactBranches:
    return ExactBranches(SOFTMAX, load_arch(machine), "even", "perfect", Means())


def _question(solver: ExactBranches, name: str, homes: dict[str, str] | None = None, **sizes: int) -> BranchQuestion:
    """An operation's tile, its tensors in the outermost memory unless told otherwise."""
    problem, memories = SOFTMAX.operation(name).problem, UpperMemories(solver.arch)
    tile = tuple((dim, sizes.get(dim, size)) for dim, size in problem.dims)
    where = {t.name: memories.outermost for t in problem.tensors} | (homes or {})
    return BranchQuestion(name, tile, tuple(sorted(where.items())), memories.room, cut=frozenset(dict(tile)))


@pytest.mark.some(1)
@pytest.mark.parametrize("machine", MACHINES)
def test_weights_between_others(machine: str) -> None:
    solver, rng = _solver(machine), random.Random(1)
    without_search = 0
    for name in ("S", "H", "E"):
        question = _question(solver, name)
        for weights in (ENERGY_ALONE, Weights(1.0, 1e6)):
            solver.least(question, weights)
        for _ in range(6):
            weights = Weights(1.0, 10 ** rng.uniform(-3, 5))
            before = solver.searches
            found, fresh = solver.least(question, weights), _solver(machine).least(question, weights)
            assert found.bound == pytest.approx(fresh.bound, rel=1e-9), (name, weights)
            assert found.mapping is not None
            assert weights.of(found.mapping.energy_pj, found.mapping.latency_cycles) == pytest.approx(found.bound)
            without_search += solver.searches == before
    assert without_search > 0


def test_what_else_is_at_the_ports_is_part_of_the_question() -> None:
    """A smaller tile with as much at its ports in every visit as the larger one in all has more to wait for."""
    solver = _solver("three_level")
    known = KnownBranches(OPERATIONS)
    whole, part = _question(solver, "E"), _question(solver, "E", B=2)
    answer = solver.least(whole, LATENCY_ALONE)
    busy = (("DRAM", "input", 64.0, 32.0),)
    known.learn(BranchQuestion(**{**vars(whole), "busy": busy}), LATENCY_ALONE, answer)
    half = BranchQuestion(**{**vars(part), "busy": (("DRAM", "input", 32.0, 16.0),)})
    same = BranchQuestion(**{**vars(part), "busy": busy})
    less = BranchQuestion(**{**vars(part), "busy": (("DRAM", "input", 31.0, 16.0),)})
    assert known.part_of_larger(half, LATENCY_ALONE) == pytest.approx(answer.bound / 2)
    assert known.part_of_larger(same, LATENCY_ALONE) == pytest.approx(answer.bound / 2)
    assert known.part_of_larger(less, LATENCY_ALONE) == 0.0


def test_a_bound_at_the_cutoff_is_an_answer() -> None:
    solver = _solver("three_level")
    known, question = (
        KnownBranches(OPERATIONS),
        _question(solver, "S"),
    )
    known.learn(question, ENERGY_ALONE, BranchAnswer(100.0))
    known.learn(question, LATENCY_ALONE, BranchAnswer(10.0))
    found = known.answer(question, Weights(1.0, 2.0), 119.0)
    assert found is not None
    assert found.mapping is None
    assert found.bound == pytest.approx(120.0)
    assert known.answer(question, Weights(1.0, 2.0), 121.0) is None


def test_no_time_is_no_bound() -> None:
    solver = ExactBranches(SOFTMAX, load_arch("three_level"), "even", "perfect", Means.from_now(0.0))
    assert solver.lower(_question(solver, "S"), ENERGY_ALONE) == 0.0
    assert solver.searches == 0
