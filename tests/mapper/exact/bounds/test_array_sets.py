"""Tables for groups of arrays: what is known of several different arrays at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from generators import random_architecture, random_problem
from paths import context_of
from tilewright.mapper.exact.bounds.array_groups import any_arrays, group_of
from tilewright.mapper.exact.bounds.bounds import Bounds
from tilewright.mapper.exact.growing.array_choices import ArrayPlans
from tilewright.mapper.exact.growing.batch import Batch
from tilewright.mapper.exact.growing.context import SearchContext
from tilewright.mapper.exact.growing.fanouts import bounded_by_groups, groups_of, rough_groups_of
from tilewright.mapper.exact.question.canonical import canonical_problem
from tilewright.mapper.exact.rows import Floats, Ints, Rows


def energy(bounds: Bounds, batch: Batch, context: SearchContext) -> Floats:
    """(rows,) what the rest of a mapping costs at least, where nothing but arrays is decided."""
    one = np.ones((len(batch), len(context.sizes)), dtype=np.int64)
    return bounds.at(bounds.table(batch.state), one, np.zeros(len(batch), dtype=np.int64))[0]


def groups_with_several(seed: int) -> list[tuple[Batch, SearchContext]]:
    """The groups of alike arrays of a random question, with several different ones in each."""
    rng = random.Random(seed)
    machine = random_architecture(rng, rng.randint(1, 2), rng.choice([None, 24]))
    reduced = canonical_problem(random_problem(rng, 12), machine, "perfect")
    context = context_of(reduced.problem, reduced.arch, "perfect", "even")
    placement = next(context.hierarchy.placements())
    batch = ArrayPlans(context).start(placement, float("inf"))
    assert isinstance(batch, Batch)
    groups = (batch.take(index) for index in groups_of(context, batch))
    return [(group, context) for group in groups if len(group) > 1]


@pytest.mark.long
def test_a_group_of_arrays_is_bounded_by_the_least_of_them_and_no_others() -> None:
    """Tables of groups with different arrays knew of none of them, and let tiles grow to any array's."""
    better = compared = 0
    for seed in range(60):
        for group, context in groups_with_several(seed):
            kind = group_of(context.hierarchy, "perfect", group.rows.arrays)
            found = energy(context.groups.of(kind), group, context)
            for row in range(len(group)):
                own = group_of(context.hierarchy, "perfect", [array[row : row + 1] for array in group.rows.arrays])
                alone = group.take(slice(row, row + 1))
                assert found[row] <= energy(context.groups.of(own), alone, context)[0] * (1 + 1e-12), seed
                compared += 1
            unknown = replace(kind, arrays=any_arrays(context.hierarchy).arrays)
            better += bool(found[0] > energy(context.groups.of(unknown), group, context)[0] * (1 + 1e-12))
    assert compared > 100
    assert better > 10


@pytest.mark.long
def test_rough_groups_are_made_of_groups_and_bounded_by_the_least_of_them() -> None:
    fewer = 0
    for seed in range(60):
        rng = random.Random(seed)
        reduced = canonical_problem(random_problem(rng, 12), random_architecture(rng, 3, 24), "perfect")
        context = context_of(reduced.problem, reduced.arch, "perfect", "even")
        batch = ArrayPlans(context).start(next(context.hierarchy.placements()), float("inf"))
        assert isinstance(batch, Batch)
        if not len(batch):
            continue
        groups, rough = groups_of(context, batch), rough_groups_of(context, batch)
        assert sorted(np.concatenate(rough).tolist()) == list(range(len(batch)))
        of_row = {row: number for number, rows in enumerate(rough) for row in rows.tolist()}
        assert all(len({of_row[row] for row in rows.tolist()}) == 1 for rows in groups), seed
        fewer += len(rough) < len(groups)
        first = rough[0]
        below = {row: group.bound[at] for at, row, group in bounds_of_rows(context, batch, [first], rough=True)}
        for rows in groups:
            if of_row[int(rows[0])] == 0:
                for at, row, group in bounds_of_rows(context, batch, [rows], rough=False):
                    assert below[row] <= group.bound[at] * (1 + 1e-12), seed
    assert fewer > 10


def bounds_of_rows(
    context: SearchContext, batch: Batch, groups: list[Ints], rough: bool
) -> Iterator[tuple[int, int, Batch]]:
    """Per row of some groups: its place in the batch with better bounds and in the one before; the former batch."""
    (found,) = bounded_by_groups(context, batch, groups, float("inf"), rough)
    arrays = np.concatenate(batch.rows.arrays, axis=1).tolist() if batch.rows.arrays else [[]] * len(batch)
    place = {tuple(each): row for row, each in enumerate(arrays)}
    own = np.concatenate(found.rows.arrays, axis=1).tolist() if found.rows.arrays else [[]] * len(found)
    for at, each in enumerate(own):
        yield at, place[tuple(each)], found


def test_arrays_are_known_up_to_a_number_of_them() -> None:
    group, context = next(each for seed in range(60) for each in groups_with_several(seed))
    many = Rows(40, [], [np.tile(array[:1], (40, 1)) for array in group.rows.arrays])
    assert group_of(context.hierarchy, "perfect", many.arrays).knows_arrays  # all the same
    several = [np.arange(1, 41)[:, None] * array[:1] for array in group.rows.arrays]
    assert not group_of(context.hierarchy, "perfect", several).knows_arrays
    assert not group_of(context.hierarchy, "ragged", group.rows.arrays).knows_arrays
    assert not any_arrays(context.hierarchy).knows_arrays
