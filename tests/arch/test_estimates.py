"""Estimates: published figures, what lies between them, and `estimate:` in architecture files."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine_files import ESTIMATED

from tilewright.arch import Architecture, Memory, list_archs, load_arch, parse_arch
from tilewright.arch.estimates import DRAM_KINDS, FORMATS, Figures, dram, mac, registers, sram
from tilewright.arch.estimates.nodes import area_factor, between, energy_factor
from tilewright.arch.estimates.sram import _table
from tilewright.ir import ArchitectureError

KIB = 8192


@pytest.mark.parametrize("place", [(22, 1, 64), (45, 2, 128), (90, 1, 1024), (65, 1, 32)])
def test_rows_of_the_table_are_met(place: tuple[float, int, float]) -> None:
    node, ports, width = place
    for capacity, row in _table()[place].items():
        found = sram(int(capacity * 8), int(width), node, ports)
        assert (found.read_pj, found.write_pj, found.leakage_mw, found.area_mm2) == pytest.approx(row, rel=1e-9)


def test_published_rows_of_cacti() -> None:
    """Written down a second time from a run of CACTI by hand: 65 nm, 128 KiB, 64 bit, one port."""
    found = sram(128 * KIB, 64, 65)
    assert (found.read_pj, found.write_pj) == (pytest.approx(59.34, rel=0.2), pytest.approx(49.6, rel=0.2))
    assert found.leakage_mw == pytest.approx(0.0216, rel=0.1)
    assert found.area_mm2 == pytest.approx(0.896, rel=0.1)


def test_cacti_is_near_horowitz() -> None:
    """Horowitz, ISSCC 2014: 64 bit of 8 KB, 32 KB and 1 MB cost 10, 20 and 100 pJ at 45 nm."""
    for size, picojoules in ((8, 10), (32, 20), (1024, 100)):
        assert sram(size * KIB, 64, 45).read_pj == pytest.approx(picojoules, rel=0.45)


@given(
    st.floats(1, 16_000),
    st.floats(1.1, 4),
    st.integers(32, 128),
    st.floats(7, 90),
    st.integers(1, 2),
)
def test_larger_srams_take_more_area_and_leak_more(
    kib: float, times: float, width: int, node: float, ports: int
) -> None:
    small, large = (sram(int(size * KIB), width, node, ports) for size in (kib, kib * times))
    assert large.area_mm2 > small.area_mm2
    assert large.leakage_mw > small.leakage_mw


@given(st.floats(0.001, 1e7), st.integers(1, 4096), st.floats(3, 130), st.integers(1, 2))
def test_every_size_has_figures(kib: float, width: int, node: float, ports: int) -> None:
    found = sram(max(int(kib * KIB), 1), width, node, ports)
    assert min(found.read_pj, found.write_pj, found.leakage_mw, found.area_mm2) > 0


def test_narrow_and_wide_accesses() -> None:
    assert sram(64 * KIB, 8, 45).read_pj == pytest.approx(sram(64 * KIB, 32, 45).read_pj * (0.3 + 0.7 / 4))
    wide, half = sram(64 * KIB, 2048, 45), sram(32 * KIB, 1024, 45)
    assert (wide.read_pj, wide.area_mm2) == (pytest.approx(2 * half.read_pj), pytest.approx(2 * half.area_mm2))
    assert sram(48 * 8, 16, 65) == registers(48 * 8, 16, 65)
    assert sram(15 * 64, 64, 65) == registers(15 * 64, 64, 65)
    assert sram(2**32, 64, 45).area_mm2 == pytest.approx(2 * sram(2**31, 64, 45).area_mm2)
    two_ports = sram(64 * KIB, 64, 45, ports=2)
    assert two_ports.area_mm2 > 1.5 * sram(64 * KIB, 64, 45).area_mm2


def test_registers_are_those_of_accelergy() -> None:
    """64 words of 8 bit at 40 nm, in the reference outputs of the Timeloop exercises; one register of 16 bit."""
    assert registers(64 * 8, 8, 40).read_pj == pytest.approx(0.42564, abs=1e-9)
    assert registers(16, 16, 40).read_pj == pytest.approx(0.144)
    assert registers(16, 16, 40).area_mm2 == pytest.approx(95.68e-6)


@pytest.mark.parametrize(
    ("operands", "total", "node", "picojoules"),
    [
        ("int8", "int32", 45, 0.3),
        ("int8", "int8", 45, 0.23),
        ("int32", "int32", 45, 3.2),
        ("fp32", "fp32", 45, 4.6),
        ("fp16", "fp16", 45, 1.5),
        ("int8", "int32", 7, 0.1),
        ("bf16", "fp32", 7, 0.59),
        ("int16", "int16", 45, (0.2 * 3.1) ** 0.5 + 0.05),
        ("int8", "int32", (45 * 7) ** 0.5, (0.2 * 0.07) ** 0.5 + (0.1 * 0.03) ** 0.5),
    ],
)
def test_macs_are_those_of_the_tables(operands: str, total: str, node: float, picojoules: float) -> None:
    assert mac(operands, total, node).read_pj == pytest.approx(picojoules)


def test_areas_of_macs() -> None:
    assert mac("int32", "int32", 40).area_mm2 == pytest.approx((6350 + 278) * 1e-6)
    assert mac("int8", "int8", 40).area_mm2 == pytest.approx((6350 / 16 + 278 / 4) * 1e-6)
    assert mac("fp32", "fp32", 40).leakage_mw == pytest.approx(0.12 + 0.0531)


def test_dram_is_per_bit() -> None:
    assert {kind: dram(kind, 64) for kind in DRAM_KINDS} == {
        kind: Figures(64 * pj, 64 * pj) for kind, (pj, _) in DRAM_KINDS.items()
    }
    assert dram("LPDDR4", 64).read_pj == 512


def test_smaller_technologies_cost_less() -> None:
    nodes = [130, 100, 90, 65, 45, 32, 28, 22, 16, 10, 7, 5, 3]
    for large, small in itertools.pairwise(nodes):
        assert area_factor(large, small) < 1
        assert energy_factor(large, small) < 1
        for operands in FORMATS:
            total = "int32" if operands.startswith("int") else "fp32"
            assert mac(operands, total, small).read_pj < mac(operands, total, large).read_pj
    assert area_factor(45, 65) == pytest.approx(1.5)
    assert between({1: 1, 4: 16}, 2) == pytest.approx(4)
    assert between({1: 1, 4: 16}, 8) == pytest.approx(64)


def memory(arch: Architecture, name: str) -> Memory:
    found = arch.level(name)
    assert isinstance(found, Memory)
    return found


def test_what_is_left_out_is_estimated() -> None:
    arch = parse_arch(ESTIMATED)
    glb, spad, whole = memory(arch, "GLB"), memory(arch, "spad"), sram(64 * KIB, 64, 45, 2)
    assert (arch.memories[0].read_energy_pj, arch.memories[0].write_energy_pj) == (512, 512)
    assert glb.read_energy_pj == pytest.approx(whole.read_pj / 8, rel=1e-3)
    assert glb.write_energy_pj == 3
    assert (glb.leakage_pj_per_cycle, glb.area_mm2) == (
        pytest.approx(whole.leakage_mw, rel=1e-3),
        pytest.approx(whole.area_mm2, rel=1e-3),
    )
    parts = (registers(24 * 8, 8, 45), sram(448 * 8, 8, 45), registers(32, 8, 45))
    assert spad.area_mm2 == pytest.approx(sum(part.area_mm2 for part in parts), rel=1e-3)
    assert (spad.read_energy_pj, spad.leakage_pj_per_cycle) == (1, 0)
    assert arch.mac.energy_pj == pytest.approx(0.3)
    assert arch.source == (
        "nowhere; estimates: read of DRAM and GLB; write of DRAM; leakage of GLB and MAC; area of GLB, spad and MAC; "
        "energy of MAC"
    )
    assert parse_arch(ESTIMATED, set={"node": "22 nm"}).mac.energy_pj < 0.3
    asked = memory(parse_arch(ESTIMATED, set={"GLB.write": "estimate"}), "GLB")
    assert asked.write_energy_pj == pytest.approx(whole.write_pj / 8, rel=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: dram, type: LPDDR4", "kind: dram", "levels[0].estimate.type: missing, expected one of LPDDR4"),
        ("LPDDR4", "LPDDR9", "found 'LPDDR9', expected LPDDR4"),
        ("kind: dram", "kind: drum", "found 'drum', expected sram, registers or dram\nhint: did you mean 'dram'?"),
        ("node: $node, width", "width", "levels[1].estimate.node: missing, expected a technology such as 28 nm"),
        ("ports: 2", "ports: 3", "levels[1].estimate: 3 ports are beyond the table of SRAMs, expected one of 1, 2"),
        ("ports: 2", "type: HBM2", "sram has no type, expected one of node, only, ports, width"),
        ("45 nm", "1 nm", "1 nm is beyond the published tables, expected 3 nm to 130 nm"),
        ("45 nm", "45 KiB", "'KiB' in '45 KiB' is not a unit of length, expected a length such as 28 nm"),
        ("64 KiB", "unbounded", "GLB is unbounded, and so is its estimate"),
        ("only: [area]", "only: [size]", "found 'size', expected read, write, leakage, area or energy"),
        ("    read: 1 pJ", "    read: estimate", "spad is in parts, which have no one energy of a read and of a write"),
        ("format: int8", "format: int9", "found 'int9', expected int8,"),
        ("format: int8", "format: int8, sum: fp32", "found 'fp32', expected int8, int16 or int32"),
        ("shared: registers", "shard: registers", "unknown key 'shard'\nhint: did you mean 'shared'?"),
    ],
)
def test_what_cannot_be_estimated(old: str, new: str, message: str) -> None:
    assert old in ESTIMATED
    with pytest.raises(ArchitectureError) as error:
        parse_arch(ESTIMATED.replace(old, new, 1), "toy.yaml")
    assert message in str(error.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"GLB.size": "unbounded"},
        {"GLB.size": "2 B"},
        {"GLB.size": "1 TiB"},
        {"GLB.access": "1 bit"},
        {"spad.size": "1 MiB"},
        {"spad.size": {"input": "24 B", "shared": "1 KiB"}},
        {"node": "3 nm"},
        {"GLB.area": "3 mm2"},
    ],
)
def test_machines_of_the_library_take_any_size(settings: dict[str, object]) -> None:
    arch = load_arch("eyeriss", settings)  # type: ignore[arg-type]
    assert arch.total_area_mm2 > 0
    stated = "GLB.area" in settings or settings.get("GLB.size") == "unbounded"
    assert ("GLB" in arch.estimates) is not stated


@pytest.mark.parametrize("name", list_archs())
def test_areas_of_the_library_are_estimates_and_nothing_else_is(name: str) -> None:
    arch = load_arch(name)
    names = [*(memory.name for memory in arch.memories[1:]), "MAC"]
    assert arch.estimates == f"area of {', '.join(names[:-1])} and MAC"
    assert all(memory.area_mm2 for memory in arch.memories[1:])
    assert arch.mac.area_mm2
    assert "area" not in arch.cost_text
    larger = load_arch(name, {"node": "130 nm"})
    assert larger.total_area_mm2 > arch.total_area_mm2
    assert larger.cost_text == arch.cost_text
