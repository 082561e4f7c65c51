"""Random small cascades on random buffers: our optimum is that of AccelForge's own search, where that is a mapping."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accelforge_trees import FOLDER, cascade_of
from longer import TIMES
from tilewright.arch import Architecture, parse_arch
from tilewright.cost_models import evaluate, parse_objective
from tilewright.ir import Mapping, MappingError
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.question import Question

CASES: list[dict[str, Any]] = [
    json.loads(line) for line in (FOLDER / "accelforge_more.jsonl").read_text(encoding="utf-8").splitlines()
]
READS_UNFINISHED = [
    case for case in CASES if (case["case"], case["glb_words"], case["objective"]) == ("two_readers", 166, "edp")
]
"""E1 makes T, E2 sums T over N into U, E3 reads both: AccelForge has all three in one loop over N, with U in DRAM, so
that E3 reads sums of half of N."""


def machine_of(case: dict[str, Any]) -> Architecture:
    """F2 or F3 with the sizes and the DRAM of the case, under AccelForge's rule of reuse."""
    energy = f"{case['dram_pJ']} pJ"
    changes = {
        "GLB.size": f"{case['glb_words']} B",
        "reuse": "at_node",
        "DRAM.read": energy,
        "DRAM.write": energy,
        "DRAM.bandwidth": f"{case['dram_words_per_cycle']} words/cycle",
    }
    if "rf_words" in case:
        changes["RF.size"] = f"{case['rf_words']} B"
    return parse_arch((FOLDER / f"{case['machine']}.yaml").read_text(encoding="utf-8"), case["machine"], changes)


def optimum(case: dict[str, Any]) -> float:
    """The proven best of the uneven space with perfect tiles."""
    question = Question(
        cascade_of(case), machine_of(case), parse_objective(case["objective"]), "perfect", "uneven", fuse="all"
    )
    answer = search_cascade(question)
    assert answer.certificate.gap == 0.0
    return answer.cost.objective(case["objective"])


def questions() -> list[Any]:
    """Every third by default."""
    agreeing = [case for case in CASES if case not in READS_UNFINISHED]
    return [
        pytest.param(case, id=f"{number}-{case['case']}-{case['objective']}")
        for number, case in enumerate(agreeing)
        if TIMES > 1 or number % 3 == 0
    ]


@pytest.mark.some(6)
@pytest.mark.parametrize("case", questions())
def test_the_optimum_is_that_of_the_peer(case: dict[str, Any]) -> None:
    assert optimum(case) == pytest.approx(case["optimum"], rel=1e-6)


def test_where_the_peer_is_lower_it_reads_what_is_not_finished() -> None:
    (case,) = READS_UNFINISHED
    assert optimum(case) > case["optimum"]
    text = """
    DRAM keeps A
    DRAM keeps B
    DRAM keeps C
    DRAM keeps U
    DRAM keeps O
    for N in 2
      GLB keeps T
      branch E1
        for K in 24
          GLB keeps A
          for N in 16
            GLB keeps B
            for M in 8
      branch E2
        for P in 20
          GLB keeps U
          for N in 16
            GLB keeps C
            for M in 8
      branch E3
        for P in 20
          GLB keeps U
          for N in 16
            GLB keeps O
            for M in 8
    """
    with pytest.raises(MappingError, match="U"):
        evaluate(Mapping.parse(cascade_of(case), text), machine_of(case))
