"""What lines of operands take that wait above all arrays: bounds that hold, and more than tables know."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import longer
from tilewright.arch import load_arch
from tilewright.mapper.effort import Effort
from tilewright.mapper.exact.growing import fanouts
from tilewright.mapper.exact.search import search_exact
from tilewright.workloads import conv2d

FEW_CELLS = Effort(first_cells=40)
"""So that tiles with more and with less in their lines share a cell."""


class TestWaitingLines:
    @pytest.mark.parametrize("seed", longer.seeds(6))
    def test_coarse_tables_lead_to_the_same_optimum(self, seed: int) -> None:
        rng = random.Random(seed)
        arch = load_arch(rng.choice(["tpu_v1", "tpu_v1", "gemmini"]), {"DRAM.line": f"{rng.choice([16, 32, 64])} B"})
        problem = conv2d(K=rng.randint(8, 40), C=rng.randint(30, 64), P=rng.randint(2, 8), Q=4, R=3, S=3)
        objective = rng.choice(["edp", "energy"])
        _, _, fine = search_exact(problem, arch, objective, "ragged", effort=Effort(first_cells=10**6))
        _, _, coarse = search_exact(problem, arch, objective, "ragged", effort=FEW_CELLS)
        assert fine.proven
        assert coarse.proven
        assert coarse.value == pytest.approx(fine.value, rel=1e-9)

    def test_weights_of_which_lines_hold_several_channels(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Arrays of 22 to 28 channels were bounded alike, where only 28 of them end with their lines of 7 channels."""
        more: list[float] = []
        lines_that_wait = fanouts.lines_that_wait

        def wait_and_tell(*asked: Any) -> Any:
            found = lines_that_wait(*asked)
            more.append(float(np.max(found, initial=0.0)))
            return found

        monkeypatch.setattr(fanouts, "lines_that_wait", wait_and_tell)
        problem = conv2d(K=64, C=64, P=56, Q=56, R=3, S=3)
        mapping, _, certificate = search_exact(problem, load_arch("tpu_v1", {"DRAM.line": "64 B"}), "edp", "ragged")
        assert certificate.proven
        assert certificate.evaluated < 10
        assert sum(certificate.pruned.values()) < 250_000
        assert {loop.dim: loop.trips for loop in mapping.nest.loops if loop.is_spatial}["C"] == 28
        assert max(more) > 0
