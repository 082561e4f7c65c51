"""What transfers of a tensor amount to: the lines that they touch, and the cycles for which they keep banks busy.

Each is worked out for several layouts at once, which is what finding the best one needs: figures are arrays, one entry
for each layout. A layout is known here by its arrangement: how many neighbouring words along each rank a line holds,
and how many neighbouring lines along each rank lie in different banks. Both are boxes, so a transfer of a box of words
is, along each rank on its own, a row of lines in a row of banks: its lines are a product over ranks, and so are those
in its busiest bank.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from ...ir import Rank, Tensor, ceil_div
from ..closed_form import (
    Group,
    LineBox,
    Nest,
    Periods,
    kinds_along_rank,
    ranges_along_rank,
    sliding_loops,
    times_moved,
)
from ..moves import EVERY, FIRST, Steps, banks_along_rank, lines_of_ranges, words_along_rank
from ..sets import IntArray

Key = TypeVar("Key")
Value = TypeVar("Value")

Front = tuple[tuple[int, int], ...]
"""(wanted, held) lines along a rank, in the banks that may be the busiest."""
Along = frozenset[tuple[Front, int]]
"""Such lines, and how often they lie in banks so."""


class Arrangement(NamedTuple):
    """How the words of a tensor lie in a memory.

    line   neighbouring words along each rank that a line holds
    banks  neighbouring lines along each rank that lie in different banks; 1 each, where there is one bank
    """

    line: LineBox
    banks: LineBox


def periods(arrangements: Iterable[Arrangement]) -> Periods:
    """Per rank, words after which tiles lie as before, for every arrangement."""
    each = [[line * banks for line, banks in zip(*one, strict=True)] for one in arrangements]
    return [frozenset(along) for along in zip(*each, strict=True)]


class Transfers(Protocol):
    """A figure of some transfers of a tensor: (layouts,) it, added up over all of them."""

    @property
    def nest(self) -> Nest: ...

    @property
    def tensor(self) -> Tensor: ...

    def passing(self, steps: Steps, group: Group) -> IntArray:
        """Of all words that are wanted in some steps."""

    def spared(self, steps: Steps, group: Group) -> IntArray:
        """What the same steps take less, where words that are held need no transfer."""

    def first(self, group: Group, position: int) -> IntArray:
        """Of the tiles that a group brings, each once for every instance above `position`."""


def moved(transfers: Transfers, halo: str, group: Group) -> IntArray:
    """Over the whole run, of what the instances at a node are given: all that they want, but what they hold already."""
    nest, tensor = transfers.nest, transfers.tensor
    innermost = nest.innermost_serving(tensor, group.position)
    found = transfers.passing(Steps(innermost), group)
    for loop in sliding_loops(nest, tensor, halo, innermost, nest.start(group.position)):
        found = found - transfers.spared(Steps(loop, moving=True), group)
    return found


@dataclass(frozen=True)
class LinesTouched:
    """Lines that transfers touch, each of which counts them anew; `ways` as arrangements, one for each layout."""

    nest: Nest
    tensor: Tensor
    ways: tuple[Arrangement, ...]

    def passing(self, steps: Steps, group: Group) -> IntArray:
        wanted, _ = self._over_ranks(steps, group)
        return wanted * times_moved(self.nest, self.tensor, steps, group)

    def spared(self, steps: Steps, group: Group) -> IntArray:
        _, held = self._over_ranks(steps, group)
        return held * times_moved(self.nest, self.tensor, steps, group)

    def first(self, group: Group, position: int) -> IntArray:
        times = times_moved(self.nest, self.tensor, FIRST, Group(position, only=group.only))
        wanted, _ = self._over_ranks(EVERY, group)
        return wanted * times

    def _over_ranks(self, steps: Steps, group: Group) -> tuple[IntArray, IntArray]:
        """(layouts,) lines that are wanted, and lines of them of which nothing is missing."""
        wanted: IntArray = np.ones(len(self.ways), dtype=np.int64)
        held: IntArray = wanted
        for r, rank in enumerate(self.tensor.ranks):
            lines = [way.line[r] for way in self.ways]
            each = self._at_once(rank, steps, group, lines)
            if each is None:
                each = once_each(lines, partial(self._along, rank, steps, group))
            new, kept = np.array(each, dtype=np.int64).T
            wanted, held = wanted * new, held * kept
        return wanted, held

    def _at_once(self, rank: Rank, steps: Steps, group: Group, lines: Sequence[int]) -> list[tuple[int, int]] | None:
        """The same as `_along` for lines of several lengths, where no step moves the tiles: all that is wanted is
        held. None: they move, or it is not known so."""
        lengths = list(dict.fromkeys(lines))
        ranges = ranges_along_rank(self.nest, rank, steps, group) if len(lengths) > 1 else None
        if ranges is None:
            return None
        found = lines_of_ranges(tuple(c for _, c in rank), ranges, self.nest.arch.footprint, lengths)
        if found is None:
            return None
        known = dict(zip(lengths, found, strict=True))
        return [(known[line], known[line]) for line in lines]

    def _along(self, rank: Rank, steps: Steps, group: Group, per_line: int) -> tuple[int, int]:
        kinds = kinds_along_rank(self.nest, rank, steps, group, per_line)
        return words_along_rank(tuple(c for _, c in rank), kinds, self.nest.arch.footprint, per_line)


@dataclass(frozen=True)
class BankCycles:
    """Cycles for which transfers keep their busiest bank busy, one after the other.

    ports  lines that a bank moves in a cycle
    """

    nest: Nest
    tensor: Tensor
    ways: tuple[Arrangement, ...]
    ports: int

    def passing(self, steps: Steps, group: Group) -> IntArray:
        return self._all(steps, group) * times_moved(self.nest, self.tensor, steps, group)

    def spared(self, steps: Steps, group: Group) -> IntArray:
        less = once_each(list(zip(*self._over_ranks(steps, group), strict=True)), self._spared)
        return np.array(less) * times_moved(self.nest, self.tensor, steps, group)

    def first(self, group: Group, position: int) -> IntArray:
        times = times_moved(self.nest, self.tensor, FIRST, Group(position, only=group.only))
        return self._all(EVERY, group) * times

    def _over_ranks(self, steps: Steps, group: Group) -> list[list[Along]]:
        """Per rank and layout."""
        return [
            once_each([(way.line[r], way.banks[r]) for way in self.ways], partial(self._along, rank, steps, group))
            for r, rank in enumerate(self.tensor.ranks)
        ]

    def _along(self, rank: Rank, steps: Steps, group: Group, way: tuple[int, int]) -> Along:
        per_line, banks = way
        kinds = kinds_along_rank(self.nest, rank, steps, group, per_line * banks)
        coefficients = tuple(c for _, c in rank)
        return frozenset(banks_along_rank(coefficients, kinds, self.nest.arch.footprint, per_line, banks).items())

    def _all(self, steps: Steps, group: Group) -> IntArray:
        """(layouts,) cycles of all that is wanted."""
        found = self._over_ranks(steps, group)
        return np.array(once_each(list(zip(*found, strict=True)), self._whole), dtype=np.int64)

    def _whole(self, ranks: tuple[Along, ...]) -> int:
        """Of transfers of boxes: the busiest bank is the busiest one along every rank."""
        counts = Counter({1: 1})
        for along in ranks:
            wider: Counter[int] = Counter()
            for front, times in along:
                most = max(want for want, _ in front)
                for lines, before in counts.items():
                    wider[lines * most] += times * before
            counts = wider
        return sum(ceil_div(lines, self.ports) * times for lines, times in counts.items())

    def _spared(self, ranks: tuple[Along, ...]) -> int:
        """Of boxes without boxes that are held: what the busiest bank has less to do."""
        if any(all(hold == 0 for front, _ in along for _, hold in front) for along in ranks):
            return 0
        found = 0
        for chosen in itertools.product(*ranks):
            banks = list(itertools.product(*(front for front, _ in chosen)))
            wanted = [math.prod(want for want, _ in bank) for bank in banks]
            missing = [want - math.prod(hold for _, hold in bank) for want, bank in zip(wanted, banks, strict=True)]
            less = ceil_div(max(wanted), self.ports) - ceil_div(max(missing), self.ports)
            found += less * math.prod(times for _, times in chosen)
        return found


def once_each(keys: Sequence[Key], count: Callable[[Key], Value]) -> list[Value]:
    """A count for every key, made once for equal ones."""
    known = {key: count(key) for key in dict.fromkeys(keys)}
    return [known[key] for key in keys]
