"""Pictures drawn as SVG text: where their texts stand, whatever font they are shown in."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
WIDTHS = {"title": 10.5}  # of a character in a wide monospaced font [px]; all other texts are smaller
WIDTH = 7.3

Box = tuple[str, float, float, float, float]


def boxes(root: ElementTree.Element) -> list[Box]:
    """Every text with the left, right, top and bottom that it takes at most."""
    found = []
    for text in root.iter(f"{SVG}text"):
        x, y, words = float(text.get("x", "")), float(text.get("y", "")), text.text or ""
        width = len(words) * WIDTHS.get(text.get("class", ""), WIDTH)
        left = x - {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor", "start")]
        found.append((words, left, left + width, y - 10, y + 3))
    return found


def check_texts(root: ElementTree.Element) -> None:
    """No text is over another one, and none is cut off by the edge of the picture."""
    _, _, width, height = map(float, root.get("viewBox", "").split())
    found = boxes(root)
    for words, left, right, top, bottom in found:
        assert left >= 0, words
        assert right <= width, words
        assert top >= 0, words
        assert bottom <= height, words
    for one, two in itertools.combinations(found, 2):
        apart = one[2] <= two[1] or two[2] <= one[1] or one[4] <= two[3] or two[4] <= one[3]
        assert apart, (one, two)
