"""From entries of tables to loops and nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....ir import Axis, Loop, Node
from ...exact.rows import Ints
from ...exact.tiles.instances import split_over_axes
from .inside import InsideTable
from .nodes import CutTiles

Items = list[Loop | Node]


def nest_of(table: InsideTable, row: int, tiles: CutTiles, cell: int, visit: Sequence[int]) -> Items:
    """The items of a branch in a form's numbers, outermost first.

    row    of the inside
    cell   of the tiles of own nodes
    visit  the visit's tile
    """
    sizes = np.array(visit)
    inside, below = _inside(table, row, sizes)
    found: Items = []
    above = sizes
    for node, tensor in enumerate(tiles.order):
        extent = tiles.extents[node, :, cell].copy()
        for d in tiles.whole[node]:
            extent[d] = sizes[d]
        found += [*_loops(above // extent), Node(table.machine.nearest.name, str(tensor))]
        above = extent
    return [*found, *_loops(above // below), *inside]


def _inside(table: InsideTable, row: int, sizes: Ints) -> tuple[Items, Ints]:
    """Everything below the nearest memory, and the tile that it works on."""
    form, rows = table.form, table.rows
    below = np.ones(len(sizes), dtype=np.int64)
    found: Items = []
    groups = 0
    for level in table.machine.inside:
        if isinstance(level, int):
            fanout, instances = form.fanouts[level], table.vectors[level][rows.array[row]]
            left = (sizes // below).tolist()
            even = [True] * len(left)
            pairs = split_over_axes(form.problem, fanout, left, instances.tolist(), "perfect", even)
            spread: Items = [Loop(str(d), y, Axis(fanout.name, 1)) for d, (_, y) in enumerate(pairs) if y > 1]
            spread += [Loop(str(d), x, Axis(fanout.name, 0)) for d, (x, _) in enumerate(pairs) if x > 1]
            found = [*spread, *found]
            below = below * instances
            continue
        order, cell = rows.picks[groups][:, row].tolist()
        nodes = table.tiles[groups][order]
        groups += 1
        names = {depth: memory.name for depth, memory in level}
        tile = np.ones_like(below)
        for node in reversed(range(len(nodes.nodes))):
            extent = nodes.extents[node, :, cell]
            depth, tensor = nodes.nodes[node]
            found = [Node(names[depth], str(tensor)), *_loops(extent // tile), *found]
            tile = extent
        below = below * tile
    return found, below


def _loops(trips: Ints) -> list[Loop | Node]:
    return [Loop(str(d), int(n)) for d, n in enumerate(trips) if n > 1]
