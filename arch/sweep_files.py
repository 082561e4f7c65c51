"""Points of a sweep from a file: fields of an architecture with the values that they take together.

designs.csv, a line for each point below the names of the fields:

    GLB.size,array
    64 KiB,8x8
    256 KiB,16x16

designs.yaml, the same as a list:

    - {GLB.size: 64 KiB, array: 8x8}
    - {GLB.size: 256 KiB, array: 16x16}
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from ..ir import ArchitectureError
from .document import Field, read_document, read_text

_WHAT = "a file of points to sweep"


def is_sweep_file(text: str) -> bool:
    """Whether a text names a file and not a field with values."""
    return "=" not in text and text.strip().endswith((".csv", ".yaml", ".yml"))


def read_points(path: str) -> Mapping[str, tuple[str, ...]]:
    """Field -> its value at every point, in the order of the file.

    Raises ArchitectureError for a file that cannot be read, has no points, or not all fields at every point.
    """
    name = path.strip()
    text = read_text(Path(name), name, _WHAT, "write FIELD=VALUES, such as array=8x8,16x16, or the path of a file")
    points = _from_csv(text, name) if name.endswith(".csv") else _from_yaml(text, name)
    return {field: tuple(point[field] for point in points) for field in points[0]}


def _from_csv(text: str, name: str) -> list[dict[str, str]]:
    reader = csv.reader(text.removeprefix("\ufeff").splitlines(), skipinitialspace=True)
    fields: list[str] = []
    points = []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            where = f"{name}:{reader.line_num}"
            if not fields:
                fields = _fields(cells, where)
                continue
            if len(cells) != len(fields) or not all(cells):
                found, expected = len([cell for cell in cells if cell]), f"one for each of {', '.join(fields)}"
                values = "value" if found == 1 else "values"
                raise ArchitectureError(f"found {found} {values}, expected {expected}", where=where)
            points.append(dict(zip(fields, cells, strict=True)))
    except csv.Error as error:
        raise ArchitectureError(f"not a table: {error}", where=f"{name}:{reader.line_num}") from None
    if not points:
        raise ArchitectureError("no points, expected the names of fields and a line for each point", where=name)
    return points


def _fields(cells: list[str], where: str) -> list[str]:
    if not all(cells):
        raise ArchitectureError("a column has no name, expected fields such as GLB.size", where=where)
    twice = sorted({cell for cell in cells if cells.count(cell) > 1})
    if twice:
        raise ArchitectureError(f"two columns are named {twice[0]}", where=where)
    return cells


def _from_yaml(text: str, name: str) -> list[dict[str, str]]:
    expected = "a list of points such as - {GLB.size: 64 KiB, array: 8x8}"
    found = read_document(text, name, _WHAT, "start with - {GLB.size: 64 KiB}")
    points = [_point(element, expected) for element in found.elements(expected)]
    for element, point in zip(found.elements(expected), points, strict=True):
        if point.keys() != points[0].keys():
            fields = ", ".join(points[0])
            raise element.error(f"found {', '.join(point)}, expected the fields of the first point: {fields}")
    return points


def _point(element: Field, expected: str) -> dict[str, str]:
    members = element.mapping(expected)
    if not members:
        raise element.error(f"the point is empty, expected {expected}")
    return {field: member.text("a value such as 64 KiB") for field, member in members.items()}
