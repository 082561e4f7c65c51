"""Products and einsums of ONNX files compute what ONNX's reference implementation computes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from onnx_models import computed_by_onnx, integers, model_of, saved
from point_by_point import computed, shape_of
from tilewright.ir import ProblemError
from tilewright.workloads import batched_gemm, gemm, load_network

FLOATS = {"input": 32, "weight": 32, "partial": 32, "output": 32}


def network_of(folder, model):
    return load_network(saved(folder, model))


def only(network):
    (layer,) = network.layers
    return layer


MATMULS = [
    # shapes of A and B, and the dimensions of the problem
    ([3, 4], [4, 5], {"M": 3, "N": 5, "K": 4}),
    ([4], [4, 5], {"M": 1, "N": 5, "K": 4}),
    ([3, 4], [4], {"M": 3, "N": 1, "K": 4}),
    ([4], [4], {"M": 1, "N": 1, "K": 4}),
    ([2, 3, 4], [4, 5], {"M": 6, "N": 5, "K": 4}),
    ([2, 3, 2, 4], [4, 5], {"M": 12, "N": 5, "K": 4}),
    ([2, 3, 4], [2, 4, 5], {"B": 2, "M": 3, "N": 5, "K": 4}),
    ([2, 3, 3, 4], [2, 3, 4, 5], {"B": 6, "M": 3, "N": 5, "K": 4}),
    ([2, 1, 3, 4], [2, 1, 4, 5], {"B": 2, "M": 3, "N": 5, "K": 4}),
    ([3, 4], [2, 4, 5], {"B": 2, "M": 3, "N": 5, "K": 4}),
    ([2, 3, 3, 4], [2, 1, 4, 5], {"B": 2, "M": 9, "N": 5, "K": 4}),
    ([2, 1, 3, 4], [2, 3, 4, 5], {"B": 2, "B1": 3, "M": 3, "N": 5, "K": 4}),
    ([2, 1, 3, 4], [1, 3, 4, 5], {"B": 2, "B1": 3, "M": 3, "N": 5, "K": 4}),
    ([3, 3, 4], [2, 1, 4, 5], {"B": 2, "M": 9, "N": 5, "K": 4}),
    ([2, 1, 2, 3, 4], [2, 3, 1, 4, 5], {"B": 2, "B1": 3, "M": 6, "N": 5, "K": 4}),
]


@pytest.mark.parametrize(("left", "right", "dims"), MATMULS)
def test_matmul(tmp_path, left, right, dims):
    model = model_of([helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": left, "b": right})
    problem = only(network_of(tmp_path, model)).problem
    assert dict(problem.dims) == dims
    a, b = integers(left), integers(right, 1)
    operands = [a.reshape(shape_of(problem, problem.operands[0])), b.reshape(shape_of(problem, problem.operands[1]))]
    expected = computed_by_onnx(model, {"a": a, "b": b})
    np.testing.assert_array_equal(computed(problem, operands).reshape(expected.shape), expected)


def test_parameters_are_weights_on_either_side(tmp_path):
    """x W and W x are the same problem, once transposed."""
    right = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": [3, 4]}, stored={"w": [4, 5]})
    left = model_of([helper.make_node("MatMul", ["w", "x"], ["y"])], {"x": [4, 3]}, stored={"w": [5, 4]})
    batched = model_of([helper.make_node("MatMul", ["w", "x"], ["y"])], {"x": [2, 4, 3]}, stored={"w": [5, 4]})
    expected = gemm(3, 5, 4, name="model:y", bits=FLOATS)
    for model in (right, left):
        layer = only(network_of(tmp_path, model))
        assert (layer.problem, layer.is_weight, layer.weights) == (expected, True, 20)
    assert only(network_of(tmp_path, batched)).problem == gemm(6, 5, 4, name="model:y", bits=FLOATS)
    activations = model_of([helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": [3, 4], "b": [4, 5]})
    assert only(network_of(tmp_path, activations)).weights == 0


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_gemm(tmp_path, trans_a, trans_b):
    a, b, c = integers([3, 4][:: 1 - 2 * trans_a]), integers([4, 5][:: 1 - 2 * trans_b], 1), integers([5], 2)
    node = helper.make_node("Gemm", ["a", "b", "c"], ["y"], transA=trans_a, transB=trans_b, alpha=2.0, beta=3.0)
    model = model_of([node], {"a": list(a.shape), "b": list(b.shape), "c": [5]})
    network = network_of(tmp_path, model)
    problem = only(network).problem
    assert problem == gemm(3, 5, 4, name="model:y", bits=FLOATS)
    product = computed(problem, [a.T if trans_a else a, b.T if trans_b else b])
    np.testing.assert_array_equal(2 * product + 3 * c, computed_by_onnx(model, {"a": a, "b": b, "c": c}))
    assert {one.what: one.operations for one in network.passed} == {"Gemm bias": 15, "Gemm scaling": 30}


def test_integer_products(tmp_path):
    eight = TensorProto.INT8
    inputs = {"a": ([2, 3, 4], eight), "b": ([4, 5], eight)}
    model = model_of([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], inputs)
    problem = only(network_of(tmp_path, model)).problem
    a, b = integers([2, 3, 4]).astype(np.int8), integers([4, 5], 1).astype(np.int8)
    expected = computed_by_onnx(model, {"a": a, "b": b})
    np.testing.assert_array_equal(
        computed(problem, [a.reshape(6, 4).astype(int), b.astype(int)]).reshape(2, 3, 5), expected
    )
    assert [(t.bits, t.partial_bits) for t in problem.tensors] == [(8, None), (8, None), (32, 32)]
    point = {"za": np.array(1, np.int8), "zb": np.array(1, np.int8)}
    shifted = model_of([helper.make_node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])], inputs, stored=point)
    assert [one.operations for one in network_of(tmp_path, shifted).passed] == [24 + 20]
    stored = {name: np.array(1, np.float32) for name in ("as", "bs", "ys")}
    stored |= {name: np.array(0, np.int8) for name in ("az", "bz", "yz")}
    stored["b"] = b
    node = helper.make_node("QLinearMatMul", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["y"])
    scaled = model_of([node], {"a": ([2, 3, 4], eight)}, stored=stored)
    network = network_of(tmp_path, scaled)
    sums = computed(only(network).problem, [a.reshape(6, 4).astype(int), b.astype(int)]).reshape(2, 3, 5)
    np.testing.assert_array_equal(np.clip(sums, -128, 127), computed_by_onnx(scaled, {"a": a}))
    assert [(t.bits, t.partial_bits) for t in only(network).problem.tensors] == [(8, None), (8, None), (8, 32)]
    assert [(one.what, one.operations) for one in network.passed] == [("QLinearMatMul scaling", 24 + 2 * 30)]


EINSUMS = [
    ("bhqd,bhkd->bhqk", [2, 3, 4, 2], [2, 3, 3, 2]),
    ("ij,jk", [2, 3], [3, 4]),
    ("i j , k j -> k i", [2, 3], [4, 3]),
    ("...ij,...jk->...ik", [2, 3, 4, 2], [3, 2, 3]),
    ("...ij,jk", [2, 3, 4], [4, 2]),
    ("bij,bjk->bik", [1, 3, 4], [2, 4, 2]),
    ("bij,bjk->bik", [1, 3, 4], [1, 4, 2]),
    ("ii,ij->j", [3, 3], [3, 4]),
    ("ij,kj->ijk", [2, 3], [4, 1]),
    ("i,i->", [5], [5]),
    ("aA,Ab->ba", [2, 3], [3, 4]),
]


@pytest.mark.parametrize(("equation", "shapes"), [(case[0], case[1:]) for case in EINSUMS])
def test_einsum(tmp_path, equation, shapes):
    names = [f"x{number}" for number in range(len(shapes))]
    node = helper.make_node("Einsum", names, ["y"], equation=equation)
    model = model_of([node], dict(zip(names, shapes, strict=True)))
    problem = only(network_of(tmp_path, model)).problem
    given = {name: integers(shape, seed) for seed, (name, shape) in enumerate(zip(names, shapes, strict=True))}
    operands = []
    for (name, array), tensor in zip(given.items(), problem.operands, strict=True):
        diagonal = np.diagonal(array) if equation.startswith("ii") and name == "x0" else array
        operands.append(diagonal.reshape(shape_of(problem, tensor)))
    expected = computed_by_onnx(model, given)
    np.testing.assert_array_equal(computed(problem, operands).reshape(expected.shape), expected)


def test_einsum_of_parameters_and_scalars(tmp_path):
    node = helper.make_node("Einsum", ["w", "x"], ["y"], equation="ok,bk->bo")
    layer = only(network_of(tmp_path, model_of([node], {"x": [2, 3]}, stored={"w": [4, 3]})))
    assert (layer.is_weight, layer.weights) == (True, 12)
    assert [(tensor.role, tensor.dims) for tensor in layer.problem.operands] == [
        ("input", {"B", "K"}),
        ("weight", {"O", "K"}),
    ]
    for equation, shapes, operations in (
        (",ij->ij", [[], [3, 4]], 12),
        ("ij->ji", [[3, 4]], 0),
        ("ij->i", [[3, 4]], 12),
    ):
        names = [f"x{number}" for number in range(len(shapes))]
        node = helper.make_node("Einsum", names, ["y"], equation=equation)
        network = network_of(tmp_path, model_of([node], dict(zip(names, shapes, strict=True))))
        assert not network.layers
        assert sum(one.operations for one in network.passed) == operations


def attention(heads, sequence, width, batch=("batch",)):
    """Multi-head attention as exporters write it: reshapes to heads, two products, a softmax."""
    per_head = width // heads
    axis = "batch" if batch == ("batch",) else batch
    nodes, stored = [], {"split": np.array([0, sequence, heads, per_head]), "join": np.array([0, sequence, width])}
    for name in "qkv":
        stored[f"w{name}"] = [width, width]
        nodes += [
            helper.make_node("MatMul", ["x", f"w{name}"], [f"{name}1"], f"{name}_proj"),
            helper.make_node("Reshape", [f"{name}1", "split"], [f"{name}2"]),
            helper.make_node(
                "Transpose", [f"{name}2"], [f"{name}3"], perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]
            ),
        ]
    stored |= {"scale": np.array(per_head**-0.5, np.float32), "wo": [width, width]}
    nodes += [
        helper.make_node("MatMul", ["q3", "k3"], ["scores"], "qk"),
        helper.make_node("Mul", ["scores", "scale"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["weights"]),
        helper.make_node("MatMul", ["weights", "v3"], ["mixed"], "av"),
        helper.make_node("Transpose", ["mixed"], ["mixed1"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["mixed1", "join"], ["mixed2"]),
        helper.make_node("MatMul", ["mixed2", "wo"], ["y"], "out_proj"),
    ]
    return model_of(nodes, {"x": [axis, sequence, width]}, stored=stored)


def test_attention_as_primitives(tmp_path):
    """The same layers as the table of BERT-base: four projections, and two products a head."""
    path = saved(tmp_path, attention(12, 512, 768))
    network = load_network(path, {"batch": 1})
    table = load_network("bert_base")
    ours = {layer.name: (dict(layer.problem.dims), layer.repeat, layer.is_weight) for layer in network.layers}
    assert ours == {
        "q_proj": (dict(table.layer("q_proj").problem.dims), 4, True),
        "qk": (dict(table.layer("qk").problem.dims), 1, False),
        "av": ({"B": 12, "M": 512, "N": 64, "K": 512}, 1, False),
    }
    assert {one.what: one.operations for one in network.passed if one.operations} == {
        "Mul": 12 * 512 * 512,
        "Softmax": 5 * 12 * 512 * 512,
    }
    twice = load_network(path, {"batch": 2})
    assert twice.macs == 2 * network.macs
    assert twice.layer("qk").problem == batched_gemm(24, 512, 512, 64, name="model:qk", bits=FLOATS)


@pytest.mark.parametrize(
    ("node", "shapes", "message"),
    [
        (helper.make_node("MatMul", ["a", "b"], ["y"], "m"), ([2, 3], [4, 5]), "do not match: 3 and 4"),
        (helper.make_node("MatMul", ["a", "b"], ["y"], "m"), ([2, 2, 3], [3, 3, 5]), "cannot be broadcast"),
        (helper.make_node("Gemm", ["a", "b"], ["y"], "m"), ([2, 3], [2, 3]), "do not match: 3 and 2"),
        (
            helper.make_node("Einsum", ["a", "b"], ["y"], "m", equation="ij->ij"),
            ([2, 3], [2, 3]),
            "'ij->ij' has terms for 1 operands, found 2",
        ),
        (
            helper.make_node("Einsum", ["a", "b"], ["y"], "m", equation="ij,jk"),
            ([2, 3], [2, 3]),
            "index 'j' is 3 and 2",
        ),
        (
            helper.make_node("Einsum", ["a", "b"], ["y"], "m", equation="ij,jkl"),
            ([2, 3], [2, 3]),
            "'jkl' has 3 indices for an operand with 2 axes",
        ),
    ],
)
def test_shapes_that_do_not_fit(tmp_path, node, shapes, message):
    model = model_of([node], {"a": shapes[0], "b": shapes[1]})
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])
    del model.graph.output[:]
    model.graph.output.append(output)
    with pytest.raises(ProblemError) as error:
        network_of(tmp_path, model)
    assert message in str(error.value)
    assert "model.onnx: " in str(error.value)
