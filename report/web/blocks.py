"""What the sections of a page are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from rich.console import RenderableType

from ..parts.html import image, joined, opening, to_html


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, and whether its cells are words."""

    title: str
    is_text: bool = False


@dataclass(frozen=True)
class TableCell:
    """A cell.

    text    that is shown
    key     by which it is sorted; None: by the number with unit that the text begins with, or by its words
    """

    text: str
    key: float | None = None


def section(title: str, *parts: Markup, note: str = "") -> Markup:
    """A part of the page under a title, with a note on how to read it."""
    slug = slug_of(title)
    told = Markup('<p class="quiet">{}</p>').format(note) if note else Markup("")
    made = '<section aria-labelledby="{0}"><h2 id="{0}">{1}</h2>{2}{3}</section>'
    return Markup(made).format(slug, title, told, joined(parts))


def slug_of(title: str) -> str:
    """A title as the name of its place in the page."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def sorting_table(
    title: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[TableCell | str]],
    details: Sequence[str] = (),
    best: int | None = None,
    unfolds: bool = False,
) -> Markup:
    """A table whose headings sort it, and which a long text filters.

    title    in words for those who do not see it
    details  of each row the detail that its first cell opens
    best     the number of the row that is marked as the best
    unfolds  whether details unfold below their rows, and not in a dialog
    """
    head = joined(_head(column) for column in columns)
    body = joined(
        _row(columns, cells, details[number] if details else "", number == best) for number, cells in enumerate(rows)
    )
    kind = "sorts unfolds" if unfolds else "sorts"
    table = '<table class="{}" data-title="{}"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>'
    return Markup('<div class="wide">{}</div>').format(Markup(table).format(kind, title, head, body))


def _head(column: Column) -> Markup:
    return Markup('<th scope="col" class="{}">{}</th>').format("text" if column.is_text else "", column.title)


def _row(columns: Sequence[Column], cells: Sequence[TableCell | str], detail: str, is_best: bool) -> Markup:
    shown = []
    for number, (column, given) in enumerate(zip(columns, cells, strict=True)):
        cell = given if isinstance(given, TableCell) else TableCell(given)
        key = "" if cell.key is None else Markup(' data-key="{}"').format(repr(cell.key))
        words = cell.text if number or not detail else opening(cell.text, detail)
        shown.append(Markup('<td class="{}"{}>{}</td>').format("text" if column.is_text else "", key, words))
    of = Markup(' data-of="{}"').format(detail) if detail else ""
    return Markup("<tr{}{}>{}</tr>").format(Markup(' class="best"') if is_best else "", of, joined(shown))


def rendered(page: RenderableType, opens: Mapping[str, str] | None = None) -> Markup:
    """A page that is made for the terminal, with tables that sort; `opens` has the dialogs of rows by words in them."""
    return to_html(page, styled=False, opens=opens)


def plot(name: str) -> Markup:
    """The place of a plot of the page's data."""
    return Markup('<div class="plot" data-plot="{}"></div>').format(name)


def timeline(name: str) -> Markup:
    """The place of a timeline of the page's data."""
    return Markup('<div data-timeline="{}"></div>').format(name)


def drawn(svg: str, what: str) -> Markup:
    """A picture that is drawn already, as large as it is."""
    return Markup('<figure class="wide">{}</figure>').format(image(svg, what))
