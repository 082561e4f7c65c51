"""Orders of storage nodes of memories between which no array stands, and the loops that are worth having around them.

Under `reuse: at_node` every temporal loop above a node makes its tile be transferred again. With plain ranks:

1. A loop directly below a node that moves its tensor may as well stand directly above it: the node's tile is smaller
   then, as many words pass, and nothing else changes.
2. A loop directly above a node that does not move its tensor had better stand directly below it: fewer words pass, and
   no tile changes.

So between two nodes stand only loops that do not move the upper one and move the lower one; and below the last one,
above what the inside of the machine needs, only loops that do not move it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...exact.rows import Ints
from .form import TableForm
from .lattice import chains, crossed

Place = tuple[int, int]
"""A node: the depth of its memory, and the number of its tensor."""


@dataclass(frozen=True, eq=False)
class NodeTiles:
    """Nodes in one order, outermost first, with all tiles that they may have.

    nodes    memory and tensor of each
    extents  (nodes, dims, cells) of the tile below each node
    """

    nodes: tuple[Place, ...]
    extents: Ints

    @property
    def count(self) -> int:
        """Cells."""
        return int(self.extents.shape[-1])


def orders(nodes: Sequence[Place]) -> Iterator[tuple[Place, ...]]:
    """All orders in which a tensor's nodes go from outer to inner memories."""
    for order in itertools.permutations(nodes):
        if all(one[0] < other[0] for one, other in itertools.combinations(order, 2) if one[1] == other[1]):
            yield order


def inner_tiles(form: TableForm, order: tuple[Place, ...]) -> NodeTiles:
    """Nodes directly around a tile of one element: what is above them all stands as it is."""
    slots = []
    for d in range(len(form.sizes)):
        moved = [form.moves[tensor][d] for _, tensor in order]
        slots.append([i for i in range(len(order)) if not moved[i] and (i + 1 == len(order) or moved[i + 1])])
    return _tiles(form, order, slots)


def _tiles(form: TableForm, order: tuple[Place, ...], slots: list[list[int]]) -> NodeTiles:
    """slots: per dimension, the nodes directly below which it has a loop."""
    trips = [chains(size, len(nodes)) for size, nodes in zip(form.sizes, slots, strict=True)]
    chosen = crossed([len(each) for each in trips])
    extents = np.ones((len(order), len(slots), len(chosen[0])), dtype=np.int64)
    for d, nodes in enumerate(slots):
        for column, below in enumerate(nodes):
            extents[: below + 1, d] *= trips[d][chosen[d], column]
    return NodeTiles(order, extents)


@dataclass(frozen=True, eq=False)
class CutTiles:
    """Nodes of the nearest memory inside a branch in one order, outermost first, with all tiles that they may have.

    cut      (dims, cells) the tile below them all, which the inside of the machine works on
    extents  (nodes, dims, cells) of the tile below each node; of dimensions in `whole` the visit's
    whole    per node, the dimensions that are whole below it: the visit's tile
    outer    (dims, cells) what has to divide the visit's tile, or to equal it
    exactly  per dimension, whether it has to equal it
    """

    order: tuple[int, ...]
    cut: Ints
    extents: Ints
    whole: tuple[frozenset[int], ...]
    outer: Ints
    exactly: tuple[bool, ...]


def cut_tiles(form: TableForm, order: tuple[int, ...], wanted: Callable[[list[Ints]], Ints]) -> CutTiles:
    """Own nodes of some tensors below a visit's tile.

    wanted  of cuts, by dimension, the numbers of those that are looked at
    """
    # Gap i is the one directly above node i, gap 0 below what stands around the branch. By rule 2 no dimension has a
    # loop in the gaps above the first node that it moves.
    slots: list[list[int]] = []
    for d in range(len(form.sizes)):
        moved = [form.moves[tensor][d] for tensor in order]
        slots.append([i for i in range(len(order)) if moved[i] and (i == 0 or not moved[i - 1])])
    trips = [chains(size, max(len(gaps), 1)) for size, gaps in zip(form.sizes, slots, strict=True)]
    chosen = crossed([len(each) for each in trips])
    kept = wanted([each[:, 0].take(at) for each, at in zip(trips, chosen, strict=True)])
    chosen = [at.take(kept) for at in chosen]
    dims, cells = len(form.sizes), len(kept)
    cut = np.array([trips[d][chosen[d], 0] for d in range(dims)])
    extents = np.empty((len(order), dims, cells), dtype=np.int64)
    outer = cut.copy()
    for d, gaps in enumerate(slots):
        # The loops of the outermost gap are what is left of the visit's tile; the others', innermost last.
        for i in reversed(range(len(order))):
            extents[i, d] = outer[d]
            if i in gaps[1:]:
                outer[d] = outer[d] * trips[d][chosen[d], gaps.index(i)]
    whole = tuple(frozenset(d for d, gaps in enumerate(slots) if not gaps or i < gaps[0]) for i in range(len(order)))
    return CutTiles(order, cut, extents, whole, outer, tuple(not gaps for gaps in slots))
