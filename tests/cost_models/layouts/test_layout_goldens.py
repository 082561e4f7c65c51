"""Lines and slowdowns that Timeloop's layout model printed, check by check: 401 of 57 runs."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tilewright.cost_models.layouts import LineRank, alignments, mean_touched
from tilewright.ir import ceil_div

GOLDEN = Path(__file__).parents[2] / "golden" / "timeloop_layout_runs.jsonl"
RUNS = [json.loads(line) for line in GOLDEN.read_text().splitlines()]


def touched_by_alignment(words: int, line: int) -> Counter[int]:
    """How many alignments touch so many lines."""
    rank = LineRank(part=line, of=line)
    return Counter(rank.touched(first, words) for first in alignments(words, line))


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["id"])
def test_lines_and_slowdowns(run: dict[str, Any]) -> None:
    """Ranks are independent; a slowdown is the mean over alignments of what lines need beyond the cycles there are."""
    for _, _, _, compute_cycles, ports, ranks, mean_lines, mean_cycles, slowdown in run["checks"]:
        by_rank = []
        for words, line, lines, few, more in ranks.values():
            times = len(alignments(words, line)) // (few + more)  # where all touch as many, one stands for them
            assert touched_by_alignment(words, line) == Counter({lines: few * times, lines + 1: more * times})
            by_rank.append([LineRank(part=line, of=line).touched(at, words) for at in alignments(words, line)])
        found = [math.prod(lines) for lines in itertools.product(*by_rank)]
        cycles = [max(compute_cycles, ceil_div(lines, ports)) for lines in found]
        assert sum(found) / len(found) == pytest.approx(mean_lines, rel=1e-5)
        means = math.prod(mean_touched(words, line) for words, line, *_ in ranks.values())
        assert float(means) == pytest.approx(mean_lines, rel=1e-5)
        assert sum(cycles) / len(cycles) == pytest.approx(mean_cycles, rel=1e-5)
        assert compute_cycles * len(cycles) / sum(cycles) == pytest.approx(slowdown, rel=1e-5)


def test_all_runs_are_there() -> None:
    assert (len(RUNS), sum(len(run["checks"]) for run in RUNS)) == (57, 401)
