"""What choices for the nodes of tensors take at least, for many trips of shared loops at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..exact.rows import Flags, Ints
from .upper_memories import Floats


@dataclass(frozen=True, eq=False)
class Least:
    """What something takes at least, for some trips; or several choices, one along the first axis each.

    values      (..., rows, n), one after the other what is below: one array, since there are few trips
    operations, ports  how many there are
    far         (..., operations) which tensors each operation takes from further out than the nearest memory: its
                number's power of two for each of them
    """

    values: Floats
    operations: int
    ports: int
    far: Ints

    @classmethod
    def nothing(cls, operations: int, ports: int, rooms: int, count: int) -> Least:
        """Of so many trips."""
        values = np.zeros((1 + operations * (ports + rooms), count))
        return cls(values, operations, ports, np.zeros(operations, dtype=np.int64))

    @classmethod
    def each(cls, options: Sequence[Least]) -> Least:
        """Several choices."""
        values, far = (np.array(each) for each in zip(*((one.values, one.far) for one in options), strict=True))
        return cls(values, options[0].operations, options[0].ports, far)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.values.nbytes

    @property
    def energy(self) -> Floats:
        """(..., n) pJ."""
        found: Floats = self.values[..., 0, :]
        return found

    @property
    def cycles(self) -> Floats:
        """(..., operations, ports, n)."""
        *axes, _, count = self.values.shape
        last = 1 + self.operations * self.ports
        return self.values[..., 1:last, :].reshape(*axes, self.operations, self.ports, count)

    @property
    def bits(self) -> Floats:
        """(..., operations, rooms, n) of what room is left."""
        *axes, rows, count = self.values.shape
        first = 1 + self.operations * self.ports
        rooms = (rows - first) // self.operations
        return self.values[..., first:, :].reshape(*axes, self.operations, rooms, count)

    def __add__(self, other: Least) -> Least:
        return self._with(self.values + other.values, self.far + other.far)

    def alone(self) -> Least:
        """As the only choice."""
        return self._with(self.values[None], self.far[None])

    def none(self) -> Least:
        """Nothing, of as many trips."""
        return self._with(np.zeros_like(self.values), np.zeros_like(self.far))

    def at(self, columns: Ints) -> Least:
        """Of some trips."""
        return self._with(self.values.take(columns, -1), self.far)

    def some(self, choices: Ints) -> Least:
        """Some of the choices."""
        return self._with(self.values.take(choices, 0), self.far.take(choices, 0))

    def pairs(self, choices: Ints, trips: Ints) -> Least:
        """Of some choices, each with some trips, which are no axis of their own then."""
        return self._with(self.values[choices, :, trips].T, self.far.take(choices, 0))

    def best(self) -> Least:
        """The least of everything, over all choices; from where tensors come is not known then."""
        return self._with(self.values.min(axis=0), np.zeros(self.operations, dtype=np.int64))

    def with_each(self, options: Least) -> Least:
        """All choices of some tensors with all of one more."""
        both, far = self.values[:, None] + options.values, self.far[:, None] + options.far
        return self._with(both.reshape(-1, *self.values.shape[1:]), far.reshape(-1, self.operations))

    def _with(self, values: Floats, far: Ints) -> Least:
        return Least(values, self.operations, self.ports, far)


@dataclass(frozen=True, eq=False)
class Choices:
    """Choices of every tensor, of which one is taken each.

    alone  what tensors take together that have no choice
    open   of every other one its choices, of those with the fewest first
    """

    alone: Least
    open: tuple[Least, ...]

    @classmethod
    def of(cls, nothing: Least, tensors: Iterable[Sequence[Least]], fits: Callable[[Floats], Flags]) -> Choices:
        """By the choices of every tensor.

        fits  of (..., operations, rooms, n) bits, whether there is room: what has none by itself is no choice
        """
        by_count = sorted(tensors, key=len)
        alone = sum((options[0] for options in by_count if len(options) == 1), nothing)
        found = cls(alone, tuple(Least.each(options) for options in by_count if len(options) > 1))
        for each in (found.alone, *found.open):
            each.energy[~fits(each.bits)] = np.inf
        return found

    def at(self, columns: Ints) -> Choices:
        """For some trips."""
        return Choices(self.alone.at(columns), tuple(options.at(columns) for options in self.open))

    @cached_property
    def least(self) -> Least:
        """Each tensor at its best."""
        return sum((options.best() for options in self.open), self.alone)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.alone.values.nbytes + sum(options.values.nbytes for options in self.open)


MOST_KNOWN = 1 << 26
"""Bytes of choices that are kept."""


@dataclass
class KnownChoices:
    """Choices of every tensor, by part and loops: the same for all weighted sums. As many as there is memory for.

    left  bytes
    """

    left: int = MOST_KNOWN
    _known: dict[tuple[object, ...], Choices] = field(default_factory=dict)
    _single: dict[tuple[object, ...], dict[tuple[object, ...], Least]] = field(default_factory=dict)

    def single(self, key: tuple[object, ...]) -> SingleChoices:
        """Single choices for tensors, for loops in any order."""
        return SingleChoices(self, self._single.setdefault(key, {}))

    def of(self, key: tuple[object, ...], choices: Callable[[], Choices]) -> Choices:
        """What is known, or found out now."""
        known = self._known.get(key)
        if known is None:
            known = choices()
            if known.size <= self.left:
                self.left -= known.size
                self._known[key] = known
        return known


class SingleChoices(NamedTuple):
    """What is known of single choices for tensors, by what they depend on."""

    every: KnownChoices
    known: dict[tuple[object, ...], Least]

    def of(self, key: tuple[object, ...], least: Callable[[], Least]) -> Least:
        """What is known, or found out now."""
        known = self.known.get(key)
        if known is None:
            known = least()
            if known.size <= self.every.left:
                self.every.left -= known.size
                self.known[key] = known
        return known
