"""Mappings of one's own and of other tools, from the command line and from Python."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli import app

MINE = """\
levels:
  - memory: DRAM
    keep: [A, W, O]
    loops: [M=4, K=4]
  - memory: GLB
    keep: [A]
    loops: [M=4, N=2]
  - fanout: array
    x: [N=8]
    y: [K=4]
"""
SIZES = "M=16,N=16,K=16"


def run(*arguments: object, text: str | None = None) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments], input=text)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE)
    return path


def test_evaluate_a_mapping_file(mine: Path) -> None:
    done = run("evaluate", mine, "--gemm", SIZES, "--arch", "three_level", "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    expected = tw.evaluate(str(mine), tw.gemm(16, 16, 16), "three_level")
    assert document["cost"]["energy_pj"] == expected.energy_pj
    assert document["certificate"] is None
    assert tw.evaluate(MINE, tw.gemm(16, 16, 16), "three_level") == expected
    assert tw.evaluate(tw.load_mapping(done.stdout).mapping, "three_level") == expected


def test_the_file_may_name_its_layer_and_machine(mine: Path) -> None:
    mine.write_text(f"gemm: {SIZES}\narch: three_level\n{MINE}")
    assert tw.evaluate(mine) == tw.evaluate(MINE, tw.gemm(16, 16, 16), "three_level")
    assert run("evaluate", mine).exit_code == 0
    assert run("verify", mine).exit_code == 0
    assert run("evaluate", "-", text=mine.read_text()).exit_code == 0


def test_fields_of_the_machine_that_a_file_names_can_be_set(mine: Path, tmp_path: Path) -> None:
    mine.write_text(f"gemm: {SIZES}\narch: three_level\n{MINE}")
    dear = tw.load_arch("three_level", set={"DRAM.read": "400 pJ"})
    done = run("evaluate", mine, "--set", "DRAM.read=400 pJ", "--json")
    assert json.loads(done.stdout)["cost"]["energy_pj"] == tw.evaluate(mine, None, dear).energy_pj
    (tmp_path / "mapping.json").write_text(run("emit", mine, "--to", "json", "--set", "GLB.size=64 KiB").stdout)
    dear = tw.load_arch("three_level", set={"GLB.size": "64 KiB", "DRAM.read": "400 pJ"})
    done = run("evaluate", tmp_path / "mapping.json", "--set", "DRAM.read=400 pJ", "--json")
    document = json.loads(done.stdout)
    assert document["cost"]["energy_pj"] == tw.evaluate(mine, None, dear).energy_pj
    assert document["architecture"]["settings"] == {"GLB.size": "64 KiB", "DRAM.read": "400 pJ"}


def test_fields_of_a_machine_that_is_not_in_the_library_cannot_be_set(mine: Path, tmp_path: Path) -> None:
    path = tmp_path / "mapping.json"
    for name in ("three_level", "mine"):
        arch = tw.load_arch("three_level").model_copy(update={"name": name, "clock_hz": 123.0})
        path.write_text(tw.search(tw.gemm(16, 16, 16), arch).emit("json"))
        done = run("evaluate", path, "--set", "GLB.size=1 MiB")
        assert done.exit_code == 2
        assert f"mapping.json: its architecture, {name}, is not that of the library" in done.stderr
        assert "--arch" in done.stderr


def test_a_result_becomes_a_file_of_ones_own(tmp_path: Path) -> None:
    result = tw.search(tw.gemm(16, 16, 16), "three_level")
    result.save(tmp_path)
    done = run("emit", tmp_path / "mapping.json", "--to", "yaml")
    assert done.exit_code == 0, done.output
    assert done.stdout == result.emit("yaml")
    assert tw.evaluate(done.stdout, result.problem, result.arch) == result.cost


@pytest.mark.parametrize(
    ("old", "new", "options", "message"),
    [
        ("M=4, K=4", "M=8, K=4", ["--gemm", SIZES], "mine.yaml:4: levels[0].loops[0]: dimension M has 16 elements"),
        ("memory: GLB", "memory: GLP", ["--gemm", SIZES], "mine.yaml:5: levels[1].memory: three_level has no"),
        ("N=8", "N=17", ["--gemm", "M=16,N=34,K=16"], "array.x need 17 instances, it has 16"),
        ("", "", [], "mine.yaml: expected one layer, as layer, conv or gemm, found none"),
        ("", "", ["--gemm", SIZES, "--conv", SIZES], "expected one layer, found --conv and --gemm"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(mine: Path, old: str, new: str, options: list[str], message: str) -> None:
    mine.write_text(MINE.replace(old, new, 1))
    done = run("evaluate", mine, "--arch", "three_level", *options)
    assert done.exit_code == 2, done.output
    assert message in done.stderr


def test_a_mapping_file_needs_an_architecture(mine: Path) -> None:
    done = run("evaluate", mine, "--gemm", SIZES)
    assert done.exit_code == 2
    assert "no architecture is given\nhint: write 'arch: eyeriss'" in done.stderr


def test_a_document_is_not_evaluated_for_another_layer(tmp_path: Path) -> None:
    result = tw.search(tw.gemm(16, 16, 16), "three_level")
    with pytest.raises(tw.TilewrightError, match="not of the layer that is given"):
        tw.evaluate(result.emit("json"), tw.gemm(16, 16, 8), "three_level")
    with pytest.raises(tw.TilewrightError, match="not of the layer that is given"):
        tw.evaluate(result.mapping, tw.gemm(16, 16, 8), "three_level")


TIMELOOP_CHIP = """\
name: chip
clock: 1 GHz
word: 8 bit
inner_drain_read: false
footprint: box
levels:
  - memory: DRAM
    access: 64 bit
    block: 64 bit
    read: 512 pJ
    write: 512 pJ
    bandwidth: {read: 8 B/cycle, write: 8 B/cycle}
  - {memory: GLB, size: 4 KiB, access: 64 bit, block: 64 bit, read: 12 pJ, write: 14 pJ, keep: may}
  - {fanout: array, x: 8, y: 4}
  - {memory: registers, size: 64 B, access: 8 bit, read: 0.1 pJ, write: 0.1 pJ, keep: may}
mac: {energy: 0.3 pJ}
"""


def test_a_case_is_carried_to_timeloop_and_back(tmp_path: Path) -> None:
    (tmp_path / "chip.yaml").write_text(TIMELOOP_CHIP)
    layer = tw.conv2d(K=8, C=4, P=6, Q=6, R=3, S=3, stride=2)
    result = tw.search(layer, tmp_path / "chip.yaml", objective="energy")
    case = tmp_path / "case.yaml"
    case.write_text(result.emit("timeloop"))
    done = run("import", "timeloop", case, "--json")
    assert done.exit_code == 0, done.output
    back = tw.evaluate(done.stdout)
    assert back.energy_pj == pytest.approx(result.cost.energy_pj)
    assert back.latency_cycles == pytest.approx(result.cost.latency_cycles)
    assert run("import", "timeloop", case).exit_code == 0


def test_what_timeloop_cannot_say_is_named() -> None:
    result = tw.search(tw.gemm(16, 16, 16), "systolic")
    with pytest.raises(tw.TilewrightError, match="Timeloop's files: partial sums of O are wider"):
        result.emit("timeloop")


def test_timeloop_files_without_a_mapping(tmp_path: Path) -> None:
    """The machine and the layer of a mapping come back, and are searched; constraints of nodes hold."""
    result = tw.search(tw.gemm(16, 16, 16), "three_level", constraints="array.y.trips.K=1")
    whole = yaml_documents(result.emit("timeloop"))
    arch = whole["architecture"].replace(
        "    class: storage\n", "    class: storage\n    constraints: {dataspace: {keep: [A, O, W]}}\n"
    )
    for name, text in (("arch.yaml", arch + whole["ERT"]), ("problem.yaml", whole["problem"])):
        (tmp_path / name).write_text(text, encoding="utf-8")
    out = tmp_path / "imported"
    done = run("import", "timeloop", tmp_path / "arch.yaml", tmp_path / "problem.yaml", "--out", out)
    assert done.exit_code == 0, done.output
    assert [Path(line).name for line in done.stdout.split()] == ["network.yaml", "machine.yaml", "constraints.yaml"]
    found = tw.search(
        tw.load_layer(f"{out}/network.yaml:layer"), tw.load_arch(out / "machine.yaml"), "edp",
        constraints=str(out / "constraints.yaml"),
    )  # fmt: skip
    assert found.problem.macs == result.problem.macs
    assert found.arch.mac_instances == result.arch.mac_instances
    printed = run("import", "timeloop", tmp_path / "problem.yaml")
    assert printed.stdout.split("network:")[1] == (out / "network.yaml").read_text().split("network:")[1]
    several = run("import", "timeloop", tmp_path / "arch.yaml")
    assert several.exit_code == 2
    assert "--out DIR writes machine.yaml, constraints.yaml" in several.stderr
    hinted = run("show", tmp_path / "arch.yaml")
    assert hinted.exit_code == 2
    assert "this is an architecture of Timeloop, expected an architecture file" in hinted.stderr
    assert "`tilewright import timeloop" in hinted.stderr


def yaml_documents(text: str) -> dict[str, str]:
    """The parts of a text by their names."""
    parts = re.split(r"^(?=\w+:)", text, flags=re.MULTILINE)
    return {part.split(":")[0]: part for part in parts if re.match(r"\w+:", part)}


def test_timeloop_files_that_cannot_be_read(tmp_path: Path) -> None:
    done = run("import", "timeloop", tmp_path / "none.yaml")
    assert done.exit_code == 2
    assert "none.yaml: no such file, expected a Timeloop file" in done.stderr
