"""Sweeps: fields of an architecture with the values that they are to take in turn, as a user writes them.

    array=8x8,12x14,16x16         these values
    GLB.size=32KiB:1MiB:x2        from the first to the second, each twice the one before: 32 KiB, 64 KiB, ... 1 MiB
    clock=200 MHz:1 GHz:+200 MHz  from the first to the second in equal steps
    lanes=4:64:x4                 numbers without a unit, such as a parameter of formulas
    array=8x8,16x16 with GLB.size=64KiB,256KiB      several fields together: the first values, then the second ones
    designs.csv                   several fields together, from a file (below)

A path is one of `formulas.py`; the name of a level may be written in small letters. In a range all units are the same,
or all are sizes. Commas in brackets are part of a value. A file has a point on each line below the names of the fields,

    GLB.size,array
    64 KiB,8x8
    256 KiB,16x16

or is the same as a list in YAML: - {GLB.size: 64 KiB, array: 8x8}.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from ..ir import ArchitectureError
from ..ir.csv_table import read_table
from .document import Field, read_document, read_text
from .loader import load_arch
from .spec import Architecture
from .units import shown, size_bits, size_text

MOST_POINTS = 10_000
"""More points than this are refused: a slip in a range is likelier than so large a plan."""

_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/]*)\s*")
_HINT = "write GLB.size=32KiB:1MiB:x2, clock=200MHz:1000MHz:+200MHz or array=8x8,16x16"
_WITH = re.compile(r"\s+with\s+")


@dataclass(frozen=True)
class Sweep:
    """A field and its values, as "array=8x8,16x16" says them; and fields that change together with it.

    path      of the field, such as GLB.size
    values    in the order given
    together  sweeps of as many values: with the first value of this field, theirs is the first, and so on
    """

    path: str
    values: tuple[str, ...]
    together: tuple[Sweep, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Of all fields."""
        return (self.path, *(sweep.path for sweep in self.together))

    @property
    def rows(self) -> tuple[dict[str, str], ...]:
        """Path -> value of all fields, at every step."""
        columns = (self.values, *(sweep.values for sweep in self.together))
        return tuple(dict(zip(self.paths, row, strict=True)) for row in zip(*columns, strict=True))

    @property
    def text(self) -> str:
        """As it is written in a line."""
        parts = (self, *self.together)
        return " with ".join(f"{part.path}={','.join(part.values)}" for part in parts)


def parse_sweep(text: str) -> Sweep:
    """The sweep that a text describes. Raises ArchitectureError for one that cannot be understood."""
    if is_sweep_file(text):
        fields = read_points(text)
        first, *others = (Sweep(path, values) for path, values in fields.items())
        return _checked(replace(first, together=tuple(others)))
    first, *others = (_one_field(part) for part in _WITH.split(text))
    return _checked(replace(first, together=tuple(others)))


def _one_field(text: str) -> Sweep:
    path, equals, values = (part.strip() for part in text.partition("="))
    if not path or not equals or not values:
        raise ArchitectureError(f"found {shown(text)}, expected FIELD=VALUES", where="sweep", hint=_HINT)
    found: list[str] = []
    if ".." in values:
        hint = f"write {path}={re.sub(r'[.]{2,}', ':', values)}:x2 for each twice the one before, or :+STEP"
        raise ArchitectureError(f"found {shown(values)}, expected START:STOP:xFACTOR", where=f"sweep {path}", hint=hint)
    for part in _between_commas(values):
        is_range = ":" in part and not part.lstrip().startswith(("{", "["))
        found += _range(path, part) if is_range else [part.strip()]
    if not all(found):
        raise ArchitectureError(
            f"found {shown(values)}, expected values with commas between them", where=f"sweep {path}"
        )
    return Sweep(path, tuple(found))


def _checked(sweep: Sweep) -> Sweep:
    """The sweep; its fields must differ, have as many values each, and never the same ones twice."""
    where = f"sweep {sweep.path}"
    twice = sorted({path for path in sweep.paths if sweep.paths.count(path) > 1})
    if twice:
        raise ArchitectureError("the field is swept twice", where=f"sweep {twice[0]}")
    for other in sweep.together:
        if len(other.values) != len(sweep.values):
            message = f"{len(sweep.values)} values with {len(other.values)} of {other.path}, expected as many"
            raise ArchitectureError(message, where=where, hint="sweeps of their own are combined with each other")
    seen: set[tuple[str, ...]] = set()
    for row in sweep.rows:
        values = tuple(row.values())
        if values in seen:
            what = "value" if len(values) == 1 else "values"
            is_are = "is" if len(values) == 1 else "are"
            raise ArchitectureError(f"the {what} {', '.join(values)} {is_are} given twice", where=where)
        seen.add(values)
    return sweep


def _between_commas(text: str) -> list[str]:
    """The parts of a text between commas that stand in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def points(sweeps: Sequence[Sweep]) -> Iterator[dict[str, str]]:
    """Every combination of the values, as settings: the last sweep changes fastest.

    Raises ArchitectureError for a field that is swept twice, and for more points than anyone means.
    """
    paths = [path for sweep in sweeps for path in sweep.paths]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        raise ArchitectureError("the field is swept twice", where=f"sweep {twice[0]}")
    count = math.prod(len(sweep.values) for sweep in sweeps)
    if count > MOST_POINTS:
        raise ArchitectureError(f"{count:,} points, expected {MOST_POINTS:,} or fewer", where="sweep")
    combinations = itertools.product(*(sweep.rows for sweep in sweeps))
    return ({path: value for row in rows for path, value in row.items()} for rows in combinations)


def swept(
    name_or_path: str | os.PathLike[str], settings: dict[str, str], sweeps: Sequence[Sweep]
) -> tuple[tuple[dict[str, str], Architecture], ...]:
    """The architecture at every point, with the values of the swept fields there.

    settings  set at all points

    Raises ArchitectureError when it cannot be loaded at one of them.
    """
    base = load_arch(name_or_path, settings)
    named = [_with_spelled_paths(sweep, base) for sweep in sweeps]
    return tuple((point, load_arch(name_or_path, settings | point)) for point in points(named))


def _with_spelled_paths(sweep: Sweep, arch: Architecture) -> Sweep:
    others = tuple(_with_spelled_paths(other, arch) for other in sweep.together)
    return replace(sweep, path=_spelled(sweep.path, arch), together=others)


def _spelled(path: str, arch: Architecture) -> str:
    """The path with the name of its level as the architecture writes it."""
    level, dot, key = path.partition(".")
    if level in arch.depth:
        return path
    alike = [name for name in arch.depth if name.lower() == level.lower()]
    return f"{alike[0]}{dot}{key}" if len(alike) == 1 else path


def _range(path: str, text: str) -> list[str]:
    where, parts = f"sweep {path}", text.split(":")
    if len(parts) != 3 or parts[2].strip()[:1] not in ("x", "+"):
        message = f"found {shown(text)}, expected START:STOP:xFACTOR or START:STOP:+STEP"
        raise ArchitectureError(message, where=where, hint=_HINT)
    start, stop, step = parts[0], parts[1], parts[2].strip()
    (first, unit), (last, last_unit) = _quantity(start, where), _quantity(stop, where)
    grows = step[0] == "x"
    by, step_unit = _quantity(step[1:], where)
    units = {unit, last_unit} if grows else {unit, last_unit, step_unit}
    if len(units) > 1:
        first, last = _bits(start, where), _bits(stop, where)
        by, unit = (by if grows else _bits(step[1:], where)), "bit"
    if (grows and (step_unit or by <= 1)) or (not grows and by <= 0) or last < first or not first:
        message = f"{shown(text)} has no values, expected a start above 0, a stop that is no less, and a step upwards"
        raise ArchitectureError(message, where=where, hint=_HINT)
    values: list[str] = []
    while first <= last and len(values) <= MOST_POINTS:
        values.append(_text(first, unit))
        first = first * by if grows else first + by
    return values


def _quantity(text: str, where: str) -> tuple[Fraction, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ArchitectureError(
            f"found {shown(text)}, expected a number with or without a unit", where=where, hint=_HINT
        )
    return Fraction(match[1]), match[2]


def _bits(text: str, where: str) -> Fraction:
    try:
        return Fraction(size_bits(text.strip()))
    except ArchitectureError as error:
        hint = "give all values of a range the same unit"
        raise ArchitectureError(error.message, where=where, hint=hint) from None


def _text(value: Fraction, unit: str) -> str:
    """A value in its unit; a number of bits in the largest unit of which it is a whole number."""
    if unit == "bit" and value.denominator == 1:
        return size_text(value)
    number = str(value.numerator) if value.denominator == 1 else f"{float(value):.15g}"
    return f"{number} {unit}".strip()


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
