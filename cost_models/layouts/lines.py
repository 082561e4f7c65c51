"""Lines that a window of words along a rank touches: at an alignment, exactly, and on average over alignments.

All words and lines are whole numbers. A box of words touches as many lines as the product over its ranks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..sets import IntArray


@dataclass(frozen=True)
class LineRank:
    """How lines divide a rank.

    whole  words of the blocks that a line holds in whole
    part   such blocks that it holds side by side
    of     such blocks after which a line ends, full or not: `part`, but where a larger block ends in between
    """

    whole: int = 1
    part: int = 1
    of: int = 1

    @property
    def words(self) -> int:
        """Words of a full line along the rank."""
        return self.whole * self.part

    @property
    def period(self) -> int:
        """Words after which lines look the same again."""
        return self.whole * self.of

    def numbers(self, places: IntArray) -> IntArray:
        """The line of each place along the rank, counted from 0."""
        blocks = places // self.whole
        per_period = -(-self.of // self.part)
        found: IntArray = blocks // self.of * per_period + blocks % self.of // self.part
        return found

    def number(self, place: int) -> int:
        """The line of one place."""
        return int(self.numbers(np.array(place)))

    def touched(self, first: int, words: int) -> int:
        """Lines that neighbouring words touch, the first of which stands at a place."""
        return self.number(first + words - 1) - self.number(first) + 1


def alignments(words: int, line: int) -> tuple[int, ...]:
    """Where windows of so many words begin in their lines, if they lie end to end; each equally often."""
    return tuple(step * words % line for step in range(line // math.gcd(line, words)))


def mean_touched(words: int, line: int) -> Fraction:
    """Lines of so many words that windows touch on average, if these lie end to end."""
    rank, starts = LineRank(part=line, of=line), alignments(words, line)
    return Fraction(sum(rank.touched(first, words) for first in starts), len(starts))
