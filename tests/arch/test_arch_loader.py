from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch import ArrayAxis, Keeps, Mac, Memory, list_archs, load_arch, parse_arch
from tilewright.arch.document import read_document
from tilewright.arch.loader import arch_file
from tilewright.arch.parts import build
from tilewright.ir import ArchitectureError

GOOD = """\
name: toy
description: a machine for tests
clock: 200 MHz
word: 16 bit
partial_sum: 2 words
inner_drain_read: false
levels:
  - memory: DRAM
    access: 64 bit
    read: 200 pJ
    write: 0.21 nJ
    bandwidth: 480 MB/s
  - memory: GLB
    size: 108 KiB
    access: 16 bit
    read: 6 pJ
    write: 7 pJ
    bandwidth: {read: 8 B/cycle, write: unbounded}
    keep: {weight: never, output: may}
    halo: exact
    double_buffered: true
    overlaps: false
  - fanout: array
    x: {size: 14, dims: [P, Q], reuse: weight}
    y: 12
    multicast: false
    spatial_reduction: false
  - memory: spad
    size: {input: 12 words, weight: 448 B, shared: 64 B}
    access: 16 bit
    read: 1 pJ
    write: 0 pJ
mac:
  energy: 1 pJ
  per_cycle: 0.5
reuse: at_node
footprint: box
first_read_elision: false
"""


def refusal(text: str) -> str:
    with pytest.raises(ArchitectureError) as caught:
        parse_arch(text, "toy.yaml")
    return str(caught.value)


class TestWhatMostMachinesLeaveOut:
    TEXT = (
        GOOD.replace("    overlaps: false", "    block: 4 words\n    leakage: 0.5 mW\n    area: 0.4 mm2")
        .replace("    y: 12", "    y: 12\n    hop: 0.8 pJ/word")
        .replace("  per_cycle: 0.5", "  per_cycle: 0.5\n  leakage: 3 fJ/cycle\n  area: 900 um2")
        .replace("reuse: at_node", "reuse: at_node\nlatency: with_fill\nleakage: 4 mW\narea: 1 mm2")
    )

    def test_in_base_units(self) -> None:
        arch = parse_arch(self.TEXT)
        _, glb, _ = arch.memories
        assert (glb.block_bits, glb.leakage_pj_per_cycle, glb.area_mm2) == (64, 2.5, 0.4)
        assert arch.fanouts[0].hop_pj_per_bit == pytest.approx(0.05)
        assert (arch.mac.leakage_pj_per_cycle, arch.mac.area_mm2) == (0.003, 0.0009)
        assert (arch.latency, arch.leakage_pj_per_cycle, arch.area_mm2) == ("with_fill", 20, 1)
        assert arch.total_leakage_pj_per_cycle == pytest.approx(20 + 2.5 + 14 * 12 * 0.003)
        assert arch.total_area_mm2 == pytest.approx(1 + 0.4 + 14 * 12 * 0.0009)

    def test_nothing_by_default(self) -> None:
        arch = parse_arch(GOOD)
        assert arch.latency == "steady"
        assert arch.total_leakage_pj_per_cycle == arch.total_area_mm2 == 0
        assert all(m.block_bits is None for m in arch.memories)
        assert all(f.hop_pj_per_bit == 0 for f in arch.fanouts)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("leakage: 0.5 mW", "leakage: 0.5 pJ", "'pJ' in '0.5 pJ' is not a unit of leakage"),
            ("leakage: 0.5 mW", "leakage: -1 mW", "negative"),
            ("block: 4 words", "block: 0 B", "zero"),
            ("area: 0.4 mm2", "area: 0.4", "has no unit, expected an area such as 0.05 mm2"),
            ("hop: 0.8 pJ/word", "hop: 0.8 pJ", "is not a unit of energy, expected an energy per size"),
            ("latency: with_fill", "latency: fill", "with_fill"),
        ],
    )
    def test_refusals(self, old: str, new: str, message: str) -> None:
        assert message in refusal(self.TEXT.replace(old, new))


class TestGoodFile:
    def test_the_machine(self) -> None:
        arch = parse_arch(GOOD, "toy.yaml")
        assert (arch.name, arch.description, arch.technology) == ("toy", "a machine for tests", "")
        assert (arch.clock_hz, arch.word_bits, arch.partial_sum_bits) == (200e6, 16, 32)
        assert not arch.inner_drain_read
        assert (arch.first_read_elision, arch.footprint) == (False, "box")
        assert arch.reuse == "at_node"
        assert arch.mac == Mac(energy_pj=1, per_cycle=0.5)

    def test_memories(self) -> None:
        dram, glb, spad = parse_arch(GOOD).memories
        assert dram == Memory(
            name="DRAM", access_bits=64, read_energy_pj=200, write_energy_pj=210, shared_bits_per_cycle=19.2
        )
        assert glb == Memory(
            name="GLB",
            size_bits=108 * 8192,
            access_bits=16,
            read_energy_pj=6,
            write_energy_pj=7,
            read_bits_per_cycle=64,
            keeps=Keeps(input="must", weight="never", output="may"),
            halo="exact",
            double_buffered=True,
            overlaps=False,
        )
        assert spad.partition_bits == {"input": 192, "weight": 3584}
        assert spad.size_bits == 512
        assert spad.keeps == Keeps()
        assert (spad.halo, spad.double_buffered, spad.overlaps) == ("innermost", False, True)

    def test_fanout(self) -> None:
        (array,) = parse_arch(GOOD).fanouts
        assert array.axes == (ArrayAxis(size=14, dims=("P", "Q"), reuse="weight"), ArrayAxis(size=12))
        assert not array.multicast
        assert not array.spatial_reduction

    def test_names_that_yaml_takes_for_something_else_stay_text(self) -> None:
        arch = parse_arch(GOOD.replace("[P, Q]", "[N, no, 1]").replace("name: toy", "name: 2017-01-01"))
        assert arch.name == "2017-01-01"
        assert arch.fanouts[0].axes[0].dims == ("N", "no", "1")

    def test_one_word_keeps_all_and_one_line_is_enough_for_a_text(self) -> None:
        arch = parse_arch(
            GOOD.replace("keep: {weight: never, output: may}", "keep: may").replace("a machine", ">\n  a")
        )
        assert arch.memories[1].keeps == Keeps(input="may", weight="may", output="may")

    def test_unbounded_is_a_size_and_a_bandwidth(self) -> None:
        arch = parse_arch(GOOD.replace("108 KiB", "unbounded").replace("480 MB/s", "unbounded"))
        assert arch.memories[1].size_bits is None
        assert arch.memories[0].shared_bits_per_cycle is None


# One edit of the good file each: what is replaced, by what, and the whole first line of the message.
BAD_EDITS = [
    ("name: toy\n", "", ":1: name: missing, expected a name such as eyeriss"),
    ("name: toy", "name:", ":1: name: found nothing, expected a text"),
    ("clock: 200 MHz\n", "", ":1: clock: missing, expected a clock such as 200 MHz"),
    ("200 MHz", "200", ":3: clock: '200' has no unit, expected a clock such as 200 MHz"),
    ("200 MHz", "[200, MHz]", ":3: clock: found a list, expected a clock such as 200 MHz"),
    ("word: 16 bit", "word: 2 words", ":4: word: '2 words' is in words, and no word width is known here"),
    ("inner_drain_read: false", "inner_drain_read: no", ":6: inner_drain_read: found 'no', expected true or false"),
    ("footprint: box", "footprint: hull", ":37: footprint: found 'hull', expected exact or box"),
    ("reuse: at_node", "reuse: always", ":36: reuse: found 'always', expected across_levels or at_node"),
    ("description", "descripton", ":2: descripton: unknown key 'descripton'"),
    ("    size: 108 KiB", "    sise: 108 KiB", ":14: levels[1].sise: unknown key 'sise'"),
    ("    size: 108 KiB\n", "", ":13: levels[1].size: missing, expected a size such as 108 KiB, a part for each"),
    ("108 KiB", "108", ":14: levels[1].size: '108' has no unit, expected a size such as 108 KiB"),
    ("108 KiB", "-108 KiB", ":14: levels[1].size: '-108 KiB' is negative, expected a size such as 108 KiB"),
    ("108 KiB", "0 KiB", ":14: levels[1].size: '0 KiB' is zero, expected a size such as 108 KiB"),
    ("108 KiB", "[1 B]", ":14: levels[1].size: found a list, expected a mapping with input, weight, output, shared"),
    ("read: 6 pJ", "read: 6 MHz", ":16: levels[1].read: 'MHz' in '6 MHz' is not a unit of energy, expected an energy"),
    ("    read: 6 pJ\n", "", ":13: levels[1].read: missing, expected an energy such as 6 pJ"),
    ("    write: 7 pJ", "    read: 7 pJ", ":17: levels[1].read: given twice, first in line 16"),
    (
        "8 B/cycle",
        "8 B",
        ":18: levels[1].bandwidth.read: 'B' in '8 B' is not a unit of bandwidth, expected a bandwidth",
    ),
    ("write: unbounded", "rite: 1 B/cycle", ":18: levels[1].bandwidth.rite: unknown key 'rite'"),
    ("weight: never", "weights: never", ":19: levels[1].keep.weights: unknown key 'weights'"),
    ("weight: never", "weight: nver", ":19: levels[1].keep.weight: found 'nver', expected must, may or never"),
    ("halo: exact", "halo: some", ":20: levels[1].halo: found 'some', expected none, innermost or exact"),
    ("overlaps: false", "overlaps: 0", ":22: levels[1].overlaps: found '0', expected true or false"),
    ("size: 14", "size: 14.5", ":24: levels[2].x.size: found '14.5', expected a whole number of instances such as 16"),
    ("size: 14", "size: " + "9" * 5000, ":24: levels[2].x.size: found '9999"),
    ("size: 14, ", "", ":24: levels[2].x.size: missing, expected a whole number of instances"),
    ("[P, Q]", "[]", ":24: levels[2].x.dims: the list is empty, expected a list of dimensions such as [P, Q]"),
    ("[P, Q]", "P", ":24: levels[2].x.dims: found 'P', expected a list of dimensions such as [P, Q]"),
    ("[P, Q]", "[P, P]", ":24: levels[2].x.dims[1]: dimension 'P' is given twice"),
    ("reuse: weight", "reuse: weigth", ":24: levels[2].x.reuse: found 'weigth', expected input, weight or output"),
    ("y: 12", "y: 0", ":25: levels[2].y: found '0', expected a whole number of instances such as 16"),
    ("y: 12", "y: -12", ":25: levels[2].y: found '-12', expected a whole number of instances such as 16"),
    ("y: 12", "z: 12", ":25: levels[2].z: unknown key 'z'"),
    ("fanout: array", "fanout: my array", ":23: levels[2].fanout: found 'my array', expected a name of letters"),
    ("fanout: array", "memory: spad2\n    fanout: array", ":23: levels[2]: this level is both a memory and a fanout"),
    (
        "fanout: array",
        "array: array",
        ":23: levels[2]: this level is neither a memory nor a fanout, expected '- memory",
    ),
    (
        ", shared: 64 B",
        "",
        ":29: levels[3].size.output: missing, expected a size such as 108 KiB, since this memory keeps",
    ),
    (
        "    write: 0 pJ",
        "    write: 0 pJ\n    keep: {input: never}",
        ":29: levels[3].size.input: the input has a part here, and 'keep' says never; expected one of the two",
    ),
    ("memory: spad", "memory: GLB", ":28: levels[3].memory: a second level is named 'GLB', the first is in line 13"),
    (
        "memory: DRAM",
        "memory: DRAM\n    size: {shared: 1 GiB}",
        ":8: levels[0]: DRAM is the outermost memory: it must keep all",
    ),
    ("memory: DRAM", "memory: DRAM\n    keep: may", ":8: levels[0]: DRAM is the outermost memory: it must keep all"),
    (
        "levels:\n",
        "levels:\n  - fanout: f\n    x: 2\n",
        ":8: levels[0]: the outermost level is a fanout, expected a memory that",
    ),
    (
        "levels:\n",
        "levels:\n  - 3\n",
        ":8: levels[0]: found '3', expected a memory or a fanout, such as '- memory: DRAM'",
    ),
    ("  energy: 1 pJ\n", "", ":33: mac.energy: missing, expected an energy such as 1 pJ"),
    ("per_cycle: 0.5", "per_cycle: 0", ":35: mac.per_cycle: found '0', expected a positive number of MACs such as 1"),
    ("per_cycle: 0.5", "? [a]\n  : b", ":35: mac: a key is a list or a mapping, expected a name"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_EDITS)
def test_bad_edit(old: str, new: str, message: str) -> None:
    assert GOOD.count(old) >= 1
    text = refusal(GOOD.replace(old, new, 1))
    assert text.startswith("toy.yaml" + message), text
    assert text.count("\n") <= 1
    assert "pydantic" not in text


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("    size: 108", "    sise: 108", "hint: did you mean 'size'?"),
        ("weight: never", "weights: never", "hint: did you mean 'weight'?"),
        ("weight: never", "weight: nver", "hint: did you mean 'never'?"),
        ("y: 12", "zzz: 12", "hint: known: fanout, x, y, multicast, spatial_reduction, hop"),
        (
            ", shared: 64 B",
            "",
            "hint: add a part, 'shared: 64 B' for the tensors without one, or 'keep: {output: never}'",
        ),
    ],
)
def test_hints(old: str, new: str, hint: str) -> None:
    assert refusal(GOOD.replace(old, new, 1)).splitlines()[-1] == hint


LEVELS = GOOD[GOOD.index("levels:") : GOOD.index("mac:")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "toy.yaml: the file is empty, expected an architecture\nhint: start with 'name:'"),
        ("# only a comment\n", "toy.yaml: the file is empty"),
        ("- a\n- b\n", "toy.yaml:1: found a list, expected a mapping with name, clock, word, levels, mac"),
        ("just words", "toy.yaml:1: found 'just words', expected a mapping with name"),
        ("a: b: c\n", "toy.yaml:1: not YAML: mapping values are not allowed"),
        ("name: toy\nclock: [1, 2\n", "toy.yaml:3: not YAML: "),
        ("name: toy\nword:\n\t- a\n", "toy.yaml:3: not YAML: found character"),
        (GOOD.replace(LEVELS, "levels: []\n"), "toy.yaml:7: levels: the list is empty, expected a list of memories"),
        (GOOD.replace(LEVELS, "levels: {}\n"), "toy.yaml:7: levels: found a mapping, expected a list of memories"),
        (GOOD.replace(LEVELS, "levels:\n"), "toy.yaml:7: levels: found nothing, expected a list of memories"),
        (
            "name: &a toy\nclock: *a\n",
            "toy.yaml:2: the alias '*a' is not allowed, expected plain YAML\nhint: write the",
        ),
        ("a: &a [*a, *a]\n", "toy.yaml:1: the alias '*a' is not allowed"),
        ("name: !mine toy\n", "toy.yaml:1: the tag '!mine' is not allowed, expected plain YAML"),
        ("name: !!python/object/apply:os.system [ls]\n", "toy.yaml:1: the tag 'tag:yaml.org,2002:python/object/apply"),
        ("name: toy\n---\nname: b\n", "toy.yaml:2: a second document starts here, expected one in a file"),
        ("[" * 100_000, "toy.yaml:1: nested more than 20 deep, expected an architecture"),
        ("name: a\nword: \x00\n", "toy.yaml:2: found the character '\\x00', expected a YAML file of plain text"),
        ("name: \ud800\n", "toy.yaml:1: found the character '\\ud800'"),
        ("<<: {name: toy}\n", "toy.yaml:1: '<<': unknown key '<<'"),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    assert refusal(text).startswith(message), refusal(text)


def test_tabs_are_named() -> None:
    assert refusal("name: toy\nword:\n\t- a\n").endswith("hint: indent with spaces, not tabs")


@pytest.mark.some(6)
@pytest.mark.parametrize("name", list_archs())
def test_the_reader_without_the_c_library_agrees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = load_arch(name)
    monkeypatch.delattr("yaml.CSafeLoader", raising=False)
    assert load_arch(name) == fast


def test_billion_laughs_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    assert "the alias '*a0' is not allowed" in refusal("\n".join(lines))


def test_what_pydantic_refuses_is_said_at_the_field() -> None:
    field = read_document("size: 1 B\nread: 1 pJ\n", "toy.yaml")
    with pytest.raises(ArchitectureError) as caught:
        build(Memory, field, name="m", access_bits=8, read_energy_pj=-1.0, write_energy_pj=0.0)
    assert str(caught.value) == "toy.yaml:2: read: found -1.0 pJ, expected 0 pJ or more"


class TestFiles:
    def test_path_forms(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "toy.yaml").write_text(GOOD)
        (tmp_path / "plain").write_text(GOOD)
        monkeypatch.chdir(tmp_path)
        for form in (tmp_path / "toy.yaml", str(tmp_path / "toy.yaml"), "toy.yaml", "./plain", "plain", Path("plain")):
            assert load_arch(form).name == "toy"

    def test_library_name_comes_before_a_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "eyeriss").write_text(GOOD)
        monkeypatch.chdir(tmp_path)
        assert load_arch("eyeriss").name == "eyeriss"
        assert load_arch(Path("eyeriss")).name == "toy"

    def test_byte_order_mark_and_windows_lines(self, tmp_path: Path) -> None:
        path = tmp_path / "toy.yaml"
        path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
        assert load_arch(path).name == "toy"
        path.write_bytes(GOOD.replace("\n", "\r\n").replace("6 pJ", "6 MHz").encode())
        with pytest.raises(ArchitectureError, match=r"toy\.yaml:16: levels\[1\]\.read"):
            load_arch(path)

    def test_unknown_name(self) -> None:
        with pytest.raises(ArchitectureError) as caught:
            load_arch("eyeris")
        assert str(caught.value) == (
            "no architecture is named 'eyeris', expected a library name or a path that ends in .yaml\n"
            "hint: did you mean 'eyeriss'?"
        )
        with pytest.raises(ArchitectureError, match="hint: known: a100, ascend_like, cpu, "):
            load_arch("")

    def test_missing_file(self, tmp_path: Path) -> None:
        path = tmp_path / "none.yaml"
        with pytest.raises(ArchitectureError, match=re.escape(f"{path}: no such file, expected an architecture file")):
            load_arch(path)

    def test_nearest_to_a_missing_file(self, tmp_path: Path) -> None:
        (tmp_path / "my_chip.yaml").write_text(GOOD)
        for name, hint in (
            ("my_chp.yaml", f"did you mean '{tmp_path / 'my_chip.yaml'}'?"),
            ("eyerris.yaml", "did you mean 'eyeriss'?"),
            ("nothing/eyerris.yaml", "did you mean 'eyeriss'?"),
            ("none.yaml", "library names are a100, ascend_like, "),
        ):
            with pytest.raises(ArchitectureError) as caught:
                load_arch(tmp_path / name)
            assert (caught.value.hint or "").startswith(hint)

    def test_a_mapping_for_an_architecture(self, tmp_path: Path) -> None:
        path = tmp_path / "mapping.json"
        path.write_bytes((Path(__file__).parents[1] / "golden/mapping-1/another-machine.json").read_bytes())
        with pytest.raises(
            ArchitectureError, match=r"this is a mapping\.json, expected an architecture file"
        ) as caught:
            load_arch(path)
        assert caught.value.hint == f"its own architecture is in it: `tilewright evaluate {path}` needs no --arch"

    def test_directory(self, tmp_path: Path) -> None:
        with pytest.raises(ArchitectureError, match=re.escape(f"{tmp_path}: this is a directory")):
            load_arch(tmp_path)

    def test_binary_file(self, tmp_path: Path) -> None:
        path = tmp_path / "binary.yaml"
        path.write_bytes(b"name: x\n\x89PNG\xff")
        with pytest.raises(ArchitectureError, match=r"binary\.yaml:2: byte 0x89 is not UTF-8 text"):
            load_arch(path)
        path.write_bytes(bytes(range(32)))
        with pytest.raises(ArchitectureError, match=r"binary\.yaml:1: found the character '\\x00'"):
            load_arch(path)

    def test_huge_file(self, tmp_path: Path) -> None:
        path = tmp_path / "huge.yaml"
        path.write_bytes(b"#" * 2_000_000)
        with pytest.raises(ArchitectureError, match=r"huge\.yaml: larger than 1 MiB"):
            load_arch(path)

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads every file")
    def test_file_without_permission(self, tmp_path: Path) -> None:
        path = tmp_path / "secret.yaml"
        path.write_text(GOOD)
        path.chmod(0)
        with pytest.raises(ArchitectureError, match=r"secret\.yaml: the file cannot be read: Permission denied"):
            load_arch(path)

    def test_unreadable_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
        with pytest.raises(ArchitectureError, match=r"secret\.yaml: the file cannot be read: Permission denied"):
            load_arch(tmp_path / "secret.yaml")

    @pytest.mark.parametrize("name", ["a\0b.yaml", "x" * 5000 + ".yaml"])
    def test_impossible_path(self, name: str) -> None:
        with pytest.raises(ArchitectureError, match="the file cannot be read"):
            load_arch(name)


def test_importing_the_package_does_not_import_yaml() -> None:
    code = "import sys, tilewright.arch; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(ArchitectureError):
        parse_arch(text)


@given(st.text(st.sampled_from("ab: \n-[]{}&*!|>'\"%@`#,?\t\\<=~0"), max_size=60))
def test_yaml_like_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(ArchitectureError):
        parse_arch(text)


@given(st.integers(0, len(GOOD)), st.integers(0, 30), st.text(max_size=12))
def test_damaged_file_is_read_or_refused(start: int, length: int, put: str) -> None:
    message = "toy.yaml"
    try:
        parse_arch(GOOD[:start] + put + GOOD[start + length :], "toy.yaml")
    except ArchitectureError as error:
        message = str(error)
    assert message.startswith("toy.yaml")


@pytest.mark.parametrize("name", list_archs())
def test_library_lines_are_found_again(name: str) -> None:
    text, _ = arch_file(name)
    broken = text.replace("mac:\n", "mac:\n  colour: red\n")
    line = broken[: broken.index("colour")].count("\n") + 1
    with pytest.raises(ArchitectureError, match=rf"^a\.yaml:{line}: mac\.colour: unknown key 'colour'"):
        parse_arch(broken, "a.yaml")
