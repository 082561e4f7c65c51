"""What the first instance of a memory has of the words that all its instances move.

With ragged tiles, instances of an array have more or less to do, and a port of a memory inside the array is busy for as
long as the busiest of them needs. The first one, at the first index of every array outside the memory, has work
whenever any has, and along each dimension by itself its tiles are as large as any. So no other has more to do where
words along a dimension are as many as elements.

Lemma. Words of a boundary are products over dimensions (and over ranks that are sums of several): of elements along
those of the tensor, and of settings of the loops along the others. An instance is a place along each dimension; so the
words of the first one are products as well, of the elements that it is ever given, and of the settings in time.

- Arrays that are passed: both are counted. Loops and arrays further out deal out whole tiles of all that has grown so
  far; how many these are does not depend on them. So what all first instances of the passed arrays have together is
  known, wherever they stand in the others.
- Arrays that are still to come: their busiest instance has no less than the average over those in use.
- Ranks that are sums: the average over the instances along their dimensions, which is no more than the busiest has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..hierarchy import MemoryBoundary
from ..rows import Floats, Rows
from .fill_point import FillPoint
from .traffic import TrafficModel


@dataclass(frozen=True)
class FirstShare:
    """Parts of what all instances of a memory together have, (rows,) each.

    words     of the words of a boundary: no more than the busiest instance has
    distinct  of the different words of its tensor, where each is at one instance
    parts     of them, where several instances have parts of a sum: no less than the busiest instance has
    """

    words: Floats
    distinct: Floats
    parts: Floats


def first_share(
    model: TrafficModel, rows: Rows, boundary: MemoryBoundary, memory: int, fill_point: FillPoint | None
) -> FirstShare | None:
    """What the first instance of a holder of a boundary has of its words; None: the average is all that is known, or
    all have as much."""
    tensor, outside = model.problem.tensors[boundary.tensor], model.outside(memory)
    passed = [f for f in outside if f < len(model.path.bands)]
    if tensor.is_output and any(len(rank) > 1 for rank in tensor.ranks):
        return None
    spread = [d for d in range(len(model.loops.sizes)) if any((rows.arrays[f][:, d] > 1).any() for f in passed)]
    if not spread:
        return None
    first = frozenset(passed)
    windows = {model.dim_index[dim] for rank in tensor.ranks if len(rank) > 1 for dim, _ in rank}
    sums = [d for dim, d in model.dim_index.items() if dim not in model.problem.output.dims]
    later = [rows.arrays[f] for f in outside if f not in first]
    instances, parts = (
        np.prod([np.ones(len(rows)), *(array[:, dims].prod(axis=1) for array in later)], axis=0)
        for dims in (slice(None), sums)
    )
    words, distinct = 1 / instances, 1 / instances
    for d in spread:
        if d in windows:
            words = words / np.prod([rows.arrays[f][:, d] for f in passed], axis=0)
        elif model.problem.dim_names[d] in tensor.dims:
            part = model.settings(rows, d, first) / model.loops.sizes[d]
            words, distinct = words * part, distinct * part
        else:
            sharing = model.sharing(boundary) if memory == boundary.outer else frozenset[int]()
            every, own = (model.repeats_along(rows, d, boundary, fill_point, f) for f in (sharing, sharing | first))
            words = words * (own / every)
    return FirstShare(words, distinct, distinct * parts)
