"""`tilewright compare`, `tw.compare` and `tw.search_many`: what they print and write, and how they fail."""

from __future__ import annotations

import csv
import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from onnx import helper
from typer.testing import CliRunner

import tilewright as tw
from batches import NETWORK
from onnx_models import model_of, saved
from tilewright.cli import app
from tilewright.ir import InfeasibleError
from tilewright.mapper.progress import SearchProgress
from tilewright.report.parts.progress import duration, progress_text, running_texts
from tilewright.run.batch.run import Progress


def run(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(argument) for argument in arguments])


def refused(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 4
    return str(done.stderr)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(NETWORK.format(name="tiny"), encoding="utf-8")
    return path


def words(tiny: Path, *more: object) -> tuple[object, ...]:
    dataflows = ("--tiling", "perfect", "--dataflows", "free,weight-stationary", "--workers", 1)
    return ("compare", "--networks", tiny, "--archs", "eyeriss", *dataflows, *more)


def test_a_comparison_is_printed_written_and_repeated(tiny: Path, tmp_path: Path) -> None:
    first = run(*words(tiny, "--out", tmp_path / "out", "--format", "csv,json,parquet"))
    assert first.exit_code == 0, first.output
    for part in ("tiny", "weight-stationary", "all mappings proven optimal", "3x1 convolution", "layers.parquet"):
        assert part in first.stdout
    assert "6 distinct searches: 0 from the store, 6 searched" in first.stderr
    again = run(*words(tiny, "--out", tmp_path / "out", "--format", "csv,json,parquet"))
    assert again.stdout == first.stdout
    assert "6 from the store, 0 searched" in again.stderr
    with (tmp_path / "out" / "layers.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    command = shlex.split(rows[-1]["command"])
    assert command[0] == "tilewright"
    alone = run(*command[1:], "--json")
    assert alone.exit_code == 0
    assert f'"energy_pj": {float(rows[-1]["energy_pJ"])}' in alone.stdout
    assert "from the store" in alone.stderr


@pytest.mark.long
def test_python_gives_the_same(tiny: Path) -> None:
    seen: list[int] = []
    comparison = tw.compare(
        [tiny],
        ["eyeriss"],
        ["free", "weight-stationary"],
        tiling="perfect",
        workers=1,
        watch=lambda p: seen.append(p.done),
    )
    assert seen[-1] == 6
    assert len(comparison.rows) == 8
    assert not any(row.recalled for row in comparison.rows)
    assert comparison.command == (
        f"tilewright compare --networks {tiny} --archs eyeriss --dataflows free,weight-stationary --objective edp"
        " --tiling perfect"
    )
    network, arch = tw.load_network(tiny), tw.load_arch("eyeriss")
    again = tw.compare([network], [arch], ["free", "weight-stationary"], tiling="perfect", workers=1)
    assert all(row.recalled for row in again.rows)
    fresh = tw.compare([network], [arch], ["free"], tiling="perfect", workers=1, cache=False)
    assert not any(row.recalled for row in fresh.rows)
    assert [row.cost for row in fresh.rows] == [row.cost for row in again.rows if row.dataflow == "free"]


@pytest.mark.long
def test_an_onnx_file_keeps_its_sizes_in_every_command(tiny: Path, tmp_path: Path) -> None:
    product = helper.make_node("MatMul", ["x", "w"], ["y"], "fc")
    model = saved(tmp_path, model_of([product], {"x": ["batch", 4]}, stored={"w": [4, 5]}))
    options = ("--dim", "batch=3", "--widths", "arch")
    done = run("compare", "--networks", f"{tiny},{model}", *options, *words(tiny)[3:], "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    with (tmp_path / "out" / "layers.csv").open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["network"] != "tiny"]
    assert {row["layer"] for row in rows} == {"fc"}
    alone = run(*shlex.split(rows[0]["command"])[1:], "--json")
    assert alone.exit_code == 0, alone.output
    assert f'"energy_pj": {float(rows[0]["energy_pJ"])}' in alone.stdout
    assert "from the store" in alone.stderr
    assert (
        "--dim batch=3 --widths arch"
        in tw.compare([model], ["eyeriss"], ["free"], dims={"batch": 3}, widths="arch", workers=1).command
    )


@pytest.mark.long
def test_many_layers_at_once() -> None:
    small, other = tw.gemm(M=4, N=4, K=4), tw.gemm(M=4, N=4, K=4, name="other")
    found = tw.search_many([small, "bert_base:q_proj", other], "eyeriss", workers=2)
    assert [result.problem.name for result in found] == ["gemm", "bert_base:q_proj", "other"]
    for result in found:
        assert isinstance(result, tw.SearchResult)
        assert result.cost == tw.search(result.problem, "eyeriss").cost
    (nothing,) = tw.search_many([small], "eyeriss", constraints="utilization>=1", workers=1)
    assert isinstance(nothing, InfeasibleError)


@pytest.mark.long
def test_a_layer_without_a_mapping_is_a_row(tiny: Path, tmp_path: Path) -> None:
    file = tmp_path / "busy.yaml"
    file.write_text("utilization: 1\n", encoding="utf-8")
    done = run("compare", "--networks", tiny, "--archs", "three_level", "--dataflows", f"free,{file}", "--workers", 1)
    assert done.exit_code == 0, done.output
    assert "without a mapping" in done.stderr
    assert "No mapping" in done.stdout
    assert "drop or relax" not in done.stdout


@pytest.mark.some(5)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--networks": "resnet5"}, "unknown network 'resnet5'"),
        ({"--dim": "batch=1"}, "unknown dimension 'batch'"),
        ({"--widths": "wide"}, "unknown widths 'wide', expected file or arch"),
        ({"--archs": "eyeris"}, "eyeris"),
        ({"--archs": "eyeriss,missing.yaml"}, "missing.yaml: no such file"),
        ({"--dataflows": "weight-stationery"}, "did you mean 'weight-stationary'?"),
        ({"--archs": "eyeriss,eyeriss"}, "two architectures are named 'eyeriss'"),
        ({"--dataflows": ""}, "--dataflows: found an empty text"),
        ({"--objective": "enrgy"}, "did you mean 'energy'?"),
        ({"--workers": 0}, "the number of workers is 0"),
        ({"--time-limit": -1}, "the time limit is -1"),
        ({"--space": "odd"}, "unknown space 'odd'"),
        ({"--format": "xls", "--out": "out"}, "unknown format 'xls'"),
        ({"--scheduler": "tcp://127.0.0.1:1"}, "tcp://127.0.0.1:1: the scheduler cannot be reached"),
        ({"--scheduler": "nonsense://x"}, "expected the address of a Dask scheduler"),
    ],
)
def test_bad_input_is_one_message(
    tiny: Path, changes: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tilewright.run.batch.cluster._PATIENCE", 1.0)
    options = {"--networks": tiny, "--archs": "eyeriss", "--dataflows": "free"} | changes
    assert message in refused("compare", *(word for option in options.items() for word in option))


@pytest.mark.long
def test_an_architecture_that_fails_to_load_costs_nothing(tiny: Path, tmp_path: Path) -> None:
    run(*words(tiny))
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: broken\nclock: 1 parsec\n", encoding="utf-8")
    assert "broken.yaml" in refused(
        "compare", "--networks", tiny, "--archs", f"eyeriss,{broken}", "--dataflows", "free,weight-stationary"
    )
    assert "6 from the store" in run(*words(tiny)).stderr


@pytest.mark.long
def test_places_that_cannot_be_written_are_said_first(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "not a directory" in refused(*words(tiny, "--out", tmp_path / "file"))
    assert "--no-cache" in refused(*words(tiny, "--store", tmp_path / "file" / "x.sqlite3"))
    assert not Path(os.environ["TILEWRIGHT_STORE"]).exists()
    assert run(*words(tiny, "--no-cache")).exit_code == 0
    assert not Path(os.environ["TILEWRIGHT_STORE"]).exists()


def test_progress_in_words() -> None:
    progress = Progress(total=12, recalled=2, done=4, workers=2, seconds_left=372.0, failed=1)
    assert progress_text(progress) == "4 of 10 searches done, 6 left, 2 more from the store, 1 failed, about 6 min"
    assert running_texts(progress) == ["2 workers"]
    running = (
        ("conv2 on simba, edp", SearchProgress(0, 0, "even space", "edp", 200.0, 150.0)),
        ("fc", SearchProgress()),
    )
    shown = running_texts(replace(progress, running=running))
    assert shown == ["2 workers", "conv2 on simba, edp: 200, gap 25.0%; even space", "fc"]
    assert [duration(seconds) for seconds in (0, 12, 89, 90, 400, 7900)] == [
        "5 s", "10 s", "90 s", "2 min", "7 min", "2 h 12 min",
    ]  # fmt: skip
