"""Marks of the picture of a nest: what a loop does to a tensor, as a small shape on the tensor's line."""

from __future__ import annotations

from markupsafe import Markup

from ..parts.svg import circle, line, polygon, rect
from .loops import Effect, EffectKind

STYLE = """
.plain { fill: #718096; stroke: #718096 }
.hollow { fill: #ffffff; stroke-width: 2 }
.thin { stroke-width: 1.5 }
.lane { stroke-width: 1.5; opacity: 0.45 }
.idle { fill: none; stroke: #a0aec0; stroke-width: 0.7 }
.free { fill: #ffffff; stroke: #a0aec0; stroke-width: 1 }
.ground { fill: #ffffff }
.dots { stroke: #a0aec0; stroke-width: 0.7; stroke-dasharray: 1 4 }
.part { stroke: none }
@media (prefers-color-scheme: dark) {
  .plain { fill: #a0aec0; stroke: #a0aec0 }
  .hollow { fill: #171b22 }
  .free { fill: #171b22; stroke: #718096 }
  .ground { fill: #171b22 }
  .idle { stroke: #718096 }
}
"""

LEGEND: tuple[tuple[EffectKind, str], ...] = (
    ("moves", "next words"),
    ("again", "the same words again"),
    ("stays", "stays"),
    ("split", "a part for each"),
    ("shared", "shared"),
    ("apart", "each for itself"),
)
"""Marks in the order of the legend, with their words."""

_HALF = 6.0


def mark(effect: Effect, x: float, y: float, role: str) -> list[Markup]:
    """The mark of an effect around a point; of outputs it points outwards."""
    return shape(effect.kind, x, y, role, upwards=effect.is_output)


def shape(kind: EffectKind, x: float, y: float, role: str, upwards: bool = False) -> list[Markup]:
    """A triangle for words that move, hollow for those that come again, a ring for a tile that stays; in space three
    pieces, three lines from one point, or three lines apart."""
    way = -1.0 if upwards else 1.0
    if kind in ("moves", "again"):
        points = f"{x - _HALF:g},{y - 4 * way:g} {x + _HALF:g},{y - 4 * way:g} {x:g},{y + 5 * way:g}"
        return [polygon(points, f"{role}{' hollow' if kind == 'again' else ''}")]
    if kind == "stays":
        return [circle(x, y, f"{role} hollow", 5)]
    ground = rect(x - 9, y - 6, 18, 12, "ground", 0)
    places = (x - _HALF, x, x + _HALF)
    if kind == "split":
        return [ground, *(rect(p - 2, y - 4, 4, 8, f"{role} part", 0) for p in places)]
    if kind == "shared":
        return [ground, *(line(x, y - 5 * way, p, y + 5 * way, f"{role} thin") for p in places)]
    return [ground, *(line(p, y - 5, p, y + 5, f"{role} thin") for p in places)]
