"""Programs compute with whole numbers as `onnx.reference` does, to the last bit: signs, zeros, scalars, all widths."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from emitted_networks import as_library, needs_gcc, random_answer, run_by_numpy
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from generators import random_architecture
from longer import seeds
from onnx_models import model_of, saved
from tilewright.mapper.emit.network import emit_numpy_network, network_program, network_weights
from tilewright.workloads import load_network

node = helper.make_node
TYPES = ("INT8", "UINT8", "INT16", "INT32", "UINT32", "INT64")


def arithmetic(kind: str, rng: np.random.Generator) -> onnx.ModelProto:
    """Every operator on whole numbers of a type: two matrices, a scalar, and a row that are stored or given."""
    element, dtype = TensorProto.DataType.Value(kind), helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(kind))
    made = [
        *(node(op, ["a", "b"], [op], op.lower()) for op in ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min")),
        node("Mod", ["a", "b"], ["Fmod"], "fmod", fmod=1),
        node("Div", ["Mul", "c"], ["by_scalar"], "by_scalar"),
        node("Mod", ["Sub", "row"], ["by_row"], "by_row"),
        node("Pow", ["a", "few"], ["Pow"], "pow"),
        node("Abs", ["Sub"], ["Abs"], "abs"),
        node("Clip", ["Add", "least"], ["Clip"], "clip"),
        node("Less", ["a", "b"], ["less"], "less"),
        node("Where", ["less", "Add", "c"], ["Where"], "where"),
        *(node(op, ["Add", "axis"], [op], op.lower(), keepdims=1) for op in ("ReduceSum", "ReduceMax", "ReduceMin")),
        node("ReduceMean", ["Mul", "first"], ["ReduceMean"], "mean", keepdims=0),
        node("ReduceL1", ["Sub", "axis"], ["ReduceL1"], "l1"),
    ]
    made += [node("Neg", ["Add"], ["Neg"], "neg")] if kind.startswith("INT") else []
    made += [node("ReduceProd", ["c2"], ["ReduceProd"], "product")] if kind == "INT64" else []
    other = {"INT8": "UINT8", "UINT8": "INT8", "INT16": "UINT8", "INT32": "INT16", "UINT32": "INT32", "INT64": "INT32"}
    made.append(node("Cast", ["Mul"], ["narrow"], "narrow", to=TensorProto.DataType.Value(other[kind])))
    made.append(node("Cast", ["narrow"], ["Cast"], "cast", to=element))
    made.append(node("Cast", ["f"], ["from_float"], "from_float", to=element))
    if kind in ("INT32", "UINT32", "INT64"):
        made.append(node("MatMul", ["Sub", "wide"], ["product"], "matmul"))
    else:
        made.append(node("Cast", ["Sub"], ["wider"], "wider", to=TensorProto.INT32))
        made.append(node("MatMul", ["wider", "wide"], ["products"], "matmul"))
        made.append(node("Cast", ["products"], ["product"], "narrower", to=element))
    hidden = {"less", "narrow", "wider", "products"}
    results = [one.output[0] for one in made if one.output[0] not in hidden]
    made += [node("Reshape", [name, "flat"], [f"{name} flat"], f"{name} flat") for name in results]
    made.append(node("Concat", [f"{name} flat" for name in results], ["y"], "all", axis=0))
    stored = {
        "few": np.array([0, 1, 2, 3], dtype),
        "axis": np.array([1]),
        "first": np.array([0]),
        "least": np.array(2, dtype),
    }
    stored |= {"row": nonzero(rng, dtype, [4]), "flat": np.array([-1])}
    stored["wide"] = rng.integers(0, 5, [4, 3]).astype(dtype if kind in ("INT32", "UINT32", "INT64") else np.int32)
    inputs = {name: ([3, 4], element) for name in "ab"} | {"c": ([], element), "f": ([3, 4], TensorProto.FLOAT)}
    inputs |= {"c2": ([3], element)} if kind == "INT64" else {}
    return model_of(made, inputs, stored=stored, opset=18)


def nonzero(rng: np.random.Generator, dtype: np.dtype, shape: list[int]) -> np.ndarray:
    """Any numbers of a type; of 64 bits, such that their products are held by doubles."""
    info = np.iinfo(dtype)
    low, high = (int(info.min), int(info.max)) if info.bits < 64 else (-(2**16), 2**16)
    found = rng.integers(low, high, shape, endpoint=True)
    near = rng.integers(max(low, -7), 7, shape, endpoint=True)
    return np.where(rng.random(shape) < 0.5, near, found).astype(dtype)


@pytest.mark.some(2)
@needs_gcc
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("seed", seeds(10))
def test_whole_numbers_are_those_of_the_reference(kind: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    model = arithmetic(kind, rng)
    inputs = {}
    for given in model.graph.input:
        shape = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type)
        is_float = dtype.kind == "f"
        inputs[given.name] = (rng.uniform(-120, 120, shape) if is_float else nonzero(rng, dtype, shape)).astype(dtype)
    inputs["f"] = np.abs(inputs["f"]) if kind.startswith("U") else inputs["f"]
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    choice = random.Random(seed)
    program = network_program(random_answer(choice, graph, random_architecture(choice, capacity=8000)))
    with np.errstate(all="ignore"):
        (expected,) = ReferenceEvaluator(model).run(None, inputs)
    given = [inputs[key].astype(np.float64) for key in program.inputs]
    found = as_library(tmp_path, program, given, network_weights(program))
    np.testing.assert_array_equal(found, expected.astype(np.float64))
    module: dict[str, object] = {"__name__": "emitted"}
    exec(emit_numpy_network(program, "weights.bin"), module)
    with np.errstate(all="ignore"):
        outputs, _ = module["run"]([np.ravel(one) for one in given], network_weights(program))  # type: ignore[operator]
    np.testing.assert_array_equal(outputs[0], expected.astype(np.float64))


@needs_gcc
def test_what_doubles_do_not_hold_is_no_number(tmp_path: Path) -> None:
    nodes = [node("Mul", ["x", "x"], ["a"], "square"), node("MatMul", ["a", "w"], ["y"], "product")]
    model = model_of(nodes, {"x": ([1, 2], TensorProto.INT64)}, stored={"w": np.eye(2, dtype=np.int64)})
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    rng = random.Random(0)
    program = network_program(random_answer(rng, graph, random_architecture(rng, capacity=8000)))
    for value, expected in ((3.0**12, 3.0**24), (2.0**27, np.nan)):
        found = as_library(tmp_path, program, [np.array([0, value])], network_weights(program))
        np.testing.assert_array_equal(found[1], expected)


def test_whole_numbers_that_loops_do_not_have_are_computed_apart(tmp_path: Path) -> None:
    nodes = [
        node("ReduceProd", ["x"], ["a"], "all", keepdims=1),
        node("CumSum", ["x", "axis"], ["b"], "sums"),
        node("Sum", ["a", "b"], ["c"], "sum"),
        node("MatMul", ["c", "w"], ["y"], "product"),
    ]
    model = model_of(
        nodes, {"x": ([2, 2], TensorProto.INT32)}, stored={"w": np.ones([2, 2], np.int32), "axis": np.array(1)}
    )
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    assert graph.meaning is not None
    assert list(graph.meaning.computed) == ["all", "sums"]
    rng, x = random.Random(0), np.array([[3, 7], [-2, 5]], np.int32)
    program = network_program(random_answer(rng, graph, random_architecture(rng, capacity=8000)))
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_array_equal(run_by_numpy(program, {"x": x})[0], expected.ravel())
