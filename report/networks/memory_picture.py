"""A memory plan as an SVG picture: time to the right, addresses upwards, a rectangle for each buffer."""

from __future__ import annotations

from markupsafe import Markup

from ...ir.units import count, plural
from ...mapper.memory_plan import LiveBuffer, MemoryPlan
from ...mapper.memory_plan.buffers import live_bytes
from ..parts.palette import COLOURS, VERMILION, colour_classes
from ..parts.svg import CHARACTER, label, line, polyline, rect, svg

_WIDTH, _HEIGHT = 860, 430
_LEFT, _RIGHT, _TOP, _BOTTOM = 110, 20, 50, 48
_LINE = 14

_STYLE = f"""
{colour_classes("b", "inside")}
.buffer {{ stroke: #ffffff; stroke-width: 0.5 }}
.live {{ fill: none; stroke: #1a202c; stroke-width: 1.5 }}
.limit {{ stroke: {VERMILION}; stroke-dasharray: 5 3 }}
@media (prefers-color-scheme: dark) {{ .live {{ stroke: #e2e8f0 }} .buffer {{ stroke: #171b22 }} }}
"""


def memory_svg(plan: MemoryPlan) -> str:
    """The picture as the text of an SVG file; colours tell neighbours apart, and mean nothing else."""
    return _MemoryDrawing(plan).text()


class _MemoryDrawing:
    """Scales: times and addresses to places in the picture."""

    def __init__(self, plan: MemoryPlan) -> None:
        self.plan = plan
        self.begin = min((buffer.lower for buffer in plan.buffers.buffers), default=0)
        self.end = max((buffer.upper for buffer in plan.buffers.buffers), default=1)
        self.top = max(plan.height, plan.capacity or 0, 1)

    def x(self, time: int) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * (time - self.begin) / (self.end - self.begin), 2)

    def y(self, address: int) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * address / self.top, 2)

    def text(self) -> str:
        title = f"{count(self.plan.height)} bytes, {'proven least' if self.plan.proven else 'best so far'}"
        boxes: list[Markup] = []
        names: list[Markup] = []
        for (buffer, start, stop), number in zip(*_coloured(self.plan), strict=True):
            self.buffer(buffer, start, stop, number, boxes, names)
        parts = [label(_LEFT, 28, title, "title"), *boxes, self.live(), *names, *self.axes(), *self.legend()]
        buffers = plural(len(self.plan.buffers.buffers), "buffer")
        about = f"Addresses upwards, time from {self.begin} to {self.end}: {buffers}"
        return svg(_WIDTH, _HEIGHT, title, about, _STYLE, parts)

    def buffer(
        self, buffer: LiveBuffer, start: int, stop: int, number: int, boxes: list[Markup], names: list[Markup]
    ) -> None:
        """Add a rectangle for each time at which it is live, and its name where there is room for it."""
        y = self.y(stop)
        height = self.y(start) - y
        for lower, upper in buffer.lives:
            x = self.x(lower)
            width = self.x(upper) - x
            about = f"{buffer.name}: {start} to {stop}, live {lower} to {upper}"
            boxes.append(rect(x, y, width, height, f"buffer b{number}", 0, about))
            if width >= CHARACTER * (len(buffer.name) + 1) and height >= _LINE:
                names.append(label(x + 4, y + height / 2 + 4, buffer.name, f"inside{number}"))

    def legend(self) -> list[Markup]:
        """What the lines and the colours are, below the picture."""
        y = self.y(0) + 34
        told = "bytes that are live" + ("; dashed: the capacity" if self.plan.capacity is not None else "")
        if len(self.plan.buffers.buffers) > len(COLOURS):
            told += "; colours tell neighbours apart"
        return [line(_LEFT, y - 4, _LEFT + 24, y - 4, "live"), label(_LEFT + 32, y, told, "quiet")]

    def axes(self) -> list[Markup]:
        """The ends of both axes, and the capacity."""
        left, right, floor = self.x(self.begin), self.x(self.end), self.y(0)
        parts = [
            label(left, floor + 18, f"time {self.begin}", "quiet"),
            label(right, floor + 18, str(self.end), "quiet", "end"),
            label(left - 8, floor, "0", "quiet", "end"),
        ]
        drawn: list[float] = []
        for address, kind in ((self.plan.capacity, "limit"), (self.plan.height, "link")):
            if address is not None and (y := self.y(address)) not in drawn:
                parts.append(line(left, y, right, y, kind))
                written = y + 4 if all(abs(y - other) >= _LINE for other in drawn) else max(drawn) + _LINE + 4
                parts.append(label(left - 8, written, count(address), "quiet", "end"))
                drawn.append(y)
        return parts

    def live(self) -> Markup:
        """How much is live, from moment to moment."""
        points, last = [], 0
        for time, size in live_bytes(self.plan.buffers.spans()):
            points += [f"{self.x(time):g},{self.y(last):g}", f"{self.x(time):g},{self.y(size):g}"]
            last = size
        return polyline(" ".join(points), "live")


def _coloured(plan: MemoryPlan) -> tuple[list[tuple[LiveBuffer, int, int]], list[int]]:
    """The places of all buffers by time, and numbers of colours: the next one that no buffer has which it touches."""
    places = sorted(plan.places(), key=lambda one: (one[0].lower, one[1]))
    numbers: list[int] = []
    near: list[tuple[int, int, int, int]] = []  # until when, from where, to where, with which colour
    for number, (buffer, start, stop) in enumerate(places):
        near = [one for one in near if one[0] >= buffer.lower]
        taken = {shade for _, low, high, shade in near if low <= stop and start <= high}
        every = [(number + step) % len(COLOURS) for step in range(len(COLOURS))]
        numbers.append(next((shade for shade in every if shade not in taken), every[0]))
        near.append((buffer.upper, start, stop, numbers[-1]))
    return places, numbers
