"""Pages made for the terminal as HTML: the same titles, pairs, tables and texts, with real tables.

Every page and every picture is made of `Markup` templates: what is put into one is escaped unless it is markup."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator

from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

_CELL = "padding:.1em .8em .1em 0;border:0;vertical-align:top;white-space:pre-line"


def to_html(page: RenderableType) -> Markup:
    """A page of texts, tables and groups of them; it brings no style sheet, so that it changes nothing around it."""
    return Markup('<div style="max-width:76em;overflow-x:auto;font-size:90%">{}</div>').format(joined(_parts(page)))


def picture(svg: str, what: str) -> Markup:
    """A picture inside the page, as large as it is: a narrow page scrolls it, for its texts would get too small.
    As an image, for a style inside an SVG would hold for everything around it."""
    data = base64.b64encode(svg.encode()).decode()
    image = Markup('<img style="max-width:none" alt="{}" src="data:image/svg+xml;base64,{}">').format(what, data)
    return Markup('<div style="overflow-x:auto">{}</div>').format(image)


def document(title: str, *parts: Markup) -> Markup:
    """A whole file around such parts."""
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    head += '<meta name="viewport" content="width=device-width, initial-scale=1"><title>{}</title></head>'
    body = '<body style="font-family:sans-serif;margin:1em">{}</body></html>\n'
    return Markup(head + body).format(title, joined(parts))


def heading(text: str, level: int) -> Markup:
    """A title within a page; 1 is the page's own."""
    return Markup("<h{0}>{1}</h{0}>").format(level, text)


def to_list(sentences: Iterable[str]) -> Markup:
    """Sentences, one below the other, each with a mark."""
    return Markup("<ul>{}</ul>").format(joined(Markup("<li>{}</li>").format(sentence) for sentence in sentences))


def joined(parts: Iterable[Markup]) -> Markup:
    """Parts, one after the other."""
    return Markup("").join(parts)


def _parts(page: RenderableType) -> Iterator[Markup]:
    if isinstance(page, Group):
        for part in page.renderables:
            yield from _parts(part)
    elif isinstance(page, Padding):
        yield from _parts(page.renderable)
    elif isinstance(page, Table):
        yield _table(page)
    elif isinstance(page, ProgressBar):
        yield Markup('<progress max="{:g}" value="{:g}"></progress>').format(page.total or 1, page.completed)
    else:
        yield _text(page if isinstance(page, Text) else Text(str(page)))


def _text(text: Text) -> Markup:
    if not text.plain.strip():
        return Markup("")
    if str(text.style) == "bold":
        return Markup('<div style="font-weight:bold;margin:.8em 0 .2em">{}</div>').format(text.plain)
    if "\n" in text.plain or text.no_wrap:
        lines = "pre" if text.no_wrap and text.overflow is None else "pre-wrap"  # sentences say `overflow="fold"`
        return Markup('<pre style="margin:0;line-height:1.25;white-space:{}">{}</pre>').format(lines, text.plain)
    return Markup("<div>{}</div>").format(text.plain)


def _table(table: Table) -> Markup:
    head = [column.header for column in table.columns] if table.show_header else []
    columns = [list(column.cells) for column in table.columns]
    names = Markup("<thead>{}</thead>").format(_row("th", head, table)) if any(map(str, head)) else ""
    rows = zip(*columns, strict=True) if columns else ()
    body = joined(_row("td", row, table) for row in rows)
    made = '<table style="border-collapse:collapse;width:auto;margin:0">{}<tbody>{}</tbody></table>'
    return Markup(made).format(names, body)


def _row(tag: str, cells: Iterable[RenderableType], table: Table) -> Markup:
    made = []
    for cell, column in zip(cells, table.columns, strict=True):
        align = "right" if column.justify == "right" else "left"
        bold = ";font-weight:bold" if column.style == "bold" or tag == "th" else ";font-weight:normal"
        words = cell.plain if isinstance(cell, Text) else str(cell)
        made.append(Markup('<{0} style="{1};text-align:{2}{3}">{4}</{0}>').format(tag, _CELL, align, bold, words))
    return Markup("<tr>{}</tr>").format(joined(made))
