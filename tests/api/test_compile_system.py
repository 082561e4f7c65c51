"""`tw.compile` with a system, and `tilewright compile --system`."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

import tilewright as tw
from make_schema import sharded_plan_schema_file
from tilewright.cli import app
from tilewright.ir import MappingError
from tilewright.mapper.question import DEFAULT_LIMITS
from tilewright.mapper.sharding import PlanChoices, ShardedAnswer, ShardingQuestion, compiled_on_system, shard
from tilewright.run.documents.files import sharded_plan_schema_path
from tilewright.run.documents.sharded_plans import SHARDED_PLAN_VERSION
from tilewright.sharded import sharding_question

TABLE = """
network: mlp
dims: {batch: 64}
layers:
  - {name: up, op: gemm, M: batch, N: 256, K: 128, weight: true}
  - {name: down, op: gemm, M: batch, N: 128, K: 256, weight: true}
graph:
  - {name: x, op: outside, shape: [batch, 128]}
  - up
  - down
  - {name: sum, op: add, reads: [down, x]}
"""
SYSTEM = """
system: pair
device: {arch: three_level, set: {DRAM.size: 1 MiB}}
fabric:
  - {name: node, kind: full, size: 2, bandwidth: 100 GB/s, latency: 10 ns, hop: 1 pJ/bit}
"""


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("pair.yaml").write_text(SYSTEM)
    Path("mlp.yaml").write_text(TABLE)
    return "mlp.yaml"


def run(arguments: list[str]) -> str:
    done = CliRunner().invoke(app, ["compile", *arguments, "--tiling", "perfect", "--no-cache"])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_plan_and_what_it_says(table: str) -> None:
    plan = tw.compile(table, system="pair.yaml", tiling="perfect", workers=1)
    assert plan.certificate.proven
    assert math.isclose(plan.latency, sum(step.seconds for step in (*plan.work, *plan.collectives)))
    assert plan.exposed <= plan.latency
    one = next(other for other in plan.compared if other.name == "one device")
    assert one.seconds is not None
    assert plan.latency <= one.seconds * (1 + 1e-9)
    assert plan.memory.used <= plan.memory.size == 2**20
    assert plan.verify()
    assert all(text.startswith(f"{name}[") for name, every in plan.shardings.items() for text in every)
    assert "proven optimal for latency" in str(plan)


def test_energy_and_latency_are_weighed(table: str) -> None:
    least = tw.compile(table, system="pair.yaml", objective="energy", tiling="perfect", workers=1)
    fastest = tw.compile(table, system="pair.yaml", objective="latency", tiling="perfect", workers=1)
    assert least.energy_pj is not None
    assert fastest.energy_pj is not None
    assert least.energy_pj <= fastest.energy_pj * (1 + 1e-9)
    assert fastest.latency <= least.latency * (1 + 1e-9)


def test_files_are_written_and_read_back(table: str) -> None:
    text = run([table, "--system", "pair.yaml", "--out", "out", "--workers", "1"])
    assert "proven optimal" in text
    assert "Compared with" in text
    plan = tw.load_system_plan("out/plan.json")
    document = json.loads(Path("out/plan.json").read_text())
    schema = sharded_plan_schema_path(SHARDED_PLAN_VERSION).read_text()
    assert schema == sharded_plan_schema_file(), "run python docs/make_schema.py"
    Draft202012Validator(json.loads(schema)).validate(document)
    assert [step.name for step in plan.steps if step.kind == "work"] == ["up", "down", "sum"]
    events = json.loads(Path("out/trace.json").read_text())["traceEvents"]
    assert {event["name"] for event in events} >= {"up", "down", "sum"}
    assert "full of 2" in Path("out/system.html").read_text()
    document["seconds"] *= 2
    Path("out/plan.json").write_text(json.dumps(document))
    with pytest.raises(MappingError, match="add up to"):
        tw.load_system_plan("out/plan.json")


def test_stages_pass_microbatches_on(table: str) -> None:
    """Two stages, and the sum, the slowest and the sends say how long all microbatches take."""
    asked = [table, "--system", "pair.yaml", "--stages", "node", "--batch", "64", "--microbatches", "4"]
    document = json.loads(run([*asked, "--json", "--workers", "1"]))
    pipeline, stages = document["pipeline"], document["pipeline"]["stages"]
    assert len(stages) == 2
    through = sum(one["seconds"] + one["send_s"] for one in stages)
    slowest = max(max(one["seconds"], one["send_s"]) for one in stages)
    assert math.isclose(pipeline["seconds"], through + 3 * slowest)
    assert 0 < pipeline["bound_s"] <= pipeline["seconds"]


def test_plans_share_the_time_for_all(table: str) -> None:
    """The time is for all searches together, whatever the numbers of microbatches among which is chosen."""
    asked: list[float] = []

    def load(count: int) -> ShardingQuestion:
        network = tw.load_network(table, {"batch": 64 // count})
        return sharding_question(network, tw.load_system("pair.yaml"), None, "perfect", "even", DEFAULT_LIMITS)

    def divide(question: ShardingQuestion) -> ShardedAnswer:
        assert question.total_s is not None
        asked.append(question.total_s)
        return shard(question)

    compiled_on_system(load, PlanChoices(stages="node", microbatches=[1, 2, 4, 8], total_s=16), divide)
    assert len(asked) == 4
    assert asked[0] <= 4
    assert all(seconds <= 16 / (4 - number) for number, seconds in enumerate(asked))


def test_a_stage_holds_its_own_part(table: str) -> None:
    """What lies in no device as a whole may lie in stages: 64 KiB of weights, in two halves beside their tensors."""
    asked = [table, "--system", "pair.yaml", "--stages", "node", "--batch", "64", "--microbatches", "4"]
    document = json.loads(run([*asked, "--workers", "1", "--json", "--set", "device.DRAM.size=50 KiB"]))
    assert len(document["pipeline"]["stages"]) == 2
    assert document["memory"]["weights"] == 32 * 1024
    assert sum(document["memory"][part] for part in ("weights", "cache", "live")) <= document["memory"]["size"]
    done = CliRunner().invoke(app, ["compile", *asked, "--no-cache", "--set", "device.DRAM.size=20 KiB"])
    assert done.exit_code != 0
    assert "a stage along node takes" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--system", "pair.yaml", "--arch", "eyeriss"], "a system names its devices"),
        (["--system", "pair.yaml", "--fuse", "none"], "mapped one by one"),
        (["--system", "h100x8", "--objective", "energy"], "energy of a hop along node is not stated"),
        (["--system", "pair.yaml", "--objective", "edp"], "knows no objective such as edp"),
        (["--system", "pair.yaml", "--fix", "left: m@node"], "no operation is named 'left'"),
        (["--system", "pair.yaml", "--fix", "up: m@rack"], "there is no axis 'rack'"),
        (["--system", "pair.yaml", "--fix", "up: z@node"], "has no dimension z"),
        (["--system", "pair.yaml", "--set", "node.size=1024", "--fix", "up: m@node"], "64"),
        (["--system", "pair.yaml", "--set", "device.DRAM.size=20 KiB"], "takes .* of each device at least"),
        (["--system", "pair.yaml", "--microbatches", "2"], "there are no stages"),
        (["--system", "pair.yaml", "--stages", "rack"], "rack"),
        (["--system", "pair.yaml", "--stages", "node", "--batch", "9", "--microbatches", "2"], "is not divided by 2"),
        (["--arch", "three_level", "--fix", "up: m@node"], "expected --system"),
    ],
)
def test_bad_input(table: str, given: list[str], message: str) -> None:
    """One message, of what was found and what was expected."""
    done = CliRunner().invoke(app, ["compile", table, *given, "--no-cache", "--quiet", "--workers", "1"])
    assert done.exit_code != 0
    assert re.search(message, " ".join(done.output.split())), done.output
