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

from collections.abc import Mapping
from pathlib import Path

from ..ir import ArchitectureError
from ..ir.csv_table import read_table
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
    _, rows = read_table(text, name, ArchitectureError)
    for where, row in rows:
        if empty := [field for field, value in row.items() if not value]:
            raise ArchitectureError(f"no value of {empty[0]}, expected one for each field", where=where)
    if not rows:
        raise ArchitectureError("no points, expected the names of fields and a line for each point", where=name)
    return [row for _, row in rows]


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
