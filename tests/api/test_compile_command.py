"""`tilewright compile` and `tw.compile`: tables and ONNX files in, page, plan.json, network.html and programs out."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import tilewright as tw
from make_schema import network_plan_schema_file
from pages import run
from tilewright.cli.compile import compile_network
from tilewright.cost_models import ENERGY
from tilewright.ir import TilewrightError
from tilewright.mapper.cascades import NothingBelow
from tilewright.mapper.question import Question
from tilewright.run.documents.files import network_plan_schema_path
from tilewright.run.documents.network_plans import NETWORK_PLAN_VERSION
from tilewright.stored import group_stored

GOLDEN = Path(__file__).parent.parent / "golden" / "fused"

TABLE = """
network: mlp
layers:
  - {name: up, op: gemm, M: 8, N: 16, K: 4, weight: true, repeat: 2}
  - {name: down, op: gemm, M: 8, N: 4, K: 16, weight: true, repeat: 2}
blocks:
  block: [up, down]
graph:
  - {block: block, names: [a, b], rows: {up: up, down: down}}
"""


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store.sqlite3"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlp.yaml").write_text(TABLE, encoding="utf-8")
    return "mlp.yaml"


MACHINE = ("--arch", str(GOLDEN / "F2.yaml"), "--set", "GLB.size=400 B", "--tiling", "perfect")


@pytest.mark.long
def test_the_page_says_what_fusing_saves(table: str) -> None:
    done = run(["compile", table, *MACHINE])
    assert done.exit_code == 0, done.output
    assert "mlp: 4 operations in" in done.stdout
    assert "Fusing saves" in done.stdout
    assert "energy: proven optimal" in done.stdout


def test_files_programs_and_the_store(table: str, tmp_path: Path) -> None:
    done = run(["compile", table, *MACHINE, "--out", "out", "--json", "--verify"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "out" / "plan.json").read_text())
    assert document["summary"]["proven"]
    assert document["summary"]["value"] < document["nothing_fused"]["value"]
    groups = document["groups"]
    assert sum(group["energy_pj"] for group in groups) == pytest.approx(document["summary"]["energy_pj"])
    for group in groups:
        for memory in group["memories"]:
            for buffer in memory["buffers"]:
                assert all(at + buffer["size_bytes"] <= memory["capacity_bytes"] for at in buffer["offsets"])
    html = (tmp_path / "out" / "network.html").read_text(encoding="utf-8")
    assert "proven optimal for energy" in html
    assert [f'<tr data-of="group-{number}">' in html for number, _ in enumerate(groups, 1)] == [True] * len(groups)
    data = json.loads(html.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    plan = data["timelines"]["plan"]
    assert plan["operations"][-1][3] == pytest.approx(plan["total"])
    assert [lane["name"] for lane in plan["memories"]] == ["GLB"]
    for name, start, stop, low, high, kind in plan["memories"][0]["tiles"]:
        assert 0 <= start <= stop <= plan["total"] * (1 + 1e-9), name
        assert 0 <= low < high <= plan["memories"][0]["height"], name
        assert ("(stays)" in name) == (kind == 0)
    kept = tw.load_mapping(tmp_path / "out" / "groups" / "1" / "mapping.json")
    stays = groups[0]["stays"]  # what stays on chip goes to the outermost memory where the group is alone
    assert (kept.recorded.cost.energy_pj > groups[0]["energy_pj"]) == bool(stays)
    again = json.loads(run(["compile", table, *MACHINE, "--json"]).stdout)
    for one in (document, again):
        del one["summary"]["seconds"]
    assert again == document


@pytest.mark.long
def test_the_plan_is_read_back_and_a_changed_one_is_refused(table: str, tmp_path: Path) -> None:
    """By an independent validator too; whatever is changed gives one message."""
    assert run(["compile", table, *MACHINE, "--group", "1", "--out", "out"]).exit_code == 0
    path = tmp_path / "out" / "plan.json"
    text = path.read_text(encoding="utf-8")
    schema = json.loads(network_plan_schema_path(NETWORK_PLAN_VERSION).read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(json.loads(text))
    plan = tw.load_network_plan(path)
    assert [group.operations for group in plan.groups if group.counted] == [
        ("a.up",),
        ("a.down",),
        ("b.up",),
        ("b.down",),
    ]

    def refused(change: Callable[[Any], object]) -> str:
        data = json.loads(text)
        change(data)
        path.write_text(json.dumps(data), encoding="utf-8")
        with pytest.raises(TilewrightError) as caught:
            tw.load_network_plan(path)
        return str(caught.value)

    arena = json.loads(text)["groups"][0]["memories"][0]
    assert len(arena["buffers"]) > 1
    assert "energy_pj is 1 in all" in refused(lambda data: data["summary"].update(energy_pj=1.0))
    for version in (True, "2", 99, 2.0):
        assert "network_plan_version: found" in refused(
            lambda data, version=version: data.update(network_plan_version=version)
        )
    assert "network_plan_version: missing" in refused(lambda data: data.pop("network_plan_version"))
    assert "gropus: unknown key" in refused(lambda data: data.update(gropus=1))
    assert "groups[0].counted: missing" in refused(lambda data: data["groups"][0].pop("counted"))
    moved = refused(lambda data: data["groups"][0]["memories"][0]["buffers"][0].update(offsets=[arena["height_bytes"]]))
    assert "group 1, GLB" in moved
    assert "it was changed after it was written" in moved

    def stack(data: Any) -> None:
        for buffer in data["groups"][0]["memories"][0]["buffers"]:
            buffer["offsets"] = [0]

    assert "group 1, GLB" in refused(stack)

    assert plan.staying
    stays = plan.staying[0]
    where = f"{stays.tensor} stays in GLB"
    assert where in refused(lambda data: data["staying"][0].update(last=9))
    assert where in refused(lambda data: data["staying"][0].update(buffers=["nobody"] * len(stays.buffers)))
    assert where in refused(lambda data: data["staying"][0].update(size_bytes=100_000))

    def lift(data: Any) -> None:
        """All of a group's tiles, by as much as is free above them."""
        memory = data["groups"][stays.last - 1]["memories"][0]
        for buffer in memory["buffers"]:
            buffer["offsets"] = [offset + 1 for offset in buffer["offsets"]]
        memory["height_bytes"] += 1

    assert "expected one place" in refused(lift)
    assert "not among what stays there" in refused(lambda data: data["staying"].pop(0))


def test_the_schema_of_plans_is_that_of_the_models() -> None:
    found = network_plan_schema_path(NETWORK_PLAN_VERSION).read_text(encoding="utf-8")
    assert found == network_plan_schema_file(), "run python docs/make_schema.py"
    Draft202012Validator.check_schema(json.loads(found))


@pytest.mark.long
def test_one_program_for_the_network(table: str, tmp_path: Path) -> None:
    """Equal groups are one function; without --out the folder has the network's name."""
    done = run(["compile", table, *MACHINE, "--group", "2", "--no-stays", "--emit", "c"])
    assert done.exit_code == 0, done.output
    assert "mlp/network.c\n  mlp/weights.bin\n" in done.stdout
    text = (tmp_path / "mlp" / "network.c").read_text(encoding="ascii")
    assert text.count("static APART void group1(") == 1
    assert text.count("    group1(") == 2
    assert (tmp_path / "mlp" / "weights.bin").stat().st_size == 8 * 4 * 16 * 4
    if shutil.which("gcc"):
        subprocess.run(["gcc", "-O1", "-fopenmp", "mlp/network.c", "-lm", "-o", "mlp/run"], check=True, timeout=60)
        said = subprocess.run(["mlp/run"], capture_output=True, text=True, check=False, timeout=60)
        assert "b.down: 32 elements, largest difference 0\nOK: all outputs agree" in said.stdout
    in_numpy = run(["compile", table, *MACHINE, "--group", "1", "--emit", "numpy"])
    assert "mlp/network.py\n  mlp/weights.bin\n" in in_numpy.stdout
    said = subprocess.run([sys.executable, "mlp/network.py"], capture_output=True, text=True, check=False, timeout=60)
    assert "stays in GLB" in in_numpy.stdout
    assert "OK: all outputs agree, and the words moved by 4 groups are those of the plan" in said.stdout


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("rust", "unknown form 'rust'"),
        ("mlir", "--emit: mlir says one operation, and a group may have several"),
        ("nest", "--emit: nest says one group, not a whole network"),
    ],
)
def test_forms_that_cannot_say_a_network(form: str, said: str, table: str) -> None:
    wrong = run(["compile", table, *MACHINE, "--emit", form])
    assert wrong.exit_code == 2
    assert said in wrong.stderr
    assert wrong.stdout == ""


def test_a_program_that_cannot_be_written_is_said_before_the_search(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gather = "\n  - {name: gather, op: outside, reads: b.down, shape: [2]}"
    odd = TABLE.replace("down: down}}", "down: down}}" + gather)
    (tmp_path / "odd.yaml").write_text(odd, encoding="utf-8")
    monkeypatch.setattr("tilewright.compiled.compiled", None)  # nothing is searched
    done = run(["compile", "odd.yaml", *MACHINE, "--group", "1", "--no-stays", "--emit", "c", "--out", "out"])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "how gather comes from what is read there is not stated" in done.stderr
    assert "Forms      how gather comes from" in run(["network", "odd.yaml"]).stdout
    assert "Forms      compile --emit c, numpy" in run(["network", table]).stdout


def test_defaults_are_those_of_python() -> None:
    ours, theirs = (inspect.signature(one).parameters for one in (compile_network, tw.compile))
    assert ours["group"].default == theirs["most"].default
    for name in ("objective", "space", "fuse", "time_limit", "tiling", "widths"):
        assert ours[name].default == theirs[name].default


@pytest.mark.long
def test_in_python(table: str) -> None:
    result = tw.compile(table, tw.load_arch(GOLDEN / "F2.yaml", {"GLB.size": "400 B"}), tiling="perfect")
    assert result.certificate.proven
    assert result.saves
    assert str(result).startswith("mlp on F2: ")
    assert result.answer.staying  # on their own, groups take what stays from the outermost memory
    assert result.energy_pj < sum(one.cost.energy_pj for one in result.results())
    assert all(one.agrees and one.words_agree for one in result.verify())
    answers = [one.answer for one in result.segments if one.answer is not None]
    assert list(result.to_frame()["energy_pJ"]) == [answer.cost.energy_pj for answer in answers]
    assert sum(answer.cost.energy_pj for answer in answers) == pytest.approx(result.energy_pj)
    assert "<table" in result._repr_html_()
    assert (result.cost.energy_pj, result.cost.latency_cycles) == (result.energy_pj, result.latency_cycles)
    assert result.cost.edp == result.energy_pj * result.latency_cycles
    assert result.cost.latency_s == result.latency_cycles / result.arch.clock_hz
    assert result.cost.outer_words == result.plan.summary.outer_words
    result.plan.check()


def test_an_onnx_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx = pytest.importorskip("onnx")
    numpy = pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    info, helper = onnx.TensorProto.FLOAT, onnx.helper
    weights = [
        onnx.numpy_helper.from_array(numpy.zeros(shape, numpy.float32), name)
        for name, shape in (("B", (4, 16)), ("C", (16, 4)))
    ]
    nodes = [helper.make_node("MatMul", ["A", "B"], ["T"], "up"), helper.make_node("MatMul", ["T", "C"], ["O"], "down")]
    inputs = [helper.make_tensor_value_info("A", info, ("batch", 4))]
    outputs = [helper.make_tensor_value_info("O", info, ("batch", 4))]
    onnx.save(helper.make_model(helper.make_graph(nodes, "mlp", inputs, outputs, weights)), "mlp.onnx")
    line = [
        "compile",
        "mlp.onnx",
        "--dim",
        "batch=8",
        *MACHINE,
        "--widths",
        "arch",
        "--no-cache",
        "--no-stays",
        "--json",
    ]
    document = json.loads(run(line).stdout)
    assert [group["operations"] for group in document["groups"] if group["counted"]] == [["up", "down"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.yaml"], "nowhere.yaml"),
        (["mlp.yaml", "--objective", "latency,energy"], "latency,energy is not known for networks"),
        (["mlp.yaml", "--group", "0"], "operations of a group"),
        (["mlp.yaml", "--fuse", "some"], "unknown fuse"),
        (["mlp.yaml", "--no-cache", "--store", "x"], "leaves the store alone"),
    ],
)
def test_errors_are_one_message(table: str, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run(["compile", *arguments, *MACHINE])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert message in done.stderr


def test_wrong_types_are_errors_of_ours() -> None:
    for wrong in ({"network": 3, "arch": "eyeriss"}, {"network": "alexnet", "arch": None}):
        with pytest.raises(TilewrightError):
            tw.compile(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "said"), [((), "the same command goes on from there"), (("--no-cache",), "nothing")]
)
def test_an_interrupt_says_how_to_go_on(
    table: str, monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...], said: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tilewright.compiled.compiled", interrupted)
    done = run(["compile", table, *MACHINE, *option])
    assert done.exit_code == 130
    assert f"interrupted: {said}" in done.stderr or (said in done.stderr and "in the store" in done.stderr)


def test_what_a_network_had_no_use_for_is_in_the_store_too(table: str) -> None:
    """Of a group that costs no less than is asked for, the store has the bound, and no mapping."""
    cascade = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=4, k=4, n=8, p=4)
    question = Question(cascade, tw.load_arch(GOLDEN / "F2.yaml"), ENERGY, "perfect", below=1000.0)
    found = group_stored(question, None, pytest.fail)
    assert found == NothingBelow(1000.0) == group_stored(question, None, pytest.fail)
    (line,) = (line for line in run(["results", "list"]).stdout.splitlines() if "F2" in line)
    page = run(["results", "show", line.split()[0]])
    assert page.exit_code == 0, page.output
    said = "what searches for whole networks found out of it: no mapping of it has less energy than 1,000"
    assert said in " ".join(page.stdout.split())
