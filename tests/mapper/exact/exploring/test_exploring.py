"""However the work of a search is ordered, and whatever saves work, the optimum is the same."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

import longer
from generators import memory, random_architecture, random_problem
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory, load_arch
from tilewright.cost_models import EDP, ENERGY, Objective
from tilewright.ir import InfeasibleError, Problem
from tilewright.mapper.effort import EFFORT, Effort
from tilewright.mapper.exact.bounds.bounds import Bounds
from tilewright.mapper.exact.exploring import exploring
from tilewright.mapper.exact.exploring.own_tables import ArrayTurns, RoughGroups
from tilewright.mapper.exact.growing import fanouts
from tilewright.mapper.exact.growing.batch import Batch
from tilewright.mapper.exact.growing.context import SearchContext
from tilewright.mapper.exact.growing.known_rows import KnownRows
from tilewright.mapper.exact.question.surroundings import Surroundings
from tilewright.mapper.exact.rows import Ints
from tilewright.mapper.exact.search import ExactSearch, search_exact
from tilewright.mapper.space import SPACES, Space
from tilewright.mapper.tilings import TILINGS, Tiling
from tilewright.workloads import conv2d, gemm, load_layer

Case = tuple[Problem, Architecture, Objective, Tiling, Space]


def case_of(seed: int) -> Case:
    """A problem too large for brute force, on a machine with an array; half of them have windows, and a memory per
    tensor inside the array."""
    rng = random.Random(seed)
    objective: Objective = rng.choice(("energy", "latency", "edp", "edp"))
    ragged, space = rng.random() < 0.4, SPACES[rng.random() < 0.7]
    while True:
        problem = random_problem(rng, 6)
        arch = random_architecture(rng, rng.randint(1, 2), capacity=40) if seed % 2 else with_scratchpads(rng)
        windows = any(len(rank) > 1 for tensor in problem.tensors for rank in tensor.ranks)
        if arch.fanouts and problem.macs <= (100 if ragged else 800) and (windows or seed % 2):
            return problem, arch, objective, TILINGS[ragged], space


def with_scratchpads(rng: random.Random) -> Architecture:
    """A buffer, and an array of MACs with a scratchpad for each role, as on the Eyeriss chip."""
    levels: list[Memory | Fanout] = [
        memory("DRAM", read_energy_pj=60.0, write_energy_pj=60.0, shared_bits_per_cycle=16.0),
        memory("GLB", rng, keeps=Keeps(input="may", weight="may", output="may"), size_bits=8 * rng.randint(20, 80)),
        Fanout(name="array", axes=tuple(ArrayAxis(size=rng.randint(2, 4)) for _ in range(2)), multicast=True),
    ]
    for role in rng.sample(("input", "weight", "output"), 3):
        keeps = Keeps.model_validate(dict.fromkeys(("input", "weight", "output"), "never") | {role: "must"})
        levels.append(memory(f"{role}s", rng, keeps=keeps, halo="none", size_bits=8 * rng.randint(2, 12)))
    return Architecture(name="pads", clock_hz=1e9, word_bits=8, levels=tuple(levels), mac=Mac(energy_pj=0.0))


BUSY = Effort(few=2, some=1, many=5, rows_before_groups=-1, busy=1.0, least_gain=-1.0, near=0.0)


def optimum(case: Case, effort: Effort = EFFORT) -> float:
    problem, arch, objective, tiling, space = case
    try:
        certificate = search_exact(problem, arch, objective, tiling, space, effort=effort)[2]
    except InfeasibleError:
        return float("inf")
    assert certificate.proven
    return certificate.value


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What a search has done since: groups of arrays bounded together, and how many of these were split later; and
    rows whose windows were counted exactly."""
    done: Counter[str] = Counter()

    def bounded(
        context: SearchContext, batch: Batch, groups: Sequence[Ints], below: float, rough: bool
    ) -> Iterator[Batch]:
        done["groups together"] += context.tiling == "perfect" and len(groups) > 1
        for bounded in fanouts.bounded_by_groups(context, batch, groups, below, rough):
            done["split later"] += rough and len(bounded) > 0
            yield bounded

    def settled(context: SearchContext, batch: Batch, below: float) -> Batch:
        done["settled"] += 1
        return fanouts.settled(context, batch, below)

    monkeypatch.setattr(exploring, "bounded_by_groups", bounded)
    monkeypatch.setattr(exploring, "settled", settled)
    return done


def plainly(monkeypatch: pytest.MonkeyPatch, case: Case) -> float:
    """With windows only bounded, and no row that dominates others."""
    with monkeypatch.context() as patch:
        patch.setattr(Batch, "unsettled", property(lambda _: False))
        patch.setattr(KnownRows, "new_ones", lambda _, batch: batch)
        return optimum(case)


@pytest.mark.parametrize("seeds", longer.blocks(24, 24))
def test_the_same_optimum_with_all_that_saves_work(
    seeds: range, work: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few rows at once, groups of arrays always, rough ones first, several together, dives at every step, and finer
    tables soon."""
    monkeypatch.setattr(RoughGroups, "pay", lambda *_: True)
    for seed in seeds:
        case = case_of(seed)
        expected = plainly(monkeypatch, case)
        assert optimum(case, BUSY) == pytest.approx(expected, rel=1e-9), f"seed {seed}"
    assert longer.occurs(work["groups together"] > 0)
    assert longer.occurs(work["split later"] > 0)
    assert longer.occurs(work["settled"] > 0)


WINDOWS = conv2d(K=6, C=5, P=7, Q=5, R=3, S=3)
"""Bounds for any arrays leave much to tell about it."""

ALONE = Effort(
    rows_before_own_tables=100, least_own_gain=0, near=0, near_enough=0, few=3, first_cells=60, looked_at_per_cell=0
)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What a search has done since: choices of arrays that got tables together, and batches that got finer ones."""
    done: Counter[str] = Counter()

    def bounded(context: SearchContext, batch: Batch, below: float) -> Iterator[Batch]:
        done["together"] += len(batch) > 1
        for row in fanouts.bounded_alone(context, batch, below):
            assert row.bounds.arrays.knows_arrays, "tables know the row's arrays"
            yield row

    def rebounded(context: SearchContext, batch: Batch, bounds: Bounds, below: float) -> Batch:
        done["finer"] += bounds.level >= 0
        return fanouts.rebounded(context, batch, bounds, below)

    monkeypatch.setattr(exploring, "bounded_alone", bounded)
    monkeypatch.setattr(exploring, "rebounded", rebounded)
    return done


@pytest.mark.parametrize("seeds", longer.blocks(12, 6))
def test_the_same_optimum_with_tables_for_every_choice_of_arrays(
    seeds: range, alone: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in seeds:
        problem, arch, objective, _, _ = case_of(seed)
        if problem.macs <= 100:
            case: Case = problem, arch, objective, "ragged", "even"
            expected = plainly(monkeypatch, case)
            effort = replace(ALONE, rows_before_own_tables=-1) if seed % 2 else ALONE
            assert optimum(case, effort) == pytest.approx(expected, rel=1e-9), f"seed {seed}"
    assert longer.occurs(alone["together"] > 0)


@pytest.mark.long
def test_tables_for_choices_of_arrays_get_finer_where_rows_are_many(alone: Counter[str]) -> None:
    case: Case = WINDOWS, load_arch("eyeriss"), "edp", "ragged", "even"
    assert optimum(case, ALONE) == pytest.approx(optimum(case), rel=1e-9)
    assert longer.occurs(alone["together"] > 0)
    assert alone["finer"] > 0


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("changes", "made"), [({}, True), ({"least_own_gain": 2}, False), ({"near": 1, "near_enough": 1}, False)]
)
def test_tables_for_choices_of_arrays_are_made_where_they_say_much(
    changes: dict[str, float], made: bool, alone: Counter[str]
) -> None:
    case: Case = WINDOWS, load_arch("eyeriss"), "edp", "ragged", "even"
    optimum(case, replace(ALONE, **changes))  # type: ignore[arg-type]
    assert (alone["together"] > 0) == made


@pytest.mark.long
def test_tables_for_every_choice_of_arrays_leave_little_to_look_at() -> None:
    """Tables for any arrays let every dimension grow by all instances at once, and all tensors be shared by all."""
    asked = gemm(32, 48, 64), load_arch("eyeriss_v2_like"), "edp", "ragged"
    without, own = (
        search_exact(
            *asked,
            effort=Effort(rows_before_own_tables=before, least_own_gain=0, near=0, near_enough=0),
        )[2]
        for before in (float("inf"), 10_000)
    )
    assert without.proven
    assert own.proven
    assert own.value == without.value
    assert sum(own.pruned.values()) < 0.5 * sum(without.pruned.values())


@pytest.mark.long
def test_rows_that_grow_to_many_later_get_tables_for_groups_of_arrays() -> None:
    """The first step of a row makes 22 others on simba, and those that follow a million times as many. (4_2 of VGG-16
    was not proven in a minute, and takes a second.)"""
    asked = load_layer("vgg16:conv4_2"), load_arch("simba"), ENERGY, "perfect"
    search = ExactSearch(*asked)
    assert search.solve()
    assert search.is_finished
    assert sum(search.pruned.values()) < 2_000_000


@pytest.mark.long
def test_tables_for_choices_of_arrays_beside_those_for_all_of_them() -> None:
    """With operands that come from the buffer, what follows the tile below loops inside an array is bounded for each
    choice of arrays in some cases, and for all of them in others: an IndexError once."""
    problem = load_layer("vgg16:conv1_1")
    around = Surroundings({tensor.name: "GLB" for tensor in problem.tensors})
    asked = problem, load_arch("three_level"), ENERGY, "perfect"
    efforts = [replace(EFFORT, rows_before_own_tables=before) for before in (-1, float("inf"))]
    alone, without = (ExactSearch(*asked, surroundings=around, effort=effort) for effort in efforts)
    assert alone.solve()
    assert without.solve()
    assert alone.found[0].value == without.found[0].value


def test_choices_of_arrays_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """With turns of a row each, many choices are in work at once; the optimum is the same."""
    turns: list[Bounds] = []
    begin = ArrayTurns.begin
    monkeypatch.setattr(ArrayTurns, "begin", lambda self, bounds: (turns.append(bounds), begin(self, bounds))[1])
    case: Case = WINDOWS, load_arch("eyeriss"), "edp", "ragged", "even"
    assert optimum(case, replace(ALONE, rows_before_own_tables=-1)) == pytest.approx(optimum(case), rel=1e-9)
    assert len(turns) > len(set(turns)), "some choice had several turns"


def test_bounds_for_a_product_of_one_row() -> None:
    """Ragged arrays are bounded row by row, and the joint bound on a product raises some of them."""
    assert search_exact(gemm(512, 768, 768), load_arch("three_level"), "edp", "ragged")[2].proven


@pytest.mark.long
def test_a_search_that_let_go_of_rows_looks_again_with_better_bounds() -> None:
    """With memory for few open rows, the first attempt ends with a gap."""
    asked = gemm(30, 40, 50), load_arch("eyeriss_like"), EDP, "ragged"
    search, again = ExactSearch(*asked), ExactSearch(*asked, effort=Effort(share=1e-4))
    assert search.solve()
    assert again.solve()
    assert (search.effort.rows_before_groups == 0, again.effort.rows_before_groups == 0) == (False, True)
    assert again.is_finished
    assert again.found[0].value == pytest.approx(search.found[0].value)
