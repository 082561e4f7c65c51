"""Layouts: where words lie in lines, the lines that a mapping touches, what it costs with them (docs/layouts.md).

layout.py   orders of ranks with blocks, and the lines that they fill
lines.py    lines that a window of words touches along a rank
parsing.py  layouts as text
walk.py     the walk that lays words into lines: the definition
counts.py   the closed form of the same
cost.py     energy, cycles
"""

from .cost import LayoutCost, LineTraffic, evaluate_layouts
from .counts import LineAccesses, LineCounts, count_lines
from .layout import Layout, LayoutDigit
from .lines import LineRank, alignments, mean_touched
from .parsing import LayoutLike, Layouts, parse_layouts
from .walk import walk_lines

__all__ = [
    "Layout",
    "LayoutCost",
    "LayoutDigit",
    "LayoutLike",
    "Layouts",
    "LineAccesses",
    "LineCounts",
    "LineRank",
    "LineTraffic",
    "alignments",
    "count_lines",
    "evaluate_layouts",
    "mean_touched",
    "parse_layouts",
    "walk_lines",
]
