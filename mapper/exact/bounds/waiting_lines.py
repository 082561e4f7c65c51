"""What lines take of operands that wait above all arrays, beyond what tables know of them.

Lemma. As long as a boundary waits, no loop over its tensor's dimensions stands above its inner node: how much of the
tensor the instances take together is known, and so are the words of full lines over the words that are wanted (g, at
least). Tables charge it at a tile of the same cell along these dimensions, with the least of all tiles of that cell
(g0). Whatever comes, w words are served, each word of the tensor once at least: the boundary costs w g at least, where
the table's bound holds for w g0. So what is to come costs (words of the tensor) (g - g0) more than the table has.
"""

from __future__ import annotations

import numpy as np

from ....cost_models.cost import tensor_tile_words
from ..counting.fill_point import FillPoint
from ..counting.lines import LineBounds
from ..counting.traffic import TrafficModel
from ..question.hierarchy import MemoryBoundary, State
from ..rows import Floats, Ints, Rows
from .bounds import Bounds


def lines_that_wait(bounds: Bounds, model: TrafficModel, state: State, rows: Rows, tiles: Ints) -> Floats | float:
    """(columns, rows) what the lines of boundaries that wait cost at least beyond a table of bounds on what is still to
    come, looked up at the tiles (rows, dims) that rows have grown to."""
    columns, lines = bounds.columns.rows, bounds.columns.rows.lines
    if lines is None or columns.zeros is not None or state.passed < len(bounds.hierarchy.fanouts):
        return 0.0
    found = np.zeros((columns.count, len(rows)))
    for boundary in state.waiting:
        if _grows_only_when_charged(bounds, lines, boundary):
            tensor, memory = bounds.hierarchy.problem.tensors[boundary.tensor], boundary.outer
            own = lines.words_per_word(model, rows, boundary, memory, FillPoint(model.path.band, tiles)).words
            known = np.asarray(lines.gaps_at_tiles(boundary, memory, bounds.lattice, state.passed).words)
            at_cells = np.broadcast_to(known, bounds.lattice.shape).reshape(-1)[bounds.lattice.cell(tiles)]
            words = tensor_tile_words(tensor, bounds.hierarchy.problem.sizes)
            bits = np.maximum(own - at_cells, 0.0) * (words * columns.arch.width_bits(tensor))
            level = bounds.hierarchy.memories[memory]
            columns.book(found, level, tensor.role, (bits, np.zeros(1)), model.instances(rows, memory))
    return found


def _grows_only_when_charged(bounds: Bounds, lines: LineBounds, boundary: MemoryBoundary) -> bool:
    """Whether a boundary is an operand's at a memory with lines, that no tile slides along."""
    tensor = bounds.hierarchy.problem.tensors[boundary.tensor]
    has_lines = (boundary.outer, boundary.tensor) in lines.lies
    return has_lines and not tensor.is_output and all(len(rank) <= 1 for rank in tensor.ranks)
