"""Tables over a lattice, seen from inside a fanout: the least over all that its instances may make of a tile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..lattice import Lattice
from ..rows import Floats, Ints


def inside(lattice: Lattice, table: Floats, array: Ints, limits: Sequence[int]) -> Floats:
    """The table inside a fanout.

    array   instances per dimension; 0: any number that the axes allow
    limits  per dimension, the most that they allow
    """
    for d, limit in enumerate(limits):
        if array[d] == 0:
            table = _within(lattice, table, d, limit)
        elif array[d] > 1:
            table = _spread(lattice, table, d, int(array[d]))
    return table


def inside_each(lattice: Lattice, table: Floats, arrays: Ints, limits: Sequence[int]) -> Floats:
    """(groups, columns, lattice) the table, (groups or one for all, columns, lattice), inside a fanout.

    arrays  (groups, dims) as above
    """
    grown = np.empty((len(arrays), *table.shape[1:]))
    tables = np.broadcast_to(table, grown.shape)
    known = (arrays > 0).all(axis=1) & (lattice.tiling == "perfect")
    if known.any():
        grown[known] = _spread_each(lattice, tables[known], arrays[known])
    for group in np.flatnonzero(~known).tolist():
        grown[group] = inside(lattice, tables[group], arrays[group], limits)
    return grown


def _spread_each(lattice: Lattice, tables: Floats, arrays: Ints) -> Floats:
    """Each group's table at the tiles that its instances of each tile cover; infinite where they are too many."""
    groups, dims = arrays.shape
    place = np.zeros((groups, *(1,) * dims), dtype=np.int64)
    closed = np.zeros((groups, *(1,) * dims))
    for d in range(dims):
        covered = arrays[:, d, None] * lattice.least[d]
        along = (groups, *(1,) * d, lattice.shape[d], *(1,) * (dims - d - 1))
        place = place + lattice.steps[d][np.minimum(covered, lattice.sizes[d])].reshape(along)
        closed = closed + np.where(lattice.sizes[d] % covered == 0, 0.0, np.inf).reshape(along)
    flat = tables.reshape(*tables.shape[:2], -1)
    spread: Floats = np.take_along_axis(flat, place.reshape(groups, 1, -1), axis=2) + closed.reshape(groups, 1, -1)
    return spread.reshape(tables.shape)


def _spread(lattice: Lattice, table: Floats, dim: int, instances: int) -> Floats:
    """The table at the tiles that some instances of each tile cover; infinite where they are too many."""
    least, size = lattice.least[dim], lattice.sizes[dim]
    covered = np.minimum(least * instances, size)
    axis = dim - len(lattice.sizes)
    taken = np.take(table, lattice.places[dim][covered], axis=axis)
    if lattice.tiling == "perfect":
        closed = np.where(size % (least * instances) == 0, 0.0, np.inf)
        spread: Floats = taken + lattice.along([dim], closed)
        return spread
    # Tiles of one cell may cover tiles of several.
    most = np.minimum(np.append(size + 1, least[:-1]) - 1, size) * instances
    first, last = lattice.places[dim][np.minimum(most, size)], lattice.places[dim][covered]
    for back in range(1, int((last - first).max()) + 1):
        np.minimum(taken, np.take(table, np.maximum(last - back, first), axis=axis), out=taken)
    return taken


def _within(lattice: Lattice, table: Floats, dim: int, limit: int) -> Floats:
    """The least over tiles around that are at most `limit` times as large along a dimension."""
    if limit == 1 or lattice.shape[dim] == 1:
        return table
    if limit >= lattice.sizes[dim]:
        return lattice.around(table, [dim])
    lines = np.moveaxis(table, dim - len(lattice.sizes), 0)
    least = np.empty_like(lines)
    for i, reach in enumerate(_reach(lattice, dim, limit)):
        least[i] = lines[reach].min(axis=0)
    return np.moveaxis(least, 0, dim - len(lattice.sizes))


def _reach(lattice: Lattice, dim: int, limit: int) -> list[Ints]:
    """Per cell of an axis, the cells that up to `limit` instances of its tiles may cover."""
    least, size = lattice.least[dim], lattice.sizes[dim]
    found = []
    for i, tile in enumerate(least):
        if lattice.tiling == "perfect":
            found.append(np.flatnonzero((least % tile == 0) & (least <= tile * limit)))
            continue
        # Tiles up to the next cell's least share this one.
        most = (least[i - 1] - 1 if i else size) * limit
        found.append(np.flatnonzero((np.arange(len(least)) <= i) & (least <= most)))
    return found
