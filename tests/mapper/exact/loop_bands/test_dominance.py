"""A row that another one stands for leads to no better mapping: all that grow from either of the two are compared."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from watched_rows import Watched, alternating, check_stands, only, watched

from longer import blocks

ALTERNATING = (27, 28, 30, 33, 34, 47)
"""Seeds of `alternating`: in three, a row that takes less room in one memory leads to nothing."""


def explore(search: Watched, rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a search that leaves rows aside; what is grown after it leaves none aside."""
    monkeypatch.setattr("tilewright.mapper.exact.loop_bands.loops.undominated", search.undominated)
    search.explore(rng)
    monkeypatch.setattr("tilewright.mapper.exact.loop_bands.loops.undominated", lambda context, batch: batch)


@pytest.mark.long
def test_room_is_compared_in_all_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each of these cases, of two rows that take as much room in the memory of the last node group, one takes more
    in another memory, and nothing can be grown from it."""
    pairs = 0
    for seed in ALTERNATING:
        rng = random.Random(seed)
        search = alternating(rng)
        explore(search, rng, monkeypatch)
        for batch, standing in search.compared:
            last = batch.path.node_groups[-1].memory
            others = {node_group.memory for node_group in batch.path.node_groups} - {last}
            if any(other in ahead for other in others for ahead in batch.state.ahead):
                for row in rng.sample(np.flatnonzero(standing >= 0).tolist(), 1):
                    check_stands(search, only(batch, row), only(batch, int(standing[row])), seed)
                    pairs += 1
    assert pairs > 20


@pytest.mark.parametrize("seeds", blocks(40, 10))
def test_a_row_left_aside_leads_to_nothing_better(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        search = watched(rng)
        explore(search, rng, monkeypatch)
        for batch, standing in search.chosen(rng):
            row = rng.choice(np.flatnonzero(standing >= 0).tolist())
            check_stands(search, only(batch, row), only(batch, int(standing[row])), seed)
            found["pairs"] += 1
            found["waiting"] += bool(batch.state.waiting)
    assert found["pairs"] >= len(seeds)
    assert found["waiting"] >= len(seeds) // 3
