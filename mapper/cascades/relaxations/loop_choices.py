"""What choices for the nodes of tensors take at least, for many trips of shared loops at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...exact.rows import Flags
from ..terms.upper_memories import Floats


class Least(NamedTuple):
    """What something takes at least: per choice, or for some trips.

    values      (rows, n), one below the other what follows: one array, since there are few of each
    operations, ports, rooms  how many there are
    """

    values: Floats
    operations: int
    ports: int
    rooms: int

    @classmethod
    def nothing(cls, operations: int, ports: int, rooms: int, count: int) -> Least:
        """Of so many choices."""
        return cls(np.zeros((1 + operations * (ports + rooms + 1), count)), operations, ports, rooms)

    def of(self, values: Floats) -> Least:
        """Something else of the same part."""
        return Least(values, self.operations, self.ports, self.rooms)

    @property
    def weighed(self) -> int:
        """The first rows: energy and cycles."""
        return 1 + self.operations * self.ports

    @property
    def energy(self) -> Floats:
        """(n,) pJ."""
        found: Floats = self.values[0]
        return found

    @property
    def cycles(self) -> Floats:
        """(operations, ports, n)."""
        return self.values[1 : self.weighed].reshape(self.operations, self.ports, self.values.shape[1])

    @property
    def bits(self) -> Floats:
        """(operations x rooms, n) of what room is left."""
        return self.values[self.weighed : self.weighed + self.operations * self.rooms]

    @property
    def far(self) -> Floats:
        """(operations, n) which tensors each takes from further out than the nearest memory: its number's power of two
        for each of them. Not known where the least of several choices is taken."""
        return self.values[len(self.values) - self.operations :]


@dataclass(frozen=True, eq=False)
class Choices:
    """Choices of every tensor, of which one is taken each.

    alone  what tensors take together that have no choice
    open   (rows, choices, n) of each other one; of infinite energy where there are fewer, or none has room
    later  (rows, n) of each of these, and after the last: what it and those after it take, each at its best
    """

    alone: Least
    open: tuple[Floats, ...]
    later: tuple[Floats, ...]

    @classmethod
    def of(cls, nothing: Least, tensors: Sequence[Floats], fits: Callable[[Least], Flags]) -> Choices:
        """By the choices of every tensor.

        fits  (n,) whether there is room: what has none by itself is no choice
        """
        by_count = sorted(tensors, key=lambda one: one.shape[1])
        alone = nothing.of(sum((one[:, 0] for one in by_count if one.shape[1] == 1), nothing.values))
        alone.energy[~fits(alone)] = np.inf
        found = tuple(one for one in by_count if one.shape[1] > 1)
        for one in found:
            flat = nothing.of(one.reshape(len(one), -1))
            flat.energy[~fits(flat)] = np.inf
        best = (one.min(axis=1) for one in reversed(found))
        later = itertools.accumulate(best, initial=np.zeros_like(alone.values))
        return cls(alone, found, tuple(later)[::-1])

    @property
    def least(self) -> Least:
        """Each tensor at its best."""
        return self.alone.of(self.alone.values + self.later[0])
