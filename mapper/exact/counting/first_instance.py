"""What the first instance of a memory has of the words that all its instances move.

With ragged tiles, instances of an array have more or less to do, and a port of a memory inside the array is busy for as
long as the busiest of them needs. The first one, at the first index of every array outside the memory, has work
whenever any has, and along each dimension by itself its tiles are as large as any. So no other has more to do where
words along a dimension are as many as elements.

Lemma. Words of a boundary are products over dimensions (and over ranks that are sums of several): of elements along
those of the tensor, and of settings of the loops along the others. An instance is a place along each dimension; so the
words of the first one are products as well, of the elements that it is ever given, and of the settings at which it has
work. Both are counted by `RowLoops.at_first`: exactly, once all arrays outside the memory are passed, and at least
until then. Along ranks that are sums, what is counted is the average over the instances along their dimensions, which
is no more than the busiest has. Sums come in at all settings but the first one, for each element: that grows with
elements and with settings alike, so the fewest of both bound it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..question.hierarchy import MemoryBoundary
from ..rows import Floats, Rows
from .fill_point import FillPoint
from .traffic import TrafficModel


@dataclass(frozen=True)
class FirstShare:
    """Parts of what all instances of a memory together have, (rows,) each.

    words     of the words of a boundary: no more than the busiest instance has
    distinct  of the different words of its tensor
    """

    words: Floats
    distinct: Floats


def first_share(
    model: TrafficModel, rows: Rows, boundary: MemoryBoundary, memory: int, fill_point: FillPoint | None
) -> FirstShare | None:
    """Return the first instance's share of a boundary's words at one of its holders; None: only the average is known,
    or all instances have as much."""
    tensor, outside = model.problem.tensors[boundary.tensor], model.outside(memory)
    windows = {model.dim_index[dim] for rank in tensor.ranks if len(rank) > 1 for dim, _ in rank}
    if tensor.is_output and windows:
        return None
    spread = [d for d in range(len(model.loops.sizes)) if any((rows.arrays[f][:, d] > 1).any() for f in outside)]
    if not spread:
        return None
    words, distinct = np.ones(len(rows)), np.ones(len(rows))
    sharing = model.sharing(boundary) if memory == boundary.outer else frozenset[int]()
    inner = model.path.node_group_of(boundary.inner, boundary.tensor) if fill_point else -1
    for d in spread:
        if d in windows:
            words = words / np.prod([rows.arrays[f][:, d] for f in outside], axis=0)
        elif model.problem.dim_names[d] in tensor.dims:
            part = model.settings_at_first(rows, d, outside) / model.loops.sizes[d]
            words, distinct = words * part, distinct * part
        else:
            if fill_point is None:
                every = model.settings(rows, d, sharing)
            else:
                every = model.repeats_along(rows, d, inner, fill_point, sharing)
            words = words * (model.repeats_at_first(rows, d, boundary, fill_point, sharing, outside) / every)
    return FirstShare(words, distinct)
