"""Operators that hold more than one dense operation, or none that is affine as it stands."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, inliner, shape_inference

from onnx_models import computed_by_onnx, integers, model_of, saved
from point_by_point import computed, shape_of
from tilewright.ir import ProblemError
from tilewright.workloads import load_network


def shapes(network):
    """How often each problem occurs."""
    found = {}
    for layer in network.layers:
        sizes = dict(layer.problem.dims)
        key = tuple(sizes.get(dim, 1) for dim in "BMNK")
        found[key] = found.get(key, 0) + layer.repeat
    return found


FLAT = {"q": [2, 6, 32], "k": [2, 8, 32], "v": [2, 8, 48]}
SHARED = {"q": [2, 4, 6, 8], "k": [2, 2, 9, 8], "v": [2, 2, 9, 5]}


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("inputs", "attributes"),
    [
        (FLAT, {"q_num_heads": 4, "kv_num_heads": 4}),
        ({"q": [1, 3, 5, 8], "k": [1, 3, 7, 8], "v": [1, 3, 7, 6]}, {"is_causal": 1}),
        (SHARED, {"softcap": 2.0}),
        ({**SHARED, "mask": [6, 9]}, {}),
        ({**SHARED, "mask": [6, 13], "pk": [2, 2, 4, 8], "pv": [2, 2, 4, 5]}, {}),
    ],
)
def test_attention_is_what_onnx_makes_of_it(tmp_path, inputs, attributes):
    """ONNX defines Attention by simpler operators: their products have the same work, shared heads repeated."""
    names = list(inputs) if "pk" not in inputs else ["q", "k", "v", "mask", "pk", "pv"]
    outputs = ["y"] if "pk" not in inputs else ["y", "key", "value"]
    model = model_of([helper.make_node("Attention", names, outputs, "a", **attributes)], inputs, opset=23)
    network = load_network(saved(tmp_path, model))
    typed = shape_inference.infer_shapes(model)
    written_out = inliner.inline_selected_functions(typed, [("", "Attention")], False, True)
    primitives = load_network(saved(tmp_path, written_out, "primitives.onnx"))
    repeated = 2 if inputs["q"][1] != inputs["k"][1] and len(inputs["q"]) == 4 else 1
    regrouped = {}
    for (batch, rows, columns, depth), times in shapes(network).items():
        key = (batch * repeated, rows // repeated, columns, depth)
        regrouped[key] = regrouped.get(key, 0) + times
    assert regrouped == shapes(primitives)
    counted = {one.what: one.operations for one in network.passed}
    (softmax,) = [one.operations for one in primitives.passed if one.what == "Softmax"]
    assert counted["Softmax"] == softmax
    assert network.weights == 0


def test_attention_without_the_number_of_heads(tmp_path):
    model = model_of([helper.make_node("Attention", ["q", "k", "v"], ["y"], "a")], FLAT, opset=23)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, [2, 6, 48]))
    with pytest.raises(ProblemError, match=r"heads of input 1 of shape \[2, 6, 32\] and q_num_heads=0"):
        load_network(saved(tmp_path, model))


@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
@pytest.mark.parametrize("layout", [0, 1])
def test_recurrent_layers(tmp_path, op, gates, layout):
    """Ten steps of a batch of two, both ways: the input is read in one product, the state in one a step."""
    extra = {"direction": "bidirectional", "layout": layout, "hidden_size": 8}
    node = helper.make_node(op, ["x", "w", "r", "b"], ["y"], "cell", **extra)
    stored = {"w": [2, gates * 8, 6], "r": [2, gates * 8, 8], "b": [2, gates * 16]}
    model = model_of([node], {"x": [2, 10, 6] if layout else [10, 2, 6]}, stored=stored, opset=14)
    network = load_network(saved(tmp_path, model))
    assert [(layer.name, dict(layer.problem.dims), layer.repeat, layer.weights) for layer in network.layers] == [
        ("cell#1", {"M": 20, "N": gates * 8, "K": 6}, 2, 2 * gates * 8 * 6),
        ("cell#2", {"M": 2, "N": gates * 8, "K": 8}, 20, 2 * gates * 8 * 8),
    ]
    assert {one.what for one in network.passed} == {f"{op} bias", f"{op} gates"}


def test_lstm_gates_are_the_sum_of_both_products(tmp_path):
    """One step from a known state: what ONNX computes follows from our two problems and the activations."""
    x, w, r = integers([1, 2, 3]), integers([1, 16, 3], 1), integers([1, 16, 4], 2)
    h, c = integers([1, 2, 4], 3), integers([1, 2, 4], 4)
    inputs = {"x": x, "w": w, "r": r, "h": h, "c": c}
    node = helper.make_node("LSTM", ["x", "w", "r", "", "", "h", "c"], ["", "y"], hidden_size=4)
    model = model_of([node], {name: list(array.shape) for name, array in inputs.items()}, outputs=["y"], opset=14)
    layers = load_network(saved(tmp_path, model)).layers
    from_input = computed(layers[0].problem, [x[0], w[0].T])
    from_state = computed(layers[1].problem, [h[0], r[0].T])
    i, o, f, g = np.split(from_input + from_state, 4, axis=1)

    def sigmoid(value):
        return 1 / (1 + np.exp(-value))

    state = sigmoid(o) * np.tanh(sigmoid(f) * c[0] + sigmoid(i) * np.tanh(g))
    from onnx.reference import ReferenceEvaluator

    (expected,) = ReferenceEvaluator(model).run(None, {name: a.astype(np.float32) for name, a in inputs.items()})
    np.testing.assert_allclose(state, expected[0], atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2])
def test_deformed_convolution(tmp_path, groups):
    """Offsets of whole elements, within the image: the samples are gathered, the problem is the product."""
    x, w, stride = integers([1, 4, 7, 7]), integers([4, 4 // groups, 2, 3], 1), 2
    size = [(7 - 2) // stride + 1, (7 - 3) // stride + 1]
    offsets = integers([1, 2 * 6, *size], 2, 0, 1)
    offsets[:, ::2] += 1  # every tap one row lower
    node = helper.make_node("DeformConv", ["x", "w", "offset"], ["y"], "d", group=groups, strides=[stride, stride])
    inputs = {"x": x, "w": w, "offset": offsets}
    padded = {**inputs, "x": np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 0)])[:, :, :7]}
    model = model_of([node], {name: list(array.shape) for name, array in inputs.items()}, opset=22)
    network = load_network(saved(tmp_path, model))
    (layer,) = network.layers
    samples = np.stack(
        [
            np.stack(
                [
                    np.pad(x, [(0, 0)] * 2 + [(0, 3)] * 2)[:, :, 1 + r :: stride, s::stride][..., : size[0], : size[1]]
                    for s in range(3)
                ],
                axis=2,
            )
            for r in range(2)
        ],
        axis=2,
    )
    i, weight, _ = layer.problem.tensors
    found = computed(
        layer.problem, [samples.reshape(shape_of(layer.problem, i)), w.reshape(shape_of(layer.problem, weight))]
    )
    expected = computed_by_onnx(model, padded)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)
    assert {one.what: one.operations for one in network.passed} == {"DeformConv interpolation": 4 * samples.size}
