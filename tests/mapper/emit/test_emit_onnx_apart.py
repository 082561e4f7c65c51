"""C programs of ONNX models that move data, broadcast and reduce between their groups."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from emitted_networks import agrees_with_onnx, as_library, needs_gcc, random_answer, run_by_numpy
from onnx import helper

from generators import random_architecture
from longer import seeds
from onnx_models import model_of, saved
from tilewright.ir import ProblemError
from tilewright.mapper.emit.network import network_program, network_weights
from tilewright.workloads import load_network
from tilewright.workloads.graph import joined, operation_groups

node = helper.make_node
RNG = np.random.default_rng(7)


def w(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def moved() -> onnx.ModelProto:
    """Every operator that moves data, behind and before products."""
    nodes = [
        node("Conv", ["x", "w1"], ["a"], "conv1"),
        node("Relu", ["a"], ["b"], "relu"),
        node("Split", ["b", "halves"], ["b1", "b2"], "split", axis=1),
        node("Concat", ["b2", "extra", "b1", "b2"], ["c"], "concat", axis=1),
        node("Pad", ["c", "around", "seven"], ["d"], "pad"),
        node("Slice", ["d", "starts", "ends", "axes", "steps"], ["e"], "slice"),
        node("Gather", ["e", "picked"], ["f"], "gather", axis=1),
        node("Resize", ["f", "", "scales"], ["g"], "resize", mode="nearest"),
        node("DepthToSpace", ["g"], ["h"], "d2s", blocksize=2),
        node("SpaceToDepth", ["h"], ["i"], "s2d", blocksize=2),
        node("Conv", ["i", "w2"], ["j"], "conv2", pads=[1, 1, 1, 1]),
        node("Transpose", ["j"], ["k"], "last", perm=[0, 2, 3, 1]),
        node("Tile", ["k", "twice"], ["l"], "tile"),
        node("Slice", ["l", "back", "front", "axes1", "down"], ["y"], "turned"),
    ]
    stored = {"w1": w(4, 2, 1, 1), "halves": ints(1, 3), "extra": w(1, 1, 3, 3), "around": ints(0, 0, 1, 0, 0, 0, 0, 2)}
    stored |= {"seven": np.array(7, np.float32), "starts": ints(1, 0), "ends": ints(8, 5), "axes": ints(1, 3)}
    stored |= {"steps": ints(2, 1), "picked": ints(2, 0, 0, 1), "scales": np.array([1, 1, 2, 2], np.float32)}
    stored |= {"twice": ints(1, 1, 2, 1), "back": ints(-1), "front": ints(-100), "axes1": ints(1), "down": ints(-1)}
    return model_of(nodes, {"x": [1, 2, 3, 3]}, stored=stored | {"w2": w(3, 4, 3, 3)})


def squeezed() -> onnx.ModelProto:
    """A block with squeeze and excitation, pooling with zeros around negative words, averages at borders."""
    nodes = [
        node("Mul", ["x", "scale"], ["xs"], "normalized"),
        node("Conv", ["xs", "w1", "b1"], ["a"], "conv1", pads=[1, 1, 1, 1]),
        node("ReduceMean", ["a", "axes"], ["m"], "mean", keepdims=1),
        node("Conv", ["m", "w2"], ["n"], "squeeze"),
        node("HardSigmoid", ["n"], ["o"], "gate"),
        node("Mul", ["a", "o"], ["p"], "excite"),
        node("MaxPool", ["p"], ["q"], "max", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("AveragePool", ["q"], ["r"], "average", kernel_shape=[2, 2], pads=[1, 1, 0, 0]),
        node("AveragePool", ["r"], ["s"], "counted", kernel_shape=[2, 2], pads=[0, 0, 1, 1], count_include_pad=1),
        node("BatchNormalization", ["s", "g", "bb", "mm", "v"], ["t"], "bn"),
        node("Relu", ["t"], ["u"], "relu"),
        node("Conv", ["u", "w3"], ["z"], "conv3", pads=[1, 1, 1, 1]),
        node("Add", ["z", "t"], ["zt"], "before_relu"),
        node("GlobalMaxPool", ["zt"], ["y"], "largest"),
    ]
    stored = {"scale": w(1, 2, 1, 1), "w1": w(4, 2, 3, 3), "b1": w(4), "axes": ints(2, 3), "w2": w(4, 4, 1, 1)}
    stored |= {"g": w(4), "bb": w(4), "mm": w(4), "v": np.abs(w(4)) + 0.5, "w3": w(4, 4, 3, 3)}
    return model_of(nodes, {"x": [1, 2, 6, 6]}, stored=stored)


def transformer() -> onnx.ModelProto:
    """A block with a layer norm written out, one product for queries, keys and values, GELU by the error function."""
    nodes = [
        node("ReduceMean", ["x", "last"], ["mean"], "mean"),
        node("Sub", ["x", "mean"], ["xc"], "centered"),
        node("Pow", ["xc", "two"], ["sq"], "squared"),
        node("ReduceMean", ["sq", "last"], ["var"], "variance"),
        node("Add", ["var", "eps"], ["ve"], "eps"),
        node("Sqrt", ["ve"], ["sd"], "sqrt"),
        node("Div", ["xc", "sd"], ["n"], "normed"),
        node("MatMul", ["n", "wqkv"], ["qkv"], "qkv"),
        node("Split", ["qkv"], ["q", "k", "v"], "split", axis=-1, num_outputs=3),
        *(node("Reshape", [one, "heads"], [f"{one}h"], f"{one}_heads") for one in "qkv"),
        node("Transpose", ["qh"], ["qt"], "q_t", perm=[1, 0, 2]),
        node("Transpose", ["kh"], ["kt"], "k_t", perm=[1, 2, 0]),
        node("Transpose", ["vh"], ["vt"], "v_t", perm=[1, 0, 2]),
        node("MatMul", ["qt", "kt"], ["s"], "qk"),
        node("Add", ["s", "mask"], ["sm"], "mask"),
        node("Softmax", ["sm"], ["p"], "softmax"),
        node("MatMul", ["p", "vt"], ["o"], "av"),
        node("Transpose", ["o"], ["ot"], "o_t", perm=[1, 0, 2]),
        node("Reshape", ["ot", "flat"], ["of"], "merge"),
        node("MatMul", ["of", "wo"], ["z"], "out"),
        node("Add", ["z", "x"], ["r"], "add1"),
        node("MatMul", ["r", "wu"], ["u"], "up"),
        node("Div", ["u", "root"], ["ur"], "by_root"),
        node("Erf", ["ur"], ["ue"], "erf"),
        node("Add", ["ue", "one"], ["u1"], "plus"),
        node("Mul", ["u", "u1"], ["um"], "times"),
        node("Mul", ["um", "half"], ["gelu"], "half"),
        node("MatMul", ["gelu", "wd"], ["d"], "down"),
        node("Add", ["d", "r"], ["y"], "add2"),
    ]
    stored = {"wqkv": w(4, 12), "wo": w(4, 4), "wu": w(4, 6), "wd": w(6, 4), "mask": np.triu(w(3, 3) - 5, 1)}
    stored |= {"last": ints(-1), "heads": ints(3, 2, 2), "flat": ints(3, 4)}
    numbers = {"two": 2, "eps": 1e-5, "root": 2**0.5, "one": 1, "half": 0.5}
    return model_of(nodes, {"x": [3, 4]}, stored=stored | {n: np.array(v, np.float32) for n, v in numbers.items()})


def embedded() -> onnx.ModelProto:
    """Rows chosen by words: tokens, and some of what was made; images made larger between convolutions."""
    nodes = [
        node("Cast", ["ids"], ["tokens"], "cast", to=onnx.TensorProto.INT64),
        node("Gather", ["table", "tokens"], ["e"], "embedding"),
        node("Add", ["e", "places"], ["ep"], "position"),
        node("MatMul", ["ep", "w1"], ["a"], "first"),
        node("Gather", ["a", "which"], ["b"], "columns", axis=-1),
        node("Reshape", ["b", "image"], ["c"], "as_image"),
        node("Resize", ["c", "", "scales"], ["d"], "larger", mode="linear"),
        node("Conv", ["d", "w2"], ["f"], "conv", pads=[1, 1, 1, 1]),
        node("Resize", ["f", "", "smaller"], ["g"], "smaller", mode="cubic"),
        node("Where", ["even", "g", "far"], ["h"], "masked"),
        node("Where", ["below", "h", "least"], ["h1"], "causal"),
        node("Pad", ["h1", "around", "nothing"], ["h2"], "pad"),
        node("ScatterElements", ["h2", "rows", "put2"], ["h3"], "by_rows", axis=3),
        node("MaxPool", ["h3"], ["h4"], "pool", kernel_shape=[1, 2]),
        node("Trilu", ["h4"], ["i"], "lower", upper=0),
        node("ScatterND", ["i", "corner", "put"], ["y"], "scatter"),
    ]
    stored = {"table": w(7, 4), "places": w(3, 4), "w1": w(4, 6), "w2": w(2, 1, 3, 3), "image": ints(1, 1, 6, 4)}
    stored |= {"scales": np.array([1, 1, 1.5, 2], np.float32), "smaller": np.array([1, 1, 0.6, 1], np.float32)}
    stored |= {"even": np.arange(8) % 2 == 0, "far": np.array(-9, np.float32), "put": w(1, 5, 8)}
    stored |= {"corner": np.array([[0, 1]]), "below": np.tril(np.ones((5, 8), bool)), "around": ints(*[0] * 7, 1)}
    stored |= {"nothing": np.array(-np.inf, np.float32), "least": np.array(-30, np.float32), "put2": w(1, 2, 5, 2)}
    stored |= {"rows": np.array([[0, 5], [3, 1], [2, 8], [7, 0], [4, 6]] * 2).reshape(1, 2, 5, 2)}
    inputs = {"ids": ([2, 3], onnx.TensorProto.INT32), "which": ([4], onnx.TensorProto.INT64)}
    return model_of(nodes, inputs, stored=stored)


FUNCTIONS = ("Mish", "Selu", "Sin", "Cos", "Tan", "Sinh", "Asinh", "Atan", "Shrink", "ThresholdedRelu", "Sign", "Celu")


def compared() -> onnx.ModelProto:
    """Conditions that are computed; softmax, norms and reductions over any axes."""
    nodes = [
        node("Conv", ["x", "w1"], ["a"], "conv1", pads=[1, 1, 1, 1]),
        node("Greater", ["a", "x"], ["more"], "greater"),
        node("Less", ["a", "near"], ["few"], "less"),
        node("Not", ["few"], ["many"], "not"),
        node("And", ["more", "many"], ["both"], "and"),
        node("LessOrEqual", ["a", "x"], ["most"], "at_most"),
        node("Equal", ["both", "most"], ["same"], "equal"),
        node("Or", ["same", "few"], ["any"], "or"),
        node("Where", ["any", "a", "x"], ["b"], "where"),
        node("Cast", ["both"], ["counted"], "cast", to=onnx.TensorProto.FLOAT),
        node("Softmax", ["b"], ["c"], "by_channel", axis=1),
        node("Add", ["c", "counted"], ["d"], "add"),
        node("GroupNormalization", ["d", "g", "gb"], ["e"], "groups", num_groups=2),
        node("InstanceNormalization", ["e", "g", "gb"], ["f"], "instances", epsilon=1e-3),
        node("Conv", ["f", "w2"], ["h"], "conv2"),
        node("LayerNormalization", ["h", "lw"], ["i"], "layer", axis=2, epsilon=1e-6),
        node("LogSoftmax", ["i"], ["j"], "logs", axis=2),
        node("ReduceMin", ["j", "rows"], ["k"], "least", keepdims=1),
        node("ReduceL2", ["j", "channels"], ["l"], "length", keepdims=1),
        node("ArgMax", ["h"], ["m"], "largest", axis=1, keepdims=1),
        node("Cast", ["m"], ["n"], "as_float", to=onnx.TensorProto.FLOAT),
        node("Sum", ["k", "l", "n"], ["o"], "sum"),
        node("ReduceProd", ["j", "channels"], ["p1"], "product"),
        node("ReduceSumSquare", ["p1", "rows"], ["p2"], "squares"),
        node("ReduceLogSum", ["p2"], ["p3"], "log_sum"),
        node("ReduceL1", ["h", "channels"], ["p4"], "l1"),
        node("ArgMin", ["p4"], ["p5"], "smallest", axis=-1),
        node("Cast", ["p5"], ["p6"], "smallest_as_float", to=onnx.TensorProto.FLOAT),
        node("Xor", ["more", "few"], ["p7"], "xor"),
        node("Cast", ["p7"], ["p8"], "xor_as_float", to=onnx.TensorProto.FLOAT),
        *(node(op, [one], [op], f"do_{op}") for op, one in zip(FUNCTIONS, "haixccxxxxfh", strict=True)),
        node("Mean", [*FUNCTIONS, "p8"], ["p9"], "average"),
        node("Sum", ["o", "p3", "p6", "p9"], ["y"], "all"),
    ]
    stored = {"w1": w(4, 4, 3, 3), "near": np.array(0.3, np.float32), "g": w(4), "gb": w(4), "w2": w(4, 4, 1, 1)}
    stored |= {"lw": w(4, 5), "rows": ints(2), "channels": ints(1)}
    return model_of(nodes, {"x": [1, 4, 4, 5]}, stored=stored)


def exponentials() -> onnx.ModelProto:
    """Logarithms of sums of exponentials, of words that are too large for exponentials, and of infinite ones."""
    nodes = [
        node("MatMul", ["x", "u"], ["a"], "product"),
        node("Mul", ["a", "much"], ["b"], "large"),
        node("Pad", ["b", "around", "least"], ["c"], "pad"),
        node("ReduceLogSumExp", ["c", "rows"], ["d"], "by_row", keepdims=1),
        node("ReduceLogSumExp", ["c", "two"], ["e"], "of_two", keepdims=1),
        node("ReduceLogSumExp", ["c"], ["f"], "of_all", keepdims=0),
        node("Sum", ["b", "d", "e", "f"], ["y"], "all"),
    ]
    stored = {"u": w(3, 4), "much": np.array(400, np.float32), "around": ints(0, 0, 0, 0, 0, 1)}
    stored |= {"least": np.array(-np.inf, np.float32), "rows": ints(2), "two": ints(0, -1)}
    return model_of(nodes, {"x": [2, 2, 3]}, stored=stored)


def reshaped() -> onnx.ModelProto:
    """Norms, softmax and pooling of words in other rows than those that they were made in."""
    nodes = [
        node("Conv", ["x", "w1"], ["a"], "conv1"),
        node("Flatten", ["a"], ["b"], "flat"),
        node("LayerNormalization", ["b", "g", "gb"], ["c"], "norm"),
        node("Reshape", ["c", "heads"], ["d"], "split"),
        node("RMSNormalization", ["d", "gh"], ["e"], "by_head"),
        node("Softmax", ["e"], ["f"], "by_head_too"),
        node("Reshape", ["f", "images"], ["h"], "image"),
        node("MaxPool", ["h"], ["i"], "pool", kernel_shape=[2, 2]),
        node("Reshape", ["i", "wide"], ["j"], "wider"),
        node("AveragePool", ["j"], ["k"], "mean", kernel_shape=[1, 3]),
        node("Flatten", ["k"], ["l"], "rows"),
        node("MatMul", ["l", "w2"], ["y"], "product"),
    ]
    stored = {"w1": w(4, 2, 1, 1), "g": w(48), "gb": w(48), "heads": ints(1, 4, 3, 4), "gh": w(4)}
    stored |= {"images": ints(1, 3, 4, 4), "wide": ints(1, 1, 3, 9)}
    return model_of(nodes, {"x": [1, 2, 3, 4]}, stored=stored | {"w2": w(21, 3)}, opset=23)


def generator() -> onnx.ModelProto:
    """Images that products make, and images of other sizes than those that were made."""
    nodes = [
        node("Gemm", ["x", "w1"], ["a"], "rows"),
        node("Reshape", ["a", "small"], ["b"], "image"),
        node("Conv", ["b", "w2"], ["c"], "conv1", pads=[1, 1, 1, 1]),
        node("Reshape", ["c", "large"], ["d"], "larger"),
        node("Conv", ["d", "w3"], ["e"], "conv2", strides=[2, 1]),
        node("GlobalAveragePool", ["e"], ["f"], "mean"),
        node("Conv", ["f", "w4"], ["h"], "conv3"),
        node("Flatten", ["h"], ["i"], "flat"),
        node("Gemm", ["i", "w5"], ["j"], "rows2"),
        node("Reshape", ["j", "points"], ["k"], "point"),
        node("Conv", ["k", "w6"], ["y"], "conv4"),
    ]
    stored = {"w1": w(3, 24), "small": ints(1, 4, 2, 3), "w2": w(6, 4, 3, 3), "large": ints(1, 2, 3, 6)}
    stored |= {"w3": w(4, 2, 2, 2), "w4": w(5, 4, 1, 1), "w5": w(5, 6), "points": ints(1, 6, 1, 1), "w6": w(3, 6, 1, 1)}
    return model_of(nodes, {"x": [1, 3]}, stored=stored)


def pooled(seed: int) -> onnx.ModelProto:
    """Poolings of random windows, steps, dilations and borders, side by side, and a response of channels.

    The reference implementation makes maxima of SAME_LOWER with other windows than averages, against ONNX's text.
    """
    rng = np.random.default_rng(seed)
    nodes = [node("Conv", ["x", "w1"], ["a"], "conv1")]
    for number in range(6):
        op = ("MaxPool", "AveragePool")[number % 2]
        size = rng.integers(1, 4, 2)
        steps = rng.integers(1, 4, 2) if number < 2 else rng.integers(1, size + 1)
        given = {"kernel_shape": size.tolist(), "strides": steps.tolist()}
        given["auto_pad"] = ("NOTSET", "NOTSET", "SAME_UPPER", "SAME_UPPER", "SAME_UPPER", "SAME_LOWER")[number]
        if number < 2:
            given["pads"] = [number * int(rng.integers(0, (n + 1) // 2)) for n in (*size, *size)]
            given["ceil_mode"] = number * int(rng.integers(0, 2))
        if number == 0:
            given["dilations"] = rng.integers(1, 3 - given["ceil_mode"], 2).tolist()
        nodes.append(node(op, ["a"], [f"p{number}"], f"pool{number}", **given))
    nodes.append(node("LRN", ["a"], ["p6"], "response", size=int(rng.integers(1, 6)), alpha=0.7, bias=1.5))
    nodes += [node("Flatten", [f"p{i}"], [f"f{i}"], f"flat{i}", axis=0) for i in range(7)]
    nodes.append(node("Concat", [f"f{i}" for i in range(7)], ["y"], "all", axis=1))
    return model_of(nodes, {"x": [3, 2, 6, 7]}, stored={"w1": w(3, 2, 1, 1)})


SEEDS = {compared: 3, moved: 1, embedded: 2, exponentials: 1, generator: 1, reshaped: 1, squeezed: 1, transformer: 3}
"""With seed 3 a split inside a split has a function of words whose tile is kept further out."""


@pytest.mark.some(1)
@needs_gcc
@pytest.mark.parametrize("model", SEEDS, ids=lambda model: model.__name__)
def test_a_model_computes_what_onnx_does(model: Callable[[], onnx.ModelProto], tmp_path: Path) -> None:
    agrees_with_onnx(model(), tmp_path, SEEDS[model])


@pytest.mark.long
@needs_gcc
@pytest.mark.parametrize("seed", seeds(10))
def test_poolings_of_any_attributes(seed: int, tmp_path: Path) -> None:
    agrees_with_onnx(pooled(seed), tmp_path, seed)


@needs_gcc
def test_a_function_of_a_newer_operator_set(tmp_path: Path) -> None:
    nodes = [node("MatMul", ["x", "u"], ["a"], "product"), node("Swish", ["a"], ["y"], "swish", alpha=0.7)]
    agrees_with_onnx(model_of(nodes, {"x": [2, 3]}, stored={"u": w(3, 4)}, opset=24), tmp_path, 1)


@needs_gcc
def test_the_sum_of_no_exponentials(tmp_path: Path) -> None:
    """Its logarithm is as low as can be: `onnx.reference` says that it is no number."""
    nodes = [
        node("MatMul", ["x", "u"], ["a"], "product"),
        node("Where", ["which", "a", "least"], ["b"], "masked"),
        node("ReduceLogSumExp", ["b"], ["y"], "sum", axes=[1], keepdims=0),
    ]
    stored = {"u": w(3, 4), "which": np.array([[True], [False]]), "least": np.array(-np.inf, np.float32)}
    graph = load_network(saved(tmp_path, model_of(nodes, {"x": [2, 3]}, stored=stored, opset=13))).wiring
    assert graph is not None
    rng = random.Random(0)
    program = network_program(random_answer(rng, graph, random_architecture(rng)))
    x = RNG.standard_normal((2, 3))
    first, second = as_library(tmp_path, program, [x], network_weights(program))
    assert first == pytest.approx(np.log(np.exp(x[0] @ stored["u"]).sum()))
    assert second == -np.inf


@needs_gcc
def test_infinite_words_are_handed_out(tmp_path: Path) -> None:
    nodes = [node("MatMul", ["x", "u"], ["a"], "product"), node("Pad", ["a", "around", "least"], ["y"], "pad")]
    stored = {"u": w(3, 4), "around": ints(0, 0, 0, 2), "least": np.array(-np.inf, np.float32)}
    agrees_with_onnx(model_of(nodes, {"x": [2, 3]}, stored=stored), tmp_path, 1)


def test_an_input_that_is_an_output_is_copied(tmp_path: Path) -> None:
    nodes = [node("Identity", ["x"], ["z"], "same"), node("MatMul", ["x", "u"], ["y"], "product")]
    model = model_of(nodes, {"x": [2, 3]}, ("y", "z"), stored={"u": w(3, 4)})
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    rng = random.Random(0)
    program = network_program(random_answer(rng, graph, random_architecture(rng)))
    x = rng.random() * np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(run_by_numpy(program, {"x": x})[1], x.ravel())


def test_inputs_come_in_the_order_of_the_model(tmp_path: Path) -> None:
    """Not in that in which steps read them."""
    nodes = [node("MatMul", ["second", "u"], ["a"], "product"), node("Add", ["a", "first"], ["y"], "sum")]
    model = model_of(nodes, {"first": [2, 4], "second": [2, 3]}, stored={"u": w(3, 4)})
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    rng = random.Random(0)
    assert network_program(random_answer(rng, graph, random_architecture(rng))).inputs == ("first", "second")


def test_outputs_on_the_way_pass_through_the_outermost_memory(tmp_path: Path) -> None:
    """A group keeps nothing to itself that the model hands out, be it before or after a function."""
    nodes = [
        node("MatMul", ["x", "u"], ["a"], "first"),
        node("Relu", ["a"], ["b"], "relu"),
        node("MatMul", ["b", "v"], ["y"], "second"),
    ]
    model = model_of(nodes, {"x": [2, 3]}, ("a", "b", "y"), stored={"u": w(3, 4), "v": w(4, 2)})
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    assert [group.names for group in operation_groups(graph, 3)] == [("x",), ("first",), ("second",)]
    rng = random.Random(0)
    program = network_program(random_answer(rng, graph, random_architecture(rng)))
    assert program.outputs == ("first", "first:b", "second")


def test_a_function_that_is_handed_out_alone(tmp_path: Path) -> None:
    """What it is of is read elsewhere, and no group keeps that to itself."""
    nodes = [
        node("MatMul", ["x", "u"], ["a"], "first"),
        node("Relu", ["a"], ["b"], "relu"),
        node("MatMul", ["a", "v"], ["y"], "second"),
    ]
    model = model_of(nodes, {"x": [2, 3]}, ("b", "y"), stored={"u": w(3, 4), "v": w(4, 2)})
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    assert [group.names for group in operation_groups(graph, 3)] == [("x",), ("first",), ("second",)]


def test_layers_that_read_in_no_way_that_a_cascade_has_are_groups_of_their_own(tmp_path: Path) -> None:
    nodes = [
        node("Einsum", ["x", "x"], ["a"], "gram", equation="ij,kj->ik"),
        node("MatMul", ["a", "u"], ["b"], "product"),
        node("Einsum", ["b", "b"], ["y"], "square", equation="ij,jk->ik"),
    ]
    graph = load_network(saved(tmp_path, model_of(nodes, {"x": [3, 3]}, stored={"u": w(3, 3)}))).wiring
    assert graph is not None
    assert [group.names for group in operation_groups(graph, 3)] == [("x",), ("gram",), ("product",), ("square",)]
    assert graph.meaning is not None
    assert list(graph.meaning.computed) == ["gram", "square"]
    with pytest.raises(ProblemError, match="gram is no operation that a cascade can have"):
        joined(graph, graph.occurrences[1:3], "both")
