"""Which layer of an ONNX file reads which, and cascades of its layers: they compute what the model does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from onnx_models import model_of, saved
from tilewright.arch import load_arch
from tilewright.ir import Mapping, ProblemError
from tilewright.mapper.emit import emit_numpy
from tilewright.workloads import Network, cascade_of, load_network, resolve_cascade

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
node = helper.make_node


def computed(network: Network, layers: str, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """What the last operation of a cascade writes."""
    whole = cascade_of(network, layers)
    lines = [f"DRAM keeps {' '.join(whole.tensors)}"]
    for operation in whole:
        lines += [f"branch {operation.name}", *(f"  for {dim} in {size}" for dim, size in operation.problem.dims)]
    program: dict[str, Any] = {"__name__": "reference"}
    fused = Mapping.parse(whole, "\n".join(lines))
    exec(compile(emit_numpy(fused, load_arch("three_level")), "<program>", "exec"), program)
    operands = {name: inputs[name].reshape(shape) for name, shape in program["OPERANDS"].items()}
    last: np.ndarray = program["direct"](operands)[whole.operations[-1].output.name]
    return last


def random_of(shapes: dict[str, list[int]]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def test_attention_with_heads_split_and_joined(tmp_path: Path) -> None:
    """Reshape and Transpose are no operations: the products read 4 features of each of 2 heads where they lie."""
    split = np.array([1, 5, 2, 4])
    nodes = [
        node("MatMul", ["x", "wq"], ["q"], "q"),
        node("MatMul", ["x", "wk"], ["k"], "k"),
        node("MatMul", ["x", "wv"], ["v"], "v"),
        *(node("Reshape", [name, "split"], [f"{name}s"]) for name in "qkv"),
        node("Transpose", ["qs"], ["qh"], perm=[0, 2, 1, 3]),
        node("Transpose", ["ks"], ["kh"], perm=[0, 2, 3, 1]),
        node("Transpose", ["vs"], ["vh"], perm=[0, 2, 1, 3]),
        node("MatMul", ["qh", "kh"], ["scores"], "qk"),
        node("Softmax", ["scores"], ["weights"], "softmax", axis=-1),
        node("MatMul", ["weights", "vh"], ["mixed"], "av"),
        node("Transpose", ["mixed"], ["tokens"], perm=[0, 2, 1, 3]),
        node("Reshape", ["tokens", "join"], ["joined"]),
        node("MatMul", ["joined", "wo"], ["out"], "o"),
        node("Add", ["x", "out"], ["y"], "add"),
    ]
    stored = random_of({"wq": [8, 8], "wk": [8, 8], "wv": [8, 8], "wo": [8, 8]})
    shapes = {"split": split, "join": np.array([1, 5, 8])}
    model = model_of(nodes, {"x": [1, 5, 8]}, stored=stored | shapes)
    network = load_network(saved(tmp_path, model))
    names = [occurrence.name for occurrence in network.wiring or ()]
    assert names == ["x", "q", "k", "v", "qk", "softmax", "av", "o", "add"]
    inputs = random_of({"x": [1, 5, 8]})
    weights = {f"{name}_W": stored[f"w{name}"] for name in "qkvo"}
    found = computed(network, "q..add+k..add+v..add+add", inputs | weights)
    (expected,) = ReferenceEvaluator(model).run(None, inputs)
    np.testing.assert_allclose(found.reshape(1, 5, 8), expected, rtol=1e-4)


def test_images_pools_residuals_and_flattening(tmp_path: Path) -> None:
    nodes = [
        node("Conv", ["x", "w1"], ["a"], "one", pads=[0, 0, 1, 1], strides=[2, 2]),
        node("Relu", ["a"], ["r"]),
        node("Conv", ["r", "w2"], ["b"], "two", auto_pad="SAME_UPPER", group=2),
        node("Add", ["b", "a"], ["c"], "add"),
        node("AveragePool", ["c"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["f"]),
        node("Gemm", ["f", "w3"], ["y"], "fc", transB=1),
    ]
    stored = random_of({"w1": [4, 3, 3, 3], "w2": [4, 2, 2, 2], "w3": [5, 16]})
    model = model_of(nodes, {"x": [1, 3, 8, 8]}, stored=stored)
    network = load_network(saved(tmp_path, model))
    whole = cascade_of(network, "one+two+add+pool+fc")
    assert whole.operation("two").pads == (("one", ((0, 0), (0, 1), (0, 1))),)
    # Activations are done as outputs are written, so they are left out of both.
    model = model_of([n for n in nodes if n.op_type != "Relu"], {"x": [1, 3, 8, 8]}, stored=stored)
    for each in model.graph.node:
        each.input[:] = ["a" if name == "r" else name for name in each.input]
    inputs = random_of({"x": [1, 3, 8, 8]})
    padded = np.pad(inputs["x"], [(0, 0), (0, 0), (0, 1), (0, 1)])
    tensors = {"x": padded, "one_W": stored["w1"], "two_W": stored["w2"], "fc_W": stored["w3"].T}
    (expected,) = ReferenceEvaluator(model).run(None, inputs)
    np.testing.assert_allclose(computed(network, "one+two+add+pool+fc", tensors), expected[0], rtol=1e-3)


def test_weights_on_the_left_and_transposed_products(tmp_path: Path) -> None:
    nodes = [
        node("MatMul", ["w1", "x"], ["a"], "left"),
        node("Gemm", ["a", "w2"], ["b"], "turned", transA=1),
        node("Gemm", ["b", "a"], ["c"], "both", transB=1, transA=1),
        node("Gemm", ["w3", "c"], ["y"], "last", transB=1),
    ]
    stored = random_of({"w1": [3, 4], "w2": [3, 6], "w3": [2, 3]})
    model = model_of(nodes, {"x": [4, 6]}, stored=stored)
    network = load_network(saved(tmp_path, model))
    inputs = random_of({"x": [4, 6]})
    tensors = {"x": inputs["x"], "left_W": stored["w1"].T, "turned_W": stored["w2"], "last_W": stored["w3"].T}
    (expected,) = ReferenceEvaluator(model).run(None, inputs)
    found = computed(network, "left+turned+both+last", tensors)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-4)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("name", "joined", "left"),
    [("resnet50", 88, 1), ("vgg19", 24, 1), ("squeezenet", 21, 10), ("densenet121", 67, 59)],
)
def test_exported_networks(name: str, joined: int, left: int) -> None:
    """How many edges of an exported network join operations, and how many of its operations are from outside."""
    network = load_network(LIGHT / f"light_{name}.onnx")
    graph = network.wiring
    assert graph is not None
    assert sum(occurrence.macs for occurrence in graph) == network.macs
    found = 0
    for reader in graph:
        for source in reader.sources:
            maker = graph.by_name.get(source.name)
            if maker is not None and "outside" not in (reader.kind, maker.kind):
                assert cascade_of(network, f"{maker.name}+{reader.name}").intermediates
                found += 1
    assert found == joined
    assert sum(occurrence.kind == "outside" for occurrence in graph) == left


def test_what_is_not_followed_is_named(tmp_path: Path) -> None:
    nodes = [
        node("Conv", ["x", "w"], ["a"], "one"),
        node("Concat", ["a", "x"], ["b"], "joined", axis=1),
        node("Conv", ["b", "v"], ["y"], "two"),
    ]
    model = model_of(nodes, {"x": [1, 2, 4, 4]}, stored={"w": [2, 2, 1, 1], "v": [2, 4, 1, 1]})
    path = saved(tmp_path, model)
    with pytest.raises(ProblemError, match="two reads joined, and does not connect with one"):
        resolve_cascade(f"{path}:one+two")
    with pytest.raises(ProblemError, match="joined lies between them"):
        resolve_cascade(f"{path}:one..two")
