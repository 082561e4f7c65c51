"""Tables with units in the names of their columns, as CSV, JSON, Parquet, or a pandas frame."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from ...ir import TilewrightError, did_you_mean, need_package
from .files import write_bytes

if TYPE_CHECKING:
    import pandas

Value: TypeAlias = str | int | float | bool | None

FORMATS = ("csv", "json", "parquet")


@dataclass(frozen=True)
class Table:
    """Rows of values under named columns.

    name     of the table
    columns  with units in their names
    rows     None is a value that does not exist, such as the cost of no mapping
    """

    name: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Value, ...]]

    def to_csv(self) -> bytes:
        """Comma-separated, the names of the columns in the first line; None is an empty field, and a text that a
        spreadsheet would take for a formula begins with an apostrophe."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(_no_formula, self.columns))
        writer.writerows(map(_no_formula, row) for row in self.rows)
        return text.getvalue().encode()

    def records(self) -> list[dict[str, Value]]:
        """The rows by the names of the columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_json(self) -> bytes:
        """A list of objects, one a line."""
        lines = (json.dumps(record, ensure_ascii=False, allow_nan=False) for record in self.records())
        return ("[\n" + ",\n".join(lines) + "\n]\n").encode()

    def to_parquet(self) -> bytes:
        """The bytes of a Parquet file. Raises TilewrightError when pyarrow is not installed."""
        pyarrow, parquet = _library("pyarrow"), _library("pyarrow.parquet")
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        table = pyarrow.table({name: list(values) for name, values in zip(self.columns, columns, strict=True)})
        data = io.BytesIO()
        parquet.write_table(table, data)
        return data.getvalue()

    def to_frame(self) -> pandas.DataFrame:
        """The rows as a pandas frame. Raises TilewrightError when pandas is not installed."""
        _library("pandas")
        import pandas

        return pandas.DataFrame(list(self.rows), columns=list(self.columns))

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write a file whose ending says the format: .csv, .json or .parquet.

        Raises TilewrightError for another ending, and when it cannot be written.
        """
        place = Path(path)
        form = check_format(place.suffix.removeprefix("."), str(path))
        data = {"csv": self.to_csv, "json": self.to_json, "parquet": self.to_parquet}[form]()
        return write_bytes(place, data)


def _no_formula(value: Value) -> Value:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def check_format(name: str, where: str | None = None) -> str:
    """The name of a format. Raises TilewrightError for any other one."""
    if name not in FORMATS:
        message = f"unknown format {name!r}, expected {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        raise TilewrightError(message, where=where, hint=did_you_mean(name, FORMATS) if name else None)
    return name


def check_formats(names: Sequence[str]) -> None:
    """TilewrightError for a format that is unknown, or whose library is missing: better before a batch than after."""
    for name in names:
        if check_format(name, "--format") == "parquet":
            _library("pyarrow")


def _library(name: str) -> ModuleType:
    from importlib import import_module

    need_package(name.partition(".")[0], "tables", "tables")
    return import_module(name)
