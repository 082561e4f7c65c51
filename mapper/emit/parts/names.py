"""Names and text of users, made safe for generated code; how deep Python's may be."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

DEEPEST = 20
"""Python allows as many blocks inside each other; in nests with more loops, neighbouring ones share one."""

_OF_PYTHON = frozenset((*keyword.kwlist, *keyword.softkwlist, *dir(builtins)))


def printable(text: str) -> str:
    """The text on one line: whatever could end a comment or confuse a reader is escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isascii() and c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def comment(text: str, indent: str = "", mark: str = "#") -> list[str]:
    """Lines of comments, each after its mark."""
    return [f"{indent}{mark} {printable(line)}".rstrip() for line in text.split("\n")]


def quoted(text: str) -> str:
    """A string literal in plain ASCII."""
    return ascii(text)


class FreshNames:
    """Gives out identifiers of [a-z0-9_], each once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*_OF_PYTHON, *taken}

    def unique(self, wish: str) -> str:
        """An identifier as near to the wish as possible."""
        word = re.sub(r"[^a-z0-9_]+", "_", wish.lower()).strip("_")[:40] or "x"
        word = word if word[0].isalpha() else f"x{word}"
        name, number = word, 1
        while name in self._taken:
            number += 1
            name = f"{word}_{number}"
        self._taken.add(name)
        return name
