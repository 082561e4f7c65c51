"""Constraints as records, and what a mapping breaks of them."""

from __future__ import annotations

import math
import random

import pytest

import longer
from generators import random_architecture, random_mapping, random_problem
from tilewright.arch import Architecture, load_arch
from tilewright.cost_models import count_words
from tilewright.ir import Axis, ConstraintError, LoopNest, Mapping, Node
from tilewright.mapper.constraints import Constraints, combine
from tilewright.mapper.constraints.violations import loops_by_memory, violations
from tilewright.workloads import gemm

# An uneven nest: GLB takes W above the loops over M, and A below them.
NEST = """
DRAM keeps A W O
for N in 2
  GLB keeps W
  for M in 4
    GLB keeps A
    for K in 2
      for N in 2
        parallel K in 8 on array.y
          parallel N in 4 on array.x
            RF keeps O
            for M in 4
"""
MAPPING = Mapping(gemm(M=16, N=16, K=16), LoopNest.parse(NEST))
MACHINE = load_arch("three_level")

KEPT = [
    Constraints(),
    Constraints(keeps={("GLB", "W"): True, ("GLB", "O"): False, ("RF", "O"): True}),
    Constraints(temporal={("DRAM", "N"): (2, 2), ("DRAM", "M"): (1, 1), ("GLB", "M"): (4, 4), ("RF", "M"): (2, 8)}),
    Constraints(temporal={("GLB", "N"): (1, 2), ("RF", "K"): (1, 1)}),
    Constraints(
        orders={"GLB": (frozenset("M"), frozenset("K"), frozenset("N")), "DRAM": (frozenset("K"), frozenset("N"))}
    ),
    Constraints(orders={"GLB": (frozenset("MK"), frozenset("N"))}),
    Constraints(spatial={("array", 0, "N"): (4, 4), ("array", 1, "K"): (8, None), ("array", 0, "K"): (1, 1)}),
    Constraints(utilization={"array": 32 / 256}, min_utilization=32 / 256),
]
BROKEN = [
    (Constraints(keeps={("GLB", "W"): False}), "GLB keeps W, expected it not to"),
    (Constraints(keeps={("GLB", "O"): True}), "GLB does not keep O, expected it to"),
    (Constraints(temporal={("GLB", "M"): (1, 1)}), "4 trips of M at GLB, expected 1 trip"),
    (Constraints(temporal={("GLB", "M"): (8, None)}), "4 trips of M at GLB, expected at least 8 trips"),
    (Constraints(temporal={("RF", "N"): (2, 4)}), "1 trip of N at RF, expected 2 to 4 trips"),
    (
        Constraints(orders={"GLB": (frozenset("N"), frozenset("MK"))}),
        "at GLB a loop over M stands outside one over N, expected inside",
    ),
    (Constraints(spatial={("array", 1, "N"): (2, None)}), "1 trip of N on array.y, expected at least 2 trips"),
    (Constraints(spatial={("array", 0, "N"): (1, 3)}), "4 trips of N on array.x, expected at most 3 trips"),
    (Constraints(utilization={"array": 0.5}), "32 of 256 instances of array in use, expected 0.5 of them"),
    (Constraints(min_utilization=0.2), "0.125 of the MACs at work, expected 0.2 of them"),
]


@pytest.mark.parametrize("constraints", KEPT)
def test_what_a_mapping_satisfies(constraints: Constraints) -> None:
    assert violations(MAPPING, MACHINE, constraints) == ()


@pytest.mark.parametrize(("constraints", "text"), BROKEN)
def test_what_a_mapping_breaks(constraints: Constraints, text: str) -> None:
    assert violations(MAPPING, MACHINE, constraints)[0] == text


def loops_by_position(mapping: Mapping, arch: Architecture, memory: str) -> list[tuple[str, int]]:
    """The loops between the outermost node of a memory and the first node of any memory inside it."""
    items = mapping.nest.items
    depth = arch.depth[memory]
    starts = [i for i, item in enumerate(items) if isinstance(item, Node) and item.memory == memory]
    ends = [i for i, item in enumerate(items) if isinstance(item, Node) and arch.depth[item.memory] > depth]
    between = items[min(starts) : min(ends, default=None)] if starts else ()
    return [(x.dim, x.trips) for x in between if not isinstance(x, Node) and not x.is_spatial]


@pytest.mark.parametrize("seed", longer.seeds(60))
def test_a_mapping_satisfies_its_own_figures_and_nothing_beyond(seed: int) -> None:
    """Constraints read off a random nest hold; each one, moved by the least step, does not."""
    rng = random.Random(seed)
    problem, arch = random_problem(rng), random_architecture(rng)
    mapping = random_mapping(rng, problem, arch)
    nodes = {(node.memory, node.tensor) for node in mapping.nest.nodes}
    exact, wrong = [], []
    for memory in (m.name for m in arch.memories):
        for tensor in problem.tensors:
            kept = (memory, tensor.name) in nodes
            exact.append(Constraints(keeps={(memory, tensor.name): kept}))
            wrong.append(Constraints(keeps={(memory, tensor.name): not kept}))
        loops = loops_by_position(mapping, arch, memory)
        for dim in problem.dim_names:
            trips = math.prod(count for d, count in loops if d == dim)
            exact.append(Constraints(temporal={(memory, dim): (trips, trips)}))
            wrong += [Constraints(temporal={(memory, dim): (trips + 1, None)})]
            wrong += [Constraints(temporal={(memory, dim): (1, trips - 1)})] if trips > 1 else []
        real = [dim for dim, count in loops if count > 1]
        if len(set(real)) == len(real) > 1:
            exact.append(Constraints(orders={memory: tuple(frozenset([dim]) for dim in real)}))
            wrong.append(Constraints(orders={memory: tuple(frozenset([dim]) for dim in reversed(real))}))
    for fanout in arch.fanouts:
        mine = [loop for loop in mapping.nest.loops if loop.axis and loop.axis.fanout == fanout.name]
        for axis in range(len(fanout.axes)):
            for dim in problem.dim_names:
                trips = math.prod(x.trips for x in mine if x.axis == Axis(fanout.name, axis) and x.dim == dim)
                exact.append(Constraints(spatial={(fanout.name, axis, dim): (trips, trips)}))
                wrong.append(Constraints(spatial={(fanout.name, axis, dim): (trips + 1, None)}))
        used = math.prod(loop.trips for loop in mine)
        exact.append(Constraints(utilization={fanout.name: used / fanout.instances}))
        if used < fanout.instances:
            wrong.append(Constraints(utilization={fanout.name: (used + 1) / fanout.instances}))
    share = problem.macs / (arch.mac_instances * count_words(mapping, arch).steps)
    exact.append(Constraints(min_utilization=share))
    wrong += [Constraints(min_utilization=min(1.0, share * 1.001))] if share < 1 else []

    assert violations(mapping, arch, combine(exact)) == ()
    assert [len(violations(mapping, arch, one)) > 0 for one in wrong] == [True] * len(wrong)


@pytest.mark.parametrize("seed", longer.seeds(20))
def test_every_loop_in_time_belongs_to_one_memory(seed: int) -> None:
    rng = random.Random(seed)
    arch = random_architecture(rng)
    mapping = random_mapping(rng, random_problem(rng), arch)
    found = [loop for loops in loops_by_memory(mapping, arch).values() for loop in loops]
    assert sorted(map(str, found)) == sorted(str(loop) for loop in mapping.nest.loops if not loop.is_spatial)


def test_singles_make_up_the_whole() -> None:
    whole = combine(part for part in KEPT if "GLB" not in part.orders)
    assert combine(whole.singles()) == whole
    assert len(set(whole.singles())) == len(whole.describe()) == 14
    assert "no loop over M at DRAM" in whole.describe()


def test_entries_that_exclude_nothing_are_dropped() -> None:
    same = Constraints(
        "named",
        temporal={("GLB", "M"): (1, None)},
        orders={"GLB": (frozenset("M"), frozenset())},
        utilization={"array": 0},
    )
    assert same.is_free
    assert (same.key(), hash(same)) == (Constraints().key(), hash(Constraints()))
    one = Constraints(keeps={("GLB", "W"): True, ("GLB", "A"): False})
    other = Constraints(keeps={("GLB", "A"): False, ("GLB", "W"): True})
    assert one == other
    assert one.key() == other.key() != same.key()


def test_combined_ranges_are_those_of_both() -> None:
    one, other = Constraints(temporal={("GLB", "M"): (2, None)}), Constraints(temporal={("GLB", "M"): (1, 4)})
    assert combine([one, other]).temporal == {("GLB", "M"): (2, 4)}
    assert combine([one, Constraints()], "mine").name == "mine"


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ({"keeps": {("GLB", "W"): True}}, {"keeps": {("GLB", "W"): False}}, "GLB must keep W, and must not"),
        ({"temporal": {("GLB", "M"): (4, None)}}, {"temporal": {("GLB", "M"): (1, 2)}}, "at least 4 and at most 2"),
        (
            {"orders": {"GLB": (frozenset("M"), frozenset("K"))}},
            {"orders": {"GLB": (frozenset("K"), frozenset("M"))}},
            "two orders",
        ),
        ({"utilization": {"array": 1.5}}, {}, "from 0 to 1"),
        ({"spatial": {("array", 0, "M"): (0, 2)}}, {}, "least number of trips is 1"),
        ({"orders": {"GLB": (frozenset("MK"), frozenset("K"))}}, {}, "has K in two of its groups"),
    ],
)
def test_contradictions_are_refused(first: dict[str, object], second: dict[str, object], text: str) -> None:
    with pytest.raises(ConstraintError, match=text):
        combine([Constraints(**first), Constraints(**second)])  # type: ignore[arg-type]
