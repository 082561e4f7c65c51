"""Sweeps: which values a text stands for, and what cannot be understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.arch import load_arch
from tilewright.arch.sweeps import MOST_POINTS, parse_sweep, points, swept
from tilewright.ir import ArchitectureError


@pytest.mark.parametrize(
    ("text", "path", "values"),
    [
        ("array=8x8,12x14", "array", ("8x8", "12x14")),
        ("GLB.size=32KiB:1MiB:x2", "GLB.size", ("32 KiB", "64 KiB", "128 KiB", "256 KiB", "512 KiB", "1 MiB")),
        ("GLB.size = 1 KiB : 3 KiB : +1 KiB", "GLB.size", ("1 KiB", "2 KiB", "3 KiB")),
        ("GLB.size=512B:2KiB:+512B", "GLB.size", ("512 B", "1 KiB", "1536 B", "2 KiB")),
        ("lanes=4:70:x4", "lanes", ("4", "16", "64")),
        ("lanes=1:2:+0.5", "lanes", ("1", "1.5", "2")),
        ("clock=200MHz:600MHz:+200MHz", "clock", ("200 MHz", "400 MHz", "600 MHz")),
        ("DRAM.read=0.1 pJ:0.3 pJ:+0.1 pJ", "DRAM.read", ("0.1 pJ", "0.2 pJ", "0.3 pJ")),
        ("n=1,4:16:x2,32", "n", ("1", "4", "8", "16", "32")),
        ("n=5:5:x2", "n", ("5",)),
        ("GLB.keep={input: may, weight: must},may", "GLB.keep", ("{input: may, weight: must}", "may")),
        ("GLB.read=max(1 pJ, size * 1 fJ/bit),6 pJ", "GLB.read", ("max(1 pJ, size * 1 fJ/bit)", "6 pJ")),
    ],
)
def test_texts_stand_for_values(text: str, path: str, values: tuple[str, ...]) -> None:
    sweep = parse_sweep(text)
    assert (sweep.path, sweep.values) == (path, values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("array", "expected FIELD=VALUES"),
        ("=3", "expected FIELD=VALUES"),
        ("array=", "expected FIELD=VALUES"),
        ("array=8,,16", "values with commas"),
        ("array=8,8", "the value 8 is given twice"),
        ("n=1:8", "expected START:STOP:xFACTOR"),
        ("n=1:8:2", "expected START:STOP:xFACTOR"),
        ("n=8:1:x2", "has no values"),
        ("n=1:8:x1", "has no values"),
        ("n=1:8:+0", "has no values"),
        ("n=0:8:x2", "has no values"),
        ("n=a:8:x2", "expected a number with or without a unit"),
        ("n=1 MHz:8 GHz:x2", "same unit"),
        ("a=1,2 with b=3", "sweep a: 2 values with 1 of b, expected as many"),
        ("a=1,2 with a=3,4", "sweep a: the field is swept twice"),
        ("a=1,1 with b=3,3", "sweep a: the values 1, 3 are given twice"),
        ("a=1,2 with b", "found 'b', expected FIELD=VALUES"),
        ("nowhere.csv", "nowhere.csv: no such file, expected a file of points"),
    ],
)
def test_what_cannot_be_understood_is_refused(text: str, message: str) -> None:
    with pytest.raises(ArchitectureError, match=message):
        parse_sweep(text)


def test_fields_change_together() -> None:
    sweep = parse_sweep("array=8x8,16x16 with GLB.size=64KiB:128KiB:x2 with lanes=4,4")
    assert sweep.paths == ("array", "GLB.size", "lanes")
    assert sweep.rows == (
        {"array": "8x8", "GLB.size": "64 KiB", "lanes": "4"},
        {"array": "16x16", "GLB.size": "128 KiB", "lanes": "4"},
    )
    assert parse_sweep(sweep.text) == sweep
    found = list(points([sweep, parse_sweep("clock=1 GHz,2 GHz")]))
    assert found[1] == {"array": "8x8", "GLB.size": "64 KiB", "lanes": "4", "clock": "2 GHz"}
    assert len(found) == 4
    machines = swept("eyeriss", {}, [parse_sweep("array=8x8,16x16 with glb.size=64KiB,128KiB")])
    assert [arch.settings for _, arch in machines] == [
        {"array": "8x8", "GLB.size": "64KiB"}, {"array": "16x16", "GLB.size": "128KiB"},
    ]  # fmt: skip


FILES = {
    "designs.csv": "GLB.size,array\n64 KiB,8x8\n\n256 KiB,16x16\n",
    "designs.yaml": "- {GLB.size: 64 KiB, array: 8x8}\n- {GLB.size: 256 KiB, array: 16x16}\n",
}


@pytest.mark.parametrize("name", FILES)
def test_points_come_from_files(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    assert parse_sweep(str(tmp_path / name)) == parse_sweep("GLB.size=64 KiB,256 KiB with array=8x8,16x16")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.csv", "", "p.csv: no points, expected the names of fields and a line for each point"),
        ("p.csv", "a,b\n", "no points"),
        ("p.csv", "a,b\n1\n", "p.csv:2: found 1 value, expected one for each of a, b"),
        ("p.csv", "a,b\n1,\n", "p.csv:2: no value of b"),
        ("p.csv", "a,a\n1,2\n", "p.csv:1: two columns are named 'a'"),
        ("p.csv", 'a,b\n"1,2\n', "p.csv:2: not a table"),
        ("p.csv", "a,\n1,2\n", "p.csv:1: a column has no name"),
        ("p.csv", "a\n1\n1\n", "the value 1 is given twice"),
        ("p.yaml", "a: 1\n", "expected a list of points"),
        ("p.yaml", "- {a: 1}\n- {b: 1}\n", "p.yaml:2: [1]: found b, expected the fields of the first point: a"),
        ("p.yaml", "- {}\n", "the point is empty"),
        ("p.yaml", "- {a: [1]}\n", "found a list, expected a value such as 64 KiB"),
    ],
)
def test_files_that_cannot_be_understood(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ArchitectureError) as error:
        parse_sweep(str(tmp_path / name))
    assert message in str(error.value)


def test_parameters_of_formulas_are_swept(tmp_path: Path) -> None:
    text = (
        "name: toy\nclock: 1 GHz\nword: 8 bit\nparameters: {lanes: 4}\nlevels:\n"
        "- {memory: DRAM, access: 8 bit, read: 100 pJ, write: 100 pJ}\n"
        "- {memory: B, size: lanes * 1 KiB, access: 8 bit, read: 1 pJ * (size / 4 KiB)**0.5, write: read}\n"
        "- {fanout: array, x: lanes}\nmac: {energy: 1 pJ}\n"
    )
    (tmp_path / "toy.yaml").write_text(text, encoding="utf-8")
    found = swept(str(tmp_path / "toy.yaml"), {}, [parse_sweep("lanes=4:64:x4")])
    assert [(arch.mac_instances, arch.memories[1].write_energy_pj) for _, arch in found] == [(4, 1), (16, 2), (64, 4)]


def test_points_are_all_combinations() -> None:
    found = list(points([parse_sweep("a=1,2"), parse_sweep("b=3,4,5")]))
    assert found[:2] == [{"a": "1", "b": "3"}, {"a": "1", "b": "4"}]
    assert len(found) == 6
    with pytest.raises(ArchitectureError, match="swept twice"):
        points([parse_sweep("a=1,2"), parse_sweep("a=3")])
    with pytest.raises(ArchitectureError, match="points, expected 10,000 or fewer"):
        points([parse_sweep(f"{name}=1:{MOST_POINTS // 50}:+1") for name in "ab"])


def test_architectures_have_the_values_of_their_points() -> None:
    found = swept(
        "eyeriss", {"clock": "1 GHz"}, [parse_sweep("glb.size=32KiB:128KiB:x2"), parse_sweep("array=8x8,4x6")]
    )
    assert len(found) == 6
    for values, arch in found:
        assert set(values) == {"GLB.size", "array"}
        assert arch == load_arch("eyeriss", {"clock": "1 GHz", **values})
        assert arch.mac_instances == {"8x8": 64, "4x6": 24}[values["array"]]
        assert arch.clock_hz == 1e9


@pytest.mark.parametrize(
    ("sweep", "message"),
    [("nowhere.size=1,2", "nowhere"), ("GLB.size=1 KiB,2 pJ", "2 pJ"), ("GLB.sise=1 KiB", "did you mean 'size'")],
)
def test_a_point_that_cannot_be_loaded_is_an_error(sweep: str, message: str) -> None:
    with pytest.raises(ArchitectureError, match=message):
        swept("eyeriss", {}, [parse_sweep(sweep)])
