"""All ways to do a network's operations, group by group, as ways through a graph of states.

A state is what has been done (a set of operations that has with each one all that it reads), and which tensors stay on
chip, and where. A step does one group: its tensors that stay are where the state says, or where the step leaves them;
others pass through the outermost memory. Two orders that have done the same are one state, so that the graph is small
where the network is nearly a chain; `TooManyStates` says where it is not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...workloads.graph import GraphReading, OperationGroup, bits_of, mask_of
from ..effort import AT_ONCE
from ..means import UNLIMITED, Means
from .residency import Residency, Taken

Stays = tuple[tuple[int, int], ...]
"""Tensors that stay: the place of who makes it, the number of the memory; in rising order."""

State = tuple[int, Stays]
"""What has been done, as bits, and what stays."""


class TooManyStates(Exception):
    """The network is too wild for all orders of its operations. Never leaves the mapper."""


@dataclass(frozen=True)
class GroupStep:
    """One group.

    start, end  numbers of states, rising
    group       its number
    stays       of its own tensors: those that it finds on chip, and those that it leaves there
    passing     bits of each memory that other tensors take meanwhile
    """

    start: int
    end: int
    group: int
    stays: Stays
    passing: Taken


@dataclass(frozen=True)
class StateGraph:
    """The states of a network from 0, nothing done, to the last, everything done, with the groups that lead from one to
    another.

    count  of states
    steps  by rising starts
    """

    count: int
    steps: tuple[GroupStep, ...]


class _Groups:
    """Groups, and what each asks of a state.

    inside  places of its operations, as bits
    needs   what has to be done before, as bits
    reads   places of who makes what it reads from others
    writes  places of those inside whose tensors are read outside and may stay
    """

    def __init__(self, reading: GraphReading, groups: Sequence[OperationGroup], residency: Residency) -> None:
        self.inside = [mask_of(group.places) for group in groups]
        self.needs, self.reads, self.writes = [], [], []
        self.by_first: dict[int, list[int]] = {}
        for number, group in enumerate(groups):
            inside, before = self.inside[number], 0
            for place in group.places:
                before |= reading.before[place]
            self.needs.append(before & ~inside)
            self.reads.append({place for place in bits_of(before & ~inside) if place in residency.candidates})
            self.writes.append([p for p in group.places if p in residency.candidates and reading.readers[p] & ~inside])


def state_graph(
    reading: GraphReading,
    groups: Sequence[OperationGroup],
    residency: Residency,
    means: Means = UNLIMITED,
    most: int = AT_ONCE,
) -> StateGraph:
    """All states that can be come to, and all steps between them.

    groups  of consecutive operations alone: then these are done in the network's order

    Raises TooManyStates where there are more than so many steps, or time runs out first.
    """
    asked, everything = _Groups(reading, groups, residency), (1 << len(reading.occurrences)) - 1
    by_size: list[dict[State, list[tuple[State, int, Stays, Taken]]]] = [
        {} for _ in range(len(reading.occurrences) + 1)
    ]
    by_size[0][0, ()] = []
    count = 0
    for size, states in enumerate(by_size):
        possible: dict[int, list[int]] = {}
        for state, steps in states.items():
            if state[0] not in possible:  # what stays makes many states of what is done
                possible[state[0]] = list(_possible(asked, state[0]))
            for number in possible[state[0]]:
                for after, stays, passing in _after(asked, reading, residency, state, number):
                    steps.append((after, number, stays, passing))
                    by_size[size + asked.inside[number].bit_count()].setdefault(after, [])
            count += len(steps)
            if count > most or means.expired:
                raise TooManyStates
    numbers = {state: i for i, state in enumerate(itertools.chain(*by_size))}
    end = numbers.get((everything, ()))
    assert end == len(numbers) - 1, "every operation alone is a group, and nothing stays that nobody reads"
    return StateGraph(
        len(numbers),
        tuple(
            GroupStep(numbers[state], numbers[after], number, stays, passing)
            for states in by_size
            for state, steps in states.items()
            for after, number, stays, passing in steps
        ),
    )


def _possible(asked: _Groups, done: int) -> Iterator[int]:
    """Groups that can be next."""
    for number, (inside, needs) in enumerate(zip(asked.inside, asked.needs, strict=True)):
        if not inside & done and not needs & ~done:
            yield number


def _after(
    asked: _Groups, reading: GraphReading, residency: Residency, state: State, number: int
) -> Iterator[tuple[State, Stays, Taken]]:
    """The states after a group, by where it leaves what it makes: with its own tensors that stay, and the bits that
    others take meanwhile."""
    done, live = state
    own = [one for one in live if one[0] in asked.reads[number]]
    others = [one for one in live if one[0] not in asked.reads[number]]
    passing, after = residency.taken_by(others), done | asked.inside[number]
    options = [
        [(), *(((place, memory),) for memory in residency.candidates[place].memories)] for place in asked.writes[number]
    ]
    for chosen in itertools.product(*options):
        left = [one for some in chosen for one in some]
        stays = tuple(sorted([*own, *left]))
        if left and not residency.fits(residency.taken_by([*live, *left])):
            continue
        still = tuple(sorted(one for one in (*live, *left) if reading.readers[one[0]] & ~after))
        yield (after, still), stays, passing
