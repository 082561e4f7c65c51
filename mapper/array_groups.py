"""Groups of arrays, and what bounds may take for granted in each of them.

The more instances a word goes to, the more it costs to give it to all of them, however often they share its reading.
Bounds that hold for every array do not know that; so rows with alike arrays get tables of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .hierarchy import Hierarchy
from .rows import Floats, Ints, Rows, row_codes
from .tilings import Tiling


@dataclass(frozen=True)
class ArrayGroup:
    """Limits, per fanout, that all arrays of a group keep to.

    copies     per tensor, instances that want the same word, at least (on average, where tiles are ragged)
    shared     per tensor, instances that may share the reading of a word, at most
    parts      instances that hold parts of the same sum, at most
    instances  instances in use, at most
    array      the instances per dimension, if all arrays of the group are the same
    """

    copies: tuple[tuple[float, ...], ...]
    shared: tuple[tuple[float, ...], ...]
    parts: tuple[float, ...]
    instances: tuple[float, ...]
    array: tuple[Ints | None, ...]


def any_arrays(hierarchy: Hierarchy) -> ArrayGroup:
    """What holds for all arrays that a machine allows."""
    sizes = tuple(float(fanout.instances) for fanout in hierarchy.fanouts)
    tensors = hierarchy.problem.tensors
    return ArrayGroup(
        copies=tuple((1.0,) * len(tensors) for _ in sizes),
        shared=tuple((size,) * len(tensors) for size in sizes),
        parts=sizes,
        instances=sizes,
        array=(None,) * len(sizes),
    )


def group_of(hierarchy: Hierarchy, tiling: Tiling, arrays: Sequence[Ints]) -> ArrayGroup:
    """What some rows have in common; `arrays` are (rows, dims) per fanout."""
    problem = hierarchy.problem
    sums = [d for d, dim in enumerate(problem.dim_names) if dim not in problem.output.dims]
    return ArrayGroup(
        copies=tuple(tuple(float(c.min()) for c in copies_of(hierarchy, tiling, a)) for a in arrays),
        shared=tuple(tuple(float(s.max()) for s in _shared(hierarchy, a)) for a in arrays),
        parts=tuple(float(a[:, sums].prod(axis=1).max()) for a in arrays),
        instances=tuple(float(a.prod(axis=1).max()) for a in arrays),
        array=tuple(a[0] if (a == a[0]).all() else None for a in arrays),
    )


def copies_of(hierarchy: Hierarchy, tiling: Tiling, array: Ints) -> list[Floats]:
    """Per tensor, (rows,) instances of one fanout that want the same word, at least on average.

    Where the last round of a ragged dimension has work for one of n instances only, and there are two rounds, the
    instances at work are (n + 1) / 2 on average; with more rounds they are more.
    """
    wanted = array.astype(np.float64)
    if tiling == "ragged":
        wanted = (wanted + 1) / 2
    names = hierarchy.problem.dim_names
    others = [[d for d, dim in enumerate(names) if dim not in t.dims] for t in hierarchy.problem.tensors]
    return [wanted[:, dims].prod(axis=1) for dims in others]


def _shared(hierarchy: Hierarchy, array: Ints) -> list[Ints]:
    names = hierarchy.problem.dim_names
    found = []
    for tensor in hierarchy.problem.tensors:
        shared = array[:, [d for d, dim in enumerate(names) if dim not in tensor.dims]].prod(axis=1)
        for rank in tensor.ranks:
            if len(rank) > 1:
                # Even along one dimension, the windows of neighbours overlap.
                shared = shared * array[:, [names.index(dim) for dim, _ in rank]].prod(axis=1)
        found.append(shared)
    return found


def alike(hierarchy: Hierarchy, tiling: Tiling, rows: Rows) -> Iterator[Ints]:
    """Indices of rows whose arrays give alike bounds: as many copies of every tensor, up to a factor of two where
    tiles are ragged."""
    columns = [c for array in rows.arrays for c in copies_of(hierarchy, tiling, array)]
    rounded = [np.floor(np.log2(c)).astype(np.int64) if tiling == "ragged" else c.astype(np.int64) for c in columns]
    codes = row_codes(rounded) if rounded else np.zeros(len(rows), dtype=np.int64)
    for code in np.unique(codes).tolist():
        yield np.flatnonzero(codes == code)
