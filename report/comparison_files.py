"""The files of a comparison: its page, and its tables in the formats asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .comparison import Comparison
from .comparison_tables import all_tables
from .files import write_bytes
from .html import html_page


def write_comparison(comparison: Comparison, folder: Path, formats: Sequence[str]) -> tuple[Path, ...]:
    """Write the page, and every table in every format; the paths. Raises TilewrightError when one cannot be written."""
    page = write_bytes(folder / "index.html", html_page(comparison).encode())
    tables = all_tables(comparison)
    return (page, *(table.write(folder / f"{table.name}.{form}") for table in tables for form in formats))
