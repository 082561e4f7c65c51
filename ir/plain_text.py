"""Names and sentences from elsewhere, as they can stand in a line of a file."""

from __future__ import annotations


def on_one_line(text: str) -> str:
    """A text with whatever nobody can see escaped, such as line breaks in names."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
