"""What choices for the nodes of tensors take at least, for many trips of shared loops at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..exact.rows import Ints
from .upper_memories import Floats


@dataclass(frozen=True, eq=False)
class Least:
    """(..., n) pJ, (..., operations, ports, n) cycles, and (..., operations, rooms, n) bits of what room is left, that
    something takes at least."""

    energy: Floats
    cycles: Floats
    bits: Floats

    def __add__(self, other: Least) -> Least:
        return Least(self.energy + other.energy, self.cycles + other.cycles, self.bits + other.bits)

    def at(self, columns: Ints) -> Least:
        """Of some trips."""
        return Least(*(values.take(columns, -1) for values in (self.energy, self.cycles, self.bits)))


Choices = list[Least]
"""Of one tensor, of which one is taken."""

MOST_KNOWN = 1 << 26
"""Bytes of choices that are kept."""


@dataclass
class KnownChoices:
    """Choices of every tensor, by part and loops: the same for all weighted sums. As many as there is memory for.

    left  bytes
    """

    left: int = MOST_KNOWN
    _known: dict[tuple[object, ...], list[Choices]] = field(default_factory=dict)

    def of(self, key: tuple[object, ...], choices: Callable[[], list[Choices]]) -> list[Choices]:
        """What is known, or found out now."""
        known = self._known.get(key)
        if known is None:
            known = choices()
            size = sum(values.nbytes for options in known for one in options for values in vars(one).values())
            if size <= self.left:
                self.left -= size
                self._known[key] = known
        return known


def best(options: Choices) -> Least:
    """The least of everything, over some choices of which one is taken."""
    columns = zip(*(vars(option).values() for option in options), strict=True)
    return Least(*(np.min(values, axis=0) for values in columns))


def crossed(together: Least, options: Choices) -> Least:
    """All choices of some tensors with all of one more."""
    columns = zip(vars(together).values(), *(vars(option).values() for option in options), strict=True)
    count = len(together.energy) * len(options)
    return Least(*((each[:, None] + np.array(own)).reshape(count, *each.shape[1:]) for each, *own in columns))
