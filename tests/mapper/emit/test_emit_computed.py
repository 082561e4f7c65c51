"""Operators that no mapping has: in plain loops, as functions to link, by onnx.reference."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from emitted_networks import GCC, agrees_with_onnx, needs_gcc, random_answer, run_by_numpy
from onnx import helper
from onnx.reference import ReferenceEvaluator

from generators import random_architecture
from onnx_models import model_of, saved
from tilewright.ir import MappingError
from tilewright.mapper.emit.network import check_writable, emit_c_network, extern_stub, linked, network_program
from tilewright.workloads import load_network

node = helper.make_node
STEPS, BATCH, READ, STATES = 4, 2, 3, 5
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def w(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def recurrent(
    op: str, outputs: tuple[str, ...] = ("y", "y_h"), *, states: bool = True, peepholes: bool = False, **given: Any
) -> onnx.ModelProto:
    directions = 2 if given.get("direction") == "bidirectional" else 1
    rows = GATES[op] * STATES
    stored = {"W": w(directions, rows, READ), "R": w(directions, rows, STATES, seed=1), "B": w(directions, 2 * rows)}
    inputs = ["x", "W", "R", "B", ""]
    if states:
        stored |= {"h": w(directions, BATCH, STATES, seed=2), "c": w(directions, BATCH, STATES, seed=3)}
        inputs += ["h", "c"] if op == "LSTM" else ["h"]
    if peepholes:
        stored |= {"P": w(directions, 3 * STATES, seed=4)}
        inputs += ["P"]
    stored = {name: value for name, value in stored.items() if name in inputs}
    made = [name if name in outputs else "" for name in ("y", "y_h", "y_c")][: 3 if op == "LSTM" else 2]
    one = node(op, inputs, made, "cell", hidden_size=STATES, **given)
    return model_of([one], {"x": [STEPS, BATCH, READ]}, outputs, stored=stored)


def along(op: str, stored: dict[str, np.ndarray], outputs: tuple[str, ...] = ("y",), **given: Any) -> onnx.ModelProto:
    return model_of([node(op, ["x", *stored], outputs, "along", **given)], {"x": [3, 4, 2]}, outputs, stored=stored)


def at_the_largest(op: str, stored: dict[str, np.ndarray], axis: int) -> onnx.ModelProto:
    nodes = [
        node("ArgMax", ["x"], ["at"], "largest", axis=axis),
        node(op, ["x", "at", *stored], ["y"], "there", axis=axis),
    ]
    return model_of(nodes, {"x": [3, 4, 2]}, stored=stored)


PLAIN = {
    "lstm": recurrent("LSTM", ("y", "y_h", "y_c"), peepholes=True),
    "lstm of both directions": recurrent("LSTM", ("y",), direction="bidirectional"),
    "lstm backwards": recurrent("LSTM", ("y_c",), states=False, direction="reverse"),
    "gru": recurrent("GRU"),
    "gru of both directions": recurrent("GRU", ("y_h",), direction="bidirectional", linear_before_reset=1),
    "rnn": recurrent("RNN", direction="reverse"),
    "rnn of both directions": recurrent("RNN", direction="bidirectional"),
    "top": along("TopK", {"k": np.array([3])}, ("y", "where"), axis=1),
    "bottom": along("TopK", {"k": np.array([2])}, ("where", "y"), axis=0, largest=0),
    "sums": along("CumSum", {"axis": np.array(1)}),
    "sums backwards": along("CumSum", {"axis": np.array(-1)}, exclusive=1, reverse=1),
    "chosen": at_the_largest("GatherElements", {}, 0),
    "scattered": at_the_largest("ScatterElements", {"new": w(3, 1, 2)}, 1),
    "one tensor twice": model_of([node("Einsum", ["x", "x"], ["y"], "gram", equation="ij,kj->ik")], {"x": [3, 4]}),
}


@pytest.mark.some(6)
@needs_gcc
@pytest.mark.parametrize("name", PLAIN)
def test_plain_loops_agree_with_onnx(name: str, tmp_path: Path) -> None:
    model = PLAIN[name]
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    assert graph.meaning is not None
    assert len(graph.meaning.computed) == 1
    assert not linked(graph)
    if len(model.graph.output) == 1:
        agrees_with_onnx(model, tmp_path, 1)
    program = network_program(random_answer(random.Random(1), graph, random_architecture(random.Random(1))))
    x = w(*(dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim), seed=9)
    for found, right in zip(
        run_by_numpy(program, {"x": x}), ReferenceEvaluator(model).run(None, {"x": x}), strict=True
    ):
        np.testing.assert_allclose(found, np.ravel(right), rtol=1e-5, atol=1e-6)


@needs_gcc
def test_one_tensor_as_both_operands_is_a_layer(tmp_path: Path) -> None:
    nodes = [
        node("Relu", ["x"], ["r"], "relu"),
        node("Transpose", ["r"], ["t"], "turned", perm=[0, 2, 1]),
        node("MatMul", ["r", "t"], ["g"], "gram"),
        node("MatMul", ["g", "g"], ["y"], "square"),
    ]
    model = model_of(nodes, {"x": [2, 3, 4]})
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    assert graph.meaning is not None
    assert not graph.meaning.computed
    assert [one.name for one in graph if one.multiplies and not one.follows] == ["gram", "square"]
    for seed in range(2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        agrees_with_onnx(model, folder, seed)


@needs_gcc
def test_functions_to_link(tmp_path: Path) -> None:
    """The linker and the file's head name one that is missing; the stub has all, and stops where one is called."""
    nodes = [
        node("MatMul", ["x", "u"], ["a"], "product"),
        node("Hardmax", ["a"], ["b"], "hard max"),
        node("Add", ["a", "b"], ["y"], "sum"),
    ]
    model = model_of(nodes, {"x": [2, 3]}, stored={"u": w(3, 4)})
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    assert linked(graph) == ("network_extern_hard_max",)
    program = network_program(random_answer(random.Random(1), graph, random_architecture(random.Random(1))))
    text = emit_c_network(program)
    assert "/*     network_extern_hard_max */" in text.partition("#include")[0]
    (tmp_path / "network.c").write_text(text)
    stub = extern_stub(program, "double")
    (tmp_path / "stub.c").write_text(stub)
    program_file = [str(GCC), "-std=c99", "-Wall", "-Wextra", "-o", "network", "network.c", "-lm"]
    alone = subprocess.run(program_file, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert "network_extern_hard_max" in alone.stderr
    subprocess.run([*program_file, "stub.c"], cwd=tmp_path, check=True, timeout=60)
    (tmp_path / "weights.bin").write_bytes(w(3, 4).astype("<f8").tobytes())
    run = subprocess.run(["./network"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (run.returncode, run.stderr) == (1, "network_extern_hard_max is not written yet\n")


def test_operators_of_others_have_no_numpy_program(tmp_path: Path) -> None:
    nodes = [node("Magic", ["x"], ["a"], "magic", domain="mine"), node("MatMul", ["a", "u"], ["y"], "product")]
    model = model_of(nodes, {"x": [2, 3]}, stored={"u": w(3, 4)}, domains=("mine",))
    model.graph.value_info.append(helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [2, 3]))
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    assert linked(graph) == ("network_extern_magic",)
    check_writable(graph, form="c")
    with pytest.raises(MappingError, match=r"Magic magic: onnx\.reference does not compute it"):
        check_writable(graph, form="numpy")
