"""Groups of arrays, and what bounds may take for granted in each of them.

The more instances a word goes to, the more it costs to give it to all of them, however often they share its reading.
Bounds that hold for every array do not know that; so rows with alike arrays get tables of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np

from ...effort import EFFORT
from ...tilings import Tiling
from ..question.hierarchy import Hierarchy
from ..rows import Floats, Ints, Rows, distinct, row_codes

T = TypeVar("T")

Limit = float | Floats
"""One number, or one per group."""

MOST_KNOWN = EFFORT.few
"""Different arrays of one fanout in a group of perfect tiles up to which tables look at each of them. With ragged
tiles, where that takes longer and groups are larger, they look at a single one."""


@dataclass(frozen=True)
class ArrayGroup:
    """An array group states limits, for each fanout, that all its arrays keep to.

    copies     per tensor, instances that want the same word, at least (on average, where tiles are ragged)
    shared     per tensor, instances that may share the reading of a word, at most
    parts      instances that hold parts of the same sum, at most
    instances  instances in use, at most
    arrays     per group, the instances per dimension of all its different arrays, (arrays, dims); None: any
    stacked    how many groups these are; of groups that were `stacked`, limits are (groups, 1)
    """

    copies: tuple[tuple[Limit, ...], ...]
    shared: tuple[tuple[Limit, ...], ...]
    parts: tuple[Limit, ...]
    instances: tuple[Limit, ...]
    arrays: tuple[tuple[Ints | None, ...], ...]
    stacked: int = 1

    @property
    def knows_arrays(self) -> bool:
        """Tell whether the arrays of some group are known at all fanouts."""
        groups = zip(*self.arrays, strict=True)
        return not self.arrays or any(all(array is not None for array in group) for group in groups)


def stacked(groups: Sequence[ArrayGroup]) -> ArrayGroup:
    """Stack several groups, for tables of all of them at once."""

    def per_tensor(limits: Sequence[tuple[tuple[Limit, ...], ...]]) -> tuple[tuple[Limit, ...], ...]:
        return tuple(per_fanout(fanout) for fanout in zip(*limits, strict=True))

    def per_fanout(limits: Sequence[tuple[Limit, ...]]) -> tuple[Limit, ...]:
        return tuple(np.array(values)[:, None] for values in zip(*limits, strict=True))

    return ArrayGroup(
        copies=per_tensor([group.copies for group in groups]),
        shared=per_tensor([group.shared for group in groups]),
        parts=per_fanout([group.parts for group in groups]),
        instances=per_fanout([group.instances for group in groups]),
        arrays=tuple(sum(fanout, ()) for fanout in zip(*(group.arrays for group in groups), strict=True)),
        stacked=len(groups),
    )


def from_fanout(group: ArrayGroup, first: int, hierarchy: Hierarchy) -> ArrayGroup:
    """Keep the limits for the arrays of a fanout and those outside it, and drop those for the arrays inside it."""
    anything = any_arrays(hierarchy)

    def limits(known: tuple[T, ...], free: tuple[T, ...]) -> tuple[T, ...]:
        return (*free[:first], *known[first:])

    return ArrayGroup(
        copies=limits(group.copies, anything.copies),
        shared=limits(group.shared, anything.shared),
        parts=limits(group.parts, anything.parts),
        instances=limits(group.instances, anything.instances),
        arrays=limits(group.arrays, anything.arrays),
    )


def group_key(group: ArrayGroup) -> Hashable:
    """Return a key that tells groups apart that are not stacked."""
    arrays = tuple(None if array is None else array.tobytes() for (array,) in group.arrays)
    return group.copies, group.shared, group.parts, group.instances, arrays


def any_arrays(hierarchy: Hierarchy) -> ArrayGroup:
    """Return the limits that all arrays of a machine keep to."""
    sizes = tuple(float(fanout.instances) for fanout in hierarchy.fanouts)
    tensors = hierarchy.problem.tensors
    return ArrayGroup(
        copies=tuple((1.0,) * len(tensors) for _ in sizes),
        shared=tuple((size,) * len(tensors) for size in sizes),
        parts=sizes,
        instances=sizes,
        arrays=((None,),) * len(sizes),
    )


def partly_decided(hierarchy: Hierarchy, tiling: Tiling, rows: Rows) -> ArrayGroup:
    """Make every row a group of its own, whose first few arrays are those of the row, and the others any."""
    anything, decided = any_arrays(hierarchy), len(rows.arrays)
    sums = [d for d, dim in enumerate(hierarchy.problem.dim_names) if dim not in hierarchy.problem.output.dims]

    def column(counts: Ints | Floats) -> Floats:
        return counts.astype(np.float64)[:, None]

    return ArrayGroup(
        copies=(
            *(tuple(map(column, copies_of(hierarchy, tiling, a))) for a in rows.arrays),
            *anything.copies[decided:],
        ),
        shared=(*(tuple(map(column, shared_by(hierarchy, a))) for a in rows.arrays), *anything.shared[decided:]),
        parts=(*(column(a[:, sums].prod(axis=1)) for a in rows.arrays), *anything.parts[decided:]),
        instances=(*(column(a.prod(axis=1)) for a in rows.arrays), *anything.instances[decided:]),
        arrays=((None,),) * len(hierarchy.fanouts),
        stacked=len(rows),
    )


def group_of(hierarchy: Hierarchy, tiling: Tiling, arrays: Sequence[Ints]) -> ArrayGroup:
    """Return the limits that some rows have in common; `arrays` are (rows, dims) per fanout."""
    problem = hierarchy.problem
    sums = [d for d, dim in enumerate(problem.dim_names) if dim not in problem.output.dims]
    return ArrayGroup(
        copies=tuple(tuple(float(c.min()) for c in copies_of(hierarchy, tiling, a)) for a in arrays),
        shared=tuple(tuple(float(s.max()) for s in shared_by(hierarchy, a)) for a in arrays),
        parts=tuple(float(a[:, sums].prod(axis=1).max()) for a in arrays),
        instances=tuple(float(a.prod(axis=1).max()) for a in arrays),
        arrays=tuple((_different(a, MOST_KNOWN if tiling == "perfect" else 1),) for a in arrays),
    )


def _different(array: Ints, most: int) -> Ints | None:
    """Return the different rows of (rows, dims); None if there are more than `most`."""
    first, _ = distinct(row_codes(list(array.T)))
    return array[first] if len(first) <= most else None


def copies_of(hierarchy: Hierarchy, tiling: Tiling, array: Ints) -> list[Floats]:
    """Count for each tensor (rows,) the instances of one fanout that want the same word, at least on average."""
    wanted = array.astype(np.float64)
    if tiling == "ragged":
        for d in range(len(hierarchy.problem.dims)):
            first, which = distinct(array[:, d])
            least = [_least_at_work(hierarchy, d, count) for count in array[first, d].tolist()]
            wanted[:, d] = np.array(least, dtype=np.float64)[which]
    names = hierarchy.problem.dim_names
    others = [[d for d, dim in enumerate(names) if dim not in t.dims] for t in hierarchy.problem.tensors]
    return [wanted[:, dims].prod(axis=1) for dims in others]


def _least_at_work(hierarchy: Hierarchy, d: int, instances: int) -> float:
    """Bound from below how many instances of a dimension's array have work on average."""
    uneven = hierarchy.uneven[d] if hierarchy.uneven else None
    if uneven is None:
        return least_at_work(instances, hierarchy.problem.dims[d][1])
    return uneven.at_work(instances, hierarchy.visit[d])


@lru_cache(maxsize=1 << 14)
def least_at_work(instances: int, size: int) -> float:
    """Bound from below how many instances of a ragged dimension's array have work on average.

    All that a full visit deals out is a multiple of what the array covers, `instances` times the tile below it, and so
    is the size, but for the rest that the last visit deals out: as many instances have work in that as it has tiles.
    With one full visit besides the last, the mean is the lowest; with more it is higher.
    """
    tiles = np.arange(1, max(size - 1, 0) // instances + 1)
    rest = size % (instances * tiles)
    at_last = -(-rest // tiles)[rest > 0]
    return (instances + float(at_last.min(initial=instances))) / 2


def shared_by(hierarchy: Hierarchy, array: Ints) -> list[Ints]:
    """Count for each tensor (rows,) the instances of one fanout that may share the reading of a word, at most."""
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


def alike(
    hierarchy: Hierarchy, tiling: Tiling, rows: Rows, which: Collection[tuple[int, int]] | None = None
) -> Iterator[Ints]:
    """Yield the indices of rows whose arrays give alike bounds: as many copies of every tensor, up to a factor of two
    where tiles are ragged.

    which  pairs of a fanout and a tensor: rows are alike by the copies of these alone
    """
    columns = [
        c
        for fanout, array in enumerate(rows.arrays)
        for tensor, c in enumerate(copies_of(hierarchy, tiling, array))
        if which is None or (fanout, tensor) in which
    ]
    rounded = [np.floor(np.log2(c)).astype(np.int64) if tiling == "ragged" else c.astype(np.int64) for c in columns]
    # Without arrays all rows are alike.
    codes = row_codes(rounded or [np.zeros(len(rows), dtype=np.int64)])
    # Asked for the inverse, np.unique does not load numpy.ma, which takes longer than it does.
    found, which = np.unique(codes, return_inverse=True)
    yield from np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which, minlength=len(found)))[:-1])
