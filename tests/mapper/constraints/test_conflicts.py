"""The smallest set of constraints that has to go is the smallest, and the same every time."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest

import longer
from brute_force import all_mappings
from tilewright.arch import load_arch
from tilewright.ir import InfeasibleError
from tilewright.mapper.constraints import Constraints, combine
from tilewright.mapper.constraints.conflicts import conflict_error, smallest_conflict
from tilewright.mapper.constraints.files import load_constraints
from tilewright.mapper.constraints.violations import violations
from tilewright.mapper.means import OutOfMeans
from tilewright.workloads import gemm

SINGLES = Constraints(temporal={("GLB", dim): (1, 1) for dim in "ABCDEFG"}).singles()


def oracle(conflicts: list[frozenset[Constraints]]) -> Callable[[Constraints], bool]:
    """There is a mapping unless all of some conflict is asked for."""
    return lambda asked: not any(conflict <= set(asked.singles()) for conflict in conflicts)


@pytest.mark.parametrize("seed", longer.seeds(40))
def test_the_smallest_set_is_found(seed: int) -> None:
    rng = random.Random(seed)
    conflicts = [frozenset(rng.sample(SINGLES, rng.randint(1, 3))) for _ in range(rng.randint(1, 5))]
    hits = (
        removed
        for size in range(len(SINGLES) + 1)
        for removed in itertools.combinations(SINGLES, size)
        if all(conflict & set(removed) for conflict in conflicts)
    )
    expected = tuple(single.name for single in next(hits))
    found = smallest_conflict(combine(SINGLES), oracle(conflicts))
    assert len(found.removed) == len(expected)
    assert all({s.name for s in conflict} & set(found.removed) for conflict in conflicts)
    assert found == smallest_conflict(combine(reversed(SINGLES)), oracle(conflicts))


def test_with_few_calls_it_is_still_a_set_that_works() -> None:
    conflicts = [frozenset(pair) for pair in zip(SINGLES[:1] * 6, SINGLES[1:], strict=True)]
    asked = 0

    def feasible(constraints: Constraints) -> bool:
        nonlocal asked
        asked += 1
        return bool(oracle(conflicts)(constraints))

    assert smallest_conflict(combine(SINGLES), feasible, most_calls=0).removed == tuple(s.name for s in SINGLES[1:])
    assert asked == 1 + len(SINGLES)
    assert smallest_conflict(combine(SINGLES), feasible).removed == ("no loop over A at GLB",)


@pytest.mark.parametrize("calls", range(12))
def test_what_is_known_when_the_means_run_out_is_so(calls: int) -> None:
    """None has A beside B; C cannot be satisfied at all."""
    a, b, c = SINGLES[0], SINGLES[1], SINGLES[2]
    there_is = oracle([frozenset([a, b]), frozenset([c])])
    asked = 0

    def feasible(constraints: Constraints) -> bool:
        nonlocal asked
        asked += 1
        if asked > calls:
            raise OutOfMeans
        return there_is(constraints)

    found = smallest_conflict(combine(SINGLES), feasible)
    text = str(conflict_error(gemm(2, 2, 2), combine(SINGLES), found))
    assert found
    if calls < 3:
        assert "the search for those that stand in the way ran out of time" in text
    elif calls < 8:
        assert "none has this one beside the others: no loop over B at GLB (the others: no loop over A at GLB)" in text
    else:
        assert found.removed == (b.name, c.name)
        assert "without these there are some: no loop over B at GLB; no loop over C at GLB" in text


def test_the_two_ends() -> None:
    everything = combine(SINGLES)
    assert not smallest_conflict(everything, lambda _: True)
    assert not smallest_conflict(everything, lambda _: False)


def test_a_real_conflict_in_words() -> None:
    """By brute force: the two elements of M cannot be spread over the array and be run through at GLB too."""
    machine, problem = load_arch("three_level"), gemm(M=2, N=1, K=2)
    mappings = list(all_mappings(problem, machine, ragged=False))
    lines = ["array.y.trips.M=2", "GLB.temporal.M=2", "utilization>=0.001", "GLB.keep.weight=never"]
    constraints = combine([load_constraints(lines, problem, machine)], "mine")

    def feasible(asked: Constraints) -> bool:
        return any(not violations(mapping, machine, asked) for mapping in mappings)

    conflict = smallest_conflict(constraints, feasible)
    assert conflict.removed == ("exactly 2 trips of M on array.y",)
    error = conflict_error(problem, constraints, conflict)
    assert isinstance(error, InfeasibleError)
    assert str(error) == (
        "mine: no mapping of gemm satisfies all of these constraints, and without this one there are some: "
        "exactly 2 trips of M on array.y\nhint: drop or relax it"
    )
