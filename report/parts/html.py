"""Pages made for the terminal as HTML: the same titles, pairs, tables and texts, with real tables.

Every page and every picture is made of `Markup` templates: what is put into one is escaped unless it is markup."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

_CELL = "padding:.1em .8em .1em 0;border:0;vertical-align:top;white-space:pre-line"


def to_html(page: RenderableType, styled: bool = True, opens: Mapping[str, str] | None = None) -> Markup:
    """A page of texts, tables and groups of them.

    opens   words of a cell of a row -> the dialog that they open
    styled  with styles of its own, for notebooks: it brings no style sheet, so that it changes nothing around it; else
            with the classes that the pages of reports have rules for, and with tables that sort
    """
    parts = joined(_parts(page, _Look(styled), opens or {}))
    return (
        Markup('<div style="max-width:76em;overflow-x:auto;font-size:90%">{}</div>').format(parts) if styled else parts
    )


def picture(svg: str, what: str) -> Markup:
    """A picture inside the page, as large as it is: a narrow page scrolls it, for its texts would get too small."""
    return Markup('<div style="overflow-x:auto">{}</div>').format(image(svg, what))


def image(svg: str, what: str) -> Markup:
    """A picture as an image, for a style inside an SVG would hold for everything around it."""
    data = base64.b64encode(svg.encode()).decode()
    made = '<img class="drawn" style="max-width:none" alt="{}" src="data:image/svg+xml;base64,{}">'
    return Markup(made).format(what, data)


def heading(text: str, level: int) -> Markup:
    """A title within a page; 1 is the page's own."""
    return Markup("<h{0}>{1}</h{0}>").format(level, text)


def to_list(sentences: Iterable[str]) -> Markup:
    """Sentences, one below the other, each with a mark."""
    return Markup("<ul>{}</ul>").format(joined(Markup("<li>{}</li>").format(sentence) for sentence in sentences))


def joined(parts: Iterable[Markup]) -> Markup:
    """Parts, one after the other."""
    return Markup("").join(parts)


@dataclass(frozen=True)
class _Look:
    """Whether elements have styles of their own, or classes of a style sheet."""

    styled: bool

    def attribute(self, style: str, name: str) -> Markup:
        """What gives an element its look; nothing where no rule is for it."""
        if self.styled:
            return Markup(' style="{}"').format(style)
        return Markup(' class="{}"').format(name) if name else Markup("")


def elements(page: RenderableType) -> Iterator[Table | ProgressBar | Text]:
    """What a page is made of, one below the other."""
    if isinstance(page, Group):
        for part in page.renderables:
            yield from elements(part)
    elif isinstance(page, Padding):
        yield from elements(page.renderable)
    elif isinstance(page, Table | ProgressBar | Text):
        yield page
    else:
        yield Text(str(page))


def words_of(cell: RenderableType) -> str:
    """The text of a cell."""
    return cell.plain if isinstance(cell, Text) else str(cell)


def _parts(page: RenderableType, look: _Look, opens: Mapping[str, str]) -> Iterator[Markup]:
    for one in elements(page):
        if isinstance(one, Table):
            yield _table(one, look, opens)
        elif isinstance(one, ProgressBar):
            yield Markup('<progress max="{:g}" value="{:g}"></progress>').format(one.total or 1, one.completed)
        else:
            yield _text(one, look)


def _text(text: Text, look: _Look) -> Markup:
    if not text.plain.strip():
        return Markup("")
    if str(text.style) == "bold":
        if not look.styled:
            return Markup("<h2>{}</h2>").format(text.plain)
        return Markup('<div style="font-weight:bold;margin:.8em 0 .2em">{}</div>').format(text.plain)
    if "\n" in text.plain or text.no_wrap:
        is_code = text.no_wrap and text.overflow is None  # sentences say `overflow="fold"`
        if not look.styled and not is_code:
            return Markup('<div class="told">{}</div>').format(unwrapped(text.plain))
        style = f"margin:0;line-height:1.25;white-space:{'pre' if is_code else 'pre-wrap'}"
        return Markup("<pre{}>{}</pre>").format(look.attribute(style, ""), text.plain)
    return Markup("<div>{}</div>").format(text.plain)


def table_rows(table: Table, is_filled: bool = True) -> list[Sequence[RenderableType]]:
    """The cells of a table, row by row; filled, where words that stand once for several rows stand in all of them."""
    columns = [list(column.cells) for column in table.columns]
    rows: list[Sequence[RenderableType]] = list(zip(*columns, strict=True)) if columns else []
    return _filled(rows, table) if is_filled else rows


def _table(table: Table, look: _Look, opens: Mapping[str, str]) -> Markup:
    head = [column.header for column in table.columns] if table.show_header else []
    is_named = any(map(str, head))
    names = Markup("<thead>{}</thead>").format(_row("th", head, table, look, {})) if is_named else ""
    rows = table_rows(table, is_named and not look.styled)
    body = joined(_row("td", row, table, look, opens if is_named else {}) for row in rows)
    style = look.attribute("border-collapse:collapse;width:auto;margin:0", "sorts" if is_named else "pairs")
    made = Markup("<table{}>{}<tbody>{}</tbody></table>").format(style, names, body)
    return made if look.styled else Markup('<div class="wide">{}</div>').format(made)


def _filled(rows: Iterable[Sequence[RenderableType]], table: Table) -> list[Sequence[RenderableType]]:
    """Rows with the words again that stand once for several rows: a table that sorts has no order to read them from."""
    found: list[Sequence[RenderableType]] = []
    for row in rows:
        cells, open_left = list(row), True
        for number, (cell, column) in enumerate(zip(row, table.columns, strict=True)):
            open_left = open_left and column.justify != "right" and not str(cell)
            if open_left and found:
                cells[number] = found[-1][number]
        found.append(cells)
    return found


def _row(tag: str, cells: Iterable[RenderableType], table: Table, look: _Look, opens: Mapping[str, str]) -> Markup:
    made, detail = [], ""
    for cell, column in zip(cells, table.columns, strict=True):
        align = "right" if column.justify == "right" else "left"
        bold = ";font-weight:bold" if column.style == "bold" or tag == "th" else ";font-weight:normal"
        words = words_of(cell) if table.show_header or look.styled else unwrapped(words_of(cell))
        kind = " ".join((*(["text"] if align == "left" else []), *(["pre"] if "\n" in words else [])))
        attribute = look.attribute(f"{_CELL};text-align:{align}{bold}", kind)
        shown: str = words
        if words in opens and not detail:
            detail = opens[words]
            shown = opening(words, detail)
        made.append(Markup("<{0}{1}>{2}</{0}>").format(tag, attribute, shown))
    return Markup("<tr{}>{}</tr>").format(Markup(' data-of="{}"').format(detail) if detail else "", joined(made))


def unwrapped(text: str) -> str:
    """A text whose sentences are broken for the terminal, with a line for each sentence."""
    return re.sub(r"(?<![.:])\n(?:  )?(?=\S)", " ", text)


def opening(words: str, detail: str) -> Markup:
    """Words that open a dialog."""
    return Markup('<button type="button" data-detail="{}">{}</button>').format(detail, words)
