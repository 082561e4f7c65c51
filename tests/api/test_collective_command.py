"""`tilewright collective`, `show` and `list` of systems, and `tw.collective`: what is printed, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli import app
from tilewright.ir import TilewrightError

ROWS = {
    row["id"]: row
    for row in map(json.loads, (Path(__file__).parents[1] / "golden" / "chips.jsonl").read_text().splitlines())
}
A100 = ("collective", "all-reduce", "1 GB", "--system", "a100x8")


def run(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def numbers(line: str) -> list[float]:
    return [float(found) for found in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", line)]


def line_of(page: str, start: str) -> list[float]:
    return numbers(next(line.replace(start, "") for line in page.splitlines() if line.strip().startswith(start)))


def test_the_rows_of_the_textbook_are_printed() -> None:
    """A gigabyte over NVLink beside a step of 50 ms: 3.33 ms or 5.83 ms, 7.5 or 7.16 of 8."""
    page = run(*A100, "--step", "50 ms", "--set", "node.latency=0 s")
    expected = ROWS["seed-08"]["outputs"]
    rows = {"one stream, one way": 0, "a switch that adds": 0, "a switch that does not add": 1, "a ring": 1}
    for name, which in rows.items():
        link, time, speedup = line_of(page, name)
        assert link == (150 if name == "a ring" else 300)
        assert time == pytest.approx([expected["ms_one_way_stream"], expected["ms_ring_or_switch"]][which], abs=5e-4)
        assert speedup == pytest.approx(expected["speedups"][which], abs=5e-4)
    adding = run(*A100, "--step", "50 ms", "--set", "node.latency=0 s", "--set", "node.reduces=true")
    once = ROWS["seed-01"]["outputs"]
    assert f"({once['percent_of_step']}% of it)" in adding
    assert f"{once['speedup_without_overlap']} of 8 devices" in adding
    assert f"{once['time_ms']}3 ms" in adding


@pytest.mark.parametrize(("golden", "step"), [("seed-05", "63.3333333333 ms"), ("seed-06", "13.3333333333 ms")])
def test_what_is_exposed_bounds_the_speedup(golden: str, step: str) -> None:
    row = ROWS[golden]
    page = run(*A100, "--step", step, "--set", "node.latency=0 s", "--set", "node.reduces=true")
    share, most = row["inputs"]["serial_fraction"], row["outputs"]["speedup_limit"]
    assert f"{100 * share:.1f}% of the time: at most {most} times" in page


def test_the_document_has_every_link() -> None:
    found = json.loads(run(*A100, "--json"))
    [[phase]] = found["stages"]
    assert {(link["from"], link["to"]) for link in phase["bytes_by_link"]} == {
        ends for i in range(8) for ends in ((i, -1), (-1, i))
    }
    assert sum(link["bytes"] for link in phase["bytes_by_link"]) == found["moved_bytes"] == 28 * 10**9
    assert (phase["size_bytes"], phase["bytes_a_link"], phase["moved_bytes"]) == (10**9, 1_750_000_000, 28 * 10**9)
    assert (found["energy_pj"], found["missing_energies"]) == (None, ["node"])
    assert found["time_s"] == tw.collective("all_reduce", "1 GB", tw.load_system("a100x8")).time


def test_energies_are_summed_where_all_are_stated() -> None:
    simba = tw.collective("all-gather", 36_000, "simba_6x6")
    assert simba.energy_pj == pytest.approx(simba.moved * 8 * 1.75)
    assert simba.bytes_by_link["x"][0, 1] == 6000
    assert "uJ" in run("collective", "all-gather", "36 kB", "--system", "simba_6x6")


@pytest.mark.some(3)
@pytest.mark.parametrize("name", tw.list_systems())
def test_systems_are_shown(name: str) -> None:
    page = run("show", name)
    assert {"Fabric", "All-reduce over all devices"} <= set(page.splitlines())
    assert json.loads(run("show", name, "--json"))["devices"] == tw.load_system(name).devices
    assert run("show", name, "--yaml").lstrip().startswith("#")
    assert re.search(rf"^{name} +\w", run("list", "systems"), re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("all-sum", "1 GB"), "unknown collective operation 'all-sum'"),
        (("all-reduce", "1 GX"), "'GX' in '1 GX' is not a unit of size"),
        (("all-reduce", "4 bit"), "4 bit is 4 bit, expected whole bytes"),
        (("all-reduce", "0 B"), "'0 B' is zero"),
        (("all-reduce", "1 GB", "--axes", "nodes"), "a100x8 has no axis 'nodes', expected one of node"),
        (("all-reduce", "1 GB", "--axes", ""), "--axes: found an empty text"),
        (("all-reduce", "1 GB", "--axes", "node", "--set", "node.size=1"), "the axis node has one device"),
        (("all-reduce", "1 GB", "--set", "node.size=1"), "a100x8 has one device"),
        (("all-reduce", "1 GB", "--set", "node.size=0"), "set node.size: fabric[0].size: found '0'"),
        (("all-reduce", "1 GB", "--step", "0 s"), "--step: the step is 0 s, expected work beside the collective"),
        (("all-reduce", "1 GB", "--step", "50"), "--step: '50' has no unit"),
        (("all-reduce", "1 GB", "--set", "node.bandwidth={both: 600 GB/s}"), "a port of a switch is one direction"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], message: str) -> None:
    done = CliRunner().invoke(app, ["collective", *words, "--system", "a100x8"])
    assert done.exit_code == 2
    assert message in done.output, done.output


@pytest.mark.parametrize("wrong", [3.5, [8], b"x", object()])
def test_arguments_of_a_wrong_type_are_named(wrong: Any) -> None:
    with pytest.raises(TilewrightError, match="the operation is"):
        tw.collective(wrong, 8, "a100x8")
    with pytest.raises(TilewrightError, match="the size is"):
        tw.collective("all_reduce", wrong, "a100x8")
    with pytest.raises(TilewrightError, match="the system is"):
        tw.collective("all_reduce", 8, wrong)
    with pytest.raises(TilewrightError, match="together is"):
        tw.collective("all_reduce", 8, "a100x8", together=wrong)
    with pytest.raises(TilewrightError, match="axes"):
        tw.collective("all_reduce", 8, "a100x8", axes=[wrong])
    with pytest.raises(TilewrightError, match="axes is"):
        tw.collective("all_reduce", 8, "a100x8", axes="node")
    with pytest.raises(TilewrightError, match="no axis is named"):
        tw.collective("all_reduce", 8, "a100x8", axes=[])
    with pytest.raises(TilewrightError, match="above 128 PiB"):
        tw.collective("all_reduce", 10**400, "a100x8")


def test_files_of_systems_and_architectures_are_told_apart(tmp_path: Path) -> None:
    file, device = tmp_path / "mine.yaml", tmp_path / "device.yaml"
    file.write_text(run("show", "a100x8", "--yaml"))
    device.write_text(run("show", "a100", "--yaml"))
    with pytest.raises(TilewrightError, match="this is a system of several devices, expected an architecture file"):
        tw.load_arch(file)
    with pytest.raises(TilewrightError, match="this is an architecture, expected a system file"):
        tw.load_system(device)
    assert "8 of a100" in run("show", str(file))
    done = CliRunner().invoke(app, ["show", str(file), "--yaml", "--set", "node.size=2"])
    assert "printed as it is" in done.output
