"""Constrained searches find the best of just those mappings that satisfy the constraints."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

import brute_force
import longer
from generators import memory, random_architecture, random_problem
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac, load_arch
from tilewright.cost_models import EDP, ENERGY, Objective
from tilewright.ir import ConstraintError, InfeasibleError, Mapping, Problem
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.constraints.files import list_dataflows, load_constraints
from tilewright.mapper.constraints.violations import violations
from tilewright.mapper.exact.bounds.loop_charges import LoopCharges
from tilewright.mapper.exact.growing import preparing
from tilewright.mapper.exact.search import ExactSearch, search_exact
from tilewright.mapper.space import SPACES, Space
from tilewright.mapper.tilings import Tiling
from tilewright.workloads import conv2d, gemm, load_layer

SEEDS = 400
MOST_MAPPINGS = 400
Case = tuple[Problem, Architecture, Tiling, Space, Constraints]


def random_constraints(rng: random.Random, problem: Problem, arch: Architecture) -> Constraints:
    """Few entries of every kind, so that something often remains."""
    memories, dims = [m.name for m in arch.memories], list(problem.dim_names)

    def span() -> tuple[int, int | None]:
        least = rng.choice([1, 1, 1, 2])
        return least, rng.choice([None, least, least + 1])

    parts: dict[str, object] = {}
    kinds = rng.sample(["keeps", "temporal", "orders", "spatial", "utilization", "min_utilization"], rng.randint(1, 2))
    if "keeps" in kinds:
        memory, tensor = rng.choice(arch.memories), rng.choice(problem.tensors)
        may = {"must": [True], "may": [True, False], "never": [False]}[memory.keeps[tensor.role]]
        parts["keeps"] = {(memory.name, tensor.name): rng.choice(may)}
    if "temporal" in kinds:
        parts["temporal"] = {(rng.choice(memories), rng.choice(dims)): span() for _ in range(2)}
    if "orders" in kinds:
        shuffled = rng.sample(dims, len(dims))
        cut = rng.randint(1, len(dims))
        groups = (frozenset(shuffled[:cut]), frozenset(shuffled[cut:]))
        groups = tuple(frozenset([d]) for d in shuffled) if rng.random() < 0.5 else groups
        parts["orders"] = {rng.choice(memories): groups}
    if "spatial" in kinds and arch.fanouts:
        fanout = rng.choice(arch.fanouts)
        parts["spatial"] = {(fanout.name, rng.randrange(len(fanout.axes)), rng.choice(dims)): span()}
    if "utilization" in kinds and arch.fanouts:
        parts["utilization"] = {rng.choice(arch.fanouts).name: rng.choice([0.3, 0.6, 1.0])}
    if "min_utilization" in kinds:
        parts["min_utilization"] = rng.choice([0.2, 0.5, 0.9])
    return Constraints(**parts)  # type: ignore[arg-type]


def case_of(seed: int) -> Case | None:
    rng = random.Random(seed)
    problem = random_problem(rng, 3)
    arch = random_architecture(rng, memories=rng.randint(1, 2), capacity=24)
    tiling: Tiling = rng.choice(["perfect", "perfect", "ragged"])
    space = rng.choice(SPACES)
    constraints = random_constraints(rng, problem, arch)
    if problem.macs > 150 or constraints.is_free:
        return None
    if space == "uneven":
        count = brute_force.count_uneven(problem, arch, tiling, MOST_MAPPINGS)
    else:
        count = brute_force.count(problem, arch, tiling == "ragged", MOST_MAPPINGS)
    return (problem, arch, tiling, space, constraints) if count < MOST_MAPPINGS else None


def cases(seeds: range) -> Iterator[tuple[int, Case]]:
    yield from ((seed, case) for seed in seeds if (case := case_of(seed)) is not None)


def listed(problem: Problem, arch: Architecture, tiling: Tiling, space: Space) -> Iterator[Mapping]:
    if space == "uneven":
        return brute_force.uneven_mappings(problem, arch, tiling)
    return brute_force.all_mappings(problem, arch, tiling == "ragged")


def expected(case: Case, objective: Objective) -> float:
    problem, arch, tiling, space, constraints = case
    return brute_force.best_of(listed(problem, arch, tiling, space), arch, (objective,), constraints)[objective]


def searched(case: Case, objective: Objective) -> float:
    problem, arch, tiling, space, constraints = case
    try:
        mapping, cost, certificate = search_exact(problem, arch, objective, tiling, space, constraints)
    except InfeasibleError:
        return float("inf")
    assert certificate.proven
    assert not violations(mapping, arch, constraints)
    return cost.objective(objective)


@pytest.mark.parametrize("seeds", longer.blocks(SEEDS, 40))
def test_best_of_what_satisfies_the_constraints(seeds: range) -> None:
    for seed, case in cases(seeds):
        objective: Objective = random.Random(seed).choice(["energy", "latency", "edp"])
        assert searched(case, objective) == pytest.approx(expected(case, objective), rel=1e-9), f"seed {seed}"


def test_cases_cover_what_matters() -> None:
    found: Counter[str] = Counter()
    for _, (_, _, tiling, space, constraints) in cases(range(SEEDS)):
        found.update([tiling, space, *(name for name in vars(constraints) if getattr(constraints, name))])
    least = {"perfect": 40, "ragged": 10, "even": 30, "uneven": 15, "keeps": 8, "temporal": 15, "orders": 15}
    least |= {"spatial": 6, "utilization": 6, "min_utilization": 15}
    assert {name: found[name] for name in least if found[name] < least[name]} == {}


def dense_constraints(rng: random.Random, problem: Problem, arch: Architecture) -> Constraints:
    """No loops over many dimensions at many memories, and orders of what is left."""
    dims, temporal, orders = list(problem.dim_names), {}, {}
    for name in (m.name for m in arch.memories):
        temporal |= {(name, dim): (1, 1) for dim in dims if rng.random() < 0.25}
        shuffled, cut = rng.sample(dims, len(dims)), rng.randint(1, len(dims) - 1)
        groups = (frozenset(shuffled[:cut]), frozenset(shuffled[cut : cut + rng.randint(1, 2)]))
        each = tuple(frozenset([dim]) for dim in shuffled)
        orders |= {name: rng.choice([groups, each])} if rng.random() < 0.7 else {}
    return Constraints(temporal=temporal, orders=orders)


def searched_with_and_without(monkeypatch: pytest.MonkeyPatch, search: ExactSearch) -> list[ExactSearch]:
    """A search with bounds that know its constraints, and with those of all mappings."""
    found = []
    for loop_charges in (LoopCharges, lambda hierarchy, _: LoopCharges(hierarchy)):
        monkeypatch.setattr(preparing, "LoopCharges", loop_charges)
        found.append(replace(search))
        found[-1].solve()
        assert found[-1].is_finished
    return found


@pytest.mark.long
@pytest.mark.parametrize("seeds", longer.blocks(320, 80))
def test_bounds_that_know_constraints_leave_nothing_out(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of larger problems than can be listed."""
    compared = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem = random_problem(rng, rng.choice([4, 6, 8]))
        arch = random_architecture(rng, memories=rng.choice([2, 3]), capacity=rng.choice([60, 200]))
        if not 60 <= problem.macs <= 2500:
            continue
        tiling: Tiling = rng.choice(["perfect", "ragged"])
        space, constraints = rng.choice(SPACES), dense_constraints(rng, problem, arch)
        search = ExactSearch(problem, arch, rng.choice([ENERGY, EDP]), tiling, space, constraints)
        own, others = searched_with_and_without(monkeypatch, search)
        assert [each.value for each in own.found] == pytest.approx([each.value for each in others.found]), seed
        compared += 1
    assert longer.occurs(compared > 10)


@pytest.mark.long
def test_bounds_that_know_constraints_leave_little_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, arch = load_layer("vgg16:conv4_2"), load_arch("three_level")
    constraints = load_constraints("input-stationary", problem, arch)
    search = ExactSearch(problem, arch, ENERGY, "perfect", constraints=constraints)
    own, others = searched_with_and_without(monkeypatch, search)
    assert 2 * own.pruned.total() < others.pruned.total()


@pytest.mark.parametrize("space", SPACES)
def test_loops_of_each_memory_have_an_order_of_their_own(space: Space) -> None:
    """K outside N at one memory says nothing of the memory outside it, where K may stand outside M again."""
    levels = (memory("DRAM"), memory("L1"))
    arch = Architecture(name="two", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    halves = {("L1", "K"): (2, 2), ("DRAM", "M"): (2, 2)}
    orders = {"L1": (frozenset("K"), frozenset("N")), "DRAM": (frozenset("K"), frozenset("M"))}
    constraints = Constraints(temporal=halves, orders=orders)
    mapping, _, certificate = search_exact(gemm(4, 4, 4), arch, "energy", "perfect", space, constraints)
    assert certificate.proven
    assert not violations(mapping, arch, constraints)


LAYERS = ("resnet50:layer3.0.conv2", "mobilenet_v2:b5.dw", "bert_base:qk")


@pytest.mark.some(4)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("dataflow", list_dataflows())
def test_dataflows_are_searched(dataflow: str, layer: str) -> None:
    """A dataflow has a proven best mapping that satisfies it and is no better than the free one, or a reason."""
    problem, arch = load_layer(layer), load_arch("three_level")
    constraints = load_constraints(dataflow, problem, arch)
    _, free, _ = search_exact(problem, arch, "edp")
    mapping, cost, certificate = search_exact(problem, arch, "edp", constraints=constraints)
    assert certificate.proven
    assert not violations(mapping, arch, constraints)
    assert cost.edp >= free.edp * (1 - 1e-9)


def test_what_cannot_be_satisfied_names_the_fewest_constraints() -> None:
    problem, arch = conv2d(K=16, C=8, P=2, Q=2, R=3, S=1), load_arch("three_level")
    constraints = load_constraints(
        ["GLB.temporal.K<=2", "array.x.trips.K=16", "RF.temporal.P=1", "RF.temporal.C=3"], problem, arch
    )
    with pytest.raises(InfeasibleError, match="C at RF"):
        search_exact(problem, arch, "edp", constraints=constraints)


def test_contradictions_are_refused_before_the_search() -> None:
    problem, arch = load_layer("resnet50:layer3.0.conv2"), load_arch("three_level")
    with pytest.raises(ConstraintError):
        load_constraints(["GLB.temporal.K<=2", "GLB.temporal.K=4"], problem, arch)


def test_loops_that_may_stand_nowhere_are_noticed_at_once() -> None:
    """Rows of filters have no place on this machine, which bounds know."""
    problem, arch = load_layer("resnet50:conv1"), load_arch("tpu_v1")
    constraints = load_constraints("row-stationary", problem, arch)
    search = ExactSearch(problem, arch, EDP, "perfect", constraints=constraints)
    assert not search.solve()
    assert search.is_finished
    assert search.pruned.total() < 1000


def test_a_dimension_that_has_to_be_spread_and_divides_by_no_axis() -> None:
    """Perfect tiles, which a ragged search looks at first, leave nothing to spread, and K comes after N: a ValueError
    once."""
    levels = (memory("DRAM"), Fanout(name="array", axes=(ArrayAxis(size=2),)), memory("L1"))
    arch = Architecture(name="two", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    spread = Constraints(spatial={("array", 0, "N"): (2, None)})
    found, _, certificate = search_exact(gemm(1, 3, 5), arch, "edp", "ragged", constraints=spread)
    assert certificate.proven
    assert not violations(found, arch, spread)
    with pytest.raises(InfeasibleError, match="N on"):
        search_exact(gemm(1, 3, 5), arch, "edp", "perfect", constraints=spread)
