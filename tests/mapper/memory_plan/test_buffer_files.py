"""Buffers as files and callers give them, and what is said of those that cannot be understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.ir import MemoryPlanError
from tilewright.mapper.memory_plan import InPlace, LiveBuffer, buffer_set, read_buffers


def written(folder: Path, text: str) -> Path:
    path = folder / "buffers.csv"
    path.write_text(text)
    return path


def test_all_columns_are_read(tmp_path: Path) -> None:
    text = "size, id, lower, upper, in_place, copies, alignment\n8, x, 0, 2, , , 64\n8, y, 1, 3, x, 1,\n"
    found = read_buffers(written(tmp_path, text))
    assert found.buffers == (LiveBuffer("x", 0, 2, 8, 64), LiveBuffer("y", 1, 3, 8))
    assert found.in_place == (InPlace("x", "y"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,lower,upper\na,0,1\n", r"buffers.csv:1: no column size"),
        ("id,lower,upper,size,inplace\na,0,1,4,b\n", r"unknown column 'inplace'\nhint: did you mean 'in_place'"),
        ("id,lower,upper,size,gaps\na,0,9,4,3..5\n", r"gaps has '3..5', expected times such as 3-5"),
        ("id,lower,upper,size,gaps\na,0,9,4,8-12\n", r":2: a: the gap 8-12, expected gaps in order within its life"),
        ("id,lower,upper,size,offset\na,0,9,4,x\n", r"offset is 'x', expected a whole number"),
        ("id,lower,upper,size,alignmnt\na,0,1,4,4\n", r"unknown column 'alignmnt'\nhint: did you mean 'alignment'"),
        ("id,lower,upper,size\na,0,1,4\nb,0,x,4\n", r"buffers.csv:3: upper is 'x', expected a whole number"),
        ("id,lower,upper,size\na,3,3,4\n", r"buffers.csv:2: a: it lives from 3 up to 3"),
        ("id,lower,upper,size\na,0,1,-4\n", r"buffers.csv:2: a: size is -4"),
        ("id,lower,upper,size\na,0,1,4\na,0,1,4\n", r"buffers.csv:3: a second buffer 'a'"),
        ("id,lower,upper,size\na,0,1\n", r"buffers.csv:2: .*expected one for each of id"),
        ("id,lower,upper,size\na,0,1,4,5\n", r"buffers.csv:2: .*expected one for each of id"),
        ("id,lower,upper,size\n", r"no buffers"),
        ("", r"no column id"),
        ("id,lower,upper,size\n,0,1,4\n", r"buffers.csv:2: the name of a buffer is ''"),
        ("id,lower,upper,size,size\na,0,1,4,4\n", r"buffers.csv:1: two columns are named 'size'"),
        ("id,lower,upper,size,\na,0,1,4,\n", r"buffers.csv:1: a column has no name"),
        ('id,lower,upper,size\n"a,0,1,4\n', r"buffers.csv:2: not a table: unexpected end"),
        (f"id,lower,upper,size\n{'a' * 131_073},0,1,4\n", r"buffers.csv:2: not a table: field larger than"),
        ("id,lower,upper,size\na,0,1_0,4\n", r"upper is '1_0'"),
        ("id,lower,upper,size,in_place\na,0,2,4,\nb,1,3,8,a\n", r"buffers.csv:3: .*4 bytes cannot become 8"),
        ("id,lower,upper,size,in_place\na,0,2,4,\nb,1,3,4,c\n", r"no buffer c"),
        ("id,lower,upper,size,alignment\na,0,2,4,0\n", r"alignment is 0, expected 1 or more"),
        ("id,lower,upper,size\na,0,1,99999999999999999999\n", r"size is more than 2\^53"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(MemoryPlanError, match=message):
        read_buffers(written(tmp_path, text))


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(MemoryPlanError, match="no such file"):
        read_buffers(tmp_path / "missing.csv")
    with pytest.raises(MemoryPlanError, match="cannot be read"):
        read_buffers(tmp_path)
    with pytest.raises(MemoryPlanError, match="more than 67,108,864 bytes"):
        read_buffers("/dev/zero")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MemoryPlanError, match="not a text"):
        read_buffers(tmp_path / "binary.csv")


@pytest.mark.parametrize(
    ("buffers", "pairs", "message"),
    [
        (5, (), "buffers is 5"),
        ([("a", 0, 1)], (), "a buffer of 3 values"),
        ([("a", 0, 1, 2.5)], (), "a: a value is 2.5, expected a whole number"),
        ([("a", 0, 1, 2), ("a", 0, 1, 2)], (), "a second buffer of this name"),
        ([("a", 0, 1, 2)], [("a",)], "in_place has 1 names"),
        ([("a", 0, 1, 2), ("b", 2, 3, 2)], [("a", "b")], "expected a result that begins while the source lives"),
        ([LiveBuffer("a", 0, 2, 2, copies=2), ("b", 1, 3, 2)], [("a", "b")], "several copies"),
    ],
)
def test_bad_arguments_are_refused(buffers: object, pairs: object, message: str) -> None:
    with pytest.raises(MemoryPlanError, match=message):
        buffer_set(buffers, pairs)
