"""Messages about files that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

_SNIFFED = 2**20


def missing_file(path: Path) -> str:
    """Return the message for a path without a file: there may be a link that leads nowhere."""
    return f"a link to {os.readlink(path)!r}, where no file is" if path.is_symlink() else "no such file"


def bytes_of(path: Path, most: int) -> bytes:
    """Return the bytes of a file, at most `most` + 1, since a device may have no end.

    Raises OSError, and ValueError for what no path can be.
    """
    with path.open("rb") as file:
        return file.read(most + 1)


def beginning_of(path: Path) -> str:
    """The beginning of a text, by which kinds of files are told apart; nothing of what is none."""
    try:
        return bytes_of(path, _SNIFFED).decode(errors="ignore")
    except (OSError, ValueError):
        return ""
