"""`compare --fuse` and `explore --fuse`, on the command line and in Python."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import pytest

import tilewright as tw
from pages import run
from tilewright.ir import TilewrightError
from tilewright.report.comparisons.fused import FusedComparison

MACHINE = Path(__file__).parent.parent / "golden" / "fused" / "F2.yaml"

NETWORK = """
network: pair
layers:
  - {name: up, op: gemm, M: 4, N: 8, K: 4, weight: true}
  - {name: down, op: gemm, M: 4, N: 4, K: 8, weight: true}
graph: [up, down]
"""


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pair.yaml").write_text(NETWORK, encoding="utf-8")
    return "pair.yaml"


def words(network: str, *more: str) -> list[str]:
    asked = ["--fuse", "--group", "2", "--objective", "energy", "--tiling", "perfect", "--workers", "1"]
    return ["compare", "--networks", network, "--archs", str(MACHINE), *asked, *more]


def test_a_comparison_is_printed_written_repeated_and_the_same_in_python(pair: str, tmp_path: Path) -> None:
    first = run(words(pair, "--out", "out", "--format", "csv"))
    assert first.exit_code == 0, first.output
    for part in ("Whole networks", "nothing fused", "fusing saves most on", "all proven optimal", "networks.csv"):
        assert part in first.stdout
    assert "1 whole network: 1 done" in first.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "index.html", "fusing.svg", "fusing.png", "networks.csv", "groups.csv",
    }  # fmt: skip
    with (tmp_path / "out" / "networks.csv").open() as file:
        (row,) = csv.DictReader(file)
    alone = run([*shlex.split(row["command"])[1:], "--json"])
    assert json.loads(alone.stdout)["summary"]["value"] == pytest.approx(float(row["objective_J"]) * 1e12)
    again = tw.compare([pair], [MACHINE], objective="energy", tiling="perfect", fuse=True, most=2, workers=1)
    assert isinstance(again, FusedComparison)
    assert again.rows[0].saves == float(row["saves_fraction"])
    assert again.command.endswith("--fuse --group 2 --objective energy --tiling perfect --time-limit 10")
    assert again.command.startswith(f"tilewright compare --networks pair.yaml --archs {MACHINE}")


@pytest.mark.long
def test_sizes_are_explored_by_what_the_network_reaches(pair: str, tmp_path: Path) -> None:
    line = ["explore", "--network", pair, "--arch", str(MACHINE), "--sweep", "GLB.size=16B,128B", "--fuse"]
    line += ["--objective", "energy", "--tiling", "perfect", "--workers", "1", "--out", "out", "--format", "csv"]
    done = run(line)
    assert done.exit_code == 0, done.output
    for part in ("sums over all groups of up to 4", "fusing saves", "groups.csv"):
        assert part in done.stdout
    with (tmp_path / "out" / "points.csv").open() as file:
        small, large = csv.DictReader(file)
    assert float(large["energy_pJ"]) < float(small["energy_pJ"])
    assert 0 <= float(small["saves_fraction"]) < float(large["saves_fraction"])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--dataflows", "free"], "--dataflows: dataflows constrain single layers"),
        (["--scheduler", "tcp://127.0.0.1:1"], "--scheduler: whole networks are searched by processes"),
        (["--group", "0"], "operations of a group"),
        (["--networks", "pair.yaml,pair.yaml"], "two networks are named 'pair'"),
        (["--objective", "latency,energy"], "latency,energy is not known for networks"),
    ],
)
def test_what_cannot_be_is_one_message(pair: str, more: list[str], message: str) -> None:
    line = ["compare", "--networks", pair, "--archs", "three_level", "--fuse", *more]
    done = run(line)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("error: ")
    assert message in done.stderr


def test_groups_are_for_fusing(pair: str) -> None:
    for command in (
        ["compare", "--networks", pair, "--archs"],
        ["explore", "--sweep", "x=1", "--network", pair, "--arch"],
    ):
        done = run([*command, "three_level", "--group", "2"])
        assert done.exit_code == 2
        assert "--group: says how many operations are mapped as one" in done.stderr
    for wrong in ({"most": 2}, {"fuse": 1}, {"fuse": True, "scheduler": "x"}, {"fuse": True, "dataflows": ["free"]}):
        with pytest.raises(TilewrightError):
            tw.compare([pair], ["three_level"], **wrong)


@pytest.mark.long
def test_a_limit_for_a_whole_network_is_kept_and_repeated(pair: str) -> None:
    done = run(words(pair, "--total-limit", "0.001", "--no-cache", "--json"))
    assert done.exit_code == 0, done.output
    assert "--total-limit 0.001" in json.loads(done.stdout)["command"]
    implied = run(["compare", "--networks", pair, "--archs", str(MACHINE), "--total-limit", "0.001", "--json"])
    assert "--fuse" in json.loads(implied.stdout)["command"]
    with pytest.raises(TilewrightError, match="give fuse=True with it"):
        tw.compare([pair], [MACHINE], total_limit=3.0)
