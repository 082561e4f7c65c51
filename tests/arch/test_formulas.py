"""Formulas in architecture files: what their names stand for, and errors with the place."""

from __future__ import annotations

import pytest
from machine_files import FORMULAS

from tilewright.arch import Architecture, Memory, load_arch, parse_arch
from tilewright.arch.formulas import LONGEST_CHAIN
from tilewright.ir import ArchitectureError


def toy(text: str = FORMULAS, **settings: object) -> Architecture:
    chosen = {path.replace("__", "."): value for path, value in settings.items()}
    return parse_arch(text, "toy.yaml", chosen)  # type: ignore[arg-type]


def memory(arch: Architecture, name: str) -> Memory:
    found = arch.level(name)
    assert isinstance(found, Memory)
    return found


def test_names_are_fields_of_the_level_parameters_and_paths() -> None:
    arch = toy()
    glb = memory(arch, "GLB")
    assert arch.description == "8 lanes, 108 KiB, 6 pJ"
    assert arch.technology == "TSMC (65 nm), row-stationary"
    assert (arch.clock_hz, arch.partial_sum_bits) == (200e6, 32)
    assert arch.memories[0].write_energy_pj == 200
    assert arch.memories[0].shared_bits_per_cycle == 16 * 16
    assert (glb.size_bits, glb.read_energy_pj, glb.write_energy_pj) == (108 * 8192, 6, 7.5)
    assert (glb.read_bits_per_cycle, glb.write_bits_per_cycle) == (256, 128)
    assert (glb.area_mm2, glb.leakage_pj_per_cycle) == (pytest.approx(1.08), pytest.approx(108 / 200))
    assert [axis.size for axis in arch.fanouts[0].axes] == [16, 4]
    assert arch.fanouts[0].axes[0].dims == ("C",)
    spad = memory(arch, "spad")
    assert (spad.partition_bits, spad.size_bits) == ({"input": 192, "weight": 384}, 576)
    assert (arch.mac.per_cycle, arch.mac.area_mm2) == (2, pytest.approx(0.0018))


def test_what_is_set_is_followed() -> None:
    arch = toy(lanes=32)
    assert memory(arch, "GLB").read_energy_pj == 12
    assert arch.description == "32 lanes, 432 KiB, 12 pJ"
    assert arch.mac_instances == 64 * 16
    assert memory(toy(GLB__size="27 KiB"), "GLB").read_energy_pj == 3
    set_to = toy(GLB__write="read * 3", base="1 GHz")
    assert (memory(set_to, "GLB").write_energy_pj, set_to.clock_hz) == (18, 2e9)
    assert set_to.settings == {"GLB.write": "read * 3", "base": "1 GHz"}


def test_the_library_takes_formulas_from_outside() -> None:
    formula = "6 pJ * (size / 108 KiB)**0.5"
    for size, read in (("27 KiB", 3.0), ("108 KiB", 6.0), ("432 KiB", 12.0)):
        arch = load_arch("eyeriss", {"GLB.size": size, "GLB.read": formula})
        assert memory(arch, "GLB").read_energy_pj == read


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "6 pJ * (size / 108 KiB)",
            "6 pJ * (sise / 108 KiB)",
            "toy.yaml:22: levels[1].read: formula '6 pJ * (sise / 108 KiB)**0.5': unknown name 'sise', expected a",
        ),
        (
            "6 pJ * (size / 108 KiB)",
            "6 pJ * (size * 108 KiB)",
            "levels[1].read: formula '6 pJ * (size * 108 KiB)**0.5': 'bit pJ' in '",
        ),
        (
            "1.25 * read",
            "read + size",
            "formula 'read + size': the units do not fit: 108 KiB is added",
        ),
        ("1.25 * read", "read / (banks - 4)", "formula 'read / (banks - 4)': a division by zero"),
        (
            "1.25 * read",
            "read - 8 pJ",
            "toy.yaml:23: levels[1].write: formula 'read - 8 pJ': '-2 pJ' is negative, expected an energy such as 6 pJ",
        ),
        ("1.25 * read", "size", "levels[1].write: formula 'size': 'KiB' in '108 KiB' is not a unit of energy"),
        ("27 KiB * banks", "read * 1 B / 1 pJ", "toy.yaml:22: levels[1].read: size refers to itself, by way of "),
        ("27 KiB * banks", "108 KiB / 7", "is 126391 bits, expected a whole number of bits"),
        (
            "y: lanes / 2",
            "y: lanes / 3",
            "levels[2].y: formula 'lanes / 3': found '2.6666666666666665'",
        ),
        ("lanes / 2\n  process", "lans / 2\n  process", "parameters.banks: formula 'lans / 2': unknown name 'lans'"),
        (
            "lanes / 2\n  process",
            "many\n  process",
            "levels[1].size: banks is 'many', expected a number",
        ),
        ("2 * size.input", "2 * size", "size is a mapping, expected a number\nhint: name one of its parts: size.input"),
        ("write: read\n", "write: GLB * 2\n", "levels[0].write: GLB is a mapping, expected a number"),
        ("write: read\n", "write: size\n", "levels[0].write: 'size' is not an energy"),
        ("write: read\n", "write: size * 2\n", "levels[0].write: formula 'size * 2': unknown name 'size'"),
        ("base: 100 MHz", "base: $clock", "refers to itself"),
    ],
)
def test_wrong_formulas(old: str, new: str, message: str) -> None:
    assert old in FORMULAS
    with pytest.raises(ArchitectureError) as error:
        parse_arch(FORMULAS.replace(old, new, 1), "toy.yaml")
    assert message in str(error.value)


def test_a_few_lines_do_not_stand_for_gigabytes() -> None:
    doubling = "".join(f"  p{i}: $p{i + 1}$p{i + 1}\n" for i in range(40))
    with pytest.raises(ArchitectureError, match="more than 10,000 characters with all references filled in"):
        parse_arch(FORMULAS.replace("  base:", f"{doubling}  p40: abc\n  base:"))
    chain = "".join(f"  p{i}: p{i + 1} + 1\n" for i in range(200))
    long = FORMULAS.replace("  base:", f"{chain}  p200: 1\n  base:").replace("y: lanes / 2", "y: p0")
    with pytest.raises(ArchitectureError, match=f"more than {LONGEST_CHAIN} references lead from one to the next"):
        parse_arch(long)
