"""Pictures that are drawn by hand, as text: the style that they share, for light and dark pages, and their shapes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping

from markupsafe import Markup

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
.more1 { stroke: #9a4c95; fill: #9a4c95 }
.more2 { stroke: #8c5a2b; fill: #8c5a2b }
.more3 { stroke: #570f1e; fill: #570f1e }
.more4 { stroke: #767676; fill: #767676 }
.more5 { stroke: #8a8000; fill: #8a8000 }
line { stroke-width: 2.5 }
.link { stroke: #a0aec0; stroke-width: 1 }
.may { fill: #ffffff; stroke-width: 2.5 }
text.input, text.weight, text.output, text.more1, text.more2, text.more3, text.more4, text.more5 { stroke: none }
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
  .more1 { stroke: #d58fd0; fill: #d58fd0 }
  .more2 { stroke: #b5835a; fill: #b5835a }
  .more3 { stroke: #ff6b6b; fill: #ff6b6b }
  .more4 { stroke: #a8a8a8; fill: #a8a8a8 }
  .more5 { stroke: #f0e442; fill: #f0e442 }
  .link { stroke: #4a5568 }
  .may { fill: #171b22 }
}
"""
"""Of all of them; each picture may add to it. Tensors have the hues of `palette.py`, darker or lighter since words are
written in them, and wine for the sixth: by CIEDE2000, no two are nearer than 15 on either ground."""


def tensor_classes(roles: Mapping[str, str]) -> dict[str, str]:
    """A class of its own for each tensor, up to eight, then grey: the first of a role has that of the role.

    roles  by the names of the tensors: `input`, `weight` or `output`
    """
    found: dict[str, str] = {}
    more = itertools.chain(("more1", "more2", "more3", "more5"), itertools.repeat("more4"))
    for name, role in roles.items():
        found[name] = next(more) if role in found.values() else role
    return found


def svg(width: float, height: float, title: str, about: str, style: str, shapes: Iterable[Markup]) -> str:
    """The text of an SVG file: a picture of this size, told in words by its title and `about`."""
    head = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:g} {1:g}" width="{0:g}" height="{1:g}" role="img" '
        'aria-labelledby="title description">\n<title id="title">{2}</title>\n<desc id="description">{3}</desc>'
    ).format(width, height, drawable(title), drawable(about))
    styles = Markup("<style>{}{}</style>").format(Markup(STYLE), Markup(style))
    return Markup("\n").join([head, styles, rect(0, 0, width, height, "page", 10), *shapes, Markup("</svg>\n")])


def rect(x: float, y: float, width: float, height: float, kind: str, radius: float, about: str = "") -> Markup:
    """A rectangle; `kind` are classes of the style, `about` is what a pointer shows."""
    shape = Markup('<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" rx="{:g}" class="{}"').format(
        x, y, width, height, radius, kind
    )
    return shape + (Markup("><title>{}</title></rect>").format(drawable(about)) if about else Markup("/>"))


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A straight line."""
    return Markup('<line x1="{:g}" y1="{:g}" x2="{:g}" y2="{:g}" class="{}"/>').format(x1, y1, x2, y2, kind)


def circle(x: float, y: float, kind: str, radius: float = 6) -> Markup:
    """A mark on a line."""
    return Markup('<circle cx="{:g}" cy="{:g}" r="{:g}" class="{}"/>').format(x, y, radius, kind)


def polygon(points: str, kind: str) -> Markup:
    """A filled shape with these corners."""
    return Markup('<polygon points="{}" class="{}"/>').format(points, kind)


def path(steps: str, kind: str) -> Markup:
    """Any outline, such as many squares at once."""
    return Markup('<path d="{}" class="{}"/>').format(steps, kind)


def polyline(points: str, kind: str) -> Markup:
    """A line from point to point."""
    return Markup('<polyline points="{}" class="{}"/>').format(points, kind)


def label(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> Markup:
    """Words in the picture."""
    return Markup('<text x="{:g}" y="{:g}" text-anchor="{}" class="{}" xml:space="preserve">{}</text>').format(
        x, y, anchor, kind, drawable(words)
    )


def drawable(text: str) -> str:
    """A text without the characters that no XML file can hold."""
    return _NOT_XML.sub("?", text)
