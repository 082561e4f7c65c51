from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import pytest

from tilewright.mapper.orders import absorbed, charging_orders

DIMS = ("K", "M", "N", "P")
NOTHING: frozenset[str] = frozenset()
Sets = tuple[frozenset[str], ...]


def subsets(dims: Sequence[str]) -> Iterator[frozenset[str]]:
    for size in range(len(dims) + 1):
        yield from map(frozenset, itertools.combinations(dims, size))


def stays(order: Sequence[str], real: frozenset[str], relevant: Sets) -> Sets:
    """Per tensor, the loops with more than one trip that it stays through; order and loops innermost first."""
    loops = [d for d in order if d in real]
    charged = [next((i for i, d in enumerate(loops) if d in moves), len(loops)) for moves in relevant]
    return tuple(frozenset(loops[:i]) for i in charged)


def charged_at(order: Sequence[str], real: frozenset[str], relevant: Sets) -> tuple[str | None, ...]:
    """Per tensor, the innermost loop with more than one trip that moves it."""
    return tuple(next((d for d in order if d in real and d in moves), None) for moves in relevant)


def test_absorbed() -> None:
    assert absorbed(("K", "M", "N"), frozenset("N")) == ("K", "M")
    assert absorbed(("K", "M", "N"), frozenset("KN")) == ()
    assert absorbed(("K", "M"), NOTHING) == ("K", "M")


def test_matrix_product() -> None:
    """The innermost loop charges two tensors and leaves one alone; any next loop charges that one."""
    relevant = (frozenset("MK"), frozenset("KN"), frozenset("MN"))
    orders = charging_orders(("M", "N", "K"), relevant, (NOTHING,) * 3)
    assert sorted(order[0] for order in orders) == ["K", "M", "N"]


def test_loops_that_move_nobody_come_first() -> None:
    assert charging_orders(("A", "B", "C"), (frozenset("B"),), (NOTHING,)) == (("A", "C", "B"),)


def test_dimensions_that_charge_alike_stand_for_each_other() -> None:
    alike = (frozenset("CRS"), frozenset("K"))
    assert len(charging_orders(("C", "R", "S", "K"), alike, (NOTHING, NOTHING))) == 2
    assert len(charging_orders(("C", "R", "S", "K"), alike, (frozenset("RS"), NOTHING))) == 6


@pytest.mark.parametrize("first", list(subsets(DIMS)), ids=lambda s: "".join(sorted(s)) or "none")
def test_every_order_has_a_listed_one_that_charges_no_more(first: frozenset[str]) -> None:
    permutations = list(itertools.permutations(DIMS))
    for second, third in itertools.combinations_with_replacement(subsets(DIMS), 2):
        relevant = (first, second, third)
        listed = charging_orders(DIMS, relevant, (NOTHING,) * 3)
        assert set(listed) <= set(permutations)
        assert len(set(listed)) == len(listed)
        for real in subsets(DIMS):
            kept = {stays(order, real, relevant) for order in listed}
            for wanted in {stays(order, real, relevant) for order in permutations} - kept:
                assert any(all(a >= b for a, b in zip(found, wanted, strict=True)) for found in kept)


def charges_no_more(
    found: Sequence[str], wanted: Sequence[str], real: frozenset[str], relevant: Sets, sliding: Sets
) -> bool:
    """Every tensor stays at least as long, and slides at the same loop where sliding saves words."""
    longer = all(a >= b for a, b in zip(stays(found, real, relevant), stays(wanted, real, relevant), strict=True))
    moved = zip(charged_at(found, real, relevant), charged_at(wanted, real, relevant), sliding, strict=True)
    return longer and all(there not in slides or here in (there, None) for here, there, slides in moved)


@pytest.mark.parametrize("seed", range(100))
def test_where_tiles_overlap_the_charging_loop_is_kept(seed: int) -> None:
    rng = random.Random(seed)
    relevant = tuple(frozenset(d for d in DIMS if rng.random() < 0.6) for _ in range(3))
    sliding = tuple(frozenset(d for d in moves if rng.random() < 0.4) for moves in relevant)
    listed = charging_orders(DIMS, relevant, sliding)
    for real in subsets(DIMS):
        for wanted in itertools.permutations(DIMS):
            assert any(charges_no_more(found, wanted, real, relevant, sliding) for found in listed)
