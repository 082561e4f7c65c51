"""A fused mapping as an SVG picture: the tree with a box around every branch; and, of every bounded memory, what it
holds while each operation works, as bars below its capacity: an intermediate lasts from bar to bar."""

from __future__ import annotations

from markupsafe import Markup

from ...ir import Address, Loop, Mapping
from ...ir.units import percent, size
from ..parts.palette import colour_classes, place
from ..parts.svg import CHARACTER, label, line, rect, svg
from .facts import Facts, MemoryLoad

_MARGIN = 20
_LINE = 17
_INDENT = 14
_PAD = 7
_GAP = 46
_BAR_HEIGHT = 150
_LEAST_BAR_WIDTH = 74
_SMALLEST_NAMED = 13  # pixels of a part with its name in it
_LONGEST_NAME = 16  # of a tensor that bars are made wide for

_TREE_STYLE = f"""
{colour_classes("c", "inside")}
.branch {{ fill: none; stroke: #718096; stroke-width: 1 }}
.shared {{ font-weight: bold }}
.capacity {{ stroke: #b00020; stroke-width: 2; stroke-dasharray: 6 3 }}
.exchanged {{ stroke: #1a202c; stroke-width: 2 }}
@media (prefers-color-scheme: dark) {{ .exchanged {{ stroke: #e2e8f0 }} .capacity {{ stroke: #ff8a80 }} }}
"""


def tree_svg(e: Facts, fused: Mapping) -> str:
    """The picture as the text of an SVG file; it needs nothing but itself and suits light and dark pages."""
    drawing = _TreeDrawing(e, fused)
    drawing.head()
    drawing.tree((), _MARGIN)
    below = drawing.y
    drawing.y = drawing.top
    drawing.legend()
    for load in e.memories:
        drawing.memory(load)
    drawing.y = max(drawing.y, below)
    drawing.notes()
    return drawing.text()


class _TreeDrawing:
    """What is drawn so far; `y` is where the next line starts."""

    def __init__(self, e: Facts, fused: Mapping) -> None:
        self.e, self.fused = e, fused
        tensors = fused.cascade.tensors
        self.colour = {tensor: place(i) for i, tensor in enumerate(tensors)}
        self.parts: list[Markup] = []
        self.y = float(_MARGIN)
        self.top = self.y
        widest = max((self._extent(address) for address, _ in self.fused.tree.walk()), default=0.0)
        self.left_width = max(260.0, widest + 2 * _PAD)
        names = [operation.name for operation in e.operations]
        longest = max(map(len, (*names, *(tensor[:_LONGEST_NAME] for tensor in tensors))))
        self.bar = max(_LEAST_BAR_WIDTH, longest * CHARACTER + 10)
        self.bars_from = _MARGIN + self.left_width + 70
        self.width = self.bars_from + self.bar * len(names) + 90 + _MARGIN
        title = (len(fused.cascade.name) + len(e.arch.name) + 5) * 10.5 + 2 * _MARGIN
        self.width = max(self.width, title)

    def _extent(self, address: Address) -> float:
        """How far to the right the lines of a tree reach."""
        loops = sum(isinstance(item, Loop) for _, item in self.fused.above(address))
        longest = max((len(str(item)) for item in self.fused.tree.at(address).items), default=0)
        return _INDENT * (loops + 2 * len(address)) + CHARACTER * longest + _PAD

    def head(self) -> None:
        self.y += 14
        self._text(_MARGIN, self.y, f"{self.fused.cascade.name} on {self.e.arch.name}", "title")
        self.y += 24
        self.top = self.y

    def tree(self, address: Address, left: float) -> None:
        """Lines of a tree, and below its split a box for each branch."""
        tree = self.fused.tree.at(address)
        for item in tree.items:
            self.y += _LINE
            kind = "shared" if tree.branches and isinstance(item, Loop) else ""
            self._text(left, self.y, str(item), kind)
            left += _INDENT if isinstance(item, Loop) else 0
        for number, branch in enumerate(tree.branches):
            self.y += _PAD
            top, at = self.y, len(self.parts)
            self.y += _LINE
            self._text(left + _PAD, self.y, f"branch {branch.operation}".rstrip(), "name")
            self.tree((*address, number), left + _PAD + _INDENT)
            self.y += _PAD
            right = _MARGIN + self.left_width
            self.parts.insert(at, rect(left, top, right - left, self.y - top, "branch", 5))

    def memory(self, load: MemoryLoad) -> None:
        """A bar for each operation: what the memory holds while it works, shared tiles at the bottom."""
        self.y += 16
        bits = load.bits(load.fullest)
        share = f"{size(bits)} of {size(load.capacity_bits)}, {percent(bits, load.capacity_bits)}"
        self._text(self.bars_from, self.y, f"{load.memory}  at most {share}", "name")
        self.y += 10
        top, bottom = self.y, self.y + _BAR_HEIGHT
        scale = _BAR_HEIGHT / max(bits * 1.15, 1.0)
        capacity = bottom - load.capacity_bits * scale
        if capacity >= top:
            end = self.bars_from + self.bar * len(load.held)
            self.parts.append(line(self.bars_from - 8, capacity, end + 4, capacity, "capacity"))
        for i, (name, tiles) in enumerate(load.held):
            x, y = self.bars_from + self.bar * i, bottom
            for tensor, taken, exchanged in sorted(tiles, key=lambda tile: self._rank(load, tile)):
                height = taken * scale
                y -= height
                self._part(x, y, height, tensor, exchanged)
            self._text(x + self.bar / 2, bottom + 14, name, "quiet", "middle")
        self.parts.append(line(self.bars_from - 8, bottom, self.bars_from + self.bar * len(load.held), bottom, "link"))
        self.y = bottom + _GAP

    def _rank(self, load: MemoryLoad, tile: tuple[str, int, bool]) -> tuple[int, bool, int]:
        """What lasts longest is at the bottom, so that bars of one tile are beside each other."""
        lasts = sum(any(other[0] == tile[0] for other in tiles) for _, tiles in load.held)
        return -lasts, not tile[2], list(self.colour).index(tile[0])

    def _part(self, x: float, y: float, height: float, tensor: str, exchanged: bool) -> None:
        kind = "part exchanged" if exchanged else "part"
        self.parts.append(rect(x, y, self.bar, max(height, 0.5), f"{kind} c{self.colour[tensor]}", 0, tensor))
        if height >= _SMALLEST_NAMED:
            room = max(1, int((self.bar - 6) / CHARACTER))
            self._text(
                x + self.bar / 2, y + height / 2 + 4, tensor[:room], f"name inside{self.colour[tensor]}", "middle"
            )

    def legend(self) -> None:
        """The colours of the tensors, above the bars."""
        x = left = self.bars_from
        for tensor, colour in self.colour.items():
            width = CHARACTER * (len(tensor) + 3) + 4
            if x + width > self.width - _MARGIN and x > left:
                x, self.y = left, self.y + _LINE
            self.parts.append(rect(x, self.y - 9, 10, 10, f"c{colour}", 0))
            self._text(x + 14, self.y, tensor, "quiet")
            x += width
        self.y += _LINE

    def notes(self) -> None:
        """How the picture is read."""
        self.y += _LINE
        for words in (
            "Boxes: branches, done one after the other. Bold loops are shared by all branches below.",
            "Bars: what a memory holds while an operation works; framed: intermediates. Dashed: its room,",
            "where it is not far above.",
        ):
            self.y += _LINE
            self._text(_MARGIN, self.y, words, "quiet")
        self.y += _MARGIN / 2

    def text(self) -> str:
        name = f"{self.fused.cascade.name} on {self.e.arch.name}"
        width = max(self.width, _MARGIN * 2 + 94 * CHARACTER)
        height = self.y + _MARGIN / 2
        about = "; ".join(str(self.fused).splitlines())
        return svg(width, height, f"Fused mapping of {name}", about, _TREE_STYLE, self.parts)

    def _text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        self.parts.append(label(x, y, text, kind, anchor))
