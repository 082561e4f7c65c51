"""The files of a comparison: its page, its pictures, and its tables in the formats asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from ..parts.files import write_bytes
from ..parts.tables import Table
from .comparison import Comparison
from .html import html_page
from .tables import all_tables


def write_comparison(comparison: Comparison, folder: Path, formats: Sequence[str]) -> tuple[Path, ...]:
    """Write the page, the pictures if matplotlib is there, and every table in every format; and return the paths.

    Raises TilewrightError when one cannot be written.
    """
    from .pictures import write_pictures

    page = write_bytes(folder / "index.html", html_page(comparison).encode())
    pictures = write_pictures(comparison, folder) if find_spec("matplotlib") else ()
    return (page, *pictures, *write_tables(all_tables(comparison), folder, formats))


def write_tables(tables: Iterable[Table], folder: Path, formats: Sequence[str]) -> tuple[Path, ...]:
    """Write tables in every format under their names, and return the paths."""
    return tuple(table.write(folder / f"{table.name}.{form}") for table in tables for form in formats)
