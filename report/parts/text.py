"""What pages of text are made of: titles, pairs, tables, running text; and how they are printed."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import IO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.style import StyleType
from rich.table import Table
from rich.text import Text

from ...arch import Architecture
from ...ir.units import clock, plural, significant

_TEXT_WIDTH = 64  # columns of running text: with what stands before it, a page of 80
_WIDEST = 10_000  # columns; no table comes near


def write(renderable: RenderableType, file: IO[str] | None = None) -> None:
    """Print on a terminal or into a pipe; what is wider than the terminal stays whole, for numbers must not be cut."""
    console = Console(file=file or sys.stdout, highlight=False, emoji=False, markup=False)
    console.file.write(_rendered(console, renderable))


def plain_text(renderable: RenderableType, width: int = 80) -> str:
    """The page as a text without colours, `width` columns wide or as wide as its widest row."""
    return _rendered(Console(width=width, color_system=None, highlight=False, emoji=False, markup=False), renderable)


def _rendered(console: Console, renderable: RenderableType) -> str:
    options = console.options.update(max_width=_WIDEST)
    console.width = max(console.width, Measurement.get(console, options, renderable).maximum)
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in capture.get().split("\n"))


def section(title: str, body: RenderableType) -> Group:
    """A title, and under it the body, indented."""
    return Group(Text(""), Text(title, style="bold"), Padding(body, (0, 0, 0, 2), expand=False))


def pairs(rows: Sequence[tuple[str, str]]) -> Table:
    """Two columns: what, and how much."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    for what, value in rows:
        table.add_row(what, textwrap.fill(value, _TEXT_WIDTH, break_long_words=False, break_on_hyphens=False))
    return table


def wrapped(text: str, width: int = _TEXT_WIDTH) -> list[str]:
    """Running text in lines; words stay whole."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


LONGEST_NAME = 40
"""Characters that a table shows of a name: exporters write paths of modules, which differ in their ends."""


_LONG = re.compile(rf"\S{{{LONGEST_NAME + 1},}}")


def shortened(text: str) -> str:
    """A text whose long words are cut in the middle."""
    end = LONGEST_NAME // 2
    return _LONG.sub(lambda word: f"{word[0][: LONGEST_NAME - end - 1]}…{word[0][-end:]}", text)


class NamedRows(Table):
    """A table that shortens names in its cells."""

    def add_row(self, *cells: RenderableType | None, style: StyleType | None = None, end_section: bool = False) -> None:
        """Add a row; as `Table.add_row`."""
        shown = (shortened(cell) if isinstance(cell, str) else cell for cell in cells)
        super().add_row(*shown, style=style, end_section=end_section)


def columns(left: Iterable[str], right: Iterable[str]) -> Table:
    """A table with these columns of text and then of numbers, none of which is ever cut, but for long names."""
    table = NamedRows(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for title in left:
        table.add_column(title, no_wrap=True)
    for title in right:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def architecture_rows(arch: Architecture) -> list[tuple[str, str]]:
    """The architecture: its name, what it is, and how much of it there is."""
    rows = [("Architecture", arch.name)]
    if arch.description:
        rows.append(("", arch.description))
    if arch.settings:
        rows.append(("", "set " + ", ".join(f"{path}={value}" for path, value in arch.settings.items())))
    units = plural(arch.mac_instances, "MAC unit")
    rows.append(("", f"{units} at {clock(arch.clock_hz)}, words of {arch.word_bits} bit"))
    if arch.total_area_mm2 and "area of" not in arch.estimates:
        rows.append(("", f"{significant(arch.total_area_mm2)} mm2, as far as areas are stated"))
    return rows
