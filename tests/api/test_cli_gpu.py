"""`tilewright gpu`, `tilewright roofline` and `tilewright list gpus`, as they are called."""

from __future__ import annotations

import csv
import json
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tilewright.cli import app
from tilewright.cost_models.gpu import Gemm, best_plan, load_gpu
from tilewright.mapper.answer import Answer
from tilewright.mapper.question import NestQuestion
from tilewright.mapper.strategies import Exact


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def output(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def refused(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("error: ")
    return str(done.stderr)


def test_the_gpus_are_listed() -> None:
    assert output("list", "gpus").split() == ["a100", "h100", "v100"]


def test_a_sweep_writes_all_its_files(tmp_path: Path) -> None:
    svg, png, table = (tmp_path / name for name in ("a.svg", "a.png", "a.csv"))
    page = output("gpu", "sweep", "--gpu", "h100", "--n", "512:1024:128", "--svg", svg, "--png", png, "--csv", table)
    assert "989.4 TFLOP/s" in page
    assert b"h100, fp16, M=N K=N: fastest tile" in svg.read_bytes()
    assert png.read_bytes().startswith(b"\x89PNG")
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["n"]) for row in rows] == [512, 640, 768, 896, 1024]
    expected = best_plan(load_gpu("h100"), Gemm(512, 512, 512))
    assert float(rows[0]["seconds"]) == expected.seconds


def test_a_sweep_takes_what_it_is_told() -> None:
    options = ("--n", "1000:1001", "--m", 64, "--k", 128, "--tile", "128x64", "--stream-k", "--a", "column")
    points = json.loads(output("gpu", "sweep", *options, "--no-split-k", "--dtype", "tf32", "--json"))
    assert [(point["m"], point["n"], point["k"]) for point in points] == [(64, 1000, 128), (64, 1001, 128)]
    assert {point["plan"].split()[0] for point in points} == {"128x64"}
    assert [point["power_of_two"] for point in points] == [8, 1]


def test_advice_is_given_in_words_and_figures() -> None:
    arguments = ("gpu", "advise", "--gemm", "M=4096,N=4095,K=1024", "--gpu", "a100")
    assert "pad N from 4,095 to 4,096" in output(*arguments)
    advice = json.loads(output(*arguments, "--json"))
    assert advice["best"]["sizes"] == {"M": 4096, "N": 4096, "K": 1024}
    assert advice["best"]["speedup"] > 1.1


def test_a_batch_is_run_as_one_grid() -> None:
    advice = json.loads(output("gpu", "advise", "--gemm", "B=12,M=128,N=128,K=64", "--json"))
    assert advice["cost"]["gemm"]["batch"] == 12
    assert advice["cost"]["tiles"] % 12 == 0


def test_a_measured_table_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "measured.csv"
    rows = [
        f"{n},{n},{n},1,fp16,row,row,{2 * best_plan(load_gpu('a100'), Gemm(n, n, n)).seconds}"
        for n in (512, 1024, 4096)
    ]
    path.write_text("# made up\nm,n,k,batch,dtype,a,b,seconds\n" + "\n".join(rows))
    found = json.loads(output("gpu", "compare", path, "--json"))
    assert found["rank_correlation"] == pytest.approx(1)
    assert found["median_error"] == pytest.approx(0.5)
    svg = tmp_path / "compared.svg"
    page = output("gpu", "compare", path, "--svg", svg)
    assert "50.0%" in page
    assert b"measured.csv, and the model of a100" in svg.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sweep", "--n", "1024"), "expected FROM:TO or FROM:TO:STEP"),
        (("sweep", "--n", "20:10"), "has no sizes"),
        (("sweep", "--n", "1:9999999"), "20,000 at most"),
        (("sweep", "--tile", "1x1"), "unknown tile '1x1'"),
        (("sweep", "--gpu", "b100"), "no GPU is named 'b100'"),
        (("sweep", "--gpu", "v100", "--dtype", "bf16", "--n", "64:64"), "have no bf16"),
        (("sweep", "--n", "64:64", "--svg", "a.png"), "expected .svg"),
        (("sweep", "--n", "64:64", "--csv", "/dev/null/a.csv"), "its folder cannot be made"),
        (("advise", "--gemm", "M=1,N=2"), "missing K"),
        (("advise", "--gemm", "M=1,N=2,K=3", "--a", "diagonal"), "expected row or column"),
        (("compare", "none.csv"), "no such file"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], message: str) -> None:
    assert message in refused("gpu", *arguments)


def test_a_roofline_of_a_layer(tmp_path: Path) -> None:
    svg = tmp_path / "roof.svg"
    page = output("roofline", "--gemm", "M=64,N=64,K=64", "--arch", "eyeriss", "--svg", svg)
    assert "ridge point at 140 FLOP/byte" in page
    assert b"gemm on eyeriss" in svg.read_bytes()


def test_a_roofline_of_a_network(tmp_path: Path) -> None:
    file = tmp_path / "net.yaml"
    row = "{name: %s, op: gemm, M: 16, N: 16, K: %d, repeat: %d, weight: true}"
    rows = "\n".join(f"  - {row % (name, k, repeat)}" for name, k, repeat in (("a", 16, 1), ("b", 32, 2), ("c", 16, 3)))
    file.write_text(f"network: net\nlayers:\n{rows}\n")
    chart = json.loads(output("roofline", "--network", file, "--arch", "three_level", "--json"))
    assert [(dot["name"], dot["repeat"]) for dot in chart["dots"]] == [("a (and 1 alike)", 4), ("b", 2)]


def test_constraints_hold_in_a_roofline() -> None:
    arguments = ("roofline", "--gemm", "M=64,N=64,K=64", "--arch", "eyeriss", "--json")
    narrow = [f"array.{axis}.{limit}" for axis in "xy" for limit in ("dims=N", "trips.N<=2")]
    free, held = (
        json.loads(output(*arguments, *(word for limit in limits for word in ("--constraint", limit))))["dots"][0]
        for limits in ([], narrow)
    )
    assert held["attained"] <= 4 * 2 * 200e6 < free["attained"]
    assert held["bound"] == "compute"


def test_a_roofline_needs_one_thing_to_show() -> None:
    assert "found both" in refused("roofline", "resnet50:conv1", "--network", "resnet50", "--arch", "eyeriss")
    assert "expected one layer" in refused("roofline", "--arch", "eyeriss")
    assert "has no memory 'L9'" in refused("roofline", "--gemm", "M=8,N=8,K=8", "--arch", "eyeriss", "--memory", "L9")
    assert (
        "time limit came first"
        in run("roofline", "--gemm", "M=512,N=512,K=512", "--arch", "three_level", "--time-limit", 0).stderr
    )


def test_an_interrupt_ends_all_searches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The search of a layer takes a Ctrl-C for a time limit; the command must not go on to the next layer."""
    searched = []

    search = Exact.search

    def interrupted(self: Exact, question: NestQuestion) -> Answer:
        searched.append(question.problem.name)
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return search(self, question)

    monkeypatch.setattr(Exact, "search", interrupted)
    done = run("roofline", "--network", "bert_base", "--arch", "tpu_v1")
    assert done.exit_code == 130
    assert len(searched) == 1
