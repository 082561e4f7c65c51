"""Which constraints leave no mapping: the fewest of them that have to go, in words."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...ir import InfeasibleError, Problem
from ..means import OutOfMeans
from .constraints import Constraints, combine


@dataclass(frozen=True)
class Conflict:
    """Which constraints stand in the way of any mapping, as far as that is known.

    removed  without these there is a mapping, if all have been looked at: as few as were found
    beside   a first one of them cannot be added to these, which can be satisfied together
    is_open  whether the means ran out before all were looked at
    """

    removed: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    is_open: bool = False

    def __bool__(self) -> bool:
        return bool(self.removed) or self.is_open


def smallest_conflict(
    constraints: Constraints, feasible: Callable[[Constraints], bool], most_calls: int = 200
) -> Conflict:
    """The smallest set of single constraints without which there is a mapping, in words; the same one every time.

    feasible    whether there is a mapping; fewer constraints must never make it false. Where it raises OutOfMeans, what
                is known by then is returned
    most_calls  of `feasible`, beyond one for each single constraint. When they run out, what is returned is a set
                of which nothing can be left out, but which may not be the smallest

    Empty when there is a mapping, and when there is none even without constraints: `mapper/diagnosis.py` says why.
    """
    singles = constraints.singles()
    kept: list[Constraints] = []
    removed: list[Constraints] = []
    beside: tuple[str, ...] = ()
    try:
        if not feasible(Constraints()):
            return Conflict()
        for single in singles:
            if feasible(combine([*kept, single])):
                kept.append(single)
            else:
                beside = beside if removed else _words(kept)
                removed.append(single)
    except OutOfMeans:
        return Conflict(_words(removed), beside, is_open=True)
    return Conflict(_words(_fewest(singles, removed, feasible, most_calls)), beside)


def conflict_error(problem: Problem, constraints: Constraints, conflict: Conflict) -> InfeasibleError:
    """The error that says so; `conflict` is what `smallest_conflict` found, not empty."""
    message = f"no mapping of {problem.name} satisfies all of these constraints"
    if not conflict.removed:
        message += "; the search for those that stand in the way ran out of time"
        return InfeasibleError(message, where=constraints.name, hint="drop or relax some of them")
    if conflict.is_open:
        first, beside = conflict.removed[0], "; ".join(conflict.beside)
        message += f"; known so far: none has this one{' beside the others' if beside else ''}: {first}"
        return InfeasibleError(
            message + (f" (the others: {beside})" if beside else ""), where=constraints.name, hint="drop or relax it"
        )
    one = len(conflict.removed) == 1
    named = (
        f"this one there are some: {conflict.removed[0]}"
        if one
        else f"these there are some: {'; '.join(conflict.removed)}"
    )
    hint = f"drop or relax {'it' if one else 'them'}"
    return InfeasibleError(f"{message}, and without {named}", where=constraints.name, hint=hint)


def _fewest(
    singles: Sequence[Constraints],
    known: Sequence[Constraints],
    feasible: Callable[[Constraints], bool],
    most_calls: int,
) -> Sequence[Constraints]:
    """The fewest without which there is a mapping, as far as the means and the calls go; else those known."""
    fewer = (removed for size in range(1, len(known)) for removed in itertools.combinations(singles, size))
    try:
        for removed in itertools.islice(fewer, max(most_calls, 0)):
            if feasible(combine(single for single in singles if single not in removed)):
                return removed
    except OutOfMeans:
        pass
    return known


def _words(singles: Sequence[Constraints]) -> tuple[str, ...]:
    return tuple(single.name for single in singles)
