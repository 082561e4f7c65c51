"""Where words lie: layouts of tensors, and the lines of a memory that a transfer touches (docs/layouts.md)."""

from .layout import ROW_MAJOR, Layout, layout_in, parse_layout, rank_names
from .lines import LineCounts, Lines, LineTable, arrangement, count_lines, has_lines, line_box, packed, refuse_lines
from .transfers import Arrangement

__all__ = [
    "ROW_MAJOR",
    "Arrangement",
    "Layout",
    "LineCounts",
    "LineTable",
    "Lines",
    "arrangement",
    "count_lines",
    "has_lines",
    "layout_in",
    "line_box",
    "packed",
    "parse_layout",
    "rank_names",
    "refuse_lines",
]
