"""The loop nest with what its lines mean beside them; `LoopNest.parse` reads it back, since notes are comments.

DRAM keeps A                             # 256 words, 512 B
DRAM keeps W                             # 256 words, 512 B
for M in 16
  GLB keeps A                            # 16 words, 32 B
  parallel K in 8 on array.y             # axis of 12
"""

from __future__ import annotations

from ...arch import Architecture, Fanout
from ...cost_models.cost import held_width_bits, tile_words
from ...ir import Loop, Mapping, Node
from ...ir.plain_text import on_one_line
from ...ir.units import count, plural, size


def nest_lines(mapping: Mapping, arch: Architecture) -> list[str]:
    """The nest, one loop or node a line, with tile sizes and axis lengths as comments in a column of their own."""
    left, notes = [], []
    tiles = tile_words(mapping, arch.footprint)
    depth = 0
    for item in mapping.nest:
        left.append("  " * depth + on_one_line(str(item)))
        notes.append(_note(item, mapping, arch, tiles))
        depth += isinstance(item, Loop)
    column = max(map(len, left)) + 2
    return [f"{text:<{column}}# {note}" if note else text for text, note in zip(left, notes, strict=True)]


def nest_document(mapping: Mapping, arch: Architecture) -> str:
    """The nest as a text file: the problem and the architecture as comments, then the nest."""
    head = [f"# {on_one_line(line)}" for line in (str(mapping.problem), f"on {arch.name}")]
    return "\n".join([*head, *nest_lines(mapping, arch)]) + "\n"


def _note(item: Loop | Node, mapping: Mapping, arch: Architecture, tiles: dict[tuple[str, str], int]) -> str:
    if isinstance(item, Node):
        return _tile_note(item, mapping, arch, tiles[item.memory, item.tensor])
    if item.axis is None:
        return ""
    fanout = arch.level(item.axis.fanout)
    return f"axis of {count(fanout.axes[item.axis.index].size)}" if isinstance(fanout, Fanout) else ""


def _tile_note(node: Node, mapping: Mapping, arch: Architecture, words: int) -> str:
    memory = next(memory for memory in arch.memories if memory.name == node.memory)
    bits = words * held_width_bits(arch, memory, mapping.problem.tensor(node.tensor))
    return f"{plural(words, 'word')}, {size(bits)}{', twice' if memory.double_buffered else ''}"
