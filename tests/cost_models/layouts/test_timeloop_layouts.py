"""Lines that Timeloop's layout model (LayoutLoop) asks for, and their mean over alignments, worked out with ours.

Its windows of q words lie end to end, so they begin at all multiples of q; with b words of a rank in a line, those are
the multiples of gcd(q, b), equally often. Ranks know nothing of each other. Its slowdown compares the cycles of the
computation with the mean of what the lines take, and no less than these; ours counts the lines at their real places.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tilewright.cost_models.sets import Move, lines_along_rank

GOLDEN = Path(__file__).parents[2] / "golden" / "timeloop_layout_checks.jsonl"
CHECKS = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


def lines_touched(words: int, per_line: int, begin: int) -> int:
    """Lines that neighbouring words lie in, the first of them so far into a line."""
    window = ((Move(0, words, 1, words),),)
    return lines_along_rank((1,), window, "exact", per_line, begin)[0]


def at_alignments(words: int, per_line: int) -> list[int]:
    """The lines of windows laid end to end, once for every place in a line where they begin."""
    return [lines_touched(words, per_line, k * words % per_line) for k in range(per_line // math.gcd(words, per_line))]


def requests(check: dict[str, Any]) -> Iterator[int]:
    """The lines of every window, at every combination of alignments."""
    each = [at_alignments(words, per_line) for words, per_line, *_ in check["ranks"].values()]
    return (math.prod(lines) for lines in itertools.product(*each))


@pytest.mark.some(30)
@pytest.mark.parametrize("check", CHECKS, ids=[f"{c['run']}-{c['level']}-{c['tensor']}-{c['check']}" for c in CHECKS])
def test_lines_and_their_mean_agree(check: dict[str, Any]) -> None:
    for words, per_line, fewest, as_many, one_more in check["ranks"].values():
        found = at_alignments(words, per_line)
        assert found.count(fewest) * (as_many + one_more) == as_many * len(found)
        assert found.count(fewest + 1) * (as_many + one_more) == one_more * len(found)
    lines = [*requests(check)]
    assert sum(lines) / len(lines) == pytest.approx(check["lines"], rel=1e-9)


@pytest.mark.some(30)
@pytest.mark.parametrize("check", CHECKS, ids=[f"{c['run']}-{c['level']}-{c['tensor']}-{c['check']}" for c in CHECKS])
def test_slowdowns_agree_under_its_conventions(check: dict[str, Any]) -> None:
    cycles = check["compute_cycles"]
    taken = [max(cycles, math.ceil(lines / check["ports"])) for lines in requests(check)]
    assert cycles / (sum(taken) / len(taken)) == pytest.approx(check["slowdown"], rel=1e-9)
