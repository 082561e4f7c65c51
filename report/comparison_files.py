"""The files of a comparison: its tables, in the formats asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from .comparison import Comparison
from .comparison_tables import all_tables
from .tables import Table


def write_comparison(comparison: Comparison, folder: Path, formats: Sequence[str]) -> tuple[Path, ...]:
    """Write every table in every format, and return the paths. Raises TilewrightError when one cannot be written."""
    return write_tables(all_tables(comparison), folder, formats)


def write_tables(tables: Iterable[Table], folder: Path, formats: Sequence[str]) -> tuple[Path, ...]:
    """Write tables in every format under their names, and return the paths."""
    return tuple(table.write(folder / f"{table.name}.{form}") for table in tables for form in formats)
