"""How the dimensions of a reader lie in what it reads.

A tensor is a row of axes, here *atoms*, slowest first; a reader has as many words of its own axes in the same order.
Where both do not have the same axes, one of them is a sum with strides in the other: 64 words of each of 12 heads in
768 features, K = 25,088 over 512 channels of 7 x 7. A dimension of the reader that goes over several atoms is cut into
as many *pieces*.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...ir import ProblemError, Rank

Piece = tuple[str, int]
"""A part of a dimension: what it is called, and the stride of the part within it (1: the fastest one)."""

Cuts = Mapping[str, tuple[int, ...]]
"""Of dimensions that are cut: the strides at which pieces begin, 1 among them, ascending."""


@dataclass(frozen=True)
class ReaderAxis:
    """An axis of the reader.

    rank    the sum of dimensions that indexes it
    window  whether it is read through a window, or with a step: it is then an axis of the tensor as it stands
    before  zeros before the first position
    part    of a dimension that lies there in parts, the strides at which the part begins and ends
    """

    rank: Rank
    window: bool = False
    before: int = 0
    part: tuple[int, int] | None = None

    def pieces(self, sizes: Mapping[str, int], cuts: Cuts) -> list[tuple[Piece, int]]:
        """The pieces of its dimension that lie here, and their sizes, slowest first."""
        ((dim, _),) = self.rank
        low, high = self.part or (1, sizes[dim] + 1)
        return [(piece, size) for piece, size in pieces(dim, sizes[dim], cuts) if low <= piece[1] < high]

    def extent(self, sizes: Mapping[str, int]) -> int:
        """Positions from the first to the last."""
        if self.part is not None:
            return self.part[1] // self.part[0]
        return 1 + sum(coefficient * (sizes[dim] - 1) for dim, coefficient in self.rank)


def pieces(dim: str, size: int, cuts: Cuts) -> list[tuple[Piece, int]]:
    """The pieces of a dimension and their sizes, slowest first."""
    starts = (*cuts.get(dim, (1,)), size) if size > 1 else (1, size)
    return [((dim, low), high // low) for low, high in itertools.pairwise(starts)][::-1]


def aligned(
    atoms: Sequence[int], axes: Sequence[ReaderAxis], sizes: Mapping[str, int], cuts: Cuts, where: str
) -> list[list[tuple[Piece, int]]]:
    """Of every atom, the pieces of the reader's dimensions that go over it, each with its coefficient.

    atoms  sizes of the tensor's axes, slowest first
    axes   of the reader, slowest first
    sizes  of its dimensions
    cuts   that are known already; new ones appear as pieces that begin at other strides

    Raises ProblemError where the reader's axes do not fit the tensor's.
    """
    found: list[list[tuple[Piece, int]]] = [[] for _ in atoms]
    cursor = _Cursor(list(atoms), where)
    for number, axis in reversed(list(enumerate(axes))):
        if axis.window:
            if cursor.at < number and all(sizes[dim] == 1 for dim, _ in axis.rank):
                continue  # a pooling of whole images has left no axis there
            here = cursor.whole()
            found[here] = [((dim, 1), coefficient) for dim, coefficient in axis.rank]
            continue
        ((dim, _),) = axis.rank
        if sizes[dim] == 1:
            cursor.skip_one()
        for (name, low), size in reversed(axis.pieces(sizes, cuts)) if sizes[dim] > 1 else ():
            done = 1
            while done < size:
                at, stride, taken = cursor.take(size // done)
                found[at].append(((name, low * done), stride))
                done *= taken
    cursor.check_done()
    return [sorted(terms, key=lambda term: -term[1]) for terms in found]


class _Cursor:
    """Where in the tensor the reader's next axis begins, from the fastest one on."""

    def __init__(self, atoms: list[int], where: str) -> None:
        self.atoms, self.where = atoms, where
        self.at = len(atoms) - 1
        self.stride = 1

    def whole(self) -> int:
        """The next atom, as it stands."""
        if self.at < 0 or self.stride != 1:
            raise self.mismatch()
        self.at -= 1
        return self.at + 1

    def skip_one(self) -> None:
        """The next atom, if it is of size 1."""
        if self.at >= 0 and self.stride == 1 and self.atoms[self.at] == 1:
            self.at -= 1

    def take(self, size: int) -> tuple[int, int, int]:
        """As much of `size` positions as the next atom has: which atom, the stride in it, how many."""
        while self.at >= 0 and self.atoms[self.at] == 1:
            self.at -= 1
        if self.at < 0:
            raise self.mismatch()
        here, stride, left = self.at, self.stride, self.atoms[self.at] // self.stride
        taken = min(size, left)
        if left % taken or size % taken:
            raise self.mismatch()
        self.stride *= taken
        if self.stride == self.atoms[self.at]:
            self.at, self.stride = self.at - 1, 1
        return here, stride, taken

    def check_done(self) -> None:
        if self.stride != 1 or any(size > 1 for size in self.atoms[: self.at + 1]):
            raise self.mismatch()

    def mismatch(self) -> ProblemError:
        shape = " x ".join(map(str, self.atoms))
        return ProblemError(f"its sizes do not fit {shape} words, of which it reads", where=self.where)
