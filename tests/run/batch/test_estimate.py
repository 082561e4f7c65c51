"""Estimates: larger problems, spaces and machines take longer."""

from __future__ import annotations

from dataclasses import replace

import tilewright as tw
from tilewright.cost_models import parse_objective
from tilewright.mapper.question import Question
from tilewright.run.batch.run import estimated_seconds


def test_more_takes_longer() -> None:
    asked = Question(tw.gemm(M=64, N=64, K=64), tw.load_arch("eyeriss"), parse_objective("edp"), "perfect")
    seconds = estimated_seconds(asked)
    assert 0.001 < seconds < 60
    for more in (
        {"work": tw.gemm(M=64, N=64, K=4096)},
        {"tiling": "ragged"},
        {"space": "uneven"},
        {"arch": tw.load_arch("simba")},
    ):
        assert estimated_seconds(replace(asked, **more)) > seconds  # type: ignore[arg-type]
