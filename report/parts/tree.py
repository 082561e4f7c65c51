"""A tree with what its lines mean beside them; `Tree.parse` reads it back, since notes are comments.

for M in 4
  GLB keeps T                            # 1,024 words, 2 KiB, from T to O
  branch T
"""

from __future__ import annotations

from collections.abc import Iterator

from ...arch import Architecture, Fanout
from ...cost_models.cascades import Held, Occupancy
from ...ir import Address, FusedMapping, Loop, Node
from ...ir.units import count, plural, size


def tree_lines(fused: FusedMapping, arch: Architecture, occupied: Occupancy) -> list[str]:
    """The tree, one loop, node or branch a line, with tile sizes, axis lengths and lifetimes as comments."""
    lines = list(_lines(fused, arch, occupied, (), 0))
    column = max(len(text) for text, _ in lines) + 2
    return [f"{text:<{column}}# {note}" if note else text for text, note in lines]


def tree_document(fused: FusedMapping, arch: Architecture, occupied: Occupancy) -> str:
    """The tree as a text file: the cascade and the architecture as comments, then the tree."""
    head = [f"# {line}" for line in (*str(fused.cascade).splitlines(), f"on {arch.name}")]
    return "\n".join([*head, *tree_lines(fused, arch, occupied)]) + "\n"


def _lines(
    fused: FusedMapping, arch: Architecture, occupied: Occupancy, address: Address, depth: int
) -> Iterator[tuple[str, str]]:
    tree = fused.tree.at(address)
    for position, item in enumerate(tree.items):
        note = _tile_note(fused, occupied, address, position) if isinstance(item, Node) else _axis_note(item, arch)
        yield "  " * depth + str(item), note
        depth += isinstance(item, Loop)
    for number, branch in enumerate(tree.branches):
        yield "  " * depth + f"branch {branch.operation}".rstrip(), ""
        yield from _lines(fused, arch, occupied, (*address, number), depth + 1)


def _axis_note(loop: Loop, arch: Architecture) -> str:
    fanout = arch.level(loop.axis.fanout) if loop.axis is not None else None
    return f"axis of {count(fanout.axes[loop.axis.index].size)}" if loop.axis and isinstance(fanout, Fanout) else ""


def _tile_note(fused: FusedMapping, occupied: Occupancy, address: Address, position: int) -> str:
    """Words and size of a tile; of an intermediate, between which operations it takes room."""
    every = ((name, tile) for name, held in occupied.items() for tile in held)
    tiles: dict[str, Held] = {name: tile for name, tile in every if tile.place == (address, position)}
    largest = max(tiles.values(), key=lambda tile: tile.bits)
    note = f"{plural(largest.words, 'word')}, {size(largest.bits)}"
    if not largest.is_intermediate or (address == () and largest.memory == _outermost(fused)):
        return note
    first, *others = tiles
    return f"{note}, from {first} to {others[-1]}" if others else note


def _outermost(fused: FusedMapping) -> str:
    return next((item.memory for item in fused.tree.items if isinstance(item, Node)), "")
