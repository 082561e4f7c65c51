"""Choices of arrays that are decided fanout by fanout."""

from __future__ import annotations

import random

import numpy as np
import pytest

from generators import random_architecture, random_problem
from tilewright.cost_models import EDP
from tilewright.ir import TilewrightError
from tilewright.mapper.exact.arrays.array_choices import ArrayChoices, ArrayPlans
from tilewright.mapper.exact.batch import Batch
from tilewright.mapper.exact.effort import Effort
from tilewright.mapper.exact.rows import Ints, Rows
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.tilings import TILINGS


def kinds(batch: Batch) -> set[bytes]:
    """The arrays of each row."""
    return {row.tobytes() for row in np.column_stack(batch.rows.arrays)}


def test_no_choice_is_dropped_that_would_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known before all is worked out leaves aside none that stays below the cutoff then."""
    hopeful, dropped = ArrayPlans._hopeful, []

    def compare(self: ArrayPlans, choices: ArrayChoices, vectors: Ints, below: float) -> Rows:
        rows, every = hopeful(self, choices, vectors, below), self._extended(choices.rows, vectors)[0]
        if self._decides_all(every) and len(every):
            kept = [kinds(self._decided(choices.outline, each, below)) for each in (rows, every) if len(each)]
            assert kept[0] == kept[-1] if len(rows) else not kept[0]
            dropped.append(len(every) - len(rows))
        return rows

    monkeypatch.setattr(ArrayPlans, "_hopeful", compare)
    for seed in range(30):
        rng = random.Random(seed)
        arch, problem = random_architecture(rng), random_problem(rng)
        try:
            search_exact(problem, arch, EDP, rng.choice(TILINGS), effort=Effort(rows_at_first=1), time_limit=0.1)
        except TilewrightError:
            continue
    assert len(dropped) > 10
    assert any(dropped)
