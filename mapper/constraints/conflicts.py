"""Which constraints leave no mapping: the fewest of them that have to go, in words."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from ...ir import InfeasibleError, Problem
from .constraints import Constraints, combine

_MOST_CALLS = 200


def smallest_conflict(
    constraints: Constraints, feasible: Callable[[Constraints], bool], most_calls: int = _MOST_CALLS
) -> tuple[str, ...]:
    """The smallest set of single constraints without which there is a mapping, in words; the same one every time.

    feasible    whether there is a mapping; fewer constraints must never make it false
    most_calls  of `feasible`, beyond one for each single constraint. When they run out, what is returned is a set
                of which nothing can be left out, but which may not be the smallest

    Empty when there is a mapping, and when there is none even without constraints: `mapper/diagnosis.py` says why.
    """
    singles = constraints.singles()
    if not feasible(Constraints()):
        return ()
    found = _irreducible(singles, feasible)
    for size in range(1, len(found)):
        for removed in itertools.combinations(singles, size):
            if most_calls <= 0:
                return _words(found)
            most_calls -= 1
            if feasible(combine(single for single in singles if single not in removed)):
                return _words(removed)
    return _words(found)


def conflict_error(problem: Problem, constraints: Constraints, conflict: Sequence[str]) -> InfeasibleError:
    """The error that says so; `conflict` is what `smallest_conflict` found, not empty."""
    one = len(conflict) == 1
    message = f"no mapping of {problem.name} satisfies all of these constraints, and without"
    named = f"this one there are some: {conflict[0]}" if one else f"these there are some: {'; '.join(conflict)}"
    hint = f"drop or relax {'it' if one else 'them'}"
    return InfeasibleError(f"{message} {named}", where=constraints.name, hint=hint)


def _irreducible(singles: Sequence[Constraints], feasible: Callable[[Constraints], bool]) -> tuple[Constraints, ...]:
    """A set without which there is a mapping, and none without a part of it: what cannot be added to the others."""
    kept: list[Constraints] = []
    removed: list[Constraints] = []
    for single in singles:
        fits = feasible(combine([*kept, single]))
        (kept if fits else removed).append(single)
    return tuple(removed)


def _words(singles: Sequence[Constraints]) -> tuple[str, ...]:
    return tuple(single.name for single in singles)
