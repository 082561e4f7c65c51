"""Sweeps: which values a text stands for, and what cannot be understood."""

from __future__ import annotations

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
    ],
)
def test_what_cannot_be_understood_is_refused(text: str, message: str) -> None:
    with pytest.raises(ArchitectureError, match=message):
        parse_sweep(text)


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
