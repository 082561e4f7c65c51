"""Where loops in time directly inside an array may pay: between its spatial loops and the first node inside it, or the
MAC. Each instance then works on a block of neighbouring tiles, one after the other; with the same loop outside the
array, the instances' tiles alternate.

Such loops would make a search several times as long if they were tried everywhere. They are tried where the outermost
one of those directly inside an array, over a dimension D, may be worth more there than directly outside it. Arrays are
decided before tiles, so every row knows.

Lemma. Let `parallel .. ; for D in n ; rest` be a mapping, with spatial loops of one array that has m instances along D.
Moving the loop out, to `for D in n ; parallel .. ; rest`, costs nothing unless m > 1 and one of the following holds:

slides  a memory inside the array has `halo: innermost`, D shares a rank of an operand with another dimension, along
        which the operand's tile there has several elements, and this loop is the innermost one that moves the tile
wraps   a memory inside the array has `halo: exact`, and D is as above; with ragged tiles, it is enough that D moves the
        operand
shared  the array serves instances together that want the same word (multicast), D is as above, and shares the rank with
        a dimension that has a coefficient above 1 (strides, dilation), or with another one that does and has blocks; or
        another array serves instances together, or the rank's dimensions are in more windows than this one
idle    tiles are ragged, and D does not move a tensor which a memory inside the array keeps, and that is given to it,
        or taken from it, by a loop outside the array; and of the tiles of the last round of all n x m, blocks leave
        some instance none
lines   a memory inside the array has lines, and D moves a tensor that it keeps; or one outside has, the next memory
        inwards that keeps a tensor which D moves stands inside the array, and it has banks, or D shares a rank of the
        tensor with another dimension, which has blocks, or a coefficient above 1 while some coefficient of the rank is
        above the words of a line along it, or it has more dimensions than two

Proof. What a mapping costs follows from the tiles that each instance works on, step by step
(`cost_models/simulator.py`). Along each dimension these depend on its own loops alone, in their order, and on the order
of the loops in time among themselves. Both stay as they are if m = 1. With m > 1, only the order of the tiles along D
among instances and steps changes: where these follow each other in time, and which are worked on in one step.

- In time, a word counts once for every tile that has it, less what is still held. Tiles along D overlap only where a
  rank has D beside another dimension, along which they have several elements. With `innermost`, what is held is the
  overlap of two tiles that the innermost loop which moves them makes follow each other: that of another loop stays the
  same. (With ragged tiles, a loop may come down to one trip; then an exact halo holds what does not move at all,
  whatever the rank.)
- In one step, instances that are served together want a union of tiles: a sum of sets c Y + .., one per dimension, with
  Y the elements along it. If all loops directly inside the array over the rank's dimensions move out, every Y is an
  interval. Let the coefficients of all others be 1, so that the sum of their sets is an interval of b elements: then c
  Y + [0, b) has min(c, b) (|Y| - 1) + b elements, and no other Y of as many elements has fewer. And the sum over all
  steps gets no more with fewer steps.
- Ragged tiles: in the last round, of r tiles, blocks leave work to ceil(r / n) instances over min(n, r) steps,
  alternating tiles to min(m, r) over ceil(r / m). Steps only get fewer by moving the loop out; pairs of an instance and
  a step at work are r in both. So what may get more is the number of instances at work in the last round: where it
  counts, and the steps do not. That is for a tensor that D does not move, while it stays in a memory inside. They get
  more if r <= (m - 1) n.
- Lines of a memory outside: where the next memory inwards stands outside too, its tiles and their order stay as they
  are. Those of instances that are served each on its own lie as before. Of instances that are served together, a line
  along the rank is touched in the steps in which some instance has one of the x tiles that want words of it. With the
  loop inside, these are min(n, x) steps of a round if the x tiles follow each other; with the loop outside no more,
  since each of them has one of the x tiles, and there are n at most. They follow each other if the words of a tile,
  of all that the other dimensions bring with it, leave no gap that a line fits into: every tile has the same ones,
  further along the rank, and a line that lies neither before nor behind them holds one. Of two dimensions, words of a
  tile are at most as far from the next one as the larger coefficient; of those that are new where a tile slides along
  the other dimension too, since all of them begin at the same place, or at the tile's first element.

By `idle` hardly any mapping gains (none of some hundred searches of small random problems), and by little: of q
rounds the last one alone. By `shared` few do, and proving for a large ragged problem that none does takes many times as
long as the rest of the search. With ragged tiles both are tried where there are few tiles (`tilings.has_few_tiles`).
Beyond, the space has a loop directly inside an array only by `slides` or `wraps`; perfect tiles are searched with all.

`tests/mapper/exact/arrays/test_blocks.py` tries to refute it, by brute force over the space with all loops.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from ....arch import Halo
from ....ir import Rank
from ...tilings import Tiling, has_few_tiles
from ..counting.lines import LineBounds
from ..hierarchy import MAC, Block, Hierarchy, MemoryBoundary, Outline, Placement
from ..instances import tiles_needed
from ..rows import Flags, Ints, ceil_div_array
from .single_axes import is_outer_axis

Dims = Sequence[int]
"""Some dimensions."""


class Blocks:
    """On one problem and machine.

    every  whether loops are wanted too that only cost more: then those count that may cost something else at all
    patterned  dimensions along which it counts which words are used together, so that any loop may pay
    lines  what lines of memories take; None: no memory has any
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        tiling: Tiling,
        every: bool = False,
        patterned: frozenset[str] = frozenset(),
        lines: LineBounds | None = None,
    ) -> None:
        self.hierarchy = hierarchy
        self.tiling = tiling
        self.every = every
        self.patterned = [d for d, dim in enumerate(hierarchy.problem.dim_names) if dim in patterned]
        self.tensors = hierarchy.problem.tensors
        self.dims = hierarchy.problem.dim_names
        self.sizes = np.array([size for _, size in hierarchy.problem.dims], dtype=np.int64)
        self.lines = lines
        self._few = has_few_tiles(hierarchy.problem)

    def outlines(self, placement: Placement) -> Iterator[Outline]:
        """A placement with every choice of arrays that may have loops directly inside them, and of which these are."""
        for blocks in itertools.product(*((None, *self._blocks(f, placement)) for f in self.arrays)):
            yield Outline(placement, tuple(block for block in blocks if block is not None))

    @cached_property
    def arrays(self) -> tuple[int, ...]:
        """The fanouts that loops may stand directly inside of: of two axes of one array, that is the inner one."""
        return tuple(f for f, fanout in enumerate(self.hierarchy.fanouts) if not is_outer_axis(fanout))

    def _blocks(self, fanout: int, placement: Placement) -> Iterator[Block]:
        """The kinds of loops that may pay directly inside an array. Where nothing but sliding may, loops inside the
        outermost one do not move what slides."""
        everywhere = np.full((1, len(self.dims)), 2, dtype=np.int64)
        any_time = self._any_kind(fanout, placement, everywhere)[0]
        sliding = self._sliding_tensors(fanout, placement)
        slides = self._of(self._slides(fanout, placement))
        every = tuple(range(len(self.dims)))
        apart = len(sliding) == 1
        outermost = any_time if apart else any_time | slides
        if outermost.any():
            yield Block(fanout, self._loops(any_time | slides), every)
        if apart and slides.any():
            still = tuple(d for d, dim in enumerate(self.dims) if dim not in self.tensors[sliding[0]].dims)
            yield Block(fanout, self._loops(slides), still if self._stays_over() else ())

    def _loops(self, dims: Flags) -> tuple[int, ...]:
        return tuple(np.flatnonzero(dims & (self.sizes > 1)).tolist())

    def _stays_over(self) -> bool:
        """Whether a tile stays over loops that do not move it."""
        return self.hierarchy.arch.reuse == "across_levels"

    def possible(self, outline: Outline, arrays: Sequence[Ints]) -> Flags:
        """(rows,) whether loops of the wanted kind may pay directly inside all arrays that are to have them."""
        fine = np.ones(len(arrays[0]) if arrays else 1, dtype=bool)
        for block in outline.blocks:
            if self._axes(block.fanout)[-1] >= len(arrays):  # not decided
                continue
            below = np.ones((len(fine), len(self.dims)), dtype=np.int64)
            slides = self._of(self._slides(block.fanout, outline.placement))
            fine &= self._may_pay(block, outline.placement, arrays, below, slides)
        return fine

    def may_pay_above(
        self, block: Block, placement: Placement, arrays: Sequence[Ints], tiles: Ints, loops: tuple[Dims, Dims]
    ) -> Flags:
        """(rows,) whether loops of some kind directly inside an array may pay above tiles, (rows, dims).

        loops  dimensions that the outermost one may have, and the others
        """
        outermost, inner = map(self._of, loops)
        slides = self._slides_above(block.fanout, placement, tiles) & outermost
        return self._may_pay(block, placement, arrays, tiles, slides, (outermost, outermost | inner))

    def _may_pay(
        self,
        block: Block,
        placement: Placement,
        arrays: Sequence[Ints],
        tiles: Ints,
        slides: Flags,
        loops: tuple[Flags | bool, Flags | bool] = (True, True),
    ) -> Flags:
        """The same, with what may slide, (rows, dims) or (dims,).

        loops  (dims,) whether the outermost loop may have a dimension, and whether any of them may
        """
        outermost, anywhere = loops
        spread, apart = self._with_room(block, arrays, tiles)
        any_kind = self._any_kind(block.fanout, placement, np.where(anywhere, spread, 1))
        found = _any_dim((any_kind | slides) & apart & outermost)
        if len(self._sliding_tensors(block.fanout, placement)) == 1:  # else there is one kind for all
            ones, apart = self._with_room(block, arrays, np.ones_like(tiles))
            more = (self._any_kind(block.fanout, placement, ones) & apart).any(axis=1)
            found &= more == (len(block.inner) == len(self.dims))
        return found

    def _with_room(self, block: Block, arrays: Sequence[Ints], tiles: Ints) -> tuple[Ints, Flags]:
        """(rows, dims) instances of an array, where a block above a tile can have several tiles for each, else 1; and
        where such a block may cost something else than loops outside the array."""
        spread = self._spread(block.fanout, arrays)
        needed = tiles_needed([np.ones_like(tiles), *arrays[block.fanout :]], perfect=False)
        room = ceil_div_array(self.sizes, np.minimum(2 * tiles, self.sizes)) >= needed
        return np.where(room, spread, 1), room & self._apart(spread)

    def _any_kind(self, fanout: int, placement: Placement, spread: Ints) -> Flags:
        """(rows, dims) where a loop may pay otherwise than by sliding."""
        return self._any_time(fanout, placement, spread) | self._of(self._idles(fanout, placement))

    def _sliding_tensors(self, fanout: int, placement: Placement) -> list[int]:
        return [
            t
            for t, (tensor, held) in enumerate(zip(self.tensors, placement, strict=True))
            if not tensor.is_output
            and self._has_inside(fanout, held, "innermost")
            and any(len(rank) > 1 for rank in tensor.ranks)
        ]

    def pay(
        self,
        fanout: int,
        placement: Placement,
        arrays: Sequence[Ints],
        tiles: tuple[Ints, Ints],
        moving: Sequence[Flags],
        waiting: Sequence[MemoryBoundary],
    ) -> Flags:
        """(rows, dims) where a loop may pay as the outermost one directly inside an array.

        tiles    (rows, dims) below and above all loops there
        moving   per tensor, (rows, dims) where the loop is the innermost one there that moves it
        waiting  boundaries that none of these loops charges
        """
        below, above = tiles
        spread = np.where(above > below, self._spread(fanout, arrays), 1)
        may = self._any_time(fanout, placement, spread)
        for t in self._sliding_tensors(fanout, placement):
            may = may | (moving[t] & self._slide_above(t, below))
        idles = self._idles(fanout, placement)
        if idles:
            moved = [self.tensors[boundary.tensor].dims for boundary in waiting]
            stays = self._of([d for d in idles if any(self.dims[d] not in dims for dims in moved)])
            may = may | (stays & self._leaves_idle(spread, below, above))
        pays: Flags = may & self._apart(self._spread(fanout, arrays)) & (above > below)
        return pays

    def _apart(self, spread: Ints) -> Flags:
        """(rows, dims) where a loop directly inside an array may cost something else than directly outside: that of a
        dimension along which instances differ; where mappings count that only cost more, any, since loops of a
        dimension may stand on both sides of the array."""
        apart: Flags = spread > 1
        return apart | _any_dim(apart)[:, None] if self.every else apart

    def may_still_pay(
        self, fanout: int, placement: Placement, arrays: Sequence[Ints], waiting: Sequence[MemoryBoundary]
    ) -> Flags:
        """(rows,) whether a loop may pay that comes next, where boundaries still wait."""
        spread = self._spread(fanout, arrays)
        any_time = self._any_time(fanout, placement, spread) | self._of(self._idles(fanout, placement))
        still = {boundary.tensor for boundary in waiting}
        kept = tuple(held if t in still else () for t, held in enumerate(placement))
        slides = self._of(self._slides(fanout, kept))
        return _any_dim((any_time | slides) & self._apart(spread))

    def _spread(self, fanout: int, arrays: Sequence[Ints]) -> Ints:
        """(rows, dims) instances of a whole array."""
        instances: Ints = np.prod([arrays[f] for f in self._axes(fanout)], axis=0, dtype=np.int64)
        return instances

    def _axes(self, fanout: int) -> tuple[int, ...]:
        """The fanouts that are one array with one of them."""
        fanouts = self.hierarchy.fanouts
        return tuple(f for f in (fanout, fanout + 1) if f == fanout or (f < len(fanouts) and is_outer_axis(fanouts[f])))

    def _leaves_idle(self, spread: Ints, below: Ints, above: Ints) -> Flags:
        """Where blocks leave some instance without work in the last round."""
        left, trips = ceil_div_array(self.sizes, below), ceil_div_array(above, below)
        rounds = ceil_div_array(left, trips * spread)
        last = left - (rounds - 1) * trips * spread
        if any(len(fanout.axes) > 1 for fanout in self.hierarchy.fanouts):
            # Of two axes, the last instances may idle in all rounds: how many there are depends on what is left.
            return np.ones_like(below, dtype=bool)
        leaves: Flags = last <= (spread - 1) * trips
        return leaves

    # ---- dimensions ----------------------------------------------------------------------------------------

    def _of(self, dims: Sequence[int]) -> Flags:
        found = np.zeros(len(self.dims), dtype=bool)
        found[list(dims)] = True
        return found

    def _indices(self, rank: Rank) -> list[int]:
        return [self.dims.index(dim) for dim, _ in rank]

    def _has_inside(self, fanout: int, held: Sequence[int], halo: Halo) -> bool:
        return any(m < self.hierarchy.inside[fanout] and self.hierarchy.memories[m].halo == halo for m in held)

    def _slides(self, fanout: int, placement: Placement) -> list[int]:
        """Dimensions along which tiles may slide in a memory inside an array."""
        return [
            d
            for t in self._sliding_tensors(fanout, placement)
            for rank in self.tensors[t].ranks
            if len(rank) > 1
            for d in self._indices(rank)
        ]

    def _slides_above(self, fanout: int, placement: Placement, tiles: Ints) -> Flags:
        """(rows, dims) the same above tiles, which overlap along a dimension where they have several elements along
        another one of a rank; tiles in memories further inside have no more."""
        found = np.zeros(tiles.shape, dtype=bool)
        for t in self._sliding_tensors(fanout, placement):
            found |= self._slide_above(t, tiles)
        return found

    def _slide_above(self, t: int, tiles: Ints) -> Flags:
        """The same for one tensor."""
        found = np.zeros(tiles.shape, dtype=bool)
        for rank in self.tensors[t].ranks:
            indices = self._indices(rank)
            for d in indices:
                found[:, d] |= _any_dim(tiles[:, [other for other in indices if other != d]] > 1)
        return found

    def _any_time(self, fanout: int, placement: Placement, spread: Ints) -> Flags:
        """(rows, dims) where a loop may pay whichever loops stand inside it: it wraps, or instances share."""
        found = np.zeros(spread.shape, dtype=bool)
        if self.every and self.tiling == "ragged":
            return ~found
        found[:, self.patterned] = True
        if self.lines is not None:
            found |= self._by_lines(self.lines, fanout, placement, spread)
        for tensor, held in zip(self.tensors, placement, strict=True):
            if tensor.is_output:
                continue
            wraps = self._has_inside(fanout, held, "exact")
            wraps = wraps or (self.every and self._has_inside(fanout, held, "innermost"))
            for rank in tensor.ranks:
                indices = self._indices(rank)
                if wraps and (len(rank) > 1 or self.tiling == "ragged"):
                    found[:, indices] = True
                elif len(rank) > 1 and any(self.hierarchy.fanouts[f].multicast for f in self._axes(fanout)):
                    found[:, indices] |= self._shared(fanout, rank, spread)[:, None]
        return found

    def _by_lines(self, lines: LineBounds, fanout: int, placement: Placement, spread: Ints) -> Flags:
        """(rows, dims) where a loop may pay, or where every loop is wanted cost something else, since it counts which
        tiles each instance has, or which lines are touched together."""
        found = np.zeros(spread.shape, dtype=bool)
        for (memory, t), lies in lines.lies.items():
            if memory not in placement[t] or not self._sees_array(fanout, placement[t], memory):
                continue
            is_inside = memory < self.hierarchy.inside[fanout]
            for r, rank in enumerate(lies.ranks):
                indices = list(rank.dims)
                if (lies.spread[:, r] == 1).all():
                    continue
                if is_inside or lies.has_banks or self.every:
                    found[:, indices] = True
                    continue
                for i, d in enumerate(indices):
                    others = [other for other in indices if other != d]
                    found[:, d] |= may_lie_apart(rank.steps, i, int(lies.line[:, r].min()))
                    found[:, d] |= _any_dim(spread[:, others] > 1)
        return found

    def _sees_array(self, fanout: int, held: Sequence[int], memory: int) -> bool:
        """Whether what passes a memory of a tensor depends on which tiles the instances of an array have: where it
        stands inside, or the next memory inwards does."""
        return max((m for m in held if m < memory), default=MAC) < self.hierarchy.inside[fanout]

    def _shared(self, fanout: int, rank: Rank, spread: Ints) -> Flags:
        """(rows,) whether words of a window may be shared better by instances whose tiles do not alternate, as far as
        that is looked at."""
        if self.tiling == "ragged" and not (self._few or self.every):
            return np.zeros(len(spread), dtype=bool)
        others = [f for f in range(len(self.hierarchy.fanouts)) if f not in self._axes(fanout)]
        nested = any(self.hierarchy.fanouts[f].multicast and self.hierarchy.fanouts[f].instances > 1 for f in others)
        windows = [{dim for dim, _ in r} for tensor in self.tensors for r in tensor.ranks if len(r) > 1]
        if self.every or nested or sum(bool(dims & {dim for dim, _ in rank}) for dims in windows) > 1:
            return np.ones(len(spread), dtype=bool)
        coarse = [
            d
            for d, (dim, _) in zip(self._indices(rank), rank, strict=True)
            if any(coefficient > 1 for other, coefficient in rank if other != dim)
        ]
        return _any_dim(spread[:, coarse] > 1)

    def _idles(self, fanout: int, placement: Placement) -> list[int]:
        """Dimensions that do not move a tensor which stays in a memory inside an array, with ragged tiles."""
        if self.tiling == "perfect" or not self._few or self.hierarchy.arch.reuse == "at_node":
            return []
        kept = [
            tensor.dims
            for tensor, held in zip(self.tensors, placement, strict=True)
            if held[0] < self.hierarchy.inside[fanout]
        ]
        return [d for d, dim in enumerate(self.dims) if any(dim not in dims for dims in kept)]


def _any_dim(flags: Flags) -> Flags:
    """(rows,) whether any of (rows, dims) flags is set."""
    found: Flags = np.logical_or.reduce(flags, axis=1)
    return found


def may_lie_apart(steps: Sequence[int], i: int, line: int) -> bool:
    """Whether tiles along the i-th dimension of a rank that want words of one line need not follow each other, for
    lines of so many words or more: where the others' coefficients leave gaps, and not all are known to be as short as
    a line."""
    coarse = any(c > 1 for c in (*steps[:i], *steps[i + 1 :]))
    return coarse and (len(steps) > 2 or max(steps) > line)
