"""Collectives: closed forms against the walk of every block, bounds against all cuts, meshes against their lines."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from collective_walk import reduced, walked
from longer import blocks, seeds
from tilewright.arch import load_arch
from tilewright.arch.system import KINDS, FabricKind, MeshAxis, System
from tilewright.cost_models.collectives import (
    OPERATIONS,
    SWITCH,
    Round,
    all_gather,
    all_reduce,
    all_to_all,
    collective_of,
    dealt,
    phase_of,
    reduce_scatter,
    same_bandwidth,
)
from tilewright.cost_models.collectives.bounds import cuts
from tilewright.cost_models.collectives.schedules import at_memories
from tilewright.mapper.emit.sharded.runtime_links import Line, backwards, gathering, halves

DEVICE = load_arch("three_level")


def agrees(found: Round, walk: Line) -> None:
    assert (+Counter(found.links), found.hops) == (+walk.links, walk.hops)
    n = len(walk.held)
    assert at_memories([found], n) == [(walk.read[i], walk.written[i]) for i in range(n)]


def blocks_of(rng: random.Random, n: int) -> tuple[int, ...]:
    """Dealt, ragged at the end or empty there, or of any sizes."""
    return rng.choice([dealt(rng.randint(0, 20 * n), n), tuple(rng.choice([0, 1, 5, 8]) for _ in range(n))])


@pytest.mark.parametrize("tried", blocks(1620, 405))
def test_closed_forms_are_the_walk_of_every_block(tried: range) -> None:
    for seed in tried:
        rng, kind = random.Random(seed), KINDS[seed % 4]
        n = rng.randint(1, 16)
        sizes, helps = blocks_of(rng, n), kind == "switch" and rng.random() < 0.5
        agrees(all_gather(kind, sizes, helps), walked("all-gather", kind, sizes, helps))
        agrees(reduce_scatter(kind, sizes, helps), walked("reduce-scatter", kind, sizes, helps))
        matrix = [dealt(block, n) for block in dealt(rng.randint(0, 9 * n * n), n)]
        matrix = rng.choice([matrix, [blocks_of(rng, n) for _ in range(n)]])
        agrees(all_to_all(kind, matrix), walked("all-to-all", kind, matrix))


@pytest.mark.parametrize("tried", blocks(400, 100))
def test_schedules_of_an_all_reduce_are_walks(tried: range) -> None:
    for seed in tried:
        rng, kind = random.Random(seed), KINDS[seed % 4]
        n, size, helps = rng.randint(2, 12), rng.randint(0, 200), kind == "switch" and rng.random() < 0.5
        found = all_reduce(kind, size, n, helps)
        for schedule, rounds in found.items():
            for one, line in zip(rounds, reduced(schedule, kind, size, n, helps), strict=True):
                agrees(one, line)
        assert ("to the middle and back" in found) == (kind == "line" and n > 2)
        assert ("added in the switch" in found) == helps


def test_no_schedule_parts_a_word() -> None:
    """Three words of two bytes go to the opposite device of a ring as two words and one, not as three bytes and
    three."""
    system = System("ring", DEVICE, (MeshAxis("x", "ring", 4, 1e9),))
    lines = {(): (3, 3, 3, 3)}
    phase = phase_of(system, "all-gather", system.axes[0], (), lines, word=2)
    walk = walked("all-gather", "ring", lines[()])
    assert phase.bytes_by_link == {link: 2 * words for link, words in walk.links.items()}
    assert (phase.bytes, phase.moved, phase.bound_bytes) == (10, 2 * sum(walk.links.values()), 10)
    assert phase.time == 10 / 1e9


def test_a_walk_that_sends_twice_or_what_is_not_there_is_refused() -> None:
    [step] = gathering("full", 2)
    pieces = [halves(np.ones(2), 0), halves(np.ones(2), 1)]
    with pytest.raises(AssertionError, match="twice"):
        Line("full", pieces).go([step, step])
    line = Line("full", [halves(np.ones(2), 0), halves(np.ones(2), 1)])
    with pytest.raises(AssertionError, match="not there"):
        line.go([backwards([step])[0]])


def links_out(kind: FabricKind, n: int, inside: tuple[int, ...]) -> int:
    """Links from some devices to the others; of a switch the ports down to the others, or up, whichever are fewer."""
    if kind == "switch":
        return min(len(inside), n - len(inside))
    others = {
        "full": lambda i: [j for j in range(n) if j != i],
        "line": lambda i: [j for j in (i - 1, i + 1) if 0 <= j < n],
        "ring": lambda i: {(i - 1) % n, (i + 1) % n},
    }[kind]
    return sum(j not in inside for i in inside for j in others(i))


@pytest.mark.parametrize("seed", seeds(60))
def test_no_cut_asks_for_more_than_the_bounds_of_equal_blocks(seed: int) -> None:
    """Around every set of devices: what it has to send, over the links out of it. Blocks that are even have halves."""
    rng, kind = random.Random(seed), KINDS[seed % 4]
    n, block = rng.randint(2, 7), 2 * rng.randint(1, 9)
    sets = [inside for size in range(1, n) for inside in combinations(range(n), size)]
    equal = [block] * n
    into = [
        (block * len(inside), links_out(kind, n, inside)) for inside in sets if kind != "switch" or n - len(inside) == 1
    ]
    assert least(cuts("all-gather", kind, equal, False)) == least(into)
    pairs = [(block * len(inside) * (n - len(inside)), links_out(kind, n, inside)) for inside in sets]
    matrix = [equal] * n
    assert least(cuts("all-to-all", kind, matrix, False)) == least(pairs)
    for operation, moved in (("all-gather", all_gather(kind, equal)), ("all-to-all", all_to_all(kind, matrix))):
        assert moved.busiest == least(cuts(operation, kind, matrix if operation == "all-to-all" else equal, False))


def least(found: list[tuple[int, int]]) -> int:
    return max(-(-moved // links) for moved, links in found)


@pytest.mark.parametrize("seed", seeds(60))
def test_cuts_of_ragged_blocks_are_cuts(seed: int) -> None:
    """Each is the bytes over some set's links, and no schedule carries less."""
    rng, kind = random.Random(seed), KINDS[seed % 4]
    n = rng.randint(2, 7)
    matrix = [blocks_of(rng, n) for _ in range(n)]
    sets = [inside for size in range(1, n) for inside in combinations(range(n), size)]
    asked = {(sum(matrix[i][j] for i in a for j in range(n) if j not in a), links_out(kind, n, a)) for a in sets}
    assert set(cuts("all-to-all", kind, matrix, False)) <= asked
    assert least(cuts("all-to-all", kind, matrix, False)) <= all_to_all(kind, matrix).busiest
    sizes = blocks_of(rng, n)
    assert least(cuts("all-gather", kind, sizes, False)) <= all_gather(kind, sizes).busiest


def system_of(rng: random.Random) -> System:
    axes = []
    for name in "xyz"[: rng.randint(1, 3)]:
        kind, shared = rng.choice(KINDS), bool(axes) and rng.random() < 0.4
        axis = MeshAxis(
            name, kind, rng.randint(2, 4), rng.choice([1e9, 7e9]), rng.choice([0.0, 1e-6]), rng.choice([None, 2.0])
        )
        helps = {"reduces": kind == "switch" and rng.random() < 0.4, "multicast": shared and rng.random() < 0.5}
        axes.append(MeshAxis(**{**vars(axis), "links": rng.randint(1, 3), "shared": shared, **helps}))
    return System("mesh", DEVICE, tuple(axes))


@pytest.mark.parametrize("seed", seeds(120))
def test_a_mesh_is_all_its_lines(seed: int) -> None:
    """Every phase, counted line by line for every place of the other axes, and added up by ports."""
    rng = random.Random(seed)
    system = system_of(rng)
    axes = tuple(axis for axis in system.axes if rng.random() < 0.7) or system.axes[:1]
    operation, together, size = rng.choice(OPERATIONS), rng.random() < 0.5, rng.randint(1, 5000)
    found = collective_of(system, operation, size, axes, together)
    orders = [axes[i:] + axes[:i] for i in range(len(axes))] if together else [axes]
    for number, (order, part) in enumerate(zip(orders, dealt(size, len(orders)), strict=True)):
        for step, stage in enumerate(found.stages):
            dealing = dealing_axes(operation, order, step)
            check_phase(system, stage[number], part, dealing)
    assert found.time >= found.bound * (1 - 1e-12)
    assert found.time == pytest.approx(sum(max(phase.time for phase in stage) for stage in found.stages))
    assert (found.energy_pj is None) == any(axis.hop_pj_per_bit is None for axis in axes)
    if found.energy_pj is not None:
        assert found.energy_pj == pytest.approx(found.moved * 8 * 2.0)


def dealing_axes(operation: str, order: tuple[MeshAxis, ...], step: int) -> tuple[MeshAxis, ...]:
    """The axes that have dealt the tensor when a step begins or ends."""
    if operation == "all-to-all":
        return tuple(axis for axis in order if axis != order[step])
    steps = [*range(len(order)), *reversed(range(len(order) - 1))]
    return order[
        : {"all-reduce": steps, "reduce-scatter": steps, "all-gather": steps[len(order) - 1 :]}[operation][step]
    ]


def check_phase(system: System, phase: Any, size: int, dealing: tuple[MeshAxis, ...]) -> None:
    axis = next(axis for axis in system.axes if axis.name == phase.axis)
    inner = system.within(axis) if axis.shared else ()
    ports: dict[Any, list[Counter[Any]]] = {}
    hops = 0
    others = [other for other in system.axes if other != axis]
    seen = set()
    for place in product(*(range(other.size) for other in others)):
        at = dict(zip([other.name for other in others], place, strict=True))
        part = size
        for other in dealing:
            part = dealt(part, other.size)[at[other.name]]
        port = tuple((other.name, at[other.name]) for other in others if other not in inner)
        words = (port, *(at[other.name] for other in dealing))
        if axis.multicast and words in seen:
            continue
        seen.add(words)
        rounds = walked_rounds(axis, phase, part)
        hops = max(hops, sum(one.hops for one in rounds))
        carried = ports.setdefault(port, [Counter() for _ in rounds])
        for sums, one in zip(carried, rounds, strict=True):
            sums.update(one.links)
    assert phase.moved == sum(links.total() for port in ports.values() for links in port)
    busiest = [sum(-(-max(links.values(), default=0) // axis.links) for links in port) for port in ports.values()]
    assert phase.bytes == max(busiest)
    assert phase.hops == hops
    assert phase.time == pytest.approx(phase.hops * axis.latency + phase.bytes / axis.bandwidth)
    assert phase.bound_bytes <= phase.bytes


def walked_rounds(axis: MeshAxis, phase: Any, size: int) -> list[Any]:
    parts = dealt(size, axis.size)
    if phase.schedule in ("added in the switch", "to the middle and back"):
        return list(all_reduce(axis.kind, size, axis.size, axis.reduces)[phase.schedule]) if size else [Round(0, {})]
    if phase.schedule == "exchange of whole addends":
        return [walked("all-gather", axis.kind, [size] * axis.size, axis.reduces)]
    if phase.operation == "all-to-all":
        return [walked("all-to-all", axis.kind, [dealt(part, axis.size) for part in parts])]
    names = ["reduce-scatter", "all-gather"] if phase.operation == "all-reduce" else [phase.operation]
    return [walked(name, axis.kind, parts, axis.reduces) for name in names]


def test_the_table_of_the_design() -> None:
    """Equal blocks of t bytes on n devices: bytes of the busiest link, and hops."""
    t = 840
    for n in range(3, 12):
        size = n * t
        expected = {"ring": size * (n - 1) // n // 2, "line": size - t, "full": t, "switch": size - t}
        hops = {"ring": n // 2, "line": n - 1, "full": 1, "switch": 2}
        pairs = {"ring": n * n // 4 * t // 2, "line": n // 2 * -(-n // 2) * t, "full": t, "switch": (n - 1) * t}
        for kind in KINDS:
            gather, exchange = all_gather(kind, [t] * n), all_to_all(kind, [[t] * n] * n)
            assert (gather.busiest, gather.hops) == (expected[kind], hops[kind])
            assert (exchange.busiest, exchange.hops) == (pairs[kind], hops[kind])


def test_parallel_links_of_a_ring_of_two() -> None:
    """One pair of links is a full of two; with two the row of the ring holds."""
    for links, busiest in ((1, 500), (2, 250)):
        axis = MeshAxis("x", "ring", 2, 1e9, links=links)
        assert collective_of(System("two", DEVICE, (axis,)), "all-gather", 1000, [axis]).phases[0].bytes == busiest


def test_the_other_fabrics_carry_as_much_out_of_a_device() -> None:
    for kind in KINDS:
        axis = MeshAxis("x", kind, 6, 3e9, links=2)
        for other in same_bandwidth(axis).values():
            assert other.bytes_per_second == pytest.approx(axis.bytes_per_second)


def test_one_side_of_a_switch_is_one_side_of_its_links() -> None:
    found = all_gather("switch", [4, 4, 4], multicast=True)
    assert found.links[0, SWITCH] == 4
    assert found.links[SWITCH, 0] == 8
