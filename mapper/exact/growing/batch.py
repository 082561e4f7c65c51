"""Partial mappings that have taken the same steps, with what they cost so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..bounds.bounds import Bounds
from ..counting.fill_point import FillPoint
from ..question.hierarchy import MemoryBoundary, Path, State
from ..rows import Floats, Index, Ints, Rows, taken

Order = tuple[str, ...]
"""Dimensions of a band, innermost loop first."""


@dataclass
class Pending:
    """A boundary that has been charged, while its costs are only bounded until fanouts are passed.

    fill_point  where it was charged; None for a boundary at the MAC
    costs   (columns, rows) what it is booked at: a bound
    """

    boundary: MemoryBoundary
    fill_point: FillPoint | None
    costs: Floats

    @property
    def slides_along(self) -> int | None:
        return None if self.fill_point is None or self.fill_point.slide is None else self.fill_point.slide[0]

    def take(self, index: Index) -> Pending:
        fill_point = None if self.fill_point is None else self.fill_point.take(index)
        return Pending(self.boundary, fill_point, taken(self.costs, index, axis=1))


@dataclass
class Batch:
    """A batch holds rows of one path and state, sorted by bound.

    bounds  tables that hold for the rows' arrays
    member  (rows,) the group of arrays that each row belongs to, of those that `bounds` hold for
    costs   (columns, rows) of everything charged
    steps   (rows,) time steps, with fanouts further out in full use
    bound   (rows,) objective that no completion undercuts
    orders  (rows, bands done) the loop order of each band, as an index into `SearchContext.orders`
    """

    path: Path
    state: State
    bounds: Bounds
    member: Ints
    rows: Rows
    costs: Floats
    steps: Floats
    bound: Floats
    orders: Ints
    pending: list[Pending]

    def take(self, index: Index) -> Batch:
        return Batch(
            self.path,
            self.state,
            self.bounds,
            taken(self.member, index),
            self.rows.take(index),
            taken(self.costs, index, axis=1),
            taken(self.steps, index),
            taken(self.bound, index),
            taken(self.orders, index),
            [p.take(index) for p in self.pending],
        )

    def sorted(self) -> Batch:
        return self.take(np.argsort(self.bound, kind="stable"))

    def __len__(self) -> int:
        return len(self.bound)

    @property
    def depth(self) -> int:
        """Return how far the rows have grown."""
        return len(self.path.node_groups)

    @property
    def nbytes(self) -> int:
        """Return about how much memory the rows take."""
        arrays = (*self.rows.tiles, *self.rows.arrays, self.costs, self.steps, self.bound, self.orders, self.member)
        waiting = sum(p.costs.nbytes + (0 if p.fill_point is None else p.fill_point.tile.nbytes) for p in self.pending)
        return sum(array.nbytes for array in arrays) + waiting

    @property
    def unsettled(self) -> bool:
        """Whether costs are only bounded although all fanouts have been passed."""
        return bool(self.pending) and self.state.passed == len(self.path.hierarchy.fanouts)

    @property
    def complete(self) -> bool:
        """Whether the rows are mappings."""
        return not any(self.state.ahead)


def merged(pieces: Sequence[Batch]) -> Batch:
    """Merge batches of the same path and state into one batch, sorted by bound."""
    if len(pieces) == 1:
        return pieces[0].sorted()
    first = pieces[0]
    rows = Rows(
        sum(len(p) for p in pieces),
        [np.concatenate(t) for t in zip(*(p.rows.tiles for p in pieces), strict=True)],
        [np.concatenate(a) for a in zip(*(p.rows.arrays for p in pieces), strict=True)],
    )
    return Batch(
        first.path,
        first.state,
        first.bounds,
        np.concatenate([p.member for p in pieces]),
        rows,
        np.concatenate([p.costs for p in pieces], axis=1),
        np.concatenate([p.steps for p in pieces]),
        np.concatenate([p.bound for p in pieces]),
        np.concatenate([p.orders for p in pieces]),
        [_merged_pending([p.pending[i] for p in pieces]) for i in range(len(first.pending))],
    ).sorted()


def _merged_pending(pieces: Sequence[Pending]) -> Pending:
    first = pieces[0]
    costs = np.concatenate([p.costs for p in pieces], axis=1)
    if first.fill_point is None:
        return Pending(first.boundary, None, costs)
    tiles = np.concatenate([p.fill_point.tile for p in pieces if p.fill_point])
    slide = None
    if first.fill_point.slide is not None:
        slide = (
            first.fill_point.slide[0],
            np.concatenate([p.fill_point.slide[1] for p in pieces if p.fill_point and p.fill_point.slide]),
        )
    return Pending(first.boundary, FillPoint(first.fill_point.band, tiles, slide, first.fill_point.at_end), costs)
