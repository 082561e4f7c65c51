"""Tables over a lattice, seen from inside a fanout: the least over all that its instances may make of a tile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..rows import Floats, Ints
from ..tiles.lattice import Lattice


def inside_each(lattice: Lattice, table: Floats, arrays: Sequence[Ints | None], limits: Sequence[int]) -> Floats:
    """(groups, columns, lattice) the table, (groups or one for all, columns, lattice), inside a fanout: the least over
    the arrays of each group.

    arrays  per group, (arrays, dims) instances per dimension; None: any number that the axes allow
    limits  per dimension, the most that they allow
    """
    grown = np.full((len(arrays), *table.shape[1:]), np.inf)
    tables = np.broadcast_to(table, grown.shape)
    for group, known in enumerate(arrays):
        if known is None:
            grown[group] = _any(lattice, tables[group], limits)
            continue
        for array in known:
            if lattice.tiling == "perfect":
                _spread_perfect(lattice, tables[group], array, grown[group])
            else:
                np.minimum(grown[group], _inside(lattice, tables[group], array), out=grown[group])
    return grown


def _any(lattice: Lattice, table: Floats, limits: Sequence[int]) -> Floats:
    """The table inside any array."""
    for d, limit in enumerate(limits):
        table = _within(lattice, table, d, limit)
    return table


def _inside(lattice: Lattice, table: Floats, array: Ints) -> Floats:
    """The table inside one array."""
    for d, instances in enumerate(array.tolist()):
        if instances > 1:
            table = _spread(lattice, table, d, instances)
    return table


def _spread_perfect(lattice: Lattice, table: Floats, array: Ints, least: Floats) -> None:
    """Lower `least` to a table at the tiles that the instances of each tile cover; those that cover too much keep what
    they have."""
    powers, folded = lattice.powers(array.tolist()), (len(table), *lattice.folded)
    to = (slice(None), *(slice(n, None) for n in powers))
    covered = (slice(None), *(slice(None, fold - n) for fold, n in zip(lattice.folded, powers, strict=True)))
    inside: Floats = least.reshape(folded)[to]
    np.minimum(inside, table.reshape(folded)[covered], out=inside)


def _spread(lattice: Lattice, table: Floats, dim: int, instances: int) -> Floats:
    """The table at the tiles that some instances of each ragged tile cover."""
    least, size = lattice.least[dim], lattice.sizes[dim]
    covered = np.minimum(least * instances, size)
    axis = dim - len(lattice.sizes)
    taken = np.take(table, lattice.places[dim][covered], axis=axis)
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
