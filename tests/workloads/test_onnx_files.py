"""ONNX files: symbols, parameters that are missing, functions, subgraphs, the graph; and what is wrong with a file."""

from __future__ import annotations

import importlib.util

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from onnx_models import model_of, saved
from tilewright.ir import ProblemError, TilewrightError
from tilewright.workloads import load_layer, load_network
from tilewright.workloads.onnx.nodes import element_bits


def refused(*arguments):
    with pytest.raises(ProblemError) as error:
        load_network(*arguments)
    return str(error.value)


def product(**attributes):
    return helper.make_node("MatMul", ["x", "w"], ["y"], "fc", **attributes)


def test_symbols(tmp_path):
    path = saved(tmp_path, model_of([product()], {"x": ["batch", "length", 4]}, stored={"w": [4, 5]}))
    network = load_network(path, {"batch": 2, "length": 3})
    assert dict(network.layer("fc").problem.dims) == {"M": 6, "N": 5, "K": 4}
    assert network.source == "model.onnx, operator set 21, batch=2, length=3"
    assert load_layer(f"{path}:fc", {"batch": 2, "length": 3}) == network.layer("fc").problem
    assert refused(path) == (
        f"{path}: the size of batch (x.0), length (x.1) is not given\nhint: --dim batch=1 --dim length=64, "
        'or dims={"batch": 1, "length": 64}'
    )
    assert refused(path, {"batch": 1, "lenght": 2, "length": 2}).endswith(
        "unknown dimension 'lenght'\nhint: did you mean 'length'?"
    )
    assert "dims: batch is 0, expected a whole number, 1 or more" in refused(path, {"batch": 0, "length": 1})
    assert "resnet50.yaml: unknown dimension 'batch'" in refused("resnet50", {"batch": 1})


def test_axes_of_one_symbol_may_be_told_apart(tmp_path):
    """The size in the hint is one with which shapes follow: a filter of 70 fits into no image of 64."""
    conv = helper.make_node("Conv", ["x", "w"], ["y"], "conv")
    path = saved(tmp_path, model_of([conv], {"x": [1, 1, "?", "?"]}, stored={"w": [1, 1, 70, 1]}))
    said = refused(path)
    assert "the size of ? (x.2 and x.3) is not given\nhint: --dim '?=96'" in said
    assert said.endswith("of axes that differ, x.2=96 alone")
    network = load_network(path, {"x.2": 80, "x.3": 3})
    assert (network.layer("conv").problem.sizes["P"], network.layer("conv").problem.sizes["Q"]) == (11, 3)
    assert load_network(path, {"x.2": 80, "?": 5}).layer("conv").problem.sizes["Q"] == 5


def test_inputs_of_fixed_values(tmp_path):
    branches = {
        name: helper.make_graph(
            [helper.make_node("MatMul", ["x", weight], ["made"], f"{name} product")],
            name,
            [],
            [helper.make_empty_tensor_value_info("made")],
        )
        for name, weight in (("narrow", "u"), ("wide", "v"))
    }
    nodes = [
        helper.make_node("Equal", ["rate", "known"], ["is_narrow"], "asked"),
        helper.make_node(
            "If", ["is_narrow"], ["y"], "if", then_branch=branches["narrow"], else_branch=branches["wide"]
        ),
    ]
    inputs = {"x": [2, 4], "rate": ([], onnx.TensorProto.INT64)}
    stored = {"u": np.ones((4, 5), np.float32), "v": np.ones((4, 9), np.float32), "known": np.array(8000)}
    path = saved(tmp_path, model_of(nodes, inputs, stored=stored))
    assert not load_network(path).layers
    for rate, name, columns in ((8000, "narrow product", 5), (16000, "wide product", 9)):
        network = load_network(path, inputs={"rate": rate})
        assert network.layer(name).problem.sizes["N"] == columns
        assert network.source == f"model.onnx, operator set 21, rate={rate}"
    for values, message in (
        ({"rat": 1}, "unknown input 'rat'\nhint: did you mean 'rate'?"),
        ({"rate": 0.5}, "input rate is 0.5, expected words of type int64"),
        ({"rate": "high"}, "input rate is 'high', expected numbers"),
        ({"rate": [1, 2]}, "input rate is given as 2, expected one number"),
        ({"x": 1.0}, "input x is given as one number, expected 2 x 4"),
        ([("rate", 1)], "inputs"),
    ):
        with pytest.raises(ProblemError) as caught:
            load_network(path, inputs=values)
        assert message in str(caught.value)
    with pytest.raises(ProblemError, match="rate is given, but a table has no inputs of fixed values"):
        load_network("resnet50", inputs={"rate": 1})


def test_axes_without_a_symbol_have_a_name(tmp_path):
    for size in (None, 0, -1):
        path = saved(tmp_path, model_of([product()], {"x": [size, 4]}, stored={"w": [4, 5]}))
        assert "the size of x.0 is not given\nhint: --dim x.0=1" in refused(path)
        assert load_network(path, {"x.0": 7}).layer("fc").problem.sizes["M"] == 7


def test_stated_shapes_follow_the_symbols(tmp_path):
    """Expressions of symbols, as exporters write them at inner tensors, are forgotten and inferred again."""
    nodes = [
        helper.make_node("Concat", ["x", "x"], ["xx"], axis=0),
        helper.make_node("MatMul", ["xx", "w"], ["y"], "fc"),
    ]
    model = model_of(nodes, {"x": ["batch", 4]}, stored={"w": [4, 5]})
    model.graph.value_info.append(helper.make_tensor_value_info("xx", TensorProto.FLOAT, ["2*batch", 4]))
    assert load_network(saved(tmp_path, model), {"batch": 3}).layer("fc").problem.sizes["M"] == 6


def test_parameters_need_not_be_there(tmp_path):
    """Weights in a file of their own that is gone change nothing."""
    model = model_of([product()], {"x": [3, 64]}, stored={"w": np.ones((64, 128), np.float32)})
    whole = load_network(saved(tmp_path, model))
    onnx.save(model, tmp_path / "split.onnx", save_as_external_data=True, location="split.bin", size_threshold=0)
    (tmp_path / "split.bin").unlink()
    split = load_network(tmp_path / "split.onnx")
    assert [layer.problem.dims for layer in split.layers] == [layer.problem.dims for layer in whole.layers]
    assert split.weights == whole.weights == 64 * 128


def test_parameters_that_are_computed_or_shared(tmp_path):
    nodes = [
        helper.make_node("Transpose", ["e"], ["et"]),
        helper.make_node("MatMul", ["x", "et"], ["h"], "one"),
        helper.make_node("MatMul", ["h", "w"], ["x2"], "two"),
        helper.make_node("MatMul", ["x2", "et"], ["y"], "three"),
    ]
    network = load_network(saved(tmp_path, model_of(nodes, {"x": [3, 4]}, stored={"e": [4, 4], "w": [4, 4]})))
    (layer,) = network.layers
    assert (layer.repeat, layer.shared, layer.nodes) == (3, 1, ("one", "two", "three"))
    assert network.weights == 2 * 16
    assert [(one.what, one.operations, one.how) for one in network.passed] == [
        ("Transpose", 0, "depends on parameters alone")
    ]


def test_widths(tmp_path):
    for element, bits, partial in (
        (TensorProto.FLOAT16, 16, 32),
        (TensorProto.DOUBLE, 64, 64),
        (TensorProto.INT32, 32, 32),
    ):
        model = model_of([product()], {"x": [3, 4]}, stored={"w": [4, 5]}, element=element)
        tensors = load_network(saved(tmp_path, model)).layer("fc").problem.tensors
        assert [tensor.bits for tensor in tensors] == [bits, bits, bits]
        assert tensors[-1].partial_bits == partial
    known = {name: element_bits(name) for name, _ in TensorProto.DataType.items()}
    assert {name for name, bits in known.items() if bits is None} <= {"UNDEFINED", "STRING"}
    assert (known["INT4"], known["FLOAT8E4M3FN"], known["BFLOAT16"], known["COMPLEX64"], known["BOOL"]) == (
        4,
        8,
        16,
        64,
        8,
    )


def test_widths_of_a_model_quantized_by_surrounding_nodes(tmp_path):
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "s"], ["wf"]),
        helper.make_node("MatMul", ["xf", "wf"], ["yf"], "fc"),
        helper.make_node("QuantizeLinear", ["yf", "s", "z"], ["y"]),
    ]
    between = [
        *nodes[:3],
        helper.make_node("Relu", ["yf"], ["rf"]),
        helper.make_node("QuantizeLinear", ["rf", "s", "z"], ["y"]),
    ]
    stored = {"w": np.ones((4, 5), np.int8), "s": np.array(0.5, np.float32), "z": np.array(0, np.int8)}
    inputs = {"x": ([3, 4], TensorProto.INT8)}
    for model, output_bits in (
        (model_of(between, inputs, stored=stored), 8),
        (model_of(between, inputs, ["y", "rf"], stored), 32),  # the float is a result as well
        (model_of(nodes[:3], inputs, ["yf"], stored), 32),
    ):
        assert load_network(saved(tmp_path, model)).layer("fc").problem.output.bits == output_bits
    network = load_network(saved(tmp_path, model_of(nodes, inputs, stored=stored)))
    tensors = network.layer("fc").problem.tensors
    assert [(tensor.bits, tensor.partial_bits) for tensor in tensors] == [(8, None), (8, None), (8, 32)]
    assert network.weights == 20
    assert [(one.what, one.operations) for one in network.passed] == [
        ("QuantizeLinear", 45),
        ("DequantizeLinear", 24),
        ("DequantizeLinear", 0),
    ]


def test_functions_are_inlined(tmp_path):
    inner = [helper.make_node("MatMul", ["a", "b"], ["p"]), helper.make_node("Relu", ["p"], ["r"])]
    block = helper.make_function("mine", "Block", ["a", "b"], ["r"], inner, [helper.make_opsetid("", 21)])
    nodes = [
        helper.make_node("Block", ["x", "w"], ["h"], domain="mine"),
        helper.make_node("Block", ["h", "v"], ["y"], domain="mine"),
    ]
    stored = {"w": [4, 4], "v": [4, 4]}
    model = model_of(nodes, {"x": [3, 4]}, stored=stored, functions=[block], domains=["mine"])
    network = load_network(saved(tmp_path, model))
    assert [(layer.repeat, layer.problem.macs) for layer in network.layers] == [(2, 48)]
    assert [(one.what, one.nodes, one.operations) for one in network.passed] == [("Relu", 2, 24)]


def branch(name):
    result = helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 5])
    return helper.make_graph([helper.make_node("MatMul", ["x", "w"], [name])], name, [], [result])


def test_subgraphs_are_listed(tmp_path):
    choice = helper.make_node("If", ["c"], ["y"], then_branch=branch("a"), else_branch=branch("b"))
    model = model_of(
        [product(), choice], {"x": [3, 4], "c": ([], TensorProto.BOOL)}, stored={"w": [4, 5]}, outputs=["y"]
    )
    model.graph.node[0].output[0] = "z"
    network = load_network(saved(tmp_path, model))
    assert [(one.what, one.operations, one.how) for one in network.passed] == [
        ("If", None, "not counted: what runs depends on data; it holds MatMul")
    ]
    assert network.operations == network.macs == 60


def test_operations_that_are_counted(tmp_path):
    """One of each way of counting, by hand."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[3, 2], strides=[2, 2]),
        helper.make_node("Clip", ["x", "low", "low"], ["c"]),
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[2, 3]),
        helper.make_node("Sum", ["x", "x", "x"], ["s"]),
        helper.make_node("LRN", ["x"], ["l"], size=5),
        helper.make_node("Resize", ["x", "", "scales"], ["r"], mode="linear"),
        helper.make_node("Flatten", ["x"], ["f"]),
        helper.make_node("Strange", ["x"], ["u"], domain="elsewhere"),
    ]
    stored = {"low": np.array(0, np.float32), "scales": np.array([1, 1, 2, 2], np.float32)}
    names = ["p", "c", "m", "s", "l", "r", "f", "u"]
    model = model_of(nodes, {"x": [1, 2, 7, 6]}, names, stored, opset=13, domains=["elsewhere"])
    network = load_network(saved(tmp_path, model))
    assert not network.layers
    assert {one.what: one.operations for one in network.passed} == {
        "Strange": None,
        "MaxPool": 2 * 3 * 3 * 6,
        "Clip": 2 * 84,
        "ReduceMean": 84,
        "Sum": 2 * 84,
        "LRN": 8 * 84,
        "Resize": 4 * 84 * 4,
        "Flatten": 0,
    }


def test_the_graph(tmp_path):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], "first"),
        helper.make_node("Relu", ["h"], ["r"], "act"),
        helper.make_node("Add", ["r", "h"], ["y"], "sum"),
    ]
    graph = load_network(saved(tmp_path, model_of(nodes, {"x": [3, 4]}, stored={"w": [4, 5]}))).graph
    edges = {(a, b, e["tensor"]): (e["shape"], e["bits"], e["bytes"]) for a, b, e in graph.edges(data=True)}
    assert edges == {
        ("input x", "first", "x"): ((3, 4), 32, 48),
        ("parameter w", "first", "w"): ((4, 5), 32, 80),
        ("first", "act", "h"): ((3, 5), 32, 60),
        ("first", "sum", "h"): ((3, 5), 32, 60),
        ("act", "sum", "r"): ((3, 5), 32, 60),
        ("sum", "output y", "y"): ((3, 5), 32, 60),
    }
    assert graph.nodes["act"] == {"op": "Relu"}
    assert graph.nodes["input x"] == {"op": "input"}


def test_names(tmp_path):
    """Nodes without a name go by their output; a colon in a name does no harm; no two have the same."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h:0"]),
        helper.make_node("MatMul", ["h:0", "v"], ["z"], "a/b:1"),
        helper.make_node("MatMul", ["z", "w"], ["y"], "a/b:1"),
    ]
    path = saved(tmp_path, model_of(nodes, {"x": [3, 4]}, stored={"w": [4, 5], "v": [5, 4]}))
    assert [layer.nodes for layer in load_network(path).layers] == [("h:0", "a/b:1_2"), ("a/b:1",)]
    assert load_layer(f"{path}:a/b:1").sizes["K"] == 5
    with pytest.raises(ProblemError, match="unknown layer 'a/b'"):
        load_layer(f"{path}:a/b")
    with pytest.raises(ProblemError, match="is a whole network, expected one layer"):
        load_layer(str(path))


def test_nothing_dense(tmp_path):
    path = saved(tmp_path, model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": [3]}))
    assert load_network(path).layers == ()
    with pytest.raises(ProblemError, match="a network without a dense operation"):
        load_layer(str(path))


def test_shapes_that_depend_on_data(tmp_path):
    nodes = [
        helper.make_node("NonZero", ["x"], ["i"], "find"),
        helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["f"], ["t"]),
        helper.make_node("MatMul", ["t", "w"], ["y"], "fc"),
    ]
    path = saved(tmp_path, model_of(nodes, {"x": [3, 4]}, stored={"w": [2, 5]}))
    assert refused(path) == (
        f"{path}: MatMul fc: the shape of t is not known before the model runs\n"
        "hint: it is lost at NonZero find, whose result depends on data; export the model with fixed shapes"
    )


def test_operators_of_others(tmp_path):
    nodes = [
        helper.make_node("Fused", ["x"], ["h"], "f", domain="vendor"),
        helper.make_node("MatMul", ["h", "w"], ["y"]),
    ]
    path = saved(tmp_path, model_of(nodes, {"x": [3, 4]}, stored={"w": [4, 5]}, domains=["vendor"]))
    assert "hint: Fused f is an operator of vendor, whose results ONNX cannot infer" in refused(path)
    model = onnx.load(path)
    model.graph.value_info.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [3, 4]))
    network = load_network(saved(tmp_path, model))
    assert network.macs == 60
    assert [(one.what, one.operations, one.how) for one in network.passed] == [
        ("Fused", None, "not counted: what it does is not known here")
    ]


def test_files_that_are_no_models(tmp_path):
    path = tmp_path / "model.onnx"
    assert refused(path) == f"{path}: no such file"
    (tmp_path / "folder.onnx").mkdir()
    assert "cannot be read: Is a directory" in refused(tmp_path / "folder.onnx")
    whole = saved(tmp_path, model_of([product()], {"x": [3, 4]}, stored={"w": [4, 5]})).read_bytes()
    for content in (b"", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", b"PK\3\4 not this", whole[:-9]):
        path.write_bytes(content)
        assert f"{path}: not an ONNX model" in refused(path)
    for cut in range(1, len(whole)):
        path.write_bytes(whole[:cut])
        refused(path)


@pytest.mark.parametrize(
    ("opset", "message"), [(999, "operator set 999, expected 1 to "), (None, "no version of the standard operators is")]
)
def test_operator_sets(tmp_path, opset, message):
    model = model_of([product()], {"x": [3, 4]}, stored={"w": [4, 5]})
    del model.opset_import[:]
    if opset:
        model.opset_import.append(helper.make_opsetid("", opset))
    assert message in refused(saved(tmp_path, model))


@pytest.mark.parametrize("package", ["onnx", "networkx"])
def test_packages_that_are_missing(tmp_path, monkeypatch, package):
    path = saved(tmp_path, model_of([product()], {"x": [3, 4]}, stored={"w": [4, 5]}))
    find = importlib.util.find_spec
    monkeypatch.setattr("tilewright.ir.errors.find_spec", lambda name: None if name == package else find(name))
    with pytest.raises(TilewrightError) as error:
        load_network(path)
    expected = f"onnx: the package {package} is not installed\nhint: pip install 'tilewright[onnx]'"
    assert str(error.value) == expected


@pytest.mark.parametrize("damage", [0xFF, 0])
def test_damaged_files(tmp_path, damage):
    """Any byte of a file may be wrong: the network is another one, or the file is refused."""
    nodes = [
        helper.make_node("ConvTranspose", ["x", "w"], ["h"], strides=[2, 2], group=1),
        helper.make_node("Einsum", ["h", "v"], ["y"], equation="nchw,ck->nk"),
    ]
    model = model_of(nodes, {"x": ["b", 1, 3, 3]}, stored={"w": [1, 2, 2, 2], "v": [2, 3]})
    whole, path = model.SerializeToString(), tmp_path / "model.onnx"
    outcomes = set()
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([damage]) + whole[position + 1 :])
        try:
            outcomes.add(load_network(path, {"b": 1}).macs)
        except ProblemError:
            outcomes.add(None)
    assert {None, 36 * 2 + 36 * 6} <= outcomes


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (helper.make_node("Conv", ["x", "w"], ["y"], "c", group=0), "Conv c: group is 0, expected 1 or more"),
        (
            helper.make_node("Conv", ["x", "w"], ["y"], "c", group=2.0),
            "Conv c: onnx refuses it: Mismatched attribute type",
        ),
        (
            helper.make_node("Einsum", ["x", "w"], ["y"], "e", equation="abc,dec->x"),
            "output index 'x' is in no operand",
        ),
    ],
)
def test_attributes_that_make_no_sense(tmp_path, node, message):
    model = model_of([node], {"x": [1, 2, 5]}, stored={"w": [2, 2, 5]})
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 5]))
    assert message in refused(saved(tmp_path, model))


def test_functions_are_counted_before_they_are_written_out(tmp_path):
    """Each calls the one before it twice, so that a few kilobytes stand for 2^25 nodes."""
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)]
    relu = helper.make_function("mine", "f0", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], sets)
    functions = [relu] + [
        helper.make_function(
            "mine",
            f"f{i}",
            ["a"],
            ["b"],
            [helper.make_node(f"f{i - 1}", [*read], [*made], domain="mine") for read, made in ("ac", "cb")],
            sets,
        )
        for i in range(1, 26)
    ]
    nodes = [helper.make_node("f25", ["x"], ["y"], domain="mine")]
    path = saved(tmp_path, model_of(nodes, {"x": [3, 4]}, functions=functions, domains=["mine"]))
    with pytest.raises(ProblemError, match=r"its functions are 100,663,\d+ nodes when they are written out"):
        load_network(path)
    again = helper.make_function(
        "mine", "f0", ["a"], ["b"], [helper.make_node("f1", ["a"], ["b"], domain="mine")], sets
    )
    path = saved(tmp_path, model_of(nodes, {"x": [3, 4]}, functions=[again, *functions[1:]], domains=["mine"]))
    with pytest.raises(ProblemError, match=r"the function f\d calls itself"):
        load_network(path)


@pytest.mark.some(2)
@pytest.mark.parametrize("operator", ["Relu", "Softmax", "Transpose", "Add", "MatMul"])
def test_long_chains_are_read(tmp_path, operator):
    count = 1200
    reads = {"Add": lambda i: [f"t{i}", f"t{i}"], "MatMul": lambda i: [f"t{i}", "w"]}.get(operator, lambda i: [f"t{i}"])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["t0"], name="first")]
    nodes += [helper.make_node(operator, reads(i), [f"t{i + 1}"], name=f"n{i}") for i in range(count)]
    nodes += [helper.make_node("MatMul", [f"t{count}", "w"], ["y"], name="last")]
    path = saved(tmp_path, model_of(nodes, {"x": [4, 4]}, stored={"w": np.ones((4, 4), np.float32)}))
    network = load_network(path)
    assert sum(layer.repeat for layer in network.layers) == 2 + count * (operator == "MatMul")
    assert network.wiring.shape(network.wiring.occurrences[-1].name) == (4, 4)


def test_sizes_that_contradict_are_refused(tmp_path):
    stored = {"w": np.ones((6, 5), np.float32), "shape": np.array([4, 6])}
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"]), helper.make_node("MatMul", ["r", "w"], ["y"])]
    with pytest.raises(ProblemError, match=r"16 elements of x cannot be \[4, 6\]"):
        load_network(saved(tmp_path, model_of(nodes, {"x": [4, 4]}, stored=stored)))
    nodes = [helper.make_node("MatMul", ["x", "x"], ["t"]), helper.make_node("Add", ["t", "w"], ["y"])]
    with pytest.raises(ProblemError, match=r"\[4, 4\] and \[6, 5\] do not fit"):
        load_network(saved(tmp_path, model_of(nodes, {"x": [4, 4]}, stored=stored)))
    conv = model_of(
        [helper.make_node("Conv", ["x", "w"], ["y"])], {"x": [1, 3, 8, 8]}, stored={"w": np.ones((0, 3, 3, 3))}
    )
    with pytest.raises(ProblemError, match=r"the weight w is \[0, 3, 3, 3\]: no elements"):
        load_network(saved(tmp_path, conv))
