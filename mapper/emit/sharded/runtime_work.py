"""The part of an emitted program for several devices that does operations, whole or a block of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .runtime_words import Range, Words, in_order

# ---- operations ------------------------------------------------------------------------------------------------------

AT_ONCE = 1 << 22  # words of a block of rows: softmax and the like keep several of them

Blocks = Mapping[str, tuple[int, int]]  # by dimension, the first point and the one behind the last


class AxisRead(NamedTuple):
    """An axis of a tensor as an operation reads it.

    size    positions
    terms   dimensions that index it, each with its step
    before  zeros before the first position
    low     of a dimension that lies there in parts, the stride within it of the part that is here; 0: all of it
    """

    size: int
    terms: dict[str, int]
    before: int = 0
    low: int = 0

    def reach(self, blocks: Blocks) -> tuple[int, int]:
        """Positions that are read, zeros around the tensor included."""
        if self.low:
            return 0, self.size
        if any(blocks[dim][0] >= blocks[dim][1] for dim in self.terms):
            return 0, 0
        first = sum(step * blocks[dim][0] for dim, step in self.terms.items()) - self.before
        return first, 1 + sum(step * (blocks[dim][1] - 1) for dim, step in self.terms.items()) - self.before

    def there(self, blocks: Blocks) -> tuple[int, int]:
        """Those of them that the tensor has."""
        first, behind = self.reach(blocks)
        return max(first, 0), max(min(behind, self.size), max(first, 0))


class OperandRead(NamedTuple):
    """A tensor as an operation reads it: what its expression calls it, who makes it ("": a parameter), its axes as they
    lie there, the slowest first."""

    name: str
    source: str
    axes: list[AxisRead]

    def words(self, blocks: Blocks) -> Words:
        """The words that a block of the operation reads."""
        ranges, step = [], 1
        for axis in reversed(self.axes):
            first, behind = axis.there(blocks)
            ranges.append(Range(axis.size * step, first * step, behind * step))
            step *= axis.size
        return in_order(ranges)


class WorkPart(NamedTuple):
    """One operation of what is done under a name; softmax and norms have several.

    makes      what the others call its output
    writes     dimensions of the output, the slowest first
    reduced    "sum" or "max" over all other dimensions, or ""
    operands   that it reads
    point      what is done at a point; None: operands are multiplied
    factor     of the product
    """

    makes: str
    writes: list[str]
    reduced: str
    operands: list[OperandRead]
    point: Callable[..., np.ndarray] | None = None
    factor: float = 1


class NamedWork(NamedTuple):
    """What is done under a name: its dimensions, and its parts in order; the last one makes the output."""

    dims: dict[str, int]
    parts: list[WorkPart]

    @property
    def writes(self) -> list[str]:
        return self.parts[-1].writes

    def outer(self) -> Iterator[OperandRead]:
        """Operands that are tensors made by others."""
        made = {part.makes for part in self.parts}
        for part in self.parts:
            yield from (operand for operand in part.operands if operand.source and operand.source not in made)

    def made(self, blocks: Blocks) -> Words:
        """The words of the output that a block makes."""
        ranges, step = [], 1
        for dim in reversed(self.writes):
            ranges.append(Range(self.dims[dim] * step, blocks[dim][0] * step, blocks[dim][1] * step))
            step *= self.dims[dim]
        return in_order(ranges)


Read = Callable[[OperandRead, Blocks], np.ndarray]
"""The words that a block reads, as an array over the positions that are there."""


def done(work: NamedWork, blocks: Blocks, read: Read) -> np.ndarray:
    """A block of an operation; large ones that keep much, some rows after the others."""
    sizes = {dim: behind - first for dim, (first, behind) in blocks.items()}
    rows = [dim for dim in work.writes if sizes[dim] > 1 and all(dim in part.writes for part in work.parts)]
    if all(part.point is None for part in work.parts) or math.prod(sizes.values()) <= AT_ONCE or not rows:
        return done_at_once(work, blocks, read).reshape(-1)
    dim, (begin, end) = rows[0], blocks[rows[0]]
    some = max(1, AT_ONCE * sizes[dim] // math.prod(sizes.values()))
    found = [done_at_once(work, {**blocks, dim: (i, min(i + some, end))}, read) for i in range(begin, end, some)]
    return np.concatenate(found, axis=work.writes.index(dim)).reshape(-1)


def done_at_once(work: NamedWork, blocks: Blocks, read: Read) -> np.ndarray:
    """A block of an operation: an array over the dimensions that it writes."""
    inside: dict[str, tuple[np.ndarray, list[str]]] = {}
    found = np.empty(0)
    for part in work.parts:
        given = {}
        for operand in part.operands:
            if operand.source in inside:
                given[operand.name] = inside[operand.source]
            else:
                given[operand.name] = by_dims(read(operand, blocks), operand.axes, blocks)
        if part.point is None:
            found = multiplied(list(given.values()), part.writes)
            found = found if part.factor == 1 else found * part.factor
        else:
            order = [
                *part.writes,
                *dict.fromkeys(d for _, dims in given.values() for d in dims if d not in part.writes),
            ]
            found = part.point(**{name: along(order, *one) for name, one in given.items()})
            over = tuple(range(len(part.writes), len(order)))
            found = found.max(axis=over) if part.reduced == "max" else found.sum(axis=over) if over else found
        inside[part.makes] = found, part.writes
    return found


def by_dims(words: np.ndarray, axes: list[AxisRead], blocks: Blocks) -> tuple[np.ndarray, list[str]]:
    """What was read as an array over the dimensions that read it: zeros are put around it, windows slide over it, and
    parts of a dimension are joined."""
    reach, there = [axis.reach(blocks) for axis in axes], [axis.there(blocks) for axis in axes]
    if reach != there:
        around = np.zeros([behind - first for first, behind in reach])
        around[tuple(slice(a - first, b - first) for (first, _), (a, b) in zip(reach, there, strict=True))] = words
        words = around
    shape, strides, places = [], [], []
    for axis, stride in zip(axes, words.strides, strict=True):
        for dim, step in axis.terms.items():
            shape.append(axis.size if axis.low else blocks[dim][1] - blocks[dim][0])
            strides.append(step * stride)
            places.append((dim, axis.low))
    spread = as_strided(words, shape, strides)
    dims = list(dict.fromkeys(dim for dim, _ in places))
    order = sorted(range(len(places)), key=lambda i: (dims.index(places[i][0]), -places[i][1]))
    return spread.transpose(order).reshape([blocks[dim][1] - blocks[dim][0] for dim in dims]), dims


def along(order: list[str], array: np.ndarray, dims: list[str]) -> np.ndarray:
    """An array over some dimensions as one over more of them, in an order."""
    kept = [dim for dim in order if dim in dims]
    turned = array.transpose([dims.index(dim) for dim in kept])
    return turned.reshape([array.shape[dims.index(dim)] if dim in dims else 1 for dim in order])


def multiplied(factors: list[tuple[np.ndarray, list[str]]], writes: list[str]) -> np.ndarray:
    """The product of arrays over dimensions, summed over all that are not written."""
    (array, dims), *others = factors
    for number, (other, its) in enumerate(others):
        later = {dim for _, more in others[number + 1 :] for dim in more}
        array, dims = contracted(array, dims, other, its, {*writes, *later})
    over = tuple(i for i, dim in enumerate(dims) if dim not in writes)
    kept = [dim for dim in dims if dim in writes]
    return (array.sum(axis=over) if over else array).transpose([kept.index(dim) for dim in writes])


def contracted(
    left: np.ndarray, left_dims: list[str], right: np.ndarray, right_dims: list[str], kept: set[str]
) -> tuple[np.ndarray, list[str]]:
    """The product of two arrays, summed over what both have and nobody keeps: a product of matrices."""
    both = [dim for dim in left_dims if dim in right_dims]
    batch, inner = [dim for dim in both if dim in kept], [dim for dim in both if dim not in kept]
    rows, columns = ([dim for dim in dims if dim not in both] for dims in (left_dims, right_dims))
    sizes = dict(zip([*left_dims, *right_dims], [*left.shape, *right.shape], strict=True))
    b, m, k, n = (math.prod(sizes[dim] for dim in dims) for dims in (batch, rows, inner, columns))
    one = left.transpose([left_dims.index(dim) for dim in (*batch, *rows, *inner)]).reshape(b, m, k)
    two = right.transpose([right_dims.index(dim) for dim in (*batch, *inner, *columns)]).reshape(b, k, n)
    dims = [*batch, *rows, *columns]
    return np.matmul(one, two).reshape([sizes[dim] for dim in dims]), dims


def block_of(size: int, deals: list[tuple[int, int]]) -> tuple[int, int]:
    """The points of a dimension that a device does: dealt among so many, of which it is one; the outer axis first."""
    first, behind, block = 0, size, size
    for parts, at in deals:
        block = -(-block // parts)
        first = min(first + at * block, behind)
        behind = min(first + block, behind)
    return first, behind


def is_whole(blocks: Blocks, dims: Mapping[str, int]) -> bool:
    """Whether a block is all of an operation."""
    return all(blocks[dim] == (0, size) for dim, size in dims.items())


def box(row: np.ndarray, axes: list[AxisRead], blocks: Blocks) -> np.ndarray:
    """What a block reads of a whole tensor."""
    whole: Any = row.reshape([axis.size for axis in axes])
    return np.asarray(whole[tuple(slice(*axis.there(blocks)) for axis in axes)])
