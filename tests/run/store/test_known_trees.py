"""What searches of a group of a network found out adds up, and never says more than is true."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import longer
import tilewright as tw
from tilewright import stored
from tilewright.cost_models import ENERGY
from tilewright.ir import InfeasibleError
from tilewright.mapper.answer import Answer
from tilewright.mapper.cascades import NothingBelow
from tilewright.mapper.fusing import answer_below
from tilewright.mapper.kernel.tolerance import RELATIVE_TOLERANCE
from tilewright.mapper.question import Limits, Question, TreeQuestion
from tilewright.run.store import KnownTrees, NoMapping, Store

GOLDEN = Path(__file__).parents[2] / "golden" / "fused"


@cache
def question() -> TreeQuestion:
    cascade = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=4, k=4, n=8, p=4)
    return Question(cascade, tw.load_arch(GOLDEN / "F2.yaml"), ENERGY, "perfect")


@cache
def best() -> Answer:
    found = answer_below(question())
    assert isinstance(found, Answer)
    return found


def tree(value: float, bound: float, interrupted: bool = False) -> Answer:
    proof = replace(best().certificate, value=value, lower_bound=bound, interrupted=interrupted)
    return replace(best(), certificate=proof)


def asked(below: float, seconds: float | None = None, floor: float = 0.0) -> TreeQuestion:
    return replace(question(), below=below, floor=floor, limits=Limits(seconds))


def pretended(asked: TreeQuestion, least: float) -> Answer | NothingBelow:
    """What a search might come to where the best tree weighs `least`: with more time, a better tree, a closer bound."""
    seconds = math.inf if asked.limits.time_s is None else asked.limits.time_s
    share = min(1.0, seconds / 100)
    bound, value = max(asked.floor, share * least), (2 - share) * least
    return tree(value, bound) if value < asked.below else NothingBelow(min(bound, asked.below))


@pytest.mark.parametrize("seed", longer.seeds(40))
def test_what_is_known_is_never_wrong_and_never_less(seed: int) -> None:
    """Random searches after each other: what is answered from what is known is no worse than a search would be, and
    what is searched is searched because there may be more."""
    draw = random.Random(seed)
    least, known = draw.uniform(50, 100), KnownTrees()
    for _ in range(30):
        one = asked(draw.uniform(0.5, 2.5) * least, draw.choice([None, *(draw.uniform(1, 120) for _ in range(5))]))
        fresh, before = pretended(one, least), known
        answer = known.outcome(one)
        if answer is None:
            narrow = known.narrowed(one)
            assert narrow.below <= one.below
            known = known.with_outcome(narrow, pretended(narrow, least))
            answer = known.outcome(one)
        assert answer is not None, "what has just been searched is known"
        assert before.bound <= known.bound <= least * (1 + RELATIVE_TOLERANCE)
        assert least <= known.value <= before.value
        if isinstance(fresh, Answer):
            assert isinstance(answer, Answer)
            assert answer.certificate.value <= fresh.certificate.value * (1 + RELATIVE_TOLERANCE)
            assert answer.certificate.value < one.below
            assert answer.certificate.lower_bound >= min(fresh.certificate.lower_bound, answer.certificate.value)
        elif isinstance(answer, NothingBelow):
            assert fresh.bound <= answer.bound <= min(least, one.below) * (1 + RELATIVE_TOLERANCE)


def test_a_bound_that_meets_what_is_asked_for_is_an_answer() -> None:
    known = KnownTrees().with_outcome(asked(100, 1), NothingBelow(70))
    assert known.outcome(asked(70, 1000)) == NothingBelow(70)
    assert known.outcome(asked(71, 1000)) is None
    assert known.outcome(asked(100, 1)) == NothingBelow(70)
    assert known.outcome(asked(101, 1)) is None


def test_a_tree_that_the_bound_meets_is_proven() -> None:
    known = KnownTrees().with_outcome(asked(100, 1), tree(80, 60))
    narrow = known.narrowed(asked(90, 10))
    assert (narrow.below, narrow.floor) == (80, 60)
    known = known.with_outcome(narrow, NothingBelow(80))
    found = known.outcome(asked(math.inf, None))
    assert isinstance(found, Answer)
    assert found.certificate.proven


@pytest.mark.parametrize("found", [NothingBelow(50, interrupted=True), tree(80, 50, interrupted=True)])
def test_an_interrupted_search_is_made_again(found: Answer | NothingBelow) -> None:
    known = KnownTrees().with_outcome(asked(100, 5), found)
    assert known.outcome(asked(100, 5)) is None
    assert known.bound == 50
    later = known.with_outcome(asked(80, 5), NothingBelow(80)).outcome(asked(100, 600))
    if isinstance(found, Answer):  # it is proven by now, and nobody ends a network for what was ended before
        assert isinstance(later, Answer)
        assert later.certificate.proven
        assert not later.certificate.interrupted


def test_an_answer_from_the_store_tells_how_long_the_last_search_took(tmp_path: Path) -> None:
    """Whether more time may find more is seen by that: of a tree that is known from before, the search that found it
    may have been a short one."""
    found = tree(80.0, 50.0)
    quick = replace(found, certificate=replace(found.certificate, seconds=0.1))
    known = KnownTrees().with_outcome(asked(100, 1), quick).with_outcome(asked(80, 40), NothingBelow(60, seconds=39.0))
    with Store(tmp_path / "store.sqlite3") as store:
        store.keep_trees(asked(80, 40), known, 40.0)
        recalled = store.recall_trees(asked(100, 30))
    assert isinstance(recalled, KnownTrees)
    answer, nothing = recalled.outcome(asked(100, 30)), recalled.outcome(asked(70, 30))
    assert isinstance(answer, Answer)
    assert (answer.certificate.seconds, answer.certificate.lower_bound) == (39.0, 60)
    assert isinstance(nothing, NothingBelow)
    assert nothing.seconds == 39.0
    answer = known.with_outcome(asked(80, 45), NothingBelow(60)).outcome(asked(100, 42))  # it did not say how long
    assert isinstance(answer, Answer)
    assert answer.certificate.seconds == 45


def test_searches_go_on_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first search is too short; the next one, elsewhere and longer, looks only for what is better; a third one
    finds all in the store."""
    made: list[TreeQuestion] = []
    value = best().certificate.value

    def solve(asked: TreeQuestion) -> Answer | NothingBelow:
        made.append(asked)
        return tree(1.5 * value, value / 2) if len(made) == 1 else answer_below(asked)

    monkeypatch.setattr(stored, "answer_below", solve)
    path = tmp_path / "store.sqlite3"
    first = stored.group_stored(asked(2 * value, 0.001), path, pytest.fail)
    assert isinstance(first, Answer)
    assert first.certificate.gap == pytest.approx(2 / 3)
    second = stored.group_stored(asked(1.9 * value, 60), path, pytest.fail)
    assert isinstance(second, Answer)
    assert (made[1].below, made[1].floor) == (1.5 * value, value / 2)
    assert second.certificate.proven
    assert second.certificate.value == value
    third = stored.group_stored(asked(1.8 * value, 600), path, pytest.fail)
    assert isinstance(third, Answer)
    assert third.certificate.proven
    assert stored.group_stored(asked(0.9 * value, None), path, pytest.fail) == NothingBelow(0.9 * value)
    assert len(made) == 2


def test_that_there_is_no_tree_is_known_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.sqlite3"

    def nothing_fits(_: TreeQuestion) -> Answer:
        raise InfeasibleError("nothing fits", where="GLB", hint="a larger one")

    monkeypatch.setattr(stored, "answer_below", nothing_fits)
    with pytest.raises(InfeasibleError, match="nothing fits"):
        stored.group_stored(asked(5.0), path, pytest.fail)
    monkeypatch.setattr(stored, "answer_below", pytest.fail)
    with pytest.raises(InfeasibleError, match="GLB"):
        stored.group_stored(asked(7.0), path, pytest.fail)
    with Store(path) as store:
        assert isinstance(store.recall_trees(asked(1.0)), NoMapping)
