"""Buffers from a CSV file: `id, lower, upper, size`, as MiniMalloc's benchmarks have them, and further columns:
`alignment`, `copies`, a fixed `offset`, `gaps` in which a buffer is not live (`3-5 8-9`, half-open), and `in_place`
(the buffers whose addresses it may take over)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ...ir import MemoryPlanError, did_you_mean
from ...ir.csv_table import read_table
from ...ir.files import bytes_of, missing_file
from .buffers import BufferSet, InPlace, LiveBuffer

LARGEST_FILE = 2**26
"""Bytes; a million buffers take about half of that."""

NEEDED = ("id", "lower", "upper", "size")
MORE = ("alignment", "copies", "offset")
LISTS = ("gaps", "in_place")

_GAP = re.compile(r"(-?[0-9]{1,18})-(-?[0-9]{1,18})")

_WHOLE = re.compile("[+-]?[0-9]{1,30}")


def read_buffers(path: str | Path) -> BufferSet:
    """The buffers of a file.

    Raises MemoryPlanError with the line of what is wrong: columns, numbers, empty lifetimes, names that are used twice.
    """
    file = Path(path)
    try:
        data = bytes_of(file, LARGEST_FILE)
        if len(data) > LARGEST_FILE:
            raise MemoryPlanError(f"more than {LARGEST_FILE:,} bytes, expected a list of buffers", where=str(path))
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise MemoryPlanError(missing_file(file), where=str(path)) from None
    except UnicodeDecodeError:
        raise MemoryPlanError("not a text, expected a CSV file of buffers", where=str(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MemoryPlanError(f"cannot be read: {reason}", where=str(path)) from None
    return buffers_of(text, str(path))


def buffers_of(text: str, file: str) -> BufferSet:
    """The buffers of a text; `file` is how messages call it."""
    names, rows = read_table(text, file, MemoryPlanError)
    for name in NEEDED:
        if name not in names:
            message = f"no column {name}, expected {', '.join(NEEDED)}"
            raise MemoryPlanError(message, where=f"{file}:1", hint="the first line names the columns")
    for name in names:
        if name not in (*NEEDED, *MORE, *LISTS):
            raise MemoryPlanError(
                f"unknown column {name!r}", where=f"{file}:1", hint=did_you_mean(name, (*MORE, *LISTS))
            )
    buffers: dict[str, LiveBuffer] = {}
    pairs: list[tuple[str, InPlace]] = []
    for where, row in rows:
        buffer = _buffer(row, where)
        if buffer.name in buffers:
            raise MemoryPlanError(f"a second buffer {buffer.name!r}", where=where, hint="ids tell buffers apart")
        buffers[buffer.name] = buffer
        pairs += [(where, InPlace(name.strip(), buffer.name)) for name in row.get("in_place", "").split()]
    if not buffers:
        raise MemoryPlanError("no buffers, expected a line for each below the names of the columns", where=file)
    for where, pair in pairs:
        try:
            BufferSet(tuple(buffers.values()), (pair,))
        except MemoryPlanError as error:
            raise error.located(where) from None
    return BufferSet(tuple(buffers.values()), tuple(pair for _, pair in pairs))


def _buffer(row: Mapping[str, str], where: str) -> LiveBuffer:
    numbers = {}
    for name in (*NEEDED[1:], *MORE):
        value = row.get(name, "")
        if name in MORE and not value:
            continue
        if not _WHOLE.fullmatch(value):
            raise MemoryPlanError(f"{name} is {value[:60]!r}, expected a whole number", where=where)
        numbers[name] = int(value)
    try:
        return LiveBuffer(row["id"], gaps=_gaps(row.get("gaps") or ""), **numbers)
    except MemoryPlanError as error:
        raise error.located(where) from None


def _gaps(text: str) -> tuple[tuple[int, int], ...]:
    """Half-open times as a file has them: `3-5 8-9`."""
    found = []
    for word in text.split():
        match = _GAP.fullmatch(word)
        if match is None:
            raise MemoryPlanError(f"gaps has {word[:60]!r}, expected times such as 3-5", hint="3-5 8-9 are two gaps")
        found.append((int(match[1]), int(match[2])))
    return tuple(found)
