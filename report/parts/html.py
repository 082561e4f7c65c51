"""Pages made for the terminal as HTML: the same titles, pairs, tables and texts, with real tables."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from html import escape

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

_CELL = "padding:.1em .8em .1em 0;border:0;vertical-align:top;white-space:pre-line"


def to_html(page: RenderableType) -> str:
    """A page of texts, tables and groups of them; it brings no style sheet, so that it changes nothing around it."""
    return f'<div style="max-width:76em;overflow-x:auto;font-size:90%">{"".join(_parts(page))}</div>'


def picture(svg: str, what: str) -> str:
    """A picture inside the page, as large as it is: a narrow page scrolls it, for its texts would get too small.
    As an image, for a style inside an SVG would hold for everything around it."""
    data = base64.b64encode(svg.encode()).decode()
    image = f'<img style="max-width:none" alt="{escape(what)}" src="data:image/svg+xml;base64,{data}">'
    return f'<div style="overflow-x:auto">{image}</div>'


def document(title: str, body: str) -> str:
    """A whole file around such parts."""
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    head += f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title></head>'
    return f'{head}<body style="font-family:sans-serif;margin:1em">{body}</body></html>\n'


def to_list(sentences: Iterable[str]) -> str:
    """Sentences, one below the other, each with a mark."""
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"


def _parts(page: RenderableType) -> Iterator[str]:
    if isinstance(page, Group):
        for part in page.renderables:
            yield from _parts(part)
    elif isinstance(page, Padding):
        yield from _parts(page.renderable)
    elif isinstance(page, Table):
        yield _table(page)
    elif isinstance(page, ProgressBar):
        yield f'<progress max="{page.total or 1:g}" value="{page.completed:g}"></progress>'
    else:
        yield _text(page if isinstance(page, Text) else Text(str(page)))


def _text(text: Text) -> str:
    if not text.plain.strip():
        return ""
    if str(text.style) == "bold":
        return f'<div style="font-weight:bold;margin:.8em 0 .2em">{escape(text.plain)}</div>'
    if "\n" in text.plain or text.no_wrap:
        lines = "pre" if text.no_wrap and text.overflow is None else "pre-wrap"  # sentences say `overflow="fold"`
        return f'<pre style="margin:0;line-height:1.25;white-space:{lines}">{escape(text.plain)}</pre>'
    return f"<div>{escape(text.plain)}</div>"


def _table(table: Table) -> str:
    head = [column.header for column in table.columns] if table.show_header else []
    columns = [list(column.cells) for column in table.columns]
    names = f"<thead>{_row('th', head, table)}</thead>" if any(map(str, head)) else ""
    rows = zip(*columns, strict=True) if columns else ()
    body = "".join(_row("td", row, table) for row in rows)
    return f'<table style="border-collapse:collapse;width:auto;margin:0">{names}<tbody>{body}</tbody></table>'


def _row(tag: str, cells: Iterable[RenderableType], table: Table) -> str:
    made = []
    for cell, column in zip(cells, table.columns, strict=True):
        align = "right" if column.justify == "right" else "left"
        bold = ";font-weight:bold" if column.style == "bold" or tag == "th" else ";font-weight:normal"
        words = cell.plain if isinstance(cell, Text) else str(cell)
        made.append(f'<{tag} style="{_CELL};text-align:{align}{bold}">{escape(words)}</{tag}>')
    return f"<tr>{''.join(made)}</tr>"
