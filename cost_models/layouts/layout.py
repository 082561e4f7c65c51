"""Where the words of a tensor lie: an order of its ranks, and the lines that they fill.

A layout is a list of *digits*, outermost first. Each rank has one digit that steps in whole, or in the blocks that
stand for it further in: `NCHW16c` is N, C in blocks of 16, H, W, and the 16 inside a block. A block that does not
divide its rank is filled up with words that nobody asks for.

A line holds a box: from the innermost digit on, as much of each as there is room for, and no digit beyond one that it
does not take whole. So no line goes past the end of what it holds a part of (the rest of the line stays empty), and
words of two lines differ in the line of some rank: all counts are products over ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ...ir import Problem, Tensor, ceil_div
from ..sets import hull
from .lines import LineRank


@dataclass(frozen=True)
class LayoutDigit:
    """One step of a layout.

    rank   of the tensor, counted from 0
    block  words along it, if it is a block; None: the words, or blocks, of the whole rank
    """

    rank: int
    block: int | None = None


@dataclass(frozen=True)
class Layout:
    """An order of the words of a tensor.

    digits  outermost first; of every rank one without a block, and its blocks further in
    text    as it was written
    """

    digits: tuple[LayoutDigit, ...]
    text: str = field(default="", compare=False)

    def extents(self, shape: Sequence[int]) -> tuple[int, ...]:
        """How many steps each digit has, for a tensor of so many words along its ranks; blocks are filled up."""
        inside: dict[int, int] = {}
        for digit in self.digits:
            if digit.block is not None:
                inside[digit.rank] = inside.get(digit.rank, 1) * digit.block
        return tuple(
            ceil_div(shape[d.rank], inside.get(d.rank, 1)) if d.block is None else d.block for d in self.digits
        )

    def strides(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Words from one step of each digit to the next, where lines leave nothing empty."""
        strides, below = [], 1
        for extent in reversed(self.extents(shape)):
            strides.append(below)
            below *= extent
        return tuple(reversed(strides))

    def values(self, index: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
        """The value of each digit at a word, given its index along every rank."""
        left, values = list(index), []
        for digit, extent in zip(reversed(self.digits), reversed(self.extents(shape)), strict=True):
            left[digit.rank], value = divmod(left[digit.rank], extent)
            values.append(value)
        return tuple(reversed(values))

    def lines(self, shape: Sequence[int], room: int) -> tuple[LineRank, ...]:
        """How lines with room for so many words divide each rank."""
        return _lines(self.digits, tuple(self.extents(shape)), len(shape), room)


@lru_cache(maxsize=1 << 12)
def _lines(digits: tuple[LayoutDigit, ...], extents: tuple[int, ...], ranks: int, room: int) -> tuple[LineRank, ...]:
    whole, parts = [1] * ranks, dict[int, tuple[int, int]]()
    for digit, extent in zip(reversed(digits), reversed(extents), strict=True):
        if extent > room:
            repeats = digit.block is not None and extent % room > 0
            parts[digit.rank] = room, extent if repeats else room
            break
        whole[digit.rank] *= extent
        room //= extent
    return tuple(LineRank(words, *parts.get(rank, (1, 1))) for rank, words in enumerate(whole))


def shape_of(tensor: Tensor, problem: Problem) -> tuple[int, ...]:
    """Words along each rank of a tensor, from the least index that the problem reaches to the largest."""
    return tuple(hull(tuple(c for _, c in rank), tuple(problem.sizes[dim] for dim, _ in rank)) for rank in tensor.ranks)
