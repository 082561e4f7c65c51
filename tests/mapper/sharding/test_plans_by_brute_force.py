"""The search for plans against brute force, against CP-SAT over tables of its own, and cut short."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, field

import pytest
from sharded_brute_force import DEVICE, ByBruteForce, Costs, some_costs, some_graph, some_system

from longer import seeds
from tilewright.arch.system import System
from tilewright.cost_models import parse_objective
from tilewright.ir.sharding import Sharding, Split
from tilewright.mapper.means import UNLIMITED, OutOfMeans
from tilewright.mapper.pareto.weights import LATENCY_ALONE
from tilewright.mapper.sharding import DeviceWork, ShardingQuestion, ShardingSpace, SplitCost
from tilewright.mapper.sharding.search import PlanSearch
from tilewright.workloads.graph import NetworkGraph

MOST_CHOICES, MOST_STATES = 700, 20


@dataclass
class GivenCosts:
    """Costs of devices that are known; or, at first, half of them as a bound."""

    costs: Costs
    is_lazy: bool = False
    weights = LATENCY_ALONE
    searched: int = 0
    interrupted: bool = False
    known: set[tuple[str, Split]] = field(default_factory=set)

    def alike(self, name: str) -> object:
        return name

    def cost(self, name: str, split: Split) -> SplitCost:
        value = self.costs[name, split]
        if self.is_lazy and (name, split) not in self.known:
            return SplitCost(0.5 * value)
        return SplitCost(value, value, value, 0.0)

    def is_open(self, name: str, split: Split, below: float) -> bool:
        return self.is_lazy and (name, split) not in self.known and below > 0.5 * self.costs[name, split]

    def ask(self, wanted: list[tuple[str, Split, float]]) -> None:
        self.known.add(wanted[0][:2])
        self.searched += 1

    def know(self, name: str, split: Split) -> SplitCost:
        self.known.add((name, split))
        return self.cost(name, split)

    def work(self, name: str, split: Split) -> DeviceWork:
        return DeviceWork(name, split, self.costs[name, split], 0.0, None)

    def drop(self) -> None:
        pass


class FewSteps:
    """Means of so many steps."""

    limits_time = False

    def __init__(self, steps: int) -> None:
        self.left = steps

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise OutOfMeans


def some_plan(seed: int) -> tuple[NetworkGraph, System, ShardingSpace, Costs] | None:
    """A random network of three or four operations on one or two axes, where that is not too large."""
    rng = random.Random(seed)
    system = some_system(rng, 1 + seed % 2)
    graph = some_graph(rng, 3 + (seed // 2) % 2)
    space = ShardingSpace(graph, system)
    choices = math.prod(len(space.splits(name)) for name in space.names)
    force = ByBruteForce(space, system, {})
    states = max(math.prod(map(len, force.placements(name))) for name in space.names)
    if choices > MOST_CHOICES or states > MOST_STATES:
        return None
    return graph, system, space, some_costs(rng, space)


def searched(graph: NetworkGraph, system: System, costs: GivenCosts, means: object = UNLIMITED) -> PlanSearch:
    question = ShardingQuestion(graph, system, parse_objective("latency"), "ragged")
    return PlanSearch(question, costs, means)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", sorted({*seeds(200), 135}))  # 135: less is moved where it is cut first
def test_no_plan_is_better(seed: int) -> None:
    """All splits, and all orders of making what is read; with costs that are known, and found out as they matter."""
    found = some_plan(seed)
    if found is None:
        return
    graph, system, space, costs = found
    best = ByBruteForce(space, system, costs).best()
    answer = searched(graph, system, GivenCosts(costs)).run()
    assert answer.certificate.value / DEVICE.clock_hz == pytest.approx(best, rel=1e-9)
    assert answer.seconds == pytest.approx(best, rel=1e-9)
    assert answer.certificate.proven
    lazy = GivenCosts(costs, is_lazy=True)
    answer = searched(graph, system, lazy).run()
    assert answer.certificate.value / DEVICE.clock_hz == pytest.approx(best, rel=1e-9)
    assert answer.certificate.proven
    cut = searched(graph, system, GivenCosts(costs, is_lazy=True), FewSteps(seed % 4)).run()
    assert cut.certificate.lower_bound <= best * DEVICE.clock_hz * (1 + 1e-9)
    assert cut.certificate.value >= best * DEVICE.clock_hz * (1 - 1e-9)


@pytest.mark.parametrize("seed", seeds(40))
def test_a_solver_that_knows_no_bounds_agrees(seed: int) -> None:
    """CP-SAT: a split of every operation, a table for every tensor by the shardings that it is made and read in."""
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    found = some_plan(seed)
    if found is None:
        return
    graph, system, space, costs = found
    force = ByBruteForce(space, system, costs)
    model = cp_model.CpModel()
    unit = 1e-15
    chosen = {name: model.new_int_var(0, len(space.splits(name)) - 1, name) for name in space.names}
    values = []
    for name in space.names:
        splits = space.splits(name)
        readers = space.readers.get(name, ())
        value = model.new_int_var(0, 10**12, f"value of {name}")
        own = [round(costs[name, split] / unit) for split in splits]
        rows = []
        names = list(dict.fromkeys([name, *(reader for reader, _ in readers)]))
        for at in itertools.product(*(range(len(space.splits(one))) for one in names)):
            split_of = {one: space.splits(one)[i] for one, i in zip(names, at, strict=True)}
            ends: frozenset[Sharding] = frozenset(space.needed(r, split_of[r], number) for r, number in readers)
            made = force.making(name, space.made(name, split_of[name]), ends, name in space.outputs)
            if math.isfinite(made):
                rows.append((*at, own[at[0]] + round(made / unit)))
        model.add_allowed_assignments([*(chosen[one] for one in names), value], rows)
        values.append(value)
    model.minimize(sum(values))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    answer = searched(graph, system, GivenCosts(costs)).run()
    assert answer.certificate.value / DEVICE.clock_hz == pytest.approx(solver.objective_value * unit, rel=1e-6)
