"""The closed form of trees against their simulator on random cascades, and what those random cascades hold."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from tree_simulator import simulate_tree
from trees import KINDS, random_cascade, random_tree

import longer
from generators import random_architecture, random_mapping, random_problem, with_extras
from tilewright.arch import Architecture
from tilewright.cost_models import count_words, simulate
from tilewright.cost_models.cascades import count_tree, ways_of
from tilewright.cost_models.counts import FirstTile
from tilewright.ir import (
    Call,
    Cascade,
    Loop,
    Mapping,
    MappingError,
    Node,
    Operand,
    Operation,
    Problem,
    SharedLoop,
    Tree,
)

SEEDS = longer.blocks(480, 60)


@cache
def random_case(seed: int) -> tuple[Mapping, Architecture]:
    """A random tree and its machine; every third reuses at nodes only."""
    rng = random.Random(seed)
    whole = random_cascade(rng, largest=rng.choice([4, 5, 7]))
    arch = random_architecture(rng, reuse="across_levels" if seed % 3 else "at_node")
    switches = {"inner_drain_read": rng.random() < 0.7, "first_read_elision": rng.random() < 0.8}
    arch = arch.model_copy(update=switches)
    return random_tree(rng, whole, arch), arch


@pytest.mark.parametrize("seeds", SEEDS)
def test_closed_form_equals_simulator(seeds: range) -> None:
    for seed in seeds:
        fused, arch = random_case(seed)
        expected, found = simulate_tree(fused, arch), count_tree(fused, arch)
        assert list(found) == list(expected)
        for name in expected:
            assert found[name] == expected[name], f"seed {seed}, {name}\n{fused}"


def test_a_tree_without_splits_is_an_ordinary_mapping() -> None:
    for seed in longer.seeds(60):
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 4), random_architecture(rng)
        mapping = random_mapping(rng, problem, arch)
        fused = Mapping(_alone(problem), Tree.of(mapping.nest, problem.name))
        assert count_tree(fused, arch) == {problem.name: count_words(mapping, arch)}
        assert simulate_tree(fused, arch) == {problem.name: simulate(mapping, arch)}


def _alone(problem: Problem) -> Cascade:
    """A problem as the one operation of a cascade: the product of its operands."""
    first, *others = problem.operands
    product: Operand | Call = Operand(first.name)
    for operand in others:
        product = Call("mul", (product, Operand(operand.name)))
    return Cascade(problem.name, (Operation(problem, product, "sum"),))


# ---- what the random trees hold ------------------------------------------------------------------------------


def features(fused: Mapping, arch: Architecture) -> set[str]:
    """The kinds of trouble that a tree holds for a counter."""
    found = {fused.cascade.name, *loop_features(fused), *node_features(fused, arch)}
    if any(len(address) > 1 for address in fused.leaves.values()):
        found.add("nested splits")
    if arch.reuse == "at_node":
        found.add("at node")
    return found


def loop_features(fused: Mapping) -> set[str]:
    found = set()
    for name, path in fused.paths.items():
        for loop in path.shared_loops:
            if loop.trips == 1:
                continue
            output = fused.cascade.operation(name).output
            found.add("shared in space" if loop.is_spatial else "shared in time")
            if loop.dim not in output.dims:
                found.add("shared reduction")
            trips = [x.trips for x in path.mapping.nest.loops if x.dim == loop.dim]
            if loop.trips * _product(trips[1:]) > path.mapping.problem.sizes[loop.dim]:
                found.add("shared and ragged")
        own = path.mapping.nest.items[path.starts[-1] :]
        if any(isinstance(item, Loop) and item.is_spatial and item.trips > 1 for item in own):
            found.add("array in a branch")
    for _, tree in fused.tree.walk():
        if tree.branches and any(isinstance(item, SharedLoop) for item in tree.items):
            found.add("renamed")
    return found


def _product(numbers: list[int]) -> int:
    result = 1
    for number in numbers:
        result *= number
    return result


def node_features(fused: Mapping, arch: Architecture) -> set[str]:
    found = set()
    outermost = arch.memories[0].name
    for address, tree in fused.tree.walk():
        shared = [i for i, item in enumerate(tree.items) if isinstance(item, Loop) and item.trips > 1]
        for position, item in enumerate(tree.items if tree.branches else ()):
            if not isinstance(item, Node) or item.memory == outermost:
                continue
            place = address, position
            kind = "intermediate" if item.tensor in fused.cascade.intermediates else "other tensor"
            if shared:
                where = "above" if position < shared[0] else "below" if position > shared[-1] else "between"
                found.add(f"{kind} {where} shared loops")
            readers = [n for n, path in fused.paths.items() if place in path.places]
            if kind == "other tensor" and len(readers) > 1:
                found.add("shared input on chip")
            exchanged = [c.name for c in fused.cascade.consumers[item.tensor] if kind == "intermediate"]
            if any(fused.exchange(item.tensor, name) == place for name in exchanged):
                found.add("exchange on chip")
                outer = fused.nodes_above(item.tensor, address)
                if outer[0] != place:
                    found.add("exchanges at two depths")
    return found


COMMON = {
    *KINDS,
    "at node",
    "array in a branch",
    "exchange on chip",
    "exchanges at two depths",
    "intermediate above shared loops",
    "intermediate below shared loops",
    "intermediate between shared loops",
    "nested splits",
    "other tensor above shared loops",
    "other tensor below shared loops",
    "other tensor between shared loops",
    "renamed",
    "shared and ragged",
    "shared in space",
    "shared in time",
    "shared input on chip",
    "shared reduction",
}


def test_random_trees_hold_everything() -> None:
    counted = Counter(feature for seeds in SEEDS for seed in seeds for feature in features(*random_case(seed)))
    assert longer.occurs({feature for feature in COMMON if counted[feature] < 3} == set())


def test_every_boundary_is_counted_once() -> None:
    for seed in longer.seeds(100):
        fused, arch = random_case(seed)
        inner = Counter(
            (boundary.tensor.name, way.place(boundary.inner_position))
            for way in ways_of(fused, arch).values()
            for boundary in way.boundaries
            if boundary.inner is not None
        )
        assert set(inner.values()) <= {1}


@pytest.mark.parametrize("seeds", longer.blocks(90, 45))
def test_first_tiles_are_those_of_every_visit(seeds: range) -> None:
    """Wherever a branch is visited, it fills and empties: alike visits together in the closed form, each in its turn in
    the simulator."""
    compared = 0
    for seed in seeds:
        fused, arch = random_case(seed)
        arch = arch.model_copy(update={"latency": "with_fill"})
        try:
            found = count_tree(fused, arch)
        except MappingError:  # an array is shared
            continue
        for name, expected in simulate_tree(fused, arch).items():
            assert together(found[name].first_tiles) == together(expected.first_tiles), f"seed {seed}, {name}\n{fused}"
            compared += sum(together(expected.first_tiles).values()) > 1
    assert compared > len(seeds) // 3


@pytest.mark.parametrize("seeds", longer.blocks(90, 45))
def test_arrays_fill_in_every_visit(seeds: range) -> None:
    refilled = 0
    for seed in seeds:
        fused, arch = random_case(seed)
        arch = with_extras(random.Random(seed), arch, "arrays", "serial")
        try:
            found = count_tree(fused, arch)
        except MappingError:  # an array is shared
            continue
        for name, expected in simulate_tree(fused, arch).items():
            one, other = (({k: n for k, n in c.refills.items() if n}, c.visits) for c in (found[name], expected))
            assert one == other, f"seed {seed}, {name}\n{fused}"
            refilled += bool(one[0]) or one[1] > 1
    assert longer.occurs(refilled > 5)


def together(tiles: list[FirstTile]) -> Counter[FirstTile]:
    found = Counter[FirstTile]()
    for first in tiles:
        found[replace(first, times=1)] += first.times
    return found
