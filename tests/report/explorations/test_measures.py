"""What designs are judged by: limits as texts, fronts, areas that are not stated."""

from __future__ import annotations

import pytest

from tilewright.arch import Architecture, load_arch
from tilewright.ir import TilewrightError
from tilewright.report.explorations.measures import (
    MEASURES,
    front_measures,
    on_chip_bytes,
    parse_limit,
    parts_without_area,
)

AREAS = {"GLB.area": "1 mm2", "spad.area": "0.01 mm2", "mac.area": "0.002 mm2"}


def without_areas() -> Architecture:
    arch = load_arch("eyeriss")
    levels = [level.model_copy(update={"area_mm2": 0.0}) if level in arch.memories else level for level in arch.levels]
    return arch.model_copy(update={"levels": tuple(levels), "mac": arch.mac.model_copy(update={"area_mm2": 0.0})})


@pytest.mark.parametrize(
    ("text", "name", "bound", "inclusive"),
    [
        ("area <= 4 mm2", "area", 4.0, True),
        ("area<4000000um2", "area", 4.0, False),
        ("on_chip <= 1 MiB", "on_chip", 2.0**20, True),
        ("on-chip ≤ 1 KiB", "on_chip", 1024, True),
        ("energy <= 3 mJ", "energy", 3e9, True),
        ("latency < 5 ms", "latency", 0.005, False),
        ("macs <= 1024", "macs", 1024, True),
    ],
)
def test_limits(text: str, name: str, bound: float, inclusive: bool) -> None:
    limit = parse_limit(text)
    assert (limit.measure.name, limit.bound, limit.inclusive) == (name, bound, inclusive)
    assert limit.allows(bound) is inclusive
    assert limit.allows(bound * 0.999)
    assert not limit.allows(bound * 1.001)
    assert parse_limit(limit.text) == limit


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("area", "limit: found 'area', expected MEASURE <= VALUE"),
        ("area >= 4 mm2", "expected MEASURE <= VALUE"),
        ("area <= 4", "limit area: '4' has no unit, expected an area such as 0.05 mm2\nhint: write area <= 4 mm2"),
        ("area <= 4 KiB", "not a unit of area"),
        ("size <= 4 KiB", "limit: found 'size', expected one of energy, latency, area, on_chip, macs"),
        ("macs <= many", "limit macs: found 'many', expected a whole number"),
        ("latency <= 4 cycles", "hint: write latency <= 3 ms"),
    ],
)
def test_what_is_no_limit(text: str, message: str) -> None:
    with pytest.raises(TilewrightError) as error:
        parse_limit(text)
    assert message in str(error.value)


def test_the_front_is_over_area_where_all_of_it_is_stated() -> None:
    bare, whole = without_areas(), load_arch("eyeriss", AREAS)
    assert parts_without_area(bare) == ("GLB", "spad", "MAC")
    assert [m.name for m in front_measures(None, [whole, whole])] == ["energy", "latency", "area"]
    assert [m.name for m in front_measures(None, [whole, bare])] == ["energy", "latency", "on_chip"]
    assert [m.name for m in front_measures(["latency", "on-chip"], [bare])] == ["latency", "on_chip"]
    with pytest.raises(TilewrightError, match="eyeriss: GLB, spad, MAC state no area"):
        front_measures(["energy", "area"], [whole, bare])
    for names in (["energy"], ["energy", "energy"], []):
        with pytest.raises(TilewrightError, match="expected two or more of energy"):
            front_measures(names, [whole])


def test_figures_of_chips() -> None:
    arch = load_arch("eyeriss", AREAS)
    assert MEASURES["area"].of_chip is not None
    assert MEASURES["area"].of_chip(arch) == pytest.approx(1 + 168 * 0.012)
    assert on_chip_bytes(arch) == 108 * 1024 + 168 * (24 + 448 + 48)
