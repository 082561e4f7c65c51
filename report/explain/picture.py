"""A mapping as an SVG picture: the nest from the outermost memory down to the MAC.

A box for each memory, with a bar for each tensor that it keeps, as long as the logarithm of its tile's words; below it,
every loop between this memory and the next one; a frame around everything that an array repeats, its instances as a
grid. On the right a line for each tensor, with a mark at every loop: what the loop does to it (marks.py).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from markupsafe import Markup

from ...arch import Architecture, Fanout, Memory
from ...cost_models.cost import capacity_parts, held_width_bits, tile_words
from ...cost_models.crossings import crossings_of
from ...cost_models.padding import counted_mapping
from ...ir import Loop, Mapping, Node
from ...ir.units import count, percent, plural, size
from ..parts.svg import CHARACTER, circle, label, line, path, rect, svg, tensor_classes
from .loops import LoopRole, loops_of, tile_text
from .marks import LEGEND, STYLE, mark, shape

_MARGIN = 20
_RIGHT = 640  # where memories end
_LINE = 18
_ROW = 20  # of a loop
_PAD = 9
_GAP = 10
_BAR = 130  # length of the longest bar
_DEEPEST = 160  # by how much the innermost part is indented at most
_LONGEST_NAME = 12  # of a tensor
_CELLS = 12  # most rows and columns of an array that are drawn
_CELL = 6
_GRID = _RIGHT - _PAD - _CELLS * _CELL - 6  # where the widest grid begins


def nest_svg(mapping: Mapping, arch: Architecture, roles: Sequence[LoopRole]) -> str:
    """The picture as the text of an SVG file; it needs nothing but itself and suits light and dark pages.

    roles  what the loops do (`loops_of`)
    """
    picture = _NestDrawing(mapping, arch, roles)
    picture.head()
    for kind, items in groups_of(mapping, arch):
        if kind == "time":
            picture.loops(items)
        elif kind.startswith("memory "):
            picture.memory(kind.removeprefix("memory "), items)
        else:
            picture.fanout(kind.removeprefix("fanout "), items)
    picture.mac()
    picture.close_frames()
    picture.legend()
    return picture.text()


def mapping_svg(mapping: Mapping, arch: Architecture) -> str:
    """The picture of a mapping of which nothing else is known yet."""
    return nest_svg(mapping, arch, loops_of(mapping, arch, crossings_of(mapping, arch)))


class _NestDrawing:
    """What is drawn so far; `y` is where the next part starts, `depth` how many loops are around it."""

    def __init__(self, mapping: Mapping, arch: Architecture, roles: Sequence[LoopRole]) -> None:
        self.mapping, self.problem, self.arch = mapping, mapping.problem, arch
        self.effects = {role.position: {e.tensor: e for e in role.effects} for role in roles}
        self.step = min(10.0, _DEEPEST / max(1, len(roles)))
        self.depth = 0
        self.tiles = tile_words(counted_mapping(mapping, arch), arch.footprint)
        self.most_words = max(self.tiles.values())
        tensors = self.problem.tensors
        self.names = {t.name: _short(t.name, _LONGEST_NAME) for t in tensors}
        self.name_width = CHARACTER * max(map(len, self.names.values()))
        spacing = max(44.0, self.name_width + 16)
        self.lanes = {t.name: _RIGHT + spacing * (i + 0.75) for i, t in enumerate(tensors)}
        self.role = tensor_classes({t.name: t.role for t in tensors})
        self.width = _RIGHT + spacing * (len(tensors) + 0.25) + _MARGIN
        self.y = float(_MARGIN)
        self.lanes_from = self.lanes_to = 0.0
        self.frames: list[tuple[float, float]] = []  # left and top of each open one
        self.under: list[Markup] = []
        self.over: list[Markup] = []

    @property
    def left(self) -> float:
        return _MARGIN + self.step * self.depth

    def head(self) -> None:
        problem = self.problem
        self.y += 14
        room = int((self.width - 2 * _MARGIN) / 10.5)
        self._text(_MARGIN, _short(f"{problem.name} on {self.arch.name}", room), "title")
        self.y += 22
        operands = " * ".join(str(tensor) for tensor in problem.operands)
        sizes = " ".join(f"{name}={size}" for name, size in problem.dims)
        room = int((self.width - 2 * _MARGIN) / CHARACTER)
        for text in (f"{problem.output} += {operands}", f"{sizes}, {plural(problem.macs, 'MAC')}"):
            self._text(_MARGIN, _short(text, room), "quiet")
            self.y += _LINE
        self.y += 4
        for name, x in self.lanes.items():
            self._text(x, self.names[name], f"{self.role[name]} name", "middle")
        self.y += 8

    def memory(self, name: str, items: Sequence[tuple[int, Loop | Node]]) -> None:
        memory = self.arch.level(name)
        assert isinstance(memory, Memory)
        left, top, at = self.left, self.y, len(self.over)
        bits = {
            node.tensor: self.tiles[name, node.tensor]
            * held_width_bits(self.arch, memory, self.problem.tensor(node.tensor))
            * (2 if memory.double_buffered else 1)
            for _, node in items
            if isinstance(node, Node)
        }
        self.y += _PAD + 10
        instances = self.arch.instances(name)
        each, occupied = f"  x {count(instances)}" if instances > 1 else "", _occupied(memory, sum(bits.values()))
        room = int((_RIGHT - left - 2 * _PAD) / CHARACTER) - len(each) - len(occupied) - 2
        self._text(left + _PAD, _short(name, room) + each, "name")
        self._text(_RIGHT - _PAD, occupied, "quiet", "end")
        self.y += 6
        self._capacity_bar(memory, bits, left + _PAD, _RIGHT - left - 2 * _PAD)
        for position, node in items:
            if isinstance(node, Node):
                self.y += _LINE
                self._tile(node, position, left + _PAD)
        self.y += _PAD
        self.over.insert(at, rect(left, top, _RIGHT - left, self.y - top, "box", 6))
        self.y += _GAP

    def _capacity_bar(self, memory: Memory, bits: dict[str, int], x: float, width: float) -> None:
        """How much of the memory each tile takes: one bar, to scale."""
        capacity = sum(part.bits for part in capacity_parts(memory))
        if not capacity:
            return
        self.over.append(rect(x, self.y, width, 6, "free", 1))
        for tensor, taken in bits.items():
            self.over.append(rect(x, self.y, width * taken / capacity, 6, f"{self.role[tensor]} part", 1))
            x += width * taken / capacity
        self.y += 8

    def _tile(self, node: Node, position: int, x: float) -> None:
        """One tensor: its name, a bar as long as the logarithm of its words, its extents, its words."""
        tensor = self.problem.tensor(node.tensor)
        words = self.tiles[node.memory, node.tensor]
        role = self.role[node.tensor]
        self._text(x, self.names[node.tensor], f"{role} name")
        x += self.name_width + 6
        length = max(2.0, _BAR * math.log(words + 1) / math.log(self.most_words + 1))
        self.over.append(rect(x, self.y - 9, length, 9, f"{role} part", 1))
        x += _BAR + 8
        amount = plural(words, "word")
        room = int((_RIGHT - _PAD - x) / CHARACTER) - len(amount) - 2
        extents = tile_text(self.mapping, self.arch, tensor, position)
        self._text(x, extents if len(extents) <= room else "", "quiet")
        self._text(_RIGHT - _PAD, amount, "", "end")
        self._touch_lanes()
        self.over.append(circle(self.lanes[node.tensor], self.y - 4, role))

    def loops(self, items: Sequence[tuple[int, Loop | Node]]) -> None:
        for position, loop in items:
            self._loop(position, str(loop))
        self.y += _GAP

    def _loop(self, position: int, text: str, right: float = _RIGHT) -> None:
        """A loop, and its marks; its text ends at `right` at most."""
        self.y += _ROW - 6
        text = _short(text, int((right - self.left) / CHARACTER))
        self._text(self.left, text)
        for tensor, effect in self.effects[position].items():
            self.over += mark(effect, self.lanes[tensor], self.y - 4, self.role[tensor])
        start = self.left + CHARACTER * len(text) + 6 if right == _RIGHT else _RIGHT + 8
        self.under.append(line(start, self.y - 4, max(self.lanes.values()), self.y - 4, "dots"))
        self.y += 6
        self.depth += 1

    def fanout(self, name: str, items: Sequence[tuple[int, Loop | Node]]) -> None:
        fanout = self.arch.level(name)
        assert isinstance(fanout, Fanout)
        self.frames.append((self.left, self.y))
        self.depth += 1
        top = self.y + _PAD
        used = [
            math.prod(x.trips for _, x in items if isinstance(x, Loop) and x.axis is not None and x.axis.index == index)
            for index in range(len(fanout.axes))
        ]
        self.y = top + 10
        shown = " x ".join(f"{u} of {axis.size}" for u, axis in zip(used, fanout.axes, strict=True))
        room = int((_GRID - self.left) / CHARACTER) - len(shown) - 2
        self._text(self.left, f"{_short(name, room)}  {shown}", "name")
        bottom = self._grid(top, used, [axis.size for axis in fanout.axes])
        self.y += 4
        for position, loop in items:
            self._loop(position, str(loop), _GRID)
        self.y = max(self.y, bottom) + _GAP

    def _grid(self, top: float, used: Sequence[int], sizes: Sequence[int]) -> float:
        """The instances of an array, those in use filled; returns where the grid ends."""
        drawn = [min(axis, _CELLS) for axis in sizes]
        filled = [_filled(d, u, axis) for d, u, axis in zip(drawn, used, sizes, strict=True)]
        columns, rows = (*drawn, 1)[:2]
        squares: dict[str, list[str]] = {"cell": [], "idle": []}
        for row, column in itertools.product(range(rows), range(columns)):
            at_work = column < filled[0] and (len(filled) < 2 or row < filled[1])
            x, y = _RIGHT - _PAD - _CELL * (columns - column), top + _CELL * row
            squares["cell" if at_work else "idle"].append(f"M{x:g} {y:g}h4v4h-4z")
        self.over += [path("".join(drawn), kind) for kind, drawn in squares.items() if drawn]
        return top + _CELL * rows

    def mac(self) -> None:
        left, top, at = self.left, self.y, len(self.over)
        self.y += _PAD + 10
        instances = self.arch.mac_instances
        self._text(left + _PAD, f"MAC  x {count(instances)}" if instances > 1 else "MAC", "name")
        self.y += _PAD
        self.over.insert(at, rect(left, top, _RIGHT - left, self.y - top, "mac", 6))
        self.lanes_to = top + (self.y - top) / 2
        self.under.append(line(_RIGHT, self.lanes_to, max(self.lanes.values()), self.lanes_to, "link"))
        self.y += _GAP

    def close_frames(self) -> None:
        while self.frames:
            left, top = self.frames.pop()
            right = self.width - _MARGIN + 8 - 3 * len(self.frames)
            self.under.append(rect(left, top, right - left, self.y - top, "frame", 8))
            self.y += 6

    def legend(self) -> None:
        self.y += _LINE
        x = _MARGIN + 8.0
        for kind, words in LEGEND:
            width = CHARACTER * (len(words) + 4)
            if x + width > self.width - _MARGIN:
                x, self.y = _MARGIN + 8.0, self.y + _LINE
            self.over += shape(kind, x, self.y - 4, "plain")
            self._text(x + 13, words, "quiet")
            x += width
        longest = plural(self.most_words, "word")
        lines = [
            f"Bars: words of a tile, logarithmic; the longest is {longest}. A memory's frame: its room.",
            "Full circles: memories that keep the tensor. Marks of the output point up, the way it goes;",
            "shared by outputs is added up. Dashed frames: arrays; squares: instances, filled if used.",
        ]
        for words in lines:
            self.y += _LINE
            self._text(_MARGIN, words, "quiet")
        self.y += _MARGIN / 2

    def text(self) -> str:
        name = f"{self.problem.name} on {self.arch.name}"
        height = self.y + _MARGIN / 2
        lanes = [
            line(x, self.lanes_from, x, self.lanes_to, f"{self.role[name]} lane") for name, x in self.lanes.items()
        ]
        about = "; ".join(str(self.mapping).splitlines())
        return svg(self.width, height, f"Mapping of {name}", about, STYLE, [*self.under, *lanes, *self.over])

    def _touch_lanes(self) -> None:
        self.lanes_from = self.lanes_from or self.y - 4

    def _text(self, x: float, text: str, kind: str = "", anchor: str = "start") -> None:
        if text:
            self.over.append(label(x, self.y, text, kind, anchor))


def _filled(drawn: int, used: int, size: int) -> int:
    """Cells of an axis that are drawn as in use: some, and not all where some idle."""
    return drawn if used == size else min(drawn - 1, max(1, round(drawn * used / size)))


def _occupied(memory: Memory, bits: int) -> str:
    capacity = sum(part.bits for part in capacity_parts(memory))
    twice = ", twice" if memory.double_buffered else ""
    return f"{size(bits)} of {size(capacity)}, {percent(bits, capacity)}{twice}" if capacity else f"{size(bits)}{twice}"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


LevelItems: TypeAlias = tuple[str, list[tuple[int, Loop | Node]]]
"""What neighbours have in common, `memory GLB`, `fanout array` or `time`; and they, with their places in the nest."""


def groups_of(mapping: Mapping, arch: Architecture) -> Iterator[LevelItems]:
    """The nest without loops of one trip; arrays that run nothing have an empty group at their place."""
    items = [(i, x) for i, x in enumerate(mapping.nest) if isinstance(x, Node) or x.trips > 1]
    used = {loop.axis.fanout for _, loop in items if isinstance(loop, Loop) and loop.axis is not None}
    unused = [fanout.name for fanout in arch.fanouts if fanout.name not in used]
    for kind, group in itertools.groupby(items, key=lambda pair: _kind(pair[1])):
        depth = arch.depth[kind.split(" ", 1)[1]] if kind != _TIME else -1
        while unused and arch.depth[unused[0]] < depth:
            yield f"fanout {unused.pop(0)}", []
        yield kind, list(group)
    for name in unused:
        yield f"fanout {name}", []


_TIME = "time"


def _kind(item: Loop | Node) -> str:
    if isinstance(item, Node):
        return f"memory {item.memory}"
    return f"fanout {item.axis.fanout}" if item.axis is not None else _TIME
