"""What boundaries cost at least if every word passes once, for the very arrays of each row.

Tables of bounds (`bounds.py`) know tiles, but of arrays only what those of a group have in common. This knows arrays,
and nothing of tiles; the larger of the two holds, column by column.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from ....cost_models.cost import tensor_tile_words
from ...tilings import Tiling
from ..hierarchy import MemoryBoundary, Placement, State
from ..rows import Floats, Rows
from .array_groups import partly_decided
from .boundary_costs import BoundaryBounds
from .bounds import Bounds


class OnceEach:
    """Least costs of the boundaries between memories, for rows of which the arrays of the first few fanouts, or of all,
    are decided."""

    def __init__(self, bounds: Bounds, tiling: Tiling, rows: Rows) -> None:
        self._hierarchy = bounds.hierarchy
        group = partly_decided(bounds.hierarchy, tiling, rows)
        self._booked = BoundaryBounds(bounds.hierarchy, bounds.lattice, bounds.columns.rows, group)
        self._known: dict[MemoryBoundary, Floats] = {}

    def of(self, boundary: MemoryBoundary) -> Floats:
        """(columns, rows) of one boundary."""
        if boundary not in self._known:
            problem = self._hierarchy.problem
            words = np.array([float(tensor_tile_words(problem.tensors[boundary.tensor], problem.sizes))])
            self._known[boundary] = self._booked.book(boundary, len(self._hierarchy.fanouts), words)[:, :, 0].T
        return self._known[boundary]

    def of_all(self, boundaries: Iterable[MemoryBoundary]) -> Floats | float:
        """(columns, rows) of several together."""
        return sum(map(self.of, boundaries), 0.0)


def all_boundaries(placement: Placement) -> list[MemoryBoundary]:
    """Those between memories, of tensors that are kept so."""
    pairs = ((t, pair) for t, held in enumerate(placement) for pair in itertools.pairwise(held))
    return [MemoryBoundary(t, inner, outer) for t, (inner, outer) in pairs]


def uncharged(state: State) -> list[MemoryBoundary]:
    """Those that nothing has been charged for: they wait, or their inner node is still to be placed."""
    return [*state.waiting, *all_boundaries(state.ahead)]
