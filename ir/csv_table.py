"""Tables as users write them, in CSV: every column has a name of its own, and every row a value for each."""

from __future__ import annotations

import csv
import io

from .errors import TilewrightError, shown


def read_table(
    text: str, name: str, error: type[TilewrightError]
) -> tuple[list[str], list[tuple[str, dict[str, str]]]]:
    """The columns of a table, and its rows, each with its place in the file; lines that are empty or begin with # are
    left out, and blanks around values.

    name   of the file, as messages call it
    error  that is raised: for a column without a name or with that of another one, for a row with more or fewer values,
           and for quotes that do not end
    """
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), skipinitialspace=True, strict=True)
    columns: list[str] = []
    rows: list[tuple[str, dict[str, str]]] = []
    try:
        for cells in reader:
            values = [cell.strip() for cell in cells]
            if not any(values) or values[0].startswith("#"):
                continue
            where = f"{name}:{reader.line_num}"
            if not columns:
                columns = _names(values, where, error)
            elif len(values) != len(columns):
                found = f"{len(values)} value{'s' if len(values) != 1 else ''}"
                raise error(f"found {found}, expected one for each of {', '.join(columns)}", where=where)
            else:
                rows.append((where, dict(zip(columns, values, strict=True))))
    except csv.Error as refused:
        message = f"not a table: {refused}"
        raise error(message, where=f"{name}:{reader.line_num}", hint="a quote ends where it began") from None
    return columns, rows


def _names(values: list[str], where: str, error: type[TilewrightError]) -> list[str]:
    if not all(values):
        raise error("a column has no name", where=where, hint="the first line names the columns")
    if twice := next((value for value in values if values.count(value) > 1), None):
        raise error(f"two columns are named {shown(twice)}", where=where)
    return values
