"""The Pareto front of paths through a graph of states whose edges have several choices of energy and latency each.

A choice is a tree of a group, with what it costs; or stands for all trees that are not known yet, with what these cost
at least: energy, latency, and a weighted sum of the two, since what is known of the sum says more of both together than
what is known of each. A way to a state is a *label*, and of labels that another one equals or beats in all three, and
of those with which nothing of interest can be reached, none is followed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..effort import AT_ONCE
from ..pareto.weights import NOTHING, AtLeast
from .lazy_path import Edge, along_runs

MOST_LABELS = AT_ONCE
"""Of all states together: beyond, nothing is said."""


class TooManyLabels(Exception):
    """There are more ways of interest than can be looked at. Never leaves the mapper."""


class StepChoice(NamedTuple):
    """A choice for one edge: its energy, latency and weight.

    least  it costs no less
    what   an edge for a tree that is known; anything else stands for trees that are not
    """

    least: AtLeast
    what: object


@dataclass(frozen=True)
class StepWithChoices:
    """An edge from a state to a later state, with its choices.

    stays    tensors that it finds on chip, or leaves there: of equal ways the one with fewer is taken
    choices  one of which it is done by
    """

    start: int
    end: int
    stays: int
    choices: tuple[StepChoice, ...]


class FrontWay(NamedTuple):
    """A path from the first state to the last state, with the choices taken.

    least  it costs no less
    whats  of the choices
    """

    least: AtLeast
    whats: tuple[object, ...]


class _Label(NamedTuple):
    """A partial path to a state: a lower bound on its cost, its rank among equal costs, its last choice and the label
    before."""

    least: AtLeast
    rank: int
    what: object
    before: _Label | None


def front_of_ways(
    states: int, steps: Sequence[StepWithChoices], most: AtLeast, forbidden: Collection[tuple[Edge, ...]] = ()
) -> list[FrontWay]:
    """Return the paths from state 0 to the last state within a limit on each cost that no other path equals or
    dominates.

    steps      by rising starts
    forbidden  runs of edges that no way has in it

    Raises TooManyLabels.
    """
    rest = _rest(states, steps)
    begun = {run[:length] for run in forbidden for length in range(1, len(run) + 1)}
    labels: list[dict[tuple[object, ...], list[_Label]]] = [{} for _ in range(states)]
    labels[0][()] = [_Label(NOTHING, 0, None, None)]
    count, at = 0, -1
    for step in steps:
        if step.start != at:
            at = step.start
            labels[at] = {run: _not_beaten(some) for run, some in labels[at].items()}
        left = AtLeast(*(limit - one for limit, one in zip(most, rest[step.end], strict=True)))
        for run, some in labels[at].items():
            for choice in step.choices:
                along = along_runs((*run, choice.what), begun) if begun else ()
                if along in forbidden:
                    continue
                found = [
                    _Label(reached, label.rank + 1000 * step.stays - 1, choice.what, label)
                    for label in some
                    if is_within(reached := label.least + choice.least, left)
                ]
                count += len(found)
                if count > MOST_LABELS:
                    raise TooManyLabels
                labels[step.end].setdefault(along, []).extend(found)
    ends = _not_beaten([label for some in labels[states - 1].values() for label in some])
    return [FrontWay(label.least, _whats(label)) for label in ends]


def _rest(states: int, steps: Sequence[StepWithChoices]) -> list[AtLeast]:
    """Return a lower bound on the cost of the path from each state to the last state."""
    found = [AtLeast(math.inf, math.inf, math.inf)] * states
    found[-1] = NOTHING
    for step in reversed(steps):
        for choice in step.choices:
            found[step.start] = least_of_both(found[step.start], found[step.end] + choice.least)
    return found


def least_of_both(one: AtLeast, other: AtLeast) -> AtLeast:
    """Return the componentwise minimum of two costs."""
    return AtLeast(*map(min, one, other))


def is_within(one: AtLeast, most: AtLeast) -> bool:
    """Whether a cost exceeds none of the limits."""
    return one.energy <= most.energy and one.latency <= most.latency and one.weight <= most.weight


def _not_beaten(labels: list[_Label]) -> list[_Label]:
    """Return the costs that no other cost equals or dominates, by rising energy."""
    found: list[_Label] = []
    for label in sorted(labels, key=lambda one: (*one.least, one.rank)):
        _, latency, weight = label.least
        if not any(one.least.latency <= latency and one.least.weight <= weight for one in found):
            found.append(label)
    return found


def _whats(label: _Label) -> tuple[object, ...]:
    """The choices of a way."""
    found = []
    at: _Label | None = label
    while at is not None and at.before is not None:
        found.append(at.what)
        at = at.before
    return tuple(reversed(found))
