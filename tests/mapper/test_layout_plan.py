"""Layouts of a network's tensors: the plan against all ways to store tensors, for costs that are drawn at random."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest

import longer
from tilewright.arch import Architecture, load_arch
from tilewright.cost_models import Objective, parse_objective
from tilewright.cost_models.ports import port_cycles
from tilewright.ir import Problem, TilewrightError
from tilewright.mapper.layout_plan import LayerFound, plan_layouts
from tilewright.mapper.layout_plan.elimination import CostTerm, least_sum
from tilewright.mapper.means import Means
from tilewright.mapper.pareto.weights import weights_of
from tilewright.workloads import conv2d
from tilewright.workloads.graph import NetworkGraph, Occurrence, Source

SEEDS = 20
ARCH = load_arch("eyeriss", {"DRAM.line": "16 B"})
LAYOUTS = ("NCHW", "NHWC")
CONVERSION = 128 * 128 * (ARCH.memories[0].read_energy_pj + ARCH.memories[0].write_energy_pj) / 16
"""Of 16 x 8 x 8 words of 16 bit: 128 lines are read, and as many written."""
TEXTS = {"NCHW": {"N,K,P,Q", "N,C,P,Q"}, "NHWC": {"N,P,Q,K", "N,P,Q,C"}}


def network(rng: random.Random) -> NetworkGraph:
    """A few convolutions, each of which reads the input, another one or a sum of two; they are told apart
    by their strides."""
    made: list[Occurrence] = []
    readable = ["input"]
    for i in range(rng.randint(2, 4)):
        source = rng.choice(readable)
        problem = conv2d(K=16, C=16, P=8, Q=8, R=1, S=1, stride=i + 1)
        made.append(Occurrence(f"c{i}", "layer", (Source(source),), problem))
        readable.append(f"c{i}")
        if i and rng.random() < 0.4:
            made.append(Occurrence(f"a{i}", "add", (Source(f"c{i}"), Source(rng.choice(readable[1:-1])))))
            readable.append(f"a{i}")
    return NetworkGraph("net", tuple(made))


Point = tuple[float, float]
"""Energy and latency."""


class Costs:
    """What a layer costs with some layouts: drawn at random, about as much as a conversion; no less than full lines.
    Each has two mappings, of which one takes less energy, and the other is faster."""

    def __init__(self, seed: int, scale: float) -> None:
        self.seed, self.scale, self.asked = seed, scale, 0

    def of(self, problem: Problem, read: str, written: str) -> float:
        """The least energy."""
        return self.mappings(problem, read, written)[0][0]

    def mappings(self, problem: Problem, read: str, written: str) -> list[Point]:
        rng = random.Random(f"{self.seed} {problem.tensor('I').ranks} {read} {written}")
        energy, latency = self.scale * (1 + rng.random()), self.scale * (1 + rng.random())
        return [(energy, latency), (energy * (1 + rng.random()), latency * (1 - rng.random() / 2))]

    def __call__(self, problem: Problem, arch: Architecture, objective: Objective, seconds: float) -> LayerFound:
        weights = weights_of(objective)
        assert weights is not None
        found = [(self.scale, self.scale / 2)]
        if arch.memories[0].line_bits is not None:
            self.asked += 1
            layouts = arch.memories[0].layouts
            found = self.mappings(problem, *(_named(layouts[name]) for name in ("I", "O")))
        best = min(found, key=lambda point: weights.of(*point))
        return LayerFound(weights.of(*best), weights.of(*best), *best)


def _named(text: str) -> str:
    return next((name for name, texts in TEXTS.items() if text in texts), "NCHW")


def joined(graph: NetworkGraph) -> dict[str, str]:
    """For every name the one that stands for its tensor."""
    stands = {name: name for name in ("input", *(o.name for o in graph))}
    for occurrence in graph:
        if occurrence.kind == "add":
            names = {stands[occurrence.name], *(stands[source.name] for source in occurrence.sources)}
            stands = {name: min(names) if one in names else one for name, one in stands.items()}
    return stands


def least(graph: NetworkGraph, costs: Costs, convert: float, copies: bool) -> float:
    """The least over all layouts of all tensors, all copies, and all layouts that layers write.

    convert  what a conversion costs
    """
    stands = joined(graph)
    layers = [o for o in graph if o.problem is not None]
    tensors = sorted({stands[o.name] for o in layers} - {stands["input"]})
    free = [(stored, also) for stored in LAYOUTS for also in ((False, True) if copies else (False,))]
    best = math.inf
    for chosen in itertools.product(free, repeat=len(tensors)):
        state = dict(zip(tensors, chosen, strict=True)) | {stands["input"]: ("NCHW", False)}
        total = convert * sum(also for _, also in chosen)
        total += sum(_least_of(o, costs, state, stands, convert, copies) for o in layers)
        best = min(best, total)
    return best


def _least_of(
    layer: Occurrence,
    costs: Costs,
    state: Mapping[str, tuple[str, bool]],
    stands: Mapping[str, str],
    convert: float,
    copies: bool,
) -> float:
    assert layer.problem is not None
    (source,) = layer.sources
    stored, also = state[stands[source.name]]
    home = state[stands[layer.name]][0]
    return min(
        costs.of(layer.problem, read, written) + convert * (written != home)
        for read in (LAYOUTS if also else (stored,))
        for written in (LAYOUTS if copies else (home,))
    )


@pytest.mark.parametrize("seeds", longer.blocks(SEEDS, 10))
def test_the_plan_is_the_best_of_all(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        graph, costs = network(rng), Costs(seed, rng.choice([1e4, 1e5, 1e6, 1e7]))
        plan = plan_layouts(graph, ARCH, parse_objective("energy"), costs, LAYOUTS)
        assert plan.proven
        assert plan.value == pytest.approx(sum(x.value for x in plan.layers) + sum(c.value for c in plan.conversions))
        assert plan.value == pytest.approx(least(graph, costs, CONVERSION, copies=True)), f"seed {seed}"
        assert plan.agreed == pytest.approx(least(graph, costs, CONVERSION, copies=False)), f"seed {seed}"
        assert all(c.value == pytest.approx(CONVERSION) for c in plan.conversions)


def every_plan(graph: NetworkGraph, costs: Costs) -> Iterator[Point]:
    """Energy and latency of all ways to store tensors, to copy and convert them, and to map layers."""
    stands = joined(graph)
    layers = [o for o in graph if o.problem is not None]
    tensors = sorted({stands[o.name] for o in layers} - {stands["input"]})
    cycles = port_cycles(ARCH.memories[0], {"input": (128 * 128, 128 * 128)})
    for chosen in itertools.product(itertools.product(LAYOUTS, (False, True)), repeat=len(tensors)):
        state = dict(zip(tensors, chosen, strict=True)) | {stands["input"]: ("NCHW", False)}
        sums = {(CONVERSION * n, cycles * n) for n in (sum(also for _, also in chosen),)}
        for layer in layers:
            stored, also = state[stands[layer.sources[0].name]]
            ways = [
                (energy + CONVERSION * converts, latency + cycles * converts)
                for read in (LAYOUTS if also else (stored,))
                for written in LAYOUTS
                for converts in (written != state[stands[layer.name]][0],)
                for energy, latency in costs.mappings(_problem(layer), read, written)
            ]
            sums = {(e + more, t + longer) for e, t in sums for more, longer in ways}
            sums = {one for one in sums if not any(o != one and o[0] <= one[0] and o[1] <= one[1] for o in sums)}
        yield from sums


def _problem(layer: Occurrence) -> Problem:
    assert layer.problem is not None
    return layer.problem


@pytest.mark.parametrize("objective", ["edp", "ed2p"])
def test_the_least_product_is_that_of_all_plans(objective: str) -> None:
    for seed in longer.seeds(4):
        rng = random.Random(seed)
        graph, costs = network(rng), Costs(seed, rng.choice([1e4, 1e5, 1e6]))
        asked = parse_objective(objective)
        plan = plan_layouts(graph, ARCH, asked, costs, LAYOUTS)
        assert plan.product is not None
        assert plan.product.value == asked.value(plan.energy_pj, plan.latency_cycles)
        assert plan.proven
        least = min(asked.value(*point) for point in every_plan(graph, costs))
        assert plan.product.value == pytest.approx(least), f"seed {seed}"


@pytest.mark.parametrize("seed", longer.seeds(20))
def test_the_least_sum_is_that_of_all_values(seed: int) -> None:
    rng = random.Random(seed)
    values = {name: rng.randint(1, 3) for name in "abcde"}
    terms = []
    for _ in range(6):
        names = tuple(rng.sample("abcde", rng.randint(1, 3)))
        terms.append(
            CostTerm(
                names,
                np.array(rng.choices(range(20), k=math.prod(values[n] for n in names)), float).reshape(
                    [values[n] for n in names]
                ),
            )
        )
    found, chosen = least_sum(terms, values)
    every = [dict(zip(values, point, strict=True)) for point in itertools.product(*map(range, values.values()))]
    sums = [sum(float(t.costs[tuple(point[n] for n in t.variables)]) for t in terms) for point in every]
    assert found == min(sums) == sums[every.index(chosen)]


def test_what_is_no_plan_is_refused() -> None:
    graph, costs = network(random.Random(1)), Costs(1, 1e6)
    with pytest.raises(TilewrightError, match="DRAM has no lines"):
        plan_layouts(graph, load_arch("eyeriss"), parse_objective("energy"), costs)
    with pytest.raises(TilewrightError, match="no tensor can lie as 'NHCW', expected NCHW, NCHW8c, NHWC"):
        plan_layouts(graph, ARCH, parse_objective("energy"), costs, ["NHCW"])
    with pytest.raises(TilewrightError, match="does not add up"):
        plan_layouts(graph, ARCH, parse_objective("energy * latency ** 0.5"), costs)


def test_a_product_is_searched_again_only_where_another_mapping_may_be_best() -> None:
    graph, costs = network(random.Random(3)), OneMapping(3, 1e5)
    plan = plan_layouts(graph, ARCH, parse_objective("edp"), costs, LAYOUTS)
    assert plan.product is not None
    assert plan.proven
    layers = {o.problem for o in graph if o.problem is not None}
    # Each layer and pair of layouts once for its energy, and once for its latency.
    assert costs.asked <= 2 * len(layers) * len(LAYOUTS) ** 2


class OneMapping(Costs):
    """A mapping of each layer has the least energy and the least latency."""

    def mappings(self, problem: Problem, read: str, written: str) -> list[Point]:
        return super().mappings(problem, read, written)[:1]


@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize("searches", [0, 5, 12])
def test_a_plan_whose_time_is_up_is_one_with_a_bound(objective: str, searches: int) -> None:
    for seed in longer.seeds(4):
        graph, costs = network(random.Random(seed)), Costs(seed, 1e5)
        asked, means = parse_objective(objective), Ticking(costs=costs, searches=searches)
        plan = plan_layouts(graph, ARCH, asked, costs, LAYOUTS, means)
        best = plan_layouts(graph, ARCH, asked, Costs(seed, 1e5), LAYOUTS)
        found, least = plan.product or plan, best.product or best
        assert found.bound <= least.value * (1 + 1e-9)
        assert least.value * (1 - 1e-9) <= found.value < math.inf
        assert plan.as_written < math.inf
        assert plan.agreed < math.inf


@dataclass(frozen=True)
class Ticking(Means):
    """Means that are used up after so many searches."""

    costs: Costs | None = None
    searches: float = 0.0

    @property
    def expired(self) -> bool:
        assert self.costs is not None
        return self.costs.asked >= self.searches

    def share(self, part: float = 0.5) -> Ticking:
        assert self.costs is not None
        return replace(self, searches=self.costs.asked + part * max(0.0, self.searches - self.costs.asked))
