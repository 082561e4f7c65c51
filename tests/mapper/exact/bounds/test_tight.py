"""Bounds that are exact: tables are pinned from above too.

With the arrays known, energy alone minimized, perfect tiles of the even space, and no tiles that overlap, nothing is
left that a table could not know: the least over all mappings of a placement and its arrays is the bound itself.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

import numpy as np
import pytest

import brute_force
from generators import random_architecture, random_problem, with_wide_sums
from longer import blocks, occurs
from paths import context_of, steps_to
from tilewright.arch import Architecture
from tilewright.cost_models import ENERGY, evaluate
from tilewright.ir import MappingError, Problem
from tilewright.mapper.exact.bounds.array_groups import group_of
from tilewright.mapper.exact.growing.array_choices import ArrayPlans
from tilewright.mapper.exact.growing.batch import Batch
from tilewright.mapper.exact.growing.context import SearchContext
from tilewright.mapper.exact.question.canonical import canonical_problem
from tilewright.mapper.exact.question.hierarchy import Placement

MOST_MAPPINGS = 1_000

Arrays = tuple[tuple[int, ...], ...]
"""Per fanout, instances per dimension."""


def optima(problem: Problem, arch: Architecture, context: SearchContext) -> dict[tuple[Placement, Arrays], float]:
    """The least energy of each placement with each choice of arrays, by brute force."""
    found: dict[tuple[Placement, Arrays], float] = {}
    for mapping in brute_force.all_mappings(problem, arch, ragged=False):
        with suppress(MappingError):
            energy = evaluate(mapping, arch).energy_pj
            step = next(steps_to(mapping, context))
            key = step.path.placement, tuple(tuple(array[0].tolist()) for array in step.rows.arrays)
            found[key] = min(found.get(key, float("inf")), energy)
    return found


def bound_of(batch: Batch, arrays: Arrays, context: SearchContext) -> float:
    """The bound of a row by the tables for its own arrays."""
    own = [i for i in range(len(batch)) if tuple(tuple(a[i].tolist()) for a in batch.rows.arrays) == arrays]
    row = batch.take(np.array(own))
    bounds = context.groups.of(group_of(context.hierarchy, context.tiling, row.rows.arrays))
    one = np.ones((1, len(context.sizes)), dtype=np.int64)
    return float((row.costs + bounds.at(bounds.table(row.state), one, np.zeros(1, dtype=np.int64)))[0, 0])


@pytest.mark.parametrize("seeds", blocks(80, 40))
def test_the_bound_is_the_optimum(seeds: range) -> None:
    found = compared(seeds).total()
    assert occurs(found > 100)


def test_an_exact_halo_keeps_nothing_of_tiles_that_are_apart() -> None:
    """All words of such tiles were left to the cost model, and no bound knew of them."""
    assert compared((125, 183)).total() > 30


def compared(seeds: Iterable[int]) -> Counter[int]:
    """Bounds that were compared with optima, by how many arrays there are."""
    found: Counter[int] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        original, machine = random_problem(rng, 6), random_architecture(rng, rng.randint(1, 2), rng.choice([None, 24]))
        machine = with_wide_sums(machine, next_to_macs="must") if seed % 2 else machine
        reduced = canonical_problem(original, machine, "perfect")
        problem, arch = reduced.problem, reduced.arch
        if any(len(rank) > 1 for tensor in problem.tensors for rank in tensor.ranks):
            continue
        if brute_force.count(problem, arch, False, MOST_MAPPINGS) >= MOST_MAPPINGS:
            continue
        context = context_of(problem, arch, "perfect", "even", objective=ENERGY)
        plans = ArrayPlans(context)
        for (placement, arrays), energy in optima(problem, arch, context).items():
            batch = plans.start(placement, float("inf"))
            assert isinstance(batch, Batch)
            assert bound_of(batch, arrays, context) == pytest.approx(energy, rel=1e-9), (seed, placement, arrays)
            found[len(arch.fanouts)] += 1
    return found
