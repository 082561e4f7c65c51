"""Orders of operations with the least peak, against every order there is."""

from __future__ import annotations

import itertools
import random

import pytest

import longer
from tilewright.ir import MemoryPlanError
from tilewright.mapper.means import Means
from tilewright.mapper.memory_plan.order import TensorStep, least_peak_order, live_during


def random_steps(chance: random.Random, count: int) -> tuple[list[TensorStep], dict[str, int], list[str]]:
    """A graph in an order that is one, with inputs, several results and scratch."""
    sizes = {"in0": chance.randint(1, 9), "in1": chance.randint(1, 9)}
    steps = []
    for i in range(count):
        reads = chance.sample(sorted(sizes), min(len(sizes), chance.randint(1, 3)))
        writes = [f"t{i}.{k}" for k in range(chance.choice([1, 1, 2]))]
        sizes |= {name: chance.randint(0, 9) for name in writes}
        steps.append(TensorStep(f"s{i}", tuple(reads), tuple(writes), chance.choice([0, 0, 5])))
    return steps, sizes, chance.sample(sorted(sizes), 1)


def peak_by_hand(order: list[TensorStep], sizes: dict[str, int], kept: list[str]) -> int | None:
    """Tensor by tensor, from its first moment to its last; None for an order that reads what is not there."""
    made = {name: i for i, step in enumerate(order) for name in step.writes}
    used = {name: i for i, step in enumerate(order) for name in step.reads}
    if any(made.get(name, -1) >= i for i, step in enumerate(order) for name in step.reads):
        return None
    peak = 0
    for now, step in enumerate(order):
        live = step.scratch
        for name in made.keys() | used.keys():
            begin = made.get(name, -1)
            end = len(order) if name in kept else used.get(name, begin)
            live += sizes[name] * (begin <= now <= end)
        peak = max(peak, live)
    return peak


@pytest.mark.parametrize("seeds", longer.blocks(60, 30))
def test_peaks_are_the_least_of_all_orders(seeds: range) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        steps, sizes, kept = random_steps(chance, chance.randint(1, 6))
        assert max(live_during(steps, sizes, kept)) == peak_by_hand(steps, sizes, kept)
        peaks = (peak_by_hand(list(order), sizes, kept) for order in itertools.permutations(steps))
        found = least_peak_order(steps, sizes, kept)
        by_name = {step.name: step for step in steps}
        assert found.proven
        assert found.peak == min(peak for peak in peaks if peak is not None)
        assert found.peak == peak_by_hand([by_name[name] for name in found.names], sizes, kept)


def test_sixty_operations_in_branches() -> None:
    """Six chains of ten from one input: one chain after the other, and not all of them at once."""
    sizes = {"x": 1, **{f"c{c}.{i}": 100 if i < 9 else 1 for c in range(6) for i in range(10)}}
    steps = [
        TensorStep(f"{c}.{i}", (f"c{c}.{i - 1}" if i else "x",), (f"c{c}.{i}",)) for i in range(10) for c in range(6)
    ]
    outputs = [f"c{c}.9" for c in range(6)]
    assert max(live_during(steps, sizes, outputs)) >= 700
    found = least_peak_order(steps, sizes, outputs)
    assert found.proven
    assert found.peak == 205  # two of a chain, and what the five before it have left


def test_out_of_means_is_no_error() -> None:
    steps, sizes, kept = random_steps(random.Random(3), 30)
    found = least_peak_order(steps, sizes, kept, Means.from_now(0.0))
    assert found.names == tuple(step.name for step in steps)
    assert found.lower_bound <= found.peak


@pytest.mark.parametrize("seeds", longer.blocks(60, 30))
def test_however_little_memory_there_is_the_bound_is_true(seeds: range) -> None:
    cut = 0
    for seed in seeds:
        chance = random.Random(seed)
        steps, sizes, kept = random_steps(chance, 8)
        least = least_peak_order(steps, sizes, kept).peak
        found = least_peak_order(steps, sizes, kept, Means(memory_limit=400 * chance.randint(0, 20)))
        by_name = {step.name: step for step in steps}
        assert found.lower_bound <= least <= found.peak
        assert found.peak <= max(live_during(steps, sizes, kept))
        assert found.peak == peak_by_hand([by_name[name] for name in found.names], sizes, kept)
        cut += not found.proven
    assert longer.occurs(cut > 0)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([TensorStep("a", ("y",), ("x",)), TensorStep("b", (), ("y",))], "a: it reads what b writes only later"),
        ([TensorStep("a", (), ("x",)), TensorStep("b", (), ("x",))], "b: x is written twice"),
        ([TensorStep("a", ("z",), ("x",))], "no size of tensor z"),
    ],
)
def test_bad_graphs_are_refused(steps: list[TensorStep], message: str) -> None:
    with pytest.raises(MemoryPlanError, match=message):
        least_peak_order(steps, {"x": 1, "y": 1})
