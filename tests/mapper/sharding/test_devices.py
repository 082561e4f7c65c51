"""What splits cost on devices, against searches of what each device does."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

import tilewright as tw
from longer import seeds
from tilewright.arch.system import MeshAxis, System
from tilewright.cost_models import parse_objective
from tilewright.ir import TilewrightError
from tilewright.ir.sharding import Split
from tilewright.mapper.fusing import answer_below, answer_cascade
from tilewright.mapper.question import Limits, Question
from tilewright.mapper.segmentation import OneAfterTheOther
from tilewright.mapper.sharding import ShardingQuestion
from tilewright.mapper.sharding.devices import DeviceCosts
from tilewright.mapper.sharding.dividing import dims_of, divided
from tilewright.workloads.graph import NetworkGraph, Occurrence, Source

SHAPE = 6, 10


def network() -> NetworkGraph:
    up = Occurrence("up", "layer", (Source("x"),), problem=tw.gemm(M=6, N=14, K=10))
    again = replace(up, name="again")
    add = Occurrence("add", "add", (Source("x"), Source("x")))
    table = Occurrence("table", "outside", (Source("add"),), shape=(6, 5))
    return NetworkGraph("some", (Occurrence("x", "outside", shape=SHAPE), up, again, add, table))


def costs_of(objective: str, *sizes: int) -> DeviceCosts:
    arch = tw.load_arch("three_level")
    axes = tuple(MeshAxis(f"a{number}", "ring", size, 1e9) for number, size in enumerate(sizes))
    wanted = parse_objective(objective, arch.clock_hz)
    question = ShardingQuestion(network(), System("some", arch, axes), wanted, "perfect")
    return DeviceCosts(question, OneAfterTheOther(answer_below), Limits().means())


def splits_of(costs: DeviceCosts, name: str) -> list[Split]:
    graph = costs.question.graph
    dims = [None, *(dim for dim, _ in dims_of(graph, graph.by_name[name]))]
    return list(itertools.product(dims, repeat=len(costs.question.system.axes)))


@pytest.mark.parametrize("name", ["up", pytest.param("add", marks=pytest.mark.long)])
@pytest.mark.parametrize("objective", ["latency", "energy", "energy + 50 * latency"])
def test_costs_are_those_of_the_slowest_device_and_of_all(objective: str, name: str) -> None:
    """Bounds at once are below what searches find; then both meet, as each problem's own search says."""
    costs = costs_of(objective, 4)
    graph, arch = costs.question.graph, costs.arch
    for split in splits_of(costs, name)[:3][-2:]:
        at_once = costs.cost(name, split)
        assert 0 < at_once.bound < math.inf == at_once.value
        while costs.is_open(name, split, math.inf):
            costs.ask([(name, split, math.inf)])
        found = costs.cost(name, split)
        assert at_once.bound <= found.bound <= found.value
        assert found.is_proven or "+" in objective  # of ragged blocks, a shorter one may be slower
        energy, cycles = 0.0, 0.0
        for number, part in enumerate(divided(graph, graph.by_name[name], split, costs.question.system.axes)):
            assert part.cascade is not None
            own = objective
            if "+" in objective:
                own = f"energy + {50 / part.devices!r} * latency" if number == 0 else "energy"
            wanted = parse_objective(own, arch.clock_hz)
            cost = answer_cascade(Question(part.cascade, arch, wanted, "perfect")).cost
            energy, cycles = energy + part.devices * cost.energy_pj, max(cycles, cost.latency_cycles)
        values = {"latency": cycles / arch.clock_hz, "energy": energy}
        assert found.value == pytest.approx(values.get(objective, energy + 50 * cycles))
        work = costs.work(name, split)
        assert work.energy_pj == pytest.approx(found.energy_pj)
        assert work.answer is not None


def test_equal_problems_are_searched_once() -> None:
    """Of equal operations, and of axes that deal the same in another order."""
    costs = costs_of("energy", 2, 2)
    for name, split in [("up", ("M", None)), ("up", (None, "M")), ("again", ("M", None))]:
        costs.ask([(name, split, math.inf)])
        assert costs.cost(name, split).is_proven
    assert costs.searched == 1


@pytest.mark.parametrize("seed", seeds(20))
def test_what_is_not_below_is_not_looked_at(seed: int) -> None:
    """What is known after a search for less than a value: the least, if that is less, or that nothing is; bounds never
    fall."""
    costs, exact = costs_of("energy", 4), costs_of("energy", 4)
    name = ("up", "add")[seed % 2]
    split = splits_of(costs, name)[seed % 3]
    while exact.is_open(name, split, math.inf):
        exact.ask([(name, split, math.inf)])
    least = exact.cost(name, split).value
    last = costs.cost(name, split).bound
    for part in (0.5, 0.9, 1.0, 1.1):
        below = part * least
        while costs.is_open(name, split, below):
            costs.ask([(name, split, below)])
        found = costs.cost(name, split)
        assert last <= found.bound <= least * (1 + 1e-9)
        assert found.bound >= min(below, least) * (1 - 1e-9)
        assert (found.value == pytest.approx(least)) if part > 1 else (found.value == math.inf)
        last = found.bound


def test_without_time_there_are_mappings_all_the_same() -> None:
    costs = costs_of("energy", 4)
    costs.means = Limits(0.0).means()
    known = costs.know("up", ("N",))
    assert known.bound <= known.value < math.inf
    assert costs.cost("up", ("N",)) == known


def test_words_that_are_moved_cost_what_they_are() -> None:
    costs = costs_of("latency", 2)
    whole, half = costs.cost("table", (None,)), costs.cost("table", ("A",))
    assert whole.is_proven
    assert half.is_proven
    assert 0 < half.seconds < whole.seconds
    assert costs.cost("x", (None,)).value == 0


def test_objectives_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(TilewrightError, match="knows no objective such as edp"):
        costs_of("edp", 2)
