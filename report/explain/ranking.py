"""Which changes of the machine help most for what they add.

    cost   = log2(factor), in doublings; 1 for something that is added
    gain   = log2(least objective on the machine as it is / least objective on the changed one), in halvings
    order  : gain / cost, largest first; of equals, the smaller change

So a doubling stands before a quadrupling of the same field, unless the latter gains more than twice as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, log2
from typing import TypeAlias

from .changes import Change

_DIGITS = 6
"""Of scores: what differs less is equal."""

STOPPED, TOO_LATE = "not searched: interrupted", "not searched: the time was up"
"""Reasons why there is no value for a change: nobody waited for it."""

LEAST_GAIN = 1e-6
"""Gains below this share are rounding."""


@dataclass(frozen=True)
class Tried:
    """What a change came to.

    value    the least objective on the changed machine
    proven   whether it is known to be the least
    gain     value on the machine as it is / value; above 1 where it helps
    reason   why there is no value: no mapping, or not searched
    """

    change: Change
    value: float | None
    proven: bool
    gain: float
    reason: str = ""

    @property
    def score(self) -> float:
        """Halvings of the objective for each doubling that the change costs."""
        return log2(self.gain) / self.change.cost if self.gain not in (0.0, inf) else self.gain

    @property
    def helps(self) -> bool:
        return self.gain > 1 + LEAST_GAIN


Searched: TypeAlias = "tuple[float, bool] | str"
"""The least objective on a machine and whether it is proven; or why there is none."""


def try_changes(changes: Iterable[Change], present: float, search: Callable[[Change], Searched]) -> tuple[Tried, ...]:
    """Search on every changed machine, and order what comes of it, best first.

    present  the least objective on the machine as it is

    A smaller factor of a field is not searched where the larger one gains nothing: on a larger memory, or a faster
    port, every mapping costs at most as much.
    """
    tried: list[Tried] = []
    useless: set[str] = set()
    for change in changes:
        if change.field in useless:
            continue
        found = _tried(change, present, search(change))
        tried.append(found)
        if not found.helps and found.proven:
            useless.add(change.field)
    return tuple(sorted(tried, key=_order))


def _order(tried: Tried) -> tuple[float, float]:
    """What gains most for its cost first, then the smaller change; what gains nothing in the order of the machine."""
    return (-round(tried.score, _DIGITS), tried.change.cost) if tried.helps else (0.0, 0.0)


def _tried(change: Change, present: float, found: Searched) -> Tried:
    if isinstance(found, str):
        return Tried(change, None, False, 1.0, found)
    value, proven = found
    return Tried(change, value, proven, _gain(present, value))


def _gain(present: float, value: float) -> float:
    """How many times less the objective is; infinite beside nothing, or beside what keeps to no limit."""
    if value == present:
        return 1.0
    return present / value if value else inf


def best_changes(tried: Sequence[Tried], most: int | None = None) -> tuple[Tried, ...]:
    """Those that help, best first, each field once; at most so many."""
    found: dict[str, Tried] = {}
    for one in tried:
        if one.helps:
            found.setdefault(one.change.field, one)
    return tuple(found.values())[:most]


def change_sentence(tried: Tried, objective: str) -> str:
    """What a change gains, and what it adds."""
    change = tried.change
    less = 1 - 1 / tried.gain if tried.gain else 0.0
    proof = "proven" if tried.proven else "not proven"
    return f"{change.text}: {objective} {100 * less:.1f}% lower ({proof}); adds {change.adds}."


def useless_sentences(tried: Sequence[Tried]) -> Iterator[str]:
    """Fields whose changes gain nothing, have no mapping, or were not searched."""
    helped = {one.change.field for one in best_changes(tried)}
    for text, those in (
        ("No gain from", [one for one in tried if one.value is not None]),
        ("No mapping fits with", [one for one in tried if one.value is None and one.reason not in (STOPPED, TOO_LATE)]),
        ("Not searched, for it was interrupted:", [one for one in tried if one.reason == STOPPED]),
        ("Not searched, for the time was up (--time-limit):", [one for one in tried if one.reason == TOO_LATE]),
    ):
        names = [name for name in dict.fromkeys(one.change.field for one in those) if name not in helped]
        if names:
            yield f"{text} {', '.join(names)}."
