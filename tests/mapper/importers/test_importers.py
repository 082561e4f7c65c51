"""Machines from other tools' files: what is read, what is noted, and what is refused with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from machine_files import ACCELFORGE, ACCELFORGE_CLASSES, ART, ERT, ZIGZAG

from tilewright.arch import ArrayAxis, Fanout, Keeps, Memory, load_arch, parse_arch
from tilewright.arch.estimates import mac, registers, sram
from tilewright.arch.writer import architecture_text
from tilewright.ir import ArchitectureError
from tilewright.mapper.importers import ImportedMachine, read_accelforge, read_zigzag, with_tables

Reader = Callable[[Path], ImportedMachine]


def read(reader: Reader, text: str, folder: Path) -> ImportedMachine:
    path = folder / "theirs.yaml"
    path.write_text(text, encoding="utf-8")
    found = reader(path)
    assert parse_arch(architecture_text(found.arch, found.notes)) == found.arch
    return found


def memory(found: ImportedMachine, name: str) -> Memory:
    level = found.arch.level(name)
    assert isinstance(level, Memory)
    return level


def test_zigzag(tmp_path: Path) -> None:
    found = read(read_zigzag, ZIGZAG, tmp_path)
    arch = found.arch
    assert [level.name for level in arch.levels] == ["dram", "sram", "D2_D3", "reg_O", "D1", "reg_W"]
    assert arch.mac_instances == 64
    assert (arch.name, arch.word_bits, arch.mac.energy_pj) == ("small", 8, 0.04)
    sram, sums, weights = (memory(found, name) for name in ("sram", "reg_O", "reg_W"))
    assert (sram.size_bits, sram.access_bits, sram.read_energy_pj, sram.write_energy_pj) == (65536, 128, 10, 12)
    assert (sram.shared_bits_per_cycle, sram.double_buffered, sram.keeps) == (128, True, Keeps())
    assert (sums.read_bits_per_cycle, sums.write_bits_per_cycle) == (32, 16)
    assert sums.keeps == Keeps(input="never", weight="never", output="must")
    assert (weights.read_energy_pj, weights.write_energy_pj) == (0.001, 0.002)
    assert "reg_W serves 16 MACs in ZigZag; here each has its own, at 1/16 of the energy" in found.notes
    assert arch.memories[0].size_bits is None


def test_accelforge(tmp_path: Path) -> None:
    found = read(read_accelforge, ACCELFORGE, tmp_path)
    arch = found.arch
    assert [level.name for level in arch.levels] == ["Main", "Buffer_array", "Buffer", "PE_array", "Register"]
    assert (arch.clock_hz, arch.reuse, arch.mac.energy_pj, arch.mac.area_mm2) == (2e9, "at_node", 0.084, 0.001)
    main, buffer, register = (memory(found, name) for name in ("Main", "Buffer", "Register"))
    assert (main.read_energy_pj, main.access_bits, main.shared_bits_per_cycle) == (7.03, 1, 8 * 614e9 / 2e9)
    assert (buffer.size_bits, buffer.read_energy_pj, buffer.write_energy_pj) == (2**23, 64, 64)
    assert (buffer.read_bits_per_cycle, buffer.write_bits_per_cycle) == (32, None)
    assert (buffer.leakage_pj_per_cycle, buffer.area_mm2) == (0.5, 2)
    assert buffer.keeps == Keeps(input="must", weight="may", output="must")
    assert (register.size_bits, register.read_energy_pj) == (8, 0)
    assert register.keeps == Keeps(input="never", weight="must", output="never")
    arrays = arch.fanouts
    assert arrays[0] == Fanout(name="Buffer_array", axes=(ArrayAxis(size=4),), multicast=False, spatial_reduction=False)
    assert arrays[1].axes == (ArrayAxis(size=16, reuse="input"), ArrayAxis(size=8, reuse="output"))
    assert "Scalar is left out: it is a second compute unit" in found.notes
    assert "arch.nodes[4].size is the width of a tensor, and here a word" in found.notes


def test_component_classes_of_accelforge_are_estimated(tmp_path: Path) -> None:
    found = read(read_accelforge, ACCELFORGE_CLASSES, tmp_path)
    main, buffer, register = (memory(found, name) for name in ("Main", "Buffer", "Register"))
    assert (found.arch.clock_hz, main.access_bits, main.read_energy_pj, main.area_mm2) == (200e6, 1, 8, 0)
    estimate = sram(2**20, 64, 65).rounded()
    assert (buffer.read_energy_pj, buffer.write_energy_pj) == (2 * estimate.read_pj, 2 * 9 * 64 / 32)
    assert (buffer.read_bits_per_cycle, buffer.write_bits_per_cycle) == (32 * 64, 32 * 32)
    assert buffer.area_mm2 == pytest.approx(3 * estimate.area_mm2)
    assert buffer.leakage_pj_per_cycle == pytest.approx(3 * estimate.leakage_mw * 1e9 / 200e6)
    words = registers(128, 8, 65)
    assert register.read_energy_pj == pytest.approx(words.read_pj / 8, rel=1e-3)
    assert (register.leakage_pj_per_cycle, register.shared_bits_per_cycle) == (0, 5)
    assert found.arch.mac.energy_pj == mac("int8", "int16", 65).rounded().read_pj
    assert found.arch.estimates.startswith("read of Main, Buffer and Register; write of Main and Register; leakage of")
    assert "n_banks of Buffer left out: no part of the estimate" in found.notes


@pytest.mark.parametrize(
    ("reader", "text", "old", "new", "message"),
    [
        (read_zigzag, ZIGZAG, "r_cost: 10", "cost: 10", "theirs.yaml:26: memories.sram.cost: unknown key 'cost'"),
        (read_zigzag, ZIGZAG, "[I1, I2, O]", "[I1, I3]", "unknown name 'I3', expected one of I1, I2, O"),
        (read_zigzag, ZIGZAG, "[D2, D3]", "[D9]", "memories.reg_W.served_dimensions[0]: unknown name 'D9'"),
        (read_zigzag, ZIGZAG, "[4, 8, 2]", "[4, 8]", "2 sizes for 3 dimensions, expected as many"),
        (read_zigzag, ZIGZAG, "unit_energy: 0.04", "unit_energy: -1", "found '-1', expected a number of 0 or more"),
        (
            read_zigzag,
            ZIGZAG,
            "type: read_write",
            "type: refresh",
            "found 'refresh', expected read",
        ),
        (read_zigzag, ZIGZAG, ZIGZAG, "levels: []\n", "unknown key 'levels'"),
        (read_accelforge, ACCELFORGE, "!Container", "!Fork", "!Fork has no equal here, expected !Memory, !Container"),
        (read_accelforge, ACCELFORGE, "energy: 7.03e-12, ", "", "arch.nodes[0]: Main states no energy of a read"),
        (read_accelforge, ACCELFORGE, "size: 1024*1024*8", "size: lanes * 8", "unknown name 'lanes'"),
        (read_accelforge, ACCELFORGE, "size: 1024*1024*8", "size: {{SIZE}}", "this is a template"),
        (
            read_accelforge,
            ACCELFORGE,
            "reuse: input",
            "reuse: inputs",
            "found 'inputs', expected input",
        ),
        (read_accelforge, ACCELFORGE, "name: Buffer", "name: Main", "two levels are named Main"),
        (read_accelforge, ACCELFORGE, "keep: ~Intermediates, may_keep: All", "keep: input", "and has no weight"),
        (
            read_accelforge,
            ACCELFORGE,
            "nodes:",
            "nodes:\n  - !Compute {area: 1}",
            "name: missing, expected a name such as",
        ),
        (
            read_accelforge,
            ACCELFORGE_CLASSES,
            "SmartBufferSRAM",
            "ADC",
            "component_class: no table has the class 'ADC'",
        ),
        (read_accelforge, ACCELFORGE_CLASSES, "{tech_node: 65e-9}", "{}", "no estimate without tech_node"),
        (read_accelforge, ACCELFORGE_CLASSES, "adder_width: 16", "adder_width: 24", "no table has the format int24"),
        (read_accelforge, ACCELFORGE_CLASSES, "size: 128", "size: inf", "a memory of class Register needs a size"),
        (read_accelforge, ACCELFORGE, "arch:", "machine:", "arch: missing, expected nodes from the outside in"),
    ],
)
def test_what_has_no_equal_is_named(
    reader: Reader, text: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in text
    with pytest.raises(ArchitectureError) as error:
        read(reader, text.replace(old, new, 1), tmp_path)
    assert message in str(error.value)
    assert "theirs.yaml" in str(error.value)


def test_tables_of_accelergy(tmp_path: Path) -> None:
    for name, text in (("ERT.yaml", ERT), ("ART.yaml", ART)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = with_tables("eyeriss", [tmp_path / "ERT.yaml", tmp_path / "ART.yaml"], {"GLB.size": "128 KiB"})
    glb, stated = memory(found, "GLB"), load_arch("eyeriss", {"GLB.size": "128 KiB"})
    assert (glb.read_energy_pj, glb.write_energy_pj, glb.leakage_pj_per_cycle) == (18.5, 14.25, 0.005)
    assert (glb.area_mm2, glb.size_bits) == (pytest.approx(0.2173635), 128 * 8192)
    assert (found.arch.mac.energy_pj, found.arch.mac.area_mm2) == (0.2, pytest.approx(191.82e-6))
    assert found.arch.level("spad") == stated.level("spad")
    assert found.arch.settings == {"GLB.size": "128 KiB"}
    assert found.notes == ("other is left out: no memory has this name",)
    (tmp_path / "ERT.yaml").write_text(ERT.replace("compute", "add").replace(".mac", ".alu"), encoding="utf-8")
    with pytest.raises(ArchitectureError, match="found GLB, alu, other in the tables, expected one of DRAM, L3"):
        with_tables("cpu", [tmp_path / "ERT.yaml"])


def test_axes_of_accelforge_that_have_to_be_full_or_share_otherwise(tmp_path: Path) -> None:
    """The least use is a comment with the constraint; axes with other switches are arrays of their own."""
    spatial = "- {name: X, fanout: 16, reuse: input}\n    - {name: Y, fanout: 8, reuse: output}\n"
    assert spatial in ACCELFORGE
    x, y = "{name: X, fanout: 16, min_usage: 1, may_reuse: Nothing}", "{name: Y, fanout: 8, min_usage: 0.5}"
    text = ACCELFORGE.replace(spatial, f"- {x}\n    - {y}\n")
    found = read(read_accelforge, text, tmp_path)
    assert [(f.name, f.axes[0].size, f.multicast, f.spatial_reduction) for f in found.arch.fanouts[1:]] == [
        ("PE_array1", 16, False, False),
        ("PE_array2", 8, True, True),
    ]
    least = [note.partition(";")[0] for note in found.notes if note.startswith("min_usage")]
    assert least == [
        'min_usage of PE is 1: search with --constraint "PE_array1.utilization>=1"',
        'min_usage of PE is 0.5: search with --constraint "PE_array2.utilization>=0.5"',
    ]
    with pytest.raises(ArchitectureError, match="may_reuse is input; here instances share all operands"):
        read(read_accelforge, text.replace("min_usage: 1, may_reuse: Nothing", "may_reuse: input"), tmp_path)


@pytest.mark.parametrize(
    ("tensors", "keeps"),
    [
        ("{keep: ~weight}", Keeps(input="must", weight="never", output="must")),
        ("{keep: input, may_keep: ~output}", Keeps(input="must", weight="may", output="never")),
        ("{keep: All & ~(input | output)}", Keeps(input="never", weight="must", output="never")),
        ("{back: output}", Keeps(input="may", weight="may", output="must")),
        ("{keep: ~Main.tensors}", Keeps(input="may", weight="may", output="may")),
        ("{}", Keeps(input="may", weight="may", output="may")),
    ],
)
def test_sets_of_tensors_of_accelforge(tensors: str, keeps: Keeps, tmp_path: Path) -> None:
    text = ACCELFORGE.replace("tensors: {keep: input | output, may_keep: All}", f"tensors: {tensors}")
    assert text != ACCELFORGE
    assert memory(read(read_accelforge, text, tmp_path), "Buffer").keeps == keeps


def test_numbers_of_accelforge_refer_to_variables(tmp_path: Path) -> None:
    text = ACCELFORGE.replace("arch:\n", "variables: {block: 1024*1024*8}\narch:\n  variables: {lanes: 4}\n")
    text = text.replace("size: 1024*1024*8", "size: 2 * block").replace("fanout: 4", "fanout: lanes")
    found = read(read_accelforge, text, tmp_path)
    assert (memory(found, "Buffer").size_bits, found.arch.fanouts[0].axes[0].size) == (2**24, 4)


def test_what_zigzag_says_of_computing_in_memory_or_of_cacti(tmp_path: Path) -> None:
    for text, message in (
        (ZIGZAG.replace("unit_area: 1", "is_imc: true"), "is_imc has no equal here: computing in memory"),
        (ZIGZAG.replace("r_cost: 10", "auto_cost_extraction: true\n    r_cost: 10"), "ZigZag asks CACTI for r_cost"),
    ):
        with pytest.raises(ArchitectureError, match=message):
            read(read_zigzag, text, tmp_path)
