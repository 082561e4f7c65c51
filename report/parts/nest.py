"""A tree, or the loop nest that is its only leaf, with what its lines mean beside them; `LoopNest.parse` and
`Tree.parse` read it back, since notes are comments.

DRAM keeps A                             # 256 words, 512 B
for M in 16
  GLB keeps T                            # 1,024 words, 2 KiB, from T to O
  branch T
    parallel K in 8 on array.y           # axis of 12
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...arch import Architecture, Fanout
from ...cost_models import Cost
from ...cost_models.cascades import Held, Occupancy
from ...cost_models.cost import held_width_bits, tile_words
from ...cost_models.padding import counted_mapping
from ...ir import Loop, Mapping, Node, Place, Tree
from ...ir.errors import on_one_line
from ...ir.units import count, plural, size


def mapping_lines(mapping: Mapping, arch: Architecture, cost: Cost | None = None) -> list[str]:
    """A mapping, one loop, node or branch a line, with tile sizes, axis lengths and lifetimes as comments in a column
    of their own.

    cost  of a cascade, which says what memories hold while each operation works
    """
    held = None if cost is None else cost.occupancy
    notes = _tree_notes(mapping, held) if held else _nest_notes(mapping, arch)
    lines = list(_lines(mapping.tree, arch, notes))
    column = max(len(text) for text, _ in lines) + 2
    return [f"{text:<{column}}# {note}" if note else text for text, note in lines]


def mapping_document(mapping: Mapping, arch: Architecture, cost: Cost | None = None) -> str:
    """A mapping as a text file: what it executes and the architecture as comments, then its lines."""
    work = str(mapping.cascade).splitlines() if mapping.is_of_cascade else [str(mapping.problem)]
    head = [f"# {on_one_line(line)}" for line in (*work, f"on {arch.name}")]
    return "\n".join([*head, *mapping_lines(mapping, arch, cost)]) + "\n"


_NoteOf = Callable[[Node, Place], str]


def _lines(
    tree: Tree, arch: Architecture, note_of: _NoteOf, address: tuple[int, ...] = (), depth: int = 0
) -> Iterator[tuple[str, str]]:
    for position, item in enumerate(tree.items):
        note = note_of(item, (address, position)) if isinstance(item, Node) else _axis_note(item, arch)
        yield "  " * depth + on_one_line(str(item)), note
        depth += isinstance(item, Loop)
    for number, branch in enumerate(tree.branches):
        yield "  " * depth + f"branch {branch.operation}".rstrip(), ""
        yield from _lines(branch, arch, note_of, (*address, number), depth + 1)


def _axis_note(loop: Loop, arch: Architecture) -> str:
    fanout = arch.level(loop.axis.fanout) if loop.axis is not None else None
    return f"axis of {count(fanout.axes[loop.axis.index].size)}" if loop.axis and isinstance(fanout, Fanout) else ""


def _nest_notes(mapping: Mapping, arch: Architecture) -> _NoteOf:
    """Words and size of a tile of a nest."""
    tiles = tile_words(counted_mapping(mapping, arch), arch.footprint)
    memories = {memory.name: memory for memory in arch.memories}

    def note(node: Node, _: Place) -> str:
        words, memory = tiles[node.memory, node.tensor], memories[node.memory]
        bits = words * held_width_bits(arch, memory, mapping.problem.tensor(node.tensor))
        return f"{plural(words, 'word')}, {size(bits)}{', twice' if memory.double_buffered else ''}"

    return note


def _tree_notes(fused: Mapping, occupied: Occupancy) -> _NoteOf:
    """Words and size of a tile; of an intermediate, between which operations it takes room."""
    outermost = next((item.memory for item in fused.tree.items if isinstance(item, Node)), "")

    def note(_: Node, place: Place) -> str:
        every = ((name, tile) for name, held in occupied.items() for tile in held)
        tiles: dict[str, Held] = {name: tile for name, tile in every if tile.place == place}
        largest = max(tiles.values(), key=lambda tile: tile.bits)
        told = f"{plural(largest.words, 'word')}, {size(largest.bits)}"
        if not largest.is_intermediate or (place[0] == () and largest.memory == outermost):
            return told
        first, *others = tiles
        return f"{told}, from {first} to {others[-1]}" if others else told

    return note
