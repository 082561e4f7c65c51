"""States that say how much room is taken: their tables bound every mapping that goes on from there, and say more."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress

import numpy as np
import pytest

import longer
from generators import memory, random_architecture
from paths import context_of, random_uneven, steps_to
from tilewright.arch import Architecture, Keeps, Mac
from tilewright.cost_models import evaluate
from tilewright.ir import Mapping, MappingError
from tilewright.mapper.exact.canonical import canonical_problem
from tilewright.mapper.exact.context import SearchContext
from tilewright.mapper.exact.hierarchy import State
from tilewright.mapper.tilings import TILINGS
from tilewright.workloads import gemm

PARTS = [(), (0.5,), (1 / 8, 1 / 4, 1 / 2), (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)]


def bounded_along(mapping: Mapping, energy: float, context: SearchContext) -> Counter[str]:
    """Bounds along the path of a mapping, by what is known of the room that is taken, and without."""
    found: Counter[str] = Counter()
    steps, bounds, one = list(steps_to(mapping, context))[:-1], context.bounds, np.zeros(1, dtype=np.int64)
    for step in steps:
        (state,), _ = bounds.rooms.of_rows(step.state, step.path, step.rows)
        known, least = (
            float((step.costs(context) + bounds.at(bounds.table(each), step.tile, one))[0, 0])
            for each in (state, step.state)
        )
        assert least <= known * (1 + 1e-9)
        assert known <= energy * (1 + 1e-9), (str(mapping), state)
        found["told"] += bool(state.taken)
        found["more"] += known > least * (1 + 1e-9)
    return found


@pytest.mark.parametrize("seeds", longer.blocks(8, 8))
def test_every_mapping_that_fits_is_bounded(seeds: range) -> None:
    found: Counter[str] = Counter()
    for seed in seeds:
        rng, ragged = random.Random(seed), bool(seed % 2)
        machine = random_architecture(rng, memories=rng.randint(1, 2), capacity=rng.choice([24, 40]))
        reduction = canonical_problem(gemm(*rng.choices([4, 5, 6, 8], k=3)), machine, TILINGS[ragged])
        problem, arch = reduction.problem, reduction.arch
        context = context_of(problem, arch, TILINGS[ragged], "uneven")
        context.bounds.rooms.tell_apart(PARTS[seed // 2 % len(PARTS)])
        for _ in range(60):
            mapping = random_uneven(rng, problem, arch, ragged)
            with suppress(MappingError):
                found += bounded_along(mapping, evaluate(mapping, arch).energy_pj, context)
    assert longer.occurs(found["told"] > 50)
    assert longer.occurs(found["more"] > 0), "what is known of the room that is taken raises bounds"


def test_the_last_tensor_leaves_room_for_those_that_are_there() -> None:
    """A buffer of 16 words: where another tensor has a word there, no output of 16 words has room, and one of 8 has."""
    must = Keeps(input="must", weight="must", output="must")
    levels = (memory("DRAM"), memory("buffer", keeps=must, size_bits=8 * 16))
    arch = Architecture(name="small", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))
    context = context_of(gemm(8, 8, 8), arch, "perfect", "uneven")
    bounds, outermost = context.bounds, (1,)
    for taken, room in (((), True), (((0, 8),), False)):
        state = State(0, (outermost, outermost, (0, 1)), (), taken=taken)
        for tile, fits in (((4, 4, 8), room), ((4, 2, 8), True), ((8, 4, 8), False)):
            costs = bounds.at(bounds.table(state), np.array([tile]), np.zeros(1, dtype=np.int64))
            assert np.isfinite(costs).all() == fits, (taken, tile)
