from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import longer
from tilewright.ir import ceil_div
from tilewright.mapper.exact.rows import ceil_div_array, count_active, per_distinct_row, repeated

# ---- active settings ---------------------------------------------------------------------------------------


def random_digits(rng: random.Random, size: int) -> list[tuple[int, int]]:
    """Nested loops that cover a dimension, as (trips, tile), outermost first; some inner ones are left out."""
    digits, tile = [], 1
    while tile < size:
        trips = rng.randint(1, ceil_div(size, tile))
        digits.append((trips, tile))
        tile = min(tile * trips, size)
    outermost = digits.pop() if digits else (1, size)
    return [outermost, *(d for d in reversed(digits) if rng.random() < 0.8)]


def active(size: int, digits: list[tuple[int, int]]) -> int:
    settings = itertools.product(*(range(trips) for trips, _ in digits))
    return sum(sum(x * tile for x, (_, tile) in zip(s, digits, strict=True)) < size for s in settings)


def test_active_settings_one_by_one() -> None:
    rng = random.Random(1)
    for _ in range(2000):
        size = rng.randint(1, 40)
        digits = random_digits(rng, size)
        columns = [(np.array([trips]), np.array([tile])) for trips, tile in digits]
        assert count_active(size, columns).tolist() == [active(size, digits)], (size, digits)


def test_active_settings_row_by_row() -> None:
    """Rows are independent of each other."""
    rng = random.Random(2)
    cases = [digits for _ in range(3000) if len(digits := random_digits(rng, 23)) == 3]
    assert len(cases) > 100
    columns = [(np.array([d[i][0] for d in cases]), np.array([d[i][1] for d in cases])) for i in range(3)]
    assert count_active(23, columns).tolist() == [active(23, digits) for digits in cases]


def test_tiles_along_a_dimension() -> None:
    tiles = np.arange(1, 30)
    assert ceil_div_array(23, tiles).tolist() == [ceil_div(23, int(tile)) for tile in tiles]


# ---- distinct rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "largest"),
    [(1, 5), (3, 4), (8, 6), (12, 10**3), (6, 10**9), (24, 10**4), (5, 2**40)],
)
def test_distinct_rows_one_by_one(columns: int, largest: int) -> None:
    """Wide tables and large values too: a row's code would not fit into an integer."""
    rng = random.Random(columns)
    values = [rng.randint(0, largest) for _ in range(3)]
    table = [[rng.choice(values) for _ in range(columns)] for _ in range(400)]
    table += [[*row[:-1], rng.choice(values)] for row in table[:100]]
    calls = []

    def function(row: tuple[int, ...]) -> tuple[int, int]:
        calls.append(row)
        return hash(row) % 10**12, row[0] + row[-1]

    found = per_distinct_row([np.array(column) for column in zip(*table, strict=True)], function)
    assert sorted(calls) == sorted({tuple(row) for row in table})
    assert [tuple(pair) for pair in found.tolist()] == [function(tuple(row)) for row in table]


def test_rows_that_differ_in_the_first_column_only() -> None:
    """The first column is the one that an overflow would lose."""
    first = np.arange(50)
    others = [np.full(50, 2**31 - 1) for _ in range(6)]
    found = per_distinct_row([first, *others], lambda row: (row[0], row[1]))
    assert found[:, 0].tolist() == first.tolist()
    assert set(found[:, 1].tolist()) == {2**31 - 1}


@pytest.mark.parametrize("seed", longer.seeds(10))
def test_rows_are_repeated_with_the_entries_of_their_lists(seed: int) -> None:
    rng = random.Random(seed)
    lists = [[rng.randint(0, 9) for _ in range(rng.randint(0, 3))] for _ in range(4)]
    which = [rng.randrange(4) for _ in range(rng.randint(0, 6))]
    rows, entries = repeated([np.array(each, dtype=np.int64) for each in lists], np.array(which, dtype=np.int64))
    wanted = [(row, entry) for row, own in enumerate(which) for entry in lists[own]]
    assert list(zip(rows.tolist(), entries.tolist(), strict=True)) == wanted
