"""Files with one field wrong: every field of every kind of file, with what no field may be, and with what some may.

The trees are those of files that are shipped or that we write. A value that is wrong for any field, a key that nothing
knows, a key given twice and a file cut short are refused; null, a text, a number and a list may be right here and
there, and are accepted or refused. Either way the command ends in one message or in an answer.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from onnx import helper
from typer.testing import CliRunner

from commands import answer_or_refusal, prepare, refusal, timeloop_case
from fuzzing import as_yaml, from_tagged, to_tagged
from longer import TIMES
from mutations import at, places
from onnx_models import model_of, saved
from tilewright.cli import app

ROOT = Path(__file__).parent.parent.parent
WRONG_EVERYWHERE: tuple[Any, ...] = ({"nonsense": [1]}, [[["nonsense"]]])[: min(TIMES, 2)]
WRONG_SOMEWHERE: tuple[Any, ...] = (None, -1, "nonsense", 10**30, 1e308, [], True, "\x1b[31m")[: 2 if TIMES == 1 else 8]

MAPPING = """\
conv: K=4,C=4,P=6,Q=6,R=3,S=3
arch: eyeriss
levels:
  - {memory: DRAM, keep: [I, W, O], loops: [P=6, K=4]}
  - {memory: GLB, keep: [I, O], loops: [C=2]}
  - {fanout: array, y: [C=2, S=3], x: [Q=6]}
  - {memory: spad, keep: [I, W, O], loops: [R=3]}
"""
NETWORK = """\
network: tiny
source: here
batch: 1
published: [{what: macs, value: 16, source: a table}]
layers:
  - {name: a, op: gemm, M: 2, N: 2, K: 2, B: 1, weight: true, repeat: 2, note: none}
  - {name: b, op: conv, K: 2, C: 2, P: 2, Q: 2, R: 1, S: 1, N: 1, groups: 1, stride: [1, 1], dilation: 1, pad: 0, H: 2}
  - {name: c, op: einsum, spec: "mk,kn->mn", sizes: {m: 2, n: 2, k: 2}, weight: true}
"""


def read(*parts: str) -> Callable[[], str]:
    return lambda: ROOT.joinpath(*parts).read_text(encoding="utf-8")


FILES: dict[str, tuple[str, tuple[str, ...], Callable[[], str]]] = {
    "architecture": ("machine.yaml", ("show", "machine.yaml"), read("arch", "library", "simba.yaml")),
    "system": ("system.yaml", ("show", "system.yaml"), read("arch", "systems", "h100_pcie_x8.yaml")),
    "network": ("net.yaml", ("network", "net.yaml"), lambda: NETWORK),
    "constraints": (
        "flow.yaml",
        ("space-of", "flow.yaml"),
        read("mapper", "constraints", "dataflows", "row-stationary.yaml"),
    ),
    "mapping": ("mine.yaml", ("evaluate", "mine.yaml"), lambda: MAPPING),
    "gpu": (
        "gpu.yaml",
        ("gpu", "sweep", "--n", "64:64", "--gpu", "gpu.yaml"),
        read("cost_models/gpu/machines/a100.yaml"),
    ),
    "timeloop": ("case.yaml", ("import", "timeloop", "case.yaml"), timeloop_case),
}
"""By kind: the name that the file is given, the command that reads it, and a file that is right."""


def command_of(kind: str) -> list[str]:
    words = list(FILES[kind][1])
    if words[0] == "space-of":
        return ["search", "--gemm", "M=2,N=2,K=2", "--arch", "eyeriss", "--no-cache", "--constraints", words[1]]
    return words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fields")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_STORE", str(place / "store.sqlite3"))
        prepare(place)
    return place


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def one_of_each(tree: Any) -> Iterator[tuple[Any, ...]]:
    """The places of a tree; of the members of a list that look alike, the first: the others are read alike."""
    for path in places(tree):
        if all(not isinstance(key, int) or not _has_twin(at(tree, path[:n]), key) for n, key in enumerate(path)):
            yield path


def _has_twin(members: list[Any], number: int) -> bool:
    def shape(value: Any) -> Any:
        return sorted(map(str, value)) if isinstance(value, dict) else type(value)

    return shape(members[number]) in [shape(member) for member in members[:number]]


def with_value(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(tree)
    if not path:
        return value
    at(changed, path[:-1])[path[-1]] = value
    return changed


@pytest.mark.parametrize("kind", FILES)
def test_a_right_file_is_read(kind: str) -> None:
    """Or else nothing below would mean anything."""
    name, _, make = FILES[kind]
    Path(name).write_text(make(), encoding="utf-8")
    done = CliRunner().invoke(app, command_of(kind))
    assert done.exit_code == 0, done.output
    Path(name).write_text(as_text(from_tagged(make())), encoding="utf-8")
    done = CliRunner().invoke(app, command_of(kind))
    assert done.exit_code == 0, done.output


def as_text(tree: Any) -> str:
    return to_tagged(as_yaml(tree))


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", FILES)
def test_every_field_of_a_yaml_file(kind: str) -> None:
    name, _, make = FILES[kind]
    tree = from_tagged(make())
    for path in one_of_each(tree):
        for value in WRONG_EVERYWHERE:
            Path(name).write_text(as_text(with_value(tree, path, value)), encoding="utf-8")
            if kind == "timeloop":  # whose classes have attributes of their own, which nobody else reads
                answer_or_refusal(command_of(kind))
            else:
                assert name in refusal(command_of(kind)), (path, value)
        for value in WRONG_SOMEWHERE:
            Path(name).write_text(as_text(with_value(tree, path, value)), encoding="utf-8")
            answer_or_refusal(command_of(kind))


SAID_TO_BE_LEFT_OUT = {"attributes", "instance"}
"""Tables of Timeloop's files whose names are the file's own: what is not used is named in a note."""


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", FILES)
def test_every_table_of_a_yaml_file(kind: str) -> None:
    """An unknown key, a key that is missing, and a key that is there twice."""
    name, _, make = FILES[kind]
    tree = from_tagged(make())
    for path in one_of_each(tree):
        table = at(tree, path)
        if not isinstance(table, dict) or not table:
            continue
        if path != ("parameters",):  # whose names are the file's own
            Path(name).write_text(as_text(with_value(tree, path, table | {"nonsense": 1})), encoding="utf-8")
            if kind == "timeloop" and set(path[-1:]) & SAID_TO_BE_LEFT_OUT:
                assert "nonsense" in CliRunner().invoke(app, command_of(kind)).output, path
            else:
                refusal(command_of(kind))
        for key in table:
            without = {other: value for other, value in table.items() if other != key}
            Path(name).write_text(as_text(with_value(tree, path, without)), encoding="utf-8")
            answer_or_refusal(command_of(kind))
    text = as_text(tree)
    first = text.splitlines()[0]
    for wrong in (
        f"{first}\n{text}",
        text + "\n  - [",
        text + "\n---\n" + text,
        "- 1\n",
        "5\n",
        "\t{",
        "a: &x 1\nb: *x\n",
    ):
        Path(name).write_text(wrong, encoding="utf-8")
        assert name in refusal(command_of(kind)), wrong[:80]


@pytest.mark.long
def test_every_field_of_a_mapping_json(folder: Path) -> None:
    tree = json.loads((folder / "mapping.json").read_text(encoding="utf-8"))
    file = Path("changed.json")
    for path in one_of_each(tree):
        if len(path) > 2 + (TIMES > 1):  # what stands deeper is of the kinds of these
            continue
        for value in WRONG_EVERYWHERE:
            file.write_text(json.dumps(with_value(tree, path, value)), encoding="utf-8")
            assert "changed.json" in refusal(["evaluate", "changed.json"]), (path, value)
        for value in WRONG_SOMEWHERE:
            file.write_text(json.dumps(with_value(tree, path, value)), encoding="utf-8")
            answer_or_refusal(["evaluate", "changed.json"])


NODES = {
    "Conv": (["x", "w"], {"strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1], "group": 1}),
    "ConvTranspose": (
        ["x", "t"],
        {"strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1], "output_padding": [0, 0]},
    ),
    "Gemm": (["m", "v"], {"transA": 0, "transB": 0, "alpha": 1.0}),
    "Einsum": (["m", "v"], {"equation": "ij,jk->ik"}),
}
SHAPES = {"x": [1, 2, 4, 4], "m": [4, 6]}
STORED = {"w": [2, 2, 3, 3], "t": [2, 2, 3, 3], "v": [6, 8]}
ATTRIBUTES: tuple[Any, ...] = (0, -1, 10**9, [0, 0], [-1, 1], [1], [9, 9, 9, 9], [-1, 0, 0, 0], "nonsense", "SAME")


@pytest.mark.parametrize("op", NODES)
def test_every_attribute_of_an_onnx_node(op: str, tmp_path: Path) -> None:
    """The node is to blame, by its name, unless the value is one that it may have."""
    inputs, attributes = NODES[op]
    file = str(tmp_path / "model.onnx")

    def tried(nodes: list[Any]) -> str:
        shapes = {name: shape for name, shape in SHAPES.items() if name in inputs}
        saved(tmp_path, model_of(nodes, shapes, stored={n: s for n, s in STORED.items() if n in inputs}))
        return answer_or_refusal(["network", file]) or ""

    assert tried([helper.make_node(op, inputs, ["y"], "node", **attributes)]) == ""
    refused = 0
    for name in attributes:
        for value in ATTRIBUTES:
            message = tried([helper.make_node(op, inputs, ["y"], "node", **(attributes | {name: value}))])
            refused += bool(message)
            assert not message or f"{op} node" in message or "type" in message, (name, value, message)
    assert refused >= len(attributes)


@pytest.mark.parametrize("op", NODES)
@pytest.mark.parametrize("how", ["undefined", "itself", "twice", "after"])
def test_every_way_to_wire_an_onnx_graph_wrongly(op: str, how: str, tmp_path: Path) -> None:
    inputs, attributes = NODES[op]
    right = helper.make_node(op, inputs, ["y"], "node", **attributes)
    first = {"undefined": "nowhere", "itself": "y", "after": "later"}.get(how, inputs[0])
    wrong = helper.make_node(op, [first, *inputs[1:]], ["y"], "node", **attributes)
    later = helper.make_node("Relu", [inputs[0]], ["later"], "late")
    nodes = [wrong, right] if how == "twice" else [wrong, later]
    shapes = {name: shape for name, shape in SHAPES.items() if name in inputs}
    saved(tmp_path, model_of(nodes, shapes, stored={n: s for n, s in STORED.items() if n in inputs}))
    message = refusal(["network", str(tmp_path / "model.onnx")])
    assert f"{op} node" in message
    assert re.search("nothing|neither|cycle|already|after it", message)
