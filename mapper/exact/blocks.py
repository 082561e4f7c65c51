"""Where loops in time directly inside an array may pay: between its spatial loops and the first node inside it, or the
MAC. Each instance then works on a block of neighbouring tiles, one after the other; with the same loop outside the
array, the instances' tiles alternate.

Such loops would make a search several times as long if they were tried everywhere. They are tried where a loop of more
than one trip over a dimension D, outermost among those directly inside the array, may be worth more than the same loop
directly outside it. Arrays are decided before tiles, so every row knows.

Lemma. Let `parallel .. ; for D in n ; rest` be a mapping, with spatial loops of one array that has m instances along D.
Moving the loop out, to `for D in n ; parallel .. ; rest`, costs nothing unless one of the following holds:

overlap   m > 1, D shares a rank of an operand with another dimension, and the array serves instances together that want
          the same word (multicast), or a memory inside it keeps what it still wants of that operand's tile (halo);
          with ragged tiles and an exact halo, it is enough that D moves the operand
idle      tiles are ragged, m > 1, and D does not move a tensor that a memory inside the array keeps, and that the next
          memory outwards fills, or takes, by a loop outside the array; and of the tiles of the last round of all n x m,
          blocks leave some instance none, while there are other rounds

Proof. What a mapping costs follows from the tiles that each instance works on, step by step (`cost_models/simulator.py`).
Along each dimension these depend on its own loops alone, in their order, and on which setting of the loops in time it
is: on their order among themselves. Both stay as they are if m = 1. With m > 1, only the order of the tiles along D
among instances and steps changes.

- Perfect tiles: in both mappings all m instances have n tiles in each round, one per step. Where no rank has D beside
  another dimension, any two tiles along D are equal or have no word in common; so have the tiles that instances hold in
  one step, and that follow each other in one instance. All counts are counts of such tiles, and there are as many.
  Where a rank has, tiles overlap: how much depends on the distance of neighbours in space (it says what instances share)
  and in time (it says what is still held). Without multicast and without a halo, neither is asked for.
- Words along a rank whose coefficients are all 1, for instances of one array that shares them: in a step these want a
  sum of sets A + B + .., one per dimension, that has |A| + |B| - 1 elements or more. If all loops directly inside the
  array move out, each set is an interval, and there are no more. So where no other array shares words, multicast alone
  is no reason.
- Ragged tiles: rounds in which all instances have n tiles are as above. In the last one, of r tiles, blocks leave work to
  ceil(r / n) instances over min(n, r) steps, alternating tiles to min(m, r) over ceil(r / m). Steps only get fewer by
  moving the loop out. Pairs of an instance and a step at work are r in both. So the only thing that may get more is the
  number of instances at work in the last round, and it counts only where something is counted per instance, but not per
  step: for a tensor that D does not move, while it stays in a memory inside. It gets more if r <= (m - 1) n; and if there
  is only one round, the first tiles alone decide which instances are ever at work: all m, in both.
  Two axes can have so many instances along D that those of the last of them idle: then the number of instances, too,
  depends on the tiles that are left, and any n may pay.

`tests/mapper/exact/test_blocks.py` tries to refute it: for random mappings, move the loop, and compare the costs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

import numpy as np

from ...arch import Fanout
from ...ir import Tensor
from ..tilings import Tiling
from .hierarchy import Hierarchy, MemoryBoundary, Outline, Placement
from .rows import Flags, Ints, ceil_div_array
from .single_axes import is_outer_axis


class Blocks:
    """On one problem and machine."""

    def __init__(self, hierarchy: Hierarchy, tiling: Tiling) -> None:
        self.hierarchy = hierarchy
        self.tiling = tiling
        self.tensors = hierarchy.problem.tensors
        self.dims = hierarchy.problem.dim_names
        self.sizes = np.array([size for _, size in hierarchy.problem.dims], dtype=np.int64)
        self._overlapping = lru_cache(maxsize=None)(self._find_overlapping)

    def outlines(self, placement: Placement) -> Iterator[Outline]:
        """A placement with every choice of arrays that may have loops directly inside them."""
        worth = [f for f in self.arrays if self.candidates(f, placement).any()]
        for count in range(len(worth) + 1):
            for blocked in itertools.combinations(worth, count):
                yield Outline(placement, blocked)

    @cached_property
    def arrays(self) -> tuple[int, ...]:
        """The fanouts that loops may stand directly inside of: of two axes of one array, that is the inner one."""
        return tuple(f for f, fanout in enumerate(self.hierarchy.fanouts) if not is_outer_axis(fanout))

    def axes(self, fanout: int) -> tuple[int, ...]:
        """The fanouts that are one array with one of them."""
        fanouts = self.hierarchy.fanouts
        return tuple(f for f in (fanout, fanout + 1) if f == fanout or (f < len(fanouts) and is_outer_axis(fanouts[f])))

    def candidates(self, fanout: int, placement: Placement) -> Flags:
        """(dims,) those whose loops directly inside an array may pay, if there are several instances along them."""
        return self._overlapping(fanout, placement) | self._idling(fanout, placement)

    def possible(self, outline: Outline, arrays: Sequence[Ints]) -> Flags:
        """(rows,) whether loops may pay directly inside all arrays that are to have them."""
        fine = np.ones(len(arrays[0]) if arrays else 1, dtype=bool)
        for fanout in outline.blocked:
            spread = self.instances(fanout, arrays) > 1
            fine &= (spread & self.candidates(fanout, outline.placement)).any(axis=1)
        return fine

    def instances(self, fanout: int, arrays: Sequence[Ints]) -> Ints:
        """(rows, dims) instances of a whole array."""
        return np.prod([arrays[f] for f in self.axes(fanout)], axis=0, dtype=np.int64)

    def pay(
        self,
        fanout: int,
        placement: Placement,
        arrays: Sequence[Ints],
        tiles: tuple[Ints, Ints],
        waiting: Sequence[MemoryBoundary],
    ) -> Flags:
        """(rows, dims) where a loop may pay as the outermost one directly inside an array.

        tiles    (rows, dims) below and above all loops there
        waiting  boundaries that none of these loops charges
        """
        below, above = tiles
        spread = self.instances(fanout, arrays)
        may = np.broadcast_to(self._overlapping(fanout, placement), spread.shape)
        idle = self._stays(waiting) & self._idling(fanout, placement)
        if idle.any():
            may = may | (idle & self._leaves_idle(fanout, spread, below, above))
        pays: Flags = may & (spread > 1) & (above > below)
        return pays

    def _leaves_idle(self, fanout: int, spread: Ints, below: Ints, above: Ints) -> Flags:
        """Where blocks leave some instance without work in a last round, and there are other rounds."""
        level = self.hierarchy.fanouts[fanout]
        if len(level.axes) > 1 or len(self.axes(fanout)) > 1:
            return np.ones_like(below, dtype=bool)
        left, trips = ceil_div_array(self.sizes, below), ceil_div_array(above, below)
        rounds = ceil_div_array(left, trips * spread)
        last = left - (rounds - 1) * trips * spread
        leaves: Flags = (rounds > 1) & (last <= (spread - 1) * trips)
        return leaves

    def _stays(self, waiting: Sequence[MemoryBoundary]) -> Flags:
        """(dims,) those that do not move the tensor of some boundary that waits."""
        moved = [self.tensors[boundary.tensor].dims for boundary in waiting]
        return np.array([any(dim not in dims for dims in moved) for dim in self.dims], dtype=bool)

    # ---- dimensions ----------------------------------------------------------------------------------------

    def _find_overlapping(self, fanout: int, placement: Placement) -> Flags:
        """(dims,) where tiles of neighbours overlap, and it is asked for."""
        found = np.zeros(len(self.dims), dtype=bool)
        for tensor, held in zip(self.tensors, placement, strict=True):
            for d in self._asked_for(fanout, tensor, held):
                found[d] = True
        return found

    def _asked_for(self, fanout: int, tensor: Tensor, held: Sequence[int]) -> Iterator[int]:
        if tensor.is_output:
            return
        inside = [self.hierarchy.memories[m].halo for m in held if m < self.hierarchy.inside[fanout]]
        kept = any(halo != "none" for halo in inside)
        for rank in tensor.ranks:
            shared = self._shares(fanout) and not (self.tiling == "perfect" and self._is_interval(fanout, rank))
            whole = self.tiling == "ragged" and "exact" in inside
            if whole or (len(rank) > 1 and (kept or shared)):
                yield from (self.dims.index(dim) for dim, _ in rank)

    def _shares(self, fanout: int) -> bool:
        return any(self.hierarchy.fanouts[f].multicast for f in self.axes(fanout))

    def _is_interval(self, fanout: int, rank: Sequence[tuple[str, int]]) -> bool:
        """Whether words that alternating tiles want along a rank are always as few as they can be."""
        others = [f for f in range(len(self.hierarchy.fanouts)) if f not in self.axes(fanout)]
        alone = not any(_serves_together(self.hierarchy.fanouts[f]) for f in others)
        windows = [{dim for dim, _ in r} for tensor in self.tensors for r in tensor.ranks if len(r) > 1]
        apart = sum(bool(dims & {dim for dim, _ in rank}) for dims in windows) == 1
        return alone and apart and all(coefficient == 1 for _, coefficient in rank)

    def _idling(self, fanout: int, placement: Placement) -> Flags:
        """(dims,) that do not move a tensor which stays in a memory inside an array, with ragged tiles."""
        ragged = self.tiling == "ragged" and self.hierarchy.arch.reuse == "across_levels"
        kept = [
            tensor.dims
            for tensor, held in zip(self.tensors, placement, strict=True)
            if ragged and held[0] < self.hierarchy.inside[fanout]
        ]
        return np.array([any(dim not in dims for dims in kept) for dim in self.dims], dtype=bool)


def _serves_together(fanout: Fanout) -> bool:
    return fanout.multicast and fanout.instances > 1
