"""Every rewrite of an ONNX graph finds what it is for, and keeps the outputs of `onnx.reference`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from quantized_models import IMAGE, qdq

from onnx_models import model_of
from tilewright.workloads.onnx.rewrites import REWRITES, rewritten
from tilewright.workloads.onnx.rewrites.edits import GraphEdit

node = helper.make_node
RNG = np.random.default_rng(3)


def w(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def sizes() -> tuple[onnx.ModelProto, int]:
    """Positions counted from a shape, zeros of a shape; the zeros themselves depend on parameters alone then."""
    nodes = [
        node("Shape", ["x"], ["shape"], "shape"),
        node("Gather", ["shape", "second"], ["count"], "gather"),
        node("Range", ["none", "count", "step"], ["places"], "range"),
        node("Cast", ["places"], ["numbers"], "cast", to=1),
        node("ConstantOfShape", ["shape"], ["zeros"], "zeros"),
        node("Sum", ["x", "numbers", "zeros"], ["y"], "sum"),
    ]
    stored = {name: np.array(value) for name, value in (("second", 1), ("none", 0), ("step", 1))}
    return model_of(nodes, {"x": [20, 5]}, stored=stored), 4


def responses() -> tuple[onnx.ModelProto, int]:
    """As many channels as images: of others onnx's reference makes no sums."""
    nodes = [
        node("LRN", ["x"], ["a"], "even", size=2, alpha=0.5, bias=2.0),
        node("LRN", ["a"], ["y"], "odd", size=5, alpha=3.0, beta=0.5),
    ]
    return model_of(nodes, {"x": [3, 3, 2, 4]}), 2


def unused() -> tuple[onnx.ModelProto, int]:
    nodes = [
        node("Relu", ["x"], ["a"], "first"),
        node("Exp", ["a"], ["b"], "nobody"),
        node("Add", ["b", "nothing"], ["c"], "nobody_either"),
        node("Neg", ["a"], ["y"], "last"),
    ]
    return model_of(nodes, {"x": [2, 3]}, stored={"nothing": w(3)}), 2


def unmoved() -> tuple[onnx.ModelProto, int]:
    """The last reshape moves nothing, but makes an output; a transpose alone, and one that is not undone, stay."""
    nodes = [
        node("Identity", ["x"], ["a"], "identity"),
        node("Reshape", ["a", "same"], ["b"], "reshape"),
        node("Transpose", ["b"], ["c"], "there", perm=[1, 2, 0]),
        node("Transpose", ["c"], ["d"], "back", perm=[2, 0, 1]),
        node("Transpose", ["c"], ["e"], "elsewhere", perm=[1, 2, 0]),
        node("Cast", ["e"], ["e2"], "cast", to=1),
        node("Relu", ["e2"], ["f"], "relu"),
        node("Add", ["d", "d"], ["g"], "add"),
        node("Reshape", ["g", "same"], ["y"], "output"),
        node("Neg", ["f"], ["z"], "neg"),
    ]
    return model_of(nodes, {"x": [2, 3, 4]}, ("y", "z"), stored={"same": np.array([2, 3, 4])}), 4


def equal() -> tuple[onnx.ModelProto, int]:
    """Equal nodes, those that are equal once these are one, and others whose attributes or outputs differ."""
    nodes = [
        *(node("Softmax", ["x"], [f"a{i}"], f"softmax{i}", axis=1) for i in range(2)),
        node("Softmax", ["x"], ["c"], "other_axis", axis=0),
        *(node("Exp", [f"a{i}"], [f"b{i}"], f"exp{i}") for i in range(2)),
        node("Add", ["b0", "b1"], ["d"], "add"),
        node("Sub", ["d", "c"], ["y"], "sub"),
        node("Exp", ["a0"], ["z"], "output"),
        node("RandomNormalLike", ["x"], ["r0"], "random0"),
        node("RandomNormalLike", ["x"], ["r1"], "random1"),
    ]
    return model_of(nodes, {"x": [3, 4]}, ("y", "z")), 2


def batch_norms() -> tuple[onnx.ModelProto, int]:
    """With a bias and without; not one whose convolution is read by others, nor one behind a pooling."""
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["a"], "conv1"),
        node("BatchNormalization", ["a", "s", "o", "m", "v"], ["b"], "bn1", epsilon=0.01),
        node("Conv", ["b", "w2"], ["c"], "conv2", group=2, pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "s", "o", "m", "v"], ["d"], "bn2"),
        node("Conv", ["d", "w2"], ["e"], "conv3", group=2),
        node("BatchNormalization", ["e", "s", "o", "m", "v"], ["f"], "bn3"),
        node("Add", ["e", "f"], ["g"], "add"),
        node("GlobalAveragePool", ["g"], ["h"], "pool"),
        node("BatchNormalization", ["h", "s", "o", "m", "v"], ["y"], "bn4"),
    ]
    norm = {"s": w(4), "o": w(4), "m": w(4), "v": np.abs(w(4)) + 0.5}
    stored = {"w1": w(4, 3, 3, 3), "b1": w(4), "w2": w(4, 2, 3, 3), **norm}
    return model_of(nodes, {"x": list(IMAGE)}, stored=stored), 2


CASES = {
    "sizes": sizes,
    "responses": responses,
    "unused": unused,
    "unmoved": unmoved,
    "equal": equal,
    "batch norms": batch_norms,
    "dequantized later": lambda: (qdq(0), 2),
    "integers": lambda: (qdq(1), 4),
}


def outputs(model: onnx.ModelProto, seed: int = 0) -> list[np.ndarray]:
    (given,) = model.graph.input
    shape = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
    x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 3
    return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, {"x": x})]


@pytest.mark.parametrize("name", REWRITES)
def test_a_pass_keeps_outputs(name: str) -> None:
    model, expected = CASES[name]()
    edit = GraphEdit(model)
    assert REWRITES[name](edit) == expected
    for found, before in zip(outputs(edit.model), outputs(model), strict=True):
        np.testing.assert_allclose(found, before, rtol=2e-5, atol=1e-5)
    assert REWRITES[name](GraphEdit(edit.model)) == 0  # nothing is left to do


@pytest.mark.parametrize("name", REWRITES)
def test_all_passes_one_after_the_other_keep_outputs(name: str) -> None:
    model, _ = CASES[name]()
    after, counts = rewritten(model)
    assert name in counts
    for found, before in zip(outputs(after), outputs(model), strict=True):
        np.testing.assert_allclose(found, before, rtol=2e-5, atol=1e-5)


def test_nodes_keep_their_names() -> None:
    after, _ = rewritten(qdq(0))
    found = Counter(one.name for one in after.graph.node)
    assert {"conv1", "conv2", "fc", "product", "last"} <= set(found)
    assert set(found.values()) == {1}
