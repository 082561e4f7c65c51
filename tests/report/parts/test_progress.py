"""Signs of life: what is said while something takes its time, on a terminal, in a pipe and with --quiet."""

from __future__ import annotations

import io
import math
import sys
import time

import pytest

import tilewright as tw
from tilewright.cli import terminal
from tilewright.mapper.means import Means
from tilewright.mapper.progress import CASCADE, TREES, SearchProgress, answering, tell, watched
from tilewright.report.parts import progress
from tilewright.report.parts.progress import Signs, signs_of_life


class Terminal(io.StringIO):
    """What stands in for a terminal."""

    def isatty(self) -> bool:
        return True


def test_lines_say_value_gap_what_is_being_done_and_time() -> None:
    with watched() as search:
        signs = Signs("searching net on chip", search)
        assert signs.line == "searching net on chip; 5 s"
        tell(SearchProgress(2, 7, "groups: a+b", "energy", 2000.0, 500.0))
        said = "searching net on chip; 2 groups searched, 7 left at most; energy 2,000, gap 75.0%; groups: a+b; 5 s"
        assert signs.line == said
    signs = Signs("searching")
    signs.begin("a [layer]", 2, 3)
    assert signs.line == "searching; 2 of 3: a [layer]; 5 s"
    assert (signs.done, signs.total) == (1, 3)


def test_a_terminal_moves_and_a_pipe_has_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PAUSE", 0.02)
    for stream, quiet in ((Terminal(), False), (io.StringIO(), False), (Terminal(), True), (io.StringIO(), True)):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(terminal, "_quiet", quiet)
        with terminal.signs("searching") as shown:
            shown.begin("another", 2, 2)
            until = time.monotonic() + 5
            while not quiet and "another" not in stream.getvalue() and time.monotonic() < until:
                time.sleep(0.01)
        assert ("2 of 2: another" in stream.getvalue()) == (not quiet)


def test_what_is_not_wanted_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with signs_of_life("searching", wanted=None) as shown:  # no notebook
        shown.begin("a", 1, 1)
    assert capsys.readouterr() == ("", "")


def test_a_search_says_how_far_it_is() -> None:
    """From the first second there is a bound, and soon a mapping."""
    seen: list[SearchProgress] = []
    with watched() as search:
        chip, check = tw.load_arch("eyeriss"), Means.check

        def looking(means: Means) -> None:
            seen.append(search.now())
            check(means)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Means, "check", looking)
            result = tw.search(tw.conv2d(K=16, C=8, P=14, Q=14, R=3, S=3), chip)
    assert all(one.bound > 0 for one in seen if one.doing)
    assert seen[-1].value >= result.certificate.value
    assert min(one.value for one in seen) < math.inf
    assert all(one.bound <= result.certificate.value * (1 + 1e-9) for one in seen)


def test_a_smaller_space_with_the_same_value_is_named() -> None:
    for size, same in ((16, True), (17, False)):
        with watched() as search:
            tw.search(tw.gemm(size, size, size), "three_level", tiling="ragged")
        cheaper = search.now().cheaper
        assert (cheaper is not None and cheaper[0] == "tiling perfect") == same


def test_the_outermost_search_answers() -> None:
    """Of two ranks the higher one, whichever is outside."""
    with watched() as search, answering(lambda: SearchProgress(doing="outer"), CASCADE):
        with answering(lambda: SearchProgress(doing="inner")):
            assert search.now().doing == "outer"
        with answering(lambda: SearchProgress(doing="trees"), TREES):
            assert search.now().doing == "trees"
        assert search.now().doing == "outer"


def test_a_gap_is_whole_until_something_is_known() -> None:
    assert SearchProgress().gap == 1
    assert SearchProgress(value=0.0).gap == 0
    assert SearchProgress(value=math.inf, bound=3.0).gap == 1
