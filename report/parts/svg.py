"""Pictures that are drawn by hand, as text: the style that they share, for light and dark pages, and their shapes."""

from __future__ import annotations

import html
import re

CHARACTER = 7.4
"""Width of a character at 12 px in a monospaced font, rounded up."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

STYLE = """
text { font-family: ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; font-size: 12px; fill: #1a202c }
.name { font-weight: bold }
.title { font-size: 17px; font-weight: bold }
.quiet { fill: #4a5568 }
.page { fill: #ffffff }
.box { fill: #edf2f7; stroke: #718096 }
.mac { fill: #e2e8f0; stroke: #4a5568; stroke-width: 1.5 }
.frame { fill: none; stroke: #718096; stroke-dasharray: 5 3 }
.cell { fill: #a0aec0 }
.input { stroke: #0072b2; fill: #0072b2 }
.weight { stroke: #d55e00; fill: #d55e00 }
.output { stroke: #00815e; fill: #00815e }
line { stroke-width: 2.5 }
.link { stroke: #a0aec0; stroke-width: 1 }
.may { fill: #ffffff; stroke-width: 2.5 }
text.input, text.weight, text.output { stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e2e8f0 }
  .quiet { fill: #a0aec0 }
  .page { fill: #171b22 }
  .box { fill: #242b36; stroke: #718096 }
  .mac { fill: #2d3748; stroke: #a0aec0 }
  .cell { fill: #718096 }
  .input { stroke: #56b4e9; fill: #56b4e9 }
  .weight { stroke: #e69f00; fill: #e69f00 }
  .output { stroke: #3ccba0; fill: #3ccba0 }
  .link { stroke: #4a5568 }
  .may { fill: #171b22 }
}
"""
"""Of all of them; each picture may add to it. The colours are those of `figures.py`, the green a little darker, since
words are written in it."""


def rect(x: float, y: float, width: float, height: float, kind: str, radius: float) -> str:
    """A rectangle; `kind` are classes of the style."""
    size = f'width="{width:g}" height="{height:g}" rx="{radius:g}"'
    return f'<rect x="{x:g}" y="{y:g}" {size} class="{kind}"/>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{kind}"/>'


def circle(x: float, y: float, kind: str) -> str:
    """A mark on a line."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="6" class="{kind}"/>'


def escape(text: str) -> str:
    """A text as it may stand in the picture."""
    return html.escape(_NOT_XML.sub("?", text))
