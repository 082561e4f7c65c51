"""An architecture as an SVG picture: memories and arrays from the outside in, and the way of each tensor through them.

Three lines, one for each role, run from the outermost memory to the MAC. A memory that keeps a tensor has a mark on
its line; where there is none the tensor passes by. An array is a frame around everything that it repeats.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from markupsafe import Markup

from ...arch import Architecture, Fanout, Memory
from ...arch.ports import stated_ports
from ...ir.problem import ROLES
from ...ir.units import clock, count, energy, plural, significant
from ..parts.svg import CHARACTER, circle, label, line, rect, svg
from .describe import axis_text, bandwidth, capacity, memory_extras, network_text

_WIDTH = 860
_MARGIN = 20
_STEP = 14  # by which a frame starts further right than the one around it
_RIGHT_STEP = 8  # by which it ends earlier
_LANES = {role: 660 + 56 * i for i, role in enumerate(ROLES)}
_BOX_RIGHT = 625
_LINE = 17
_PAD = 9
_GAP = 12
_CELLS = 12  # most rows and columns of an array that are drawn


def architecture_svg(arch: Architecture) -> str:
    """The picture as the text of an SVG file; it needs nothing but itself and suits light and dark pages."""
    picture = _ArchDrawing(arch)
    picture.head()
    for level in arch.levels:
        if isinstance(level, Memory):
            picture.memory(level)
        else:
            picture.open_frame(level)
    picture.mac()
    picture.close_frames()
    picture.legend()
    return picture.text()


class _ArchDrawing:
    """What is drawn so far; `y` is where the next part starts."""

    def __init__(self, arch: Architecture) -> None:
        self.arch = arch
        self.y = float(_MARGIN)
        self.frames: list[float] = []  # where each open one starts
        self.lanes_from = self.lanes_to = 0.0
        self.under: list[Markup] = []  # frames and links, below the lines
        self.over: list[Markup] = []

    @property
    def left(self) -> float:
        return _MARGIN + _STEP * len(self.frames)

    def head(self) -> None:
        arch = self.arch
        partial = arch.partial_sum_bits or arch.word_bits
        self.y += 14
        self._text(_MARGIN, arch.name, "title")
        self.y += 22
        units = plural(arch.mac_instances, "MAC unit")
        lines = [arch.description, f"{units} at {clock(arch.clock_hz)}; words {arch.word_bits} bit, sums {partial} bit"]
        lines += ["set " + ", ".join(f"{path}={value}" for path, value in arch.settings.items())] * bool(arch.settings)
        self._lines(_MARGIN, lines, _WIDTH - 2 * _MARGIN, "quiet")
        self.y += _LINE / 2
        for role, x in _LANES.items():
            self._text(x, role, role, "middle")
        self.y += 8

    def memory(self, memory: Memory) -> None:
        per_cycle, per_second = bandwidth(memory, self.arch.clock_hz)
        ports = "one port" if len(stated_ports(memory)) == 1 else "read + write ports"
        port = f"{ports}, {per_cycle} per cycle, {per_second}" if per_second != "-" else "ports unbounded"
        read, write = energy(memory.read_energy_pj), energy(memory.write_energy_pj)
        lines = [
            ", ".join([capacity(memory), *memory_extras(memory)]),
            f"read {read}, write {write} for {memory.access_bits} bit",
            port,
        ]
        middle = self._box(memory.name, self._instances(memory.name), lines, "box")
        kept = [role for role in ROLES if memory.keeps[role] != "never"]
        if kept:
            self.under.append(line(_BOX_RIGHT, middle, max(_LANES[role] for role in kept), middle, "link"))
        self.lanes_from = self.lanes_from or middle
        for role in kept:
            kind = role if memory.keeps[role] == "must" else f"{role} may"
            self.over.append(circle(_LANES[role], middle, kind))

    def mac(self) -> None:
        mac = self.arch.mac
        rate = "" if mac.per_cycle == 1 else f", {significant(mac.per_cycle)} per cycle"
        each = f"x {count(self.arch.mac_instances)}" if self.arch.mac_instances > 1 else ""
        self.lanes_to = self._box("MAC", each, [f"{energy(mac.energy_pj)} each{rate}"], "mac")
        for x in _LANES.values():
            self.under.append(line(_BOX_RIGHT, self.lanes_to, x, self.lanes_to, "link"))

    def open_frame(self, fanout: Fanout) -> None:
        self.frames.append(self.y)
        self.y += _PAD
        sizes = " x ".join(str(axis.size) for axis in fanout.axes)
        right = _BOX_RIGHT
        self.y += _LINE - 4
        self._text(self.left, f"{fanout.name}  {sizes}", "name")
        top = self.y - 10
        self.y += _LINE
        cells = [min(axis.size, _CELLS) for axis in fanout.axes]
        columns, rows = cells[0], cells[1] if len(cells) > 1 else 1
        limited = [
            f"{name}: {axis_text(axis)}"
            for name, axis in zip("xy", fanout.axes, strict=False)
            if axis_text(axis) != str(axis.size)
        ]
        self._lines(self.left, [network_text(fanout), *limited], right - 6 * _CELLS - 10 - self.left, "quiet")
        for row in range(rows):
            for column in range(columns):
                self.over.append(rect(right - 6 * (columns - column), top + 6 * row, 4, 4, "cell", 1))
        self.y = max(self.y - _LINE + 4, top + 6 * rows) + _PAD

    def close_frames(self) -> None:
        while self.frames:
            depth = len(self.frames) - 1
            top = self.frames.pop()
            x = _MARGIN + _STEP * depth
            width = _WIDTH - _MARGIN - _RIGHT_STEP * depth - x
            self.under.append(rect(x, top, width, self.y - top, "frame", 8))
            self.y += _GAP - 4

    def legend(self) -> None:
        self.y += _LINE
        x = _MARGIN + 6.0
        for kind, words in (("input", "keeps the tensor"), ("input may", "may keep it"), ("", "no mark: it passes by")):
            if kind:
                self.over.append(circle(x, self.y - 4, kind))
            self._text(x + 12 * bool(kind), words, "quiet")
            x += CHARACTER * (len(words) + 5)
        self.y += _MARGIN / 2

    def text(self) -> str:
        arch = self.arch
        names = ", ".join(level.name for level in arch.levels)
        about = f"{arch.description}. From the outside in: {names}, MAC."
        lanes = [line(x, self.lanes_from, x, self.lanes_to, role) for role, x in _LANES.items()]
        shapes = [*self.under, *lanes, *self.over]
        return svg(_WIDTH, self.y + _MARGIN / 2, f"Architecture {arch.name}", about, "", shapes)

    def _box(self, name: str, instances: str, lines: Iterable[str], kind: str) -> float:
        """A box with its name, how many there are, and lines of figures; returns the height of its middle."""
        left, top = self.left, self.y
        at = len(self.over)
        self.y += _PAD + 10
        self._text(left + _PAD, name, "name")
        self._text(_BOX_RIGHT - _PAD, instances, "quiet", "end")
        self.y += _LINE
        self._lines(left + _PAD, lines, _BOX_RIGHT - left - 2 * _PAD)
        height = self.y - top - _LINE + _PAD + 2
        self.over.insert(at, rect(left, top, _BOX_RIGHT - left, height, kind, 6))
        self.y = top + height + _GAP
        return top + height / 2

    def _instances(self, name: str) -> str:
        number = self.arch.instances(name)
        return f"x {count(number)}" if number > 1 else ""

    def _lines(self, x: float, lines: Iterable[str], width: float, kind: str = "") -> None:
        """Lines of text, broken where they would be wider than `width`."""
        for text in lines:
            for part in textwrap.wrap(text, int(width / CHARACTER)):
                self._text(x, part, kind)
                self.y += _LINE

    def _text(self, x: float, text: str, kind: str = "", anchor: str = "start") -> None:
        if text:
            self.over.append(label(x, self.y, text, kind, anchor))
