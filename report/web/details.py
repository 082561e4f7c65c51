"""The details of a page: what a row or a dot stands for, its certificate, its picture, the command that finds it again.

A dialog shows them, or they unfold below a row. What several show stands once. Pictures are kept compressed, and a
browser unpacks them when the first one is asked for: of the pictures of many mappings most is the same.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..parts.html import elements, table_rows, words_of

Part = Mapping[str, Any]


@dataclass(frozen=True)
class Detail:
    """What a row or a dot stands for.

    title    of it
    figures  a sentence with the most important numbers
    parts    with headings, one after the other
    command  a shell command that finds the same
    """

    title: str
    figures: str
    parts: Sequence[Part]
    command: str = ""


class Details:
    """The details of a page by name, and their pictures."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self.shared: list[Part] = []
        self.pictures: list[str] = []
        self._numbers: dict[Hashable, int] = {}

    def add(self, name: str, detail: Detail) -> str:
        """Keep a detail, and return its name."""
        parts = [{"shared": self._shared(part)} for part in detail.parts]
        command = {"command": detail.command} if detail.command else {}
        self.found[name] = {"title": detail.title, "figures": detail.figures, "parts": parts, **command}
        return name

    def picture(self, key: Hashable, draw: Callable[[], str]) -> int:
        """Keep a picture, drawn once for all that have the key, and return its number."""
        return self._number(key, self.pictures, draw)

    def _shared(self, part: Part) -> int:
        return self._number(json.dumps(part), self.shared, lambda: part)

    def data(self) -> dict[str, Any]:
        """For the scripts of the page."""
        return {"details": self.found, "shared": self.shared, "pictures": packed(self.pictures)}

    def _number(self, key: Hashable, kept: list[Any], make: Callable[[], Any]) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(kept)
            kept.append(make())
        return self._numbers[key]


def packed(pictures: Sequence[str]) -> str:
    """Texts in little room: a list in JSON, compressed, as letters; the same texts make the same letters."""
    return base64.b64encode(gzip.compress(json.dumps(pictures).encode(), mtime=0)).decode()


def pairs_part(head: str, pairs: Iterable[tuple[str, str]]) -> Part:
    """Names and values."""
    return {"head": head, "pairs": [list(pair) for pair in pairs]}


def rows_part(head: str, columns: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> Part:
    """A table of texts; columns are a title and whether their cells are words."""
    return {"head": head, "columns": [list(column) for column in columns], "rows": [list(row) for row in rows]}


def page_parts(page: RenderableType) -> list[Part]:
    """The tables of a page that is made for the terminal, each with the title above it."""
    found: list[Part] = []
    head = ""
    for one in elements(page):
        if isinstance(one, Table):
            columns = [(words_of(column.header), column.justify != "right") for column in one.columns]
            found.append(rows_part(head, columns, [[words_of(cell) for cell in row] for row in table_rows(one)]))
        elif isinstance(one, Text) and str(one.style) == "bold":
            head = one.plain
    return found


def text_part(head: str, text: str) -> Part:
    """A text with its lines as they are."""
    return {"head": head, "text": text}


def sentences_part(head: str, sentences: Iterable[str]) -> Part:
    """Sentences, one below the other."""
    return {"head": head, "sentences": list(sentences)}


def picture_part(head: str, number: int, about: str) -> Part:
    """A picture by its number, and what it shows in words."""
    return {"head": head, "picture": number, "about": about}
