"""The loop of all exact searches, on random graphs of states, against all their answers."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pytest

import longer
from tilewright.mapper.kernel.best_first import BestFirst
from tilewright.mapper.kernel.frontier import Frontier
from tilewright.mapper.kernel.incumbents import BestAnswers
from tilewright.mapper.kernel.states import Closed, OpenState
from tilewright.mapper.means import Means, OutOfMeans


@dataclass
class Choice(OpenState[str]):
    """A node of a random tree: numbers are added up along its branches, and its bound takes part of what is to come
    for granted, or nothing until it is bounded closely.

    least  of what is still to come, truly
    """

    name: str
    value: float
    children: list[Choice] = field(default_factory=list)
    is_close: bool = False
    loosely: float = 0.0
    depth: float = 0.0
    nbytes: int = 1
    rule: str = "bound"

    @property
    def answers(self) -> Iterator[tuple[float, str]]:
        """All of them."""
        if not self.children:
            yield self.value, self.name
        for child in self.children:
            yield from child.answers

    @property
    def bound(self) -> float:  # type: ignore[override]
        least = min(value for value, _ in self.answers)
        return least if self.is_close else self.value + self.loosely * (least - self.value)

    def advance(self) -> Iterable[Choice | Closed[str]]:
        if not self.children:
            yield Closed(self.value, self.name)
        elif not self.is_close:
            self.is_close = True
            yield self
        else:
            yield from self.children


def random_tree(rng: random.Random, name: str = "", value: float = 0.0, depth: int = 0) -> Choice:
    value += rng.choice((0.0, rng.random(), rng.randint(0, 3)))
    choice = Choice(name, value, loosely=rng.random(), depth=rng.choice((0, depth)))
    if depth < 5:
        choice.children = [random_tree(rng, f"{name}{i}", value, depth + 1) for i in range(rng.randint(0, 3))]
    return choice


def searched(tree: Choice, most: float = math.inf, count: int = 1, ceiling: float = math.inf) -> BestFirst[str]:
    return BestFirst(BestAnswers[str](count, ceiling), [tree], most=most)


@pytest.mark.parametrize("seeds", longer.blocks(200, 50))
def test_the_lowest_answers_are_found_and_proven(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        tree, count = random_tree(rng), rng.choice((1, 1, 2, 5))
        search = searched(tree, count=count)
        search.run()
        every = sorted(value for value, _ in tree.answers)
        values = dict(map(reversed, tree.answers))  # type: ignore[arg-type]
        assert isinstance(search.best, BestAnswers)
        assert [values[name] for name in search.best] == pytest.approx(every[:count])
        assert search.bound >= search.best.cutoff


@pytest.mark.parametrize("seeds", longer.blocks(200, 50))
def test_nothing_is_found_from_the_ceiling_on(seeds: range) -> None:
    for seed in seeds:
        tree = random_tree(random.Random(seed))
        least = min(value for value, _ in tree.answers)
        for ceiling, is_found in ((least, False), (least + 1e-3, True)):
            search = searched(tree, ceiling=ceiling)
            search.run()
            assert isinstance(search.best, BestAnswers)
            assert bool(len(search.best)) == is_found
            assert search.bound >= min(ceiling, search.best.cutoff)


@pytest.mark.parametrize("seeds", longer.blocks(200, 50))
def test_whenever_a_search_ends_its_bound_is_true(seeds: range) -> None:
    """By its means, or by an interrupt amid a piece of work; and it goes on from there."""

    class Ending(Exception):
        pass

    for seed in seeds:
        rng = random.Random(seed)
        tree = random_tree(rng)
        least = min(value for value, _ in tree.answers)
        left = itertools.count(rng.randint(0, 12), -1)

        class Interrupted(Choice):
            def advance(self) -> Iterable[Choice | Closed[str]]:
                for one in Choice.advance(self):
                    yield one
                    if next(left) == 0:  # noqa: B023
                        raise Ending

        tree.__class__ = Interrupted
        for choice in tree.children:
            choice.__class__ = Interrupted
        search = searched(tree)
        try:
            search.run()
        except Ending:
            assert isinstance(search.best, BestAnswers)
            assert search.bound <= least or search.best.value == least


def test_a_search_without_time_does_nothing() -> None:
    tree = random_tree(random.Random(3))
    search = BestFirst(BestAnswers[str](), [tree], means=Means.from_now(-1.0))
    with pytest.raises(OutOfMeans):
        search.run()
    assert search.bound == tree.bound
    assert list(search.frontier.states) == [tree]


@pytest.mark.parametrize("seeds", longer.blocks(200, 50))
def test_however_little_memory_there_is_the_bound_is_true(seeds: range) -> None:
    let_go = 0
    for seed in seeds:
        rng = random.Random(seed)
        tree = random_tree(rng)
        search = searched(tree, most=rng.randint(2, 6))
        search.run()
        least = min(value for value, _ in tree.answers)
        assert isinstance(search.best, BestAnswers)
        assert min(search.best.value, search.bound) <= least * (1 + 1e-9)
        assert search.best.value >= least
        let_go += search.frontier.let_go < math.inf
    assert longer.occurs(let_go > 0)


def test_what_is_enough_ends_a_search() -> None:
    search = searched(random_tree(random.Random(5)))
    steps = iter((False, False, True))
    search.run(lambda: next(steps))
    assert next(steps, None) is None


def test_what_is_pruned_is_counted_by_its_rule() -> None:
    ways = [Choice("a", 1.0), Choice("b", 2.0), Choice("c", 2.0, rule="")]
    pruned: Counter[str] = Counter()
    search = BestFirst(BestAnswers[str](), pruned=pruned)
    search.add([Closed(1.5, "known"), *ways])
    assert pruned == {"bound": 1}
    search.run()
    assert list(search.best) == ["a"]  # type: ignore[call-overload]


def test_what_stays_open_bounds_the_whole() -> None:
    search = BestFirst(BestAnswers[str]())
    search.add([Closed(4.0, "known"), Closed(3.0), Closed(5.0)])
    search.run()
    assert search.bound == 3.0, "and what may be no better is no matter"


# ---- the queue -----------------------------------------------------------------------------------------------------


@dataclass
class Queued(OpenState[str]):
    bound: float
    depth: float = 0.0
    nbytes: int = 1
    group: object | None = None


def test_states_in_focus_come_before_all_others_and_count_as_open() -> None:
    group = object()
    far, near, nearer = Queued(5.0), Queued(9.0, group=group), Queued(7.0, group=group)
    frontier = Frontier(BestAnswers[str]())
    frontier.focus = group
    for state in (far, near, nearer):
        frontier.push(state)
    assert [frontier.take(), frontier.working_on, frontier.bound] == [nearer, 7.0, 5.0]
    frontier.take()
    assert (frontier.working_on, frontier.bound) == (9.0, 5.0)
    assert frontier.take() is far
    frontier.done()
    assert not frontier.is_open


def test_what_was_in_focus_is_taken_by_its_bound_again() -> None:
    group = object()
    frontier, near, far = Frontier(BestAnswers[str]()), Queued(9.0, group=group), Queued(5.0)
    frontier.focus = group
    frontier.push(near)
    frontier.push(far)
    frontier.look_away()
    assert frontier.focus is None
    assert [frontier.take(), frontier.working_on] == [far, 5.0]
    assert [frontier.take(), frontier.working_on] == [near, 9.0]


def test_of_equal_bounds_the_one_that_has_grown_furthest_comes_first() -> None:
    frontier = Frontier(BestAnswers[str]())
    states = [Queued(7.0, depth) for depth in (0, 1, 2, 2)]
    lower = Queued(6.0)
    for state in (*states, lower):
        frontier.push(state)
    assert [frontier.take() for _ in range(5)] == [lower, states[2], states[3], states[1], states[0]]


def test_what_the_frontier_lets_go_of_is_the_highest_and_its_bound_is_remembered() -> None:
    frontier = Frontier(BestAnswers[str](), most=100)
    for bound in (5.0, 3.0, 9.0, 7.0):
        frontier.push(Queued(bound, 1, 30))
    assert frontier.let_go == 5.0, "half of the room is made free: for 3.0 alone"
    assert frontier.bound == 3.0
    frontier.take()
    frontier.done()
    assert not frontier.is_open
    assert frontier.bound == 5.0, "nothing is proven beyond what was let go of"
