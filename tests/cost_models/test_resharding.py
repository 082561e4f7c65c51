"""Steps between shardings, against every word of every device."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest
from sharded_words import has

from longer import seeds
from tilewright.arch import load_arch
from tilewright.arch.system import KINDS, MeshAxis, System
from tilewright.cost_models.collectives import SWITCH, ReshardingSteps, dealt
from tilewright.ir.sharding import PARTIAL, REPLICATED, SPREAD, Deal, Placement

DEVICE = load_arch("three_level")


def some_deal(rng: random.Random, sizes: list[int], parts: int) -> Deal:
    """Along one of the axes of a tensor, or of its blocks; some with words around them."""
    at = rng.randrange(len(sizes))
    step = 1
    for size in sizes[at + 1 :]:
        step *= size
    size = rng.choice([sizes[at], -(-sizes[at] // 2)]) if at == 0 or sizes[at] % 2 == 0 else sizes[at]
    low, high = rng.choice([(0, 0), (0, 0), (1, 1), (0, 2), (1, -1)])
    return Deal(size * step, -(-size // parts) * step, low * step, high * step)


@pytest.mark.parametrize("seed", seeds(400))
def test_a_step_moves_the_words_that_are_missing(seed: int) -> None:
    """Devices get what they need and have not, each word from the device whose block it is in."""
    rng = random.Random(seed)
    mesh = tuple(rng.choice([2, 3, 4]) for _ in range(rng.randint(1, 3)))
    axes = tuple(MeshAxis("xyz"[i], rng.choice(KINDS), n, 1e9) for i, n in enumerate(mesh))
    system = System("mesh", DEVICE, axes)
    sizes = [rng.choice([2, 3, 4, 6]) for _ in range(3)]
    total = sizes[0] * sizes[1] * sizes[2]
    axis = rng.randrange(len(mesh))
    places: list[list[Placement]] = [
        [REPLICATED, PARTIAL, SPREAD, *(some_deal(rng, sizes, n) for _ in range(4))] for n in mesh
    ]
    before = tuple(rng.choice(one) for one in places)
    before = tuple(one if i == axis or one != SPREAD else REPLICATED for i, one in enumerate(before))
    after = rng.choice([*places[axis], before[axis]])
    bits = rng.choice([8, 16, 4])
    found = ReshardingSteps(system).step(total, bits, before, after, axis)
    if found is None or before[axis] == SPREAD:
        return
    n = mesh[axis]
    wanted: Counter[tuple[int, int]] = Counter()
    busiest = 0
    for at in product(*(range(m) for i, m in enumerate(mesh) if i != axis)):
        others = [*at[:axis], 0, *at[axis:]]
        line = [x for x in range(total) if all(i == axis or has(one, others[i], x) for i, one in enumerate(before))]
        moved = moved_words(before[axis], after, line, n)
        if found.move == "slice":
            assert not moved
        wanted.update(moved)
        busiest = max(busiest, *moved.values(), 0)
        if found.move == "exchange":
            assert all(i != j for i, j in moved)
    if found.phase is not None and found.move == "exchange" and bits == 8:
        assert found.phase.moved >= sum(wanted.values())  # every word goes over a link at least
        if axes[axis].kind == "full":
            assert found.phase.moved == sum(wanted.values())
            assert found.phase.bytes == busiest
        if axes[axis].kind == "switch":
            assert found.phase.moved == 2 * sum(wanted.values())
    if found.phase is not None and found.move == "all-gather" and bits == 8 and axes[axis].kind == "full":
        assert found.phase.moved == sum(wanted.values())


def moved_words(before: Placement, after: Placement, line: list[int], n: int) -> Counter[tuple[int, int]]:
    """From which device to which, along one line."""
    found: Counter[tuple[int, int]] = Counter()
    for j, x in product(range(n), line):
        if before != PARTIAL and has(after, j, x) and not has(before, j, x):
            assert isinstance(before, Deal)
            found[x % before.period // before.block, j] += 1
    return found


def test_deals_whose_periods_do_not_divide_one_another_are_counted_together() -> None:
    """Of six words, even ones and odd ones, the first three and the last: on lines of words 0, 1, 3, 4 two have to
    change places, on those of 2 and 5 none."""
    system = System("mesh", DEVICE, (MeshAxis("x", "full", 2, 1e9), MeshAxis("y", "full", 2, 1e9)))
    found = ReshardingSteps(system).step(6, 8, (Deal(3, 2), Deal(2, 1)), Deal(6, 3), 1)
    assert found is not None
    assert found.phase is not None
    assert found.phase.moved == 2


def test_an_all_reduce_and_its_halves() -> None:
    """A tensor of 64 words of a byte on a ring of 4 that hold addends: what the closed form has."""
    system = System("ring", DEVICE, (MeshAxis("x", "ring", 4, 1e9, 1e-6, hop_pj_per_bit=1.0),))
    steps = ReshardingSteps(system)
    scatter = steps.step(64, 8, (PARTIAL,), Deal(16, 4), 0)
    gather = steps.step(64, 8, (Deal(16, 4),), REPLICATED, 0)
    reduce = steps.step(64, 8, (PARTIAL,), REPLICATED, 0)
    assert scatter is not None
    assert gather is not None
    assert reduce is not None
    assert scatter.phase is not None
    assert scatter.phase.bytes == 24
    assert reduce.seconds <= scatter.seconds + gather.seconds
    assert gather.energy_pj is not None
    assert scatter.energy_pj is not None
    assert scatter.energy_pj > gather.energy_pj  # an addend that meets another one is read


def test_words_in_an_unknown_order() -> None:
    """Each device has as many of every other one's words."""
    system = System("full", DEVICE, (MeshAxis("x", "full", 4, 1e9),))
    found = ReshardingSteps(system).step(64, 8, (SPREAD,), Deal(64, 16), 0)
    assert found is not None
    assert found.phase is not None
    assert set(found.phase.bytes_by_link.values()) == {4}
    assert dealt(16, 4) == (4, 4, 4, 4)
    assert SWITCH == -1
