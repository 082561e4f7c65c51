"""Rows that stand for others that have come to the same by other steps: nothing better grows from those left aside."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from watched_rows import Watched, alternating, check_stands, only, watched

from generators import memory
from longer import blocks
from tilewright.arch import Architecture, Keeps, Mac
from tilewright.cost_models import EDP
from tilewright.mapper.exact.batch import Batch
from tilewright.mapper.exact.effort import EFFORT
from tilewright.mapper.exact.exploring import Exploring
from tilewright.mapper.exact.known_rows import KnownRows, _Alike
from tilewright.mapper.exact.search import search_exact
from tilewright.workloads import gemm

OFTEN = replace(EFFORT, rows_at_once={"perfect": 5, "ragged": 5}, steps_per_dive=1, near=0.0)


@dataclass
class Noted:
    """Every row that was known when others came, by its place, and the place that stands for each of these."""

    patch: pytest.MonkeyPatch
    known: dict[int, list[Batch]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        standing_for = _Alike.standing_for

        def noted(alike: _Alike, *asked: object) -> np.ndarray:
            self.alike, self.places = alike, standing_for(alike, *asked)  # type: ignore[arg-type]
            return self.places

        self.patch.setattr(_Alike, "standing_for", noted)

    def pairs(self, rows: KnownRows, batch: Batch) -> list[tuple[Batch, Batch]]:
        """Rows of a batch that others stand for, and these; the rest are known from now on."""
        self.places = np.full(len(batch), -1)
        self.alike = None
        rows.new_ones(batch)
        if self.alike is None:
            return []
        known = self.known.setdefault(id(self.alike), [])
        found = [(only(batch, row), known[place]) for row, place in enumerate(self.places.tolist()) if place >= 0]
        known += [only(batch, row) for row in np.flatnonzero(self.places < 0).tolist()]
        return found


def uneven(rng: random.Random, seed: int) -> Watched:
    """Two memories whose nodes alternate, or any machine with arrays."""
    while seed % 2:
        search = watched(rng)
        if search.context.hierarchy.space == "uneven":
            return search
    return alternating(rng)


@pytest.mark.parametrize("seeds", blocks(8, 4))
def test_a_row_left_aside_for_one_of_other_steps_leads_to_nothing_better(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        search, noted = uneven(rng, seed), Noted(monkeypatch)
        monkeypatch.setattr("tilewright.mapper.exact.loop_bands.loops.undominated", lambda context, batch: batch)
        search.explore(rng)
        rows = KnownRows(search.context)
        pairs = [pair for batch in search.seen for pair in noted.pairs(rows, batch)]
        found["known"] += sum(map(len, noted.known.values()))
        others = [(one, other) for one, other in pairs if one.path.node_groups != other.path.node_groups]
        for aside, stands in rng.sample(pairs, min(2, len(pairs))) + rng.sample(others, min(3, len(others))):
            check_stands(search, aside, stands, seed)
            found["pairs"] += 1
            found["by other steps"] += aside.path.node_groups != stands.path.node_groups
        monkeypatch.undo()
    assert found["pairs"] > 0
    assert found["by other steps"] > 0


def caches(rng: random.Random) -> Architecture:
    """Three memories, one inside the other, that all keep everything."""
    must = Keeps(input="must", weight="must", output="must")
    inner = [
        memory(f"L{3 - i}", rng, keeps=must, size_bits=8 * rng.randint(words // 2, words))
        for i, words in enumerate((48, 24, 12))
    ]
    levels = (memory("DRAM", rng), *inner)
    return Architecture(name="caches", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))


def test_the_same_optimum_whether_rows_stand_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows at once, and a dive at every step: rows that dives look at are dropped again, and stand for none."""
    aside, dive, new_ones, diving = 0, Exploring._dive, KnownRows.new_ones, [False]

    def dived(exploring: Exploring, batch: Batch) -> None:
        diving[0] = True
        dive(exploring, batch)
        diving[0] = False

    def known(rows: KnownRows, batch: Batch) -> Batch:
        assert not diving[0]
        return new_ones(rows, batch)

    monkeypatch.setattr(Exploring, "_dive", dived)
    monkeypatch.setattr(KnownRows, "new_ones", known)
    for seed in (2, 5):
        rng = random.Random(seed)
        problem, arch = gemm(*rng.choices([2, 2, 4], k=3)), caches(rng)
        found = search_exact(problem, arch, EDP, "perfect", "uneven", effort=OFTEN)[2]
        aside += found.pruned.get("dominated", 0)
        with monkeypatch.context() as patch:
            patch.setattr(KnownRows, "new_ones", lambda _, batch: batch)
            expected = search_exact(problem, arch, EDP, "perfect", "uneven", effort=OFTEN)[2]
        assert found.proven
        assert found.value == pytest.approx(expected.value, rel=1e-9), f"seed {seed}"
    assert aside > 0
