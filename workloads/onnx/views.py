"""How the words of a tensor lie in what a node makes: axes as runs of words with strides."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...ir import Operand, Problem, Rank
from ..graph.meaning import WORD, WordFinish
from ..graph.occurrences import DimPart
from .convolutions import auto_pad_of, pads_of
from .nodes import OnnxNode

if TYPE_CHECKING:
    import numpy as np


Run = tuple[int, int]
"""Words one behind the other: how many, and how far apart in what was made."""


@dataclass(frozen=True)
class TensorView:
    """A tensor as it lies in what an occurrence makes.

    source  the occurrence, or an input of the model
    axes    for each axis its runs, slowest first; runs of one word are left out
    finish  what has been done with its words; None where no program can do it
    changed the tensor behind the last node that did something with them; empty: none did
    """

    source: str
    axes: tuple[tuple[Run, ...], ...]
    finish: WordFinish | None = field(default=WordFinish(Operand(WORD)), compare=False)
    changed: str = field(default="", compare=False)

    @property
    def runs(self) -> list[Run]:
        return [run for axis in self.axes for run in axis]

    @property
    def is_as_made(self) -> bool:
        """Whether its words have the order in which they were made."""
        strides = [stride for _, stride in self.runs]
        return strides == sorted(strides, reverse=True)


def made(source: str, shape: Sequence[int]) -> TensorView:
    """What an occurrence makes, as it makes it."""
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    return TensorView(source, tuple(((n, s),) if n > 1 else () for n, s in zip(shape, strides, strict=True)))


def axis_places(axis: Sequence[Run]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where the positions of an axis lie."""
    import numpy as np

    found = np.zeros(1, np.int64)
    for count, stride in axis:
        found = (found[:, None] + np.arange(count) * stride).ravel()
    return found


def order_of(ranks: Sequence[Rank]) -> tuple[str, ...]:
    """The letters of a tensor's dimensions, in the order of its axes."""
    return tuple(rank[0][0].lower() for rank in ranks)


def swapped(order: tuple[str, ...]) -> tuple[str, ...]:
    """With the last two axes the other way round."""
    return (*order[:-2], order[-1], order[-2])


def zeros_before(node: OnnxNode, ranks: Sequence[Rank]) -> tuple[tuple[str, int], ...]:
    """Zeros before the first position, by the letter of each window."""
    windows = [rank for rank in ranks if len(rank) == 2]
    if not windows:
        return ()
    before = [low for low, _ in pads_of(node, len(windows))]
    mode = auto_pad_of(node)
    if mode.startswith("SAME"):
        sizes = node.shape(0)[2:]
        shape, kernel = node.output.shape or (), node.shape(1 if node.op != "QLinearConv" else 3)[2:]
        steps = [(rank[0][1], rank[1][1]) for rank in windows]
        needed = [
            max(0, (n - 1) * s + d * (k - 1) + 1 - size)
            for n, size, k, (s, d) in zip(shape[2:], sizes, kernel, steps, strict=True)
        ]
        before = [-(-zeros // 2) if mode == "SAME_LOWER" else zeros // 2 for zeros in needed]
    return tuple((rank[0][0].lower(), zeros) for rank, zeros in zip(windows, before, strict=True))


def lying(
    view: TensorView, order: tuple[str, ...], ranks: Sequence[Rank], problem: Problem
) -> tuple[DimPart, ...] | None:
    """An operand's dimensions in the order in which they lie in what was made; None where one is not to be found."""
    if view.is_as_made:
        return order
    sizes = {rank[0][0].lower(): problem.sizes[rank[0][0]] for rank in ranks}
    axes = regrouped(view.runs, [sizes[letter] for letter in order])
    if axes is None or any(len(rank) > 1 or rank[0][1] != 1 for rank in ranks):
        return None
    parts: list[tuple[int, DimPart]] = []
    for letter, axis in zip(order, axes, strict=True):
        parts += _parts(letter, axis)
    return tuple(part for _, part in sorted(parts, key=lambda each: -each[0]))


def _parts(letter: str, axis: Sequence[Run]) -> list[tuple[int, DimPart]]:
    """A dimension over some runs, or its parts where these do not follow one another, each with its stride."""
    if all(outer == inner * count for (_, outer), (count, inner) in itertools.pairwise(axis)):
        return [(axis[-1][1] if axis else 0, letter)]
    low = 1
    found: list[tuple[int, DimPart]] = []
    for count, stride in reversed(axis):
        found.append((stride, (letter, low, low * count)))
        low *= count
    return found


def regrouped(runs: Sequence[Run], shape: Sequence[int]) -> tuple[tuple[Run, ...], ...] | None:
    """The same words in other axes; None where an axis would end inside a run that it does not divide."""
    left = list(runs)
    axes: list[tuple[Run, ...]] = []
    for size in reversed(shape):
        axis: list[Run] = []
        for count, stride in _taken(left, size):
            axis.insert(0, (count, stride))
        if math.prod(count for count, _ in axis) != size:
            return None
        axes.insert(0, tuple(axis))
    return tuple(axes) if not left else None


def _taken(left: list[Run], size: int) -> Iterator[Run]:
    """Runs of `size` words in all, taken from the end of those that are left."""
    while size > 1 and left:
        count, stride = left.pop()
        taken = math.gcd(count, size)
        if taken < min(count, size):
            return
        if taken < count:
            left.append((count // taken, stride * taken))
        yield taken, stride
        size //= taken
