"""The part of an emitted program for several devices that knows which words of a tensor a device has."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ....ir.sharding import Deal

# ---- words -----------------------------------------------------------------------------------------------------------
#
# A tensor is a row of words. What a device has of it is the words that lie in all of some ranges, in the row's order.

Sharding = tuple[Any, ...]  # for every axis of the mesh, the innermost first


class Range(NamedTuple):
    """Words x with first <= x % period < behind."""

    period: int
    first: int
    behind: int


Words = tuple[Range, ...]


def words_at(sharding: Sharding, place: tuple[int, ...], alone: int | None = None) -> Words:
    """What the device at a place has. Along the axis `alone`, no words around its block."""
    found: list[Range] = []
    for axis, (placement, at) in enumerate(zip(sharding, place, strict=True)):
        if isinstance(placement, Deal):
            period, block = placement.period, placement.block
            low, high = (0, 0) if axis == alone else (placement.low, placement.high)
            found.append(Range(period, max(at * block - low, 0), min((at + 1) * block + high, period)))
    return in_order(found)


def in_order(ranges: Iterable[Range]) -> Words:
    """The same words, said in one way."""
    kept = [one for one in ranges if (one.first, one.behind) != (0, one.period)]
    return tuple(sorted(kept, key=lambda one: -one.period))


class RowRuns:
    """A row of words in runs, of which all sets that are asked for consist.

    run  words of one, as many as possible
    """

    def __init__(self, words: int, sets: Iterable[Words]) -> None:
        numbers = {number for ranges in sets for one in ranges for number in one}
        self.words, self.run = words, math.gcd(words, *numbers)

        self.known: dict[Words, np.ndarray] = {}

    def runs(self, words: Words) -> np.ndarray:
        """Which runs are among these words."""
        if words not in self.known:
            self.known[words] = self._runs(words)
        return self.known[words]

    def _runs(self, words: Words) -> np.ndarray:
        found = np.ones(self.words // self.run, bool)
        for period, first, behind in words:
            inside = np.zeros((self.words // period, period // self.run), bool)
            inside[:, first // self.run : max(first, behind) // self.run] = True
            found &= inside.reshape(-1)
        return found

    def taken(self, array: np.ndarray, held: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Some runs of an array that holds others as well."""
        if (wanted & ~held).any():
            raise AssertionError("a device needs words that it does not have")
        return array if held.sum() == wanted.sum() else array.reshape(-1, self.run)[wanted[held]].reshape(-1)

    def joined(self, wanted: np.ndarray, parts: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """An array of runs, made of parts, each with its runs."""
        found = np.full((int(wanted.sum()), self.run), np.nan)
        for runs, words in parts:
            found[runs[wanted]] = words.reshape(-1, self.run)
        return found.reshape(-1)


def part_of(words: int, array: np.ndarray, held: Words, wanted: Words) -> np.ndarray:
    """Of an array that holds some words of a row of so many, those that are wanted."""
    if held == wanted:
        return array
    row = RowRuns(words, [held, wanted])
    return row.taken(array, row.runs(held), row.runs(wanted))
