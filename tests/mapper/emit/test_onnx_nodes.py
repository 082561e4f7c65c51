"""Models of one node, with which the package onnx tests its backends: programs make what it says that they make."""

from __future__ import annotations

import importlib
import pkgutil
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emitted_networks import random_answer, run_by_numpy
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case import node as nodes
from onnx.backend.test.case.test_case import TestCase
from onnx.numpy_helper import to_array
from onnx.reference import ReferenceEvaluator

import longer
from generators import random_architecture
from onnx_models import saved
from tilewright.mapper.emit.network import check_writable, network_program
from tilewright.workloads import load_network

OPERATORS = """
    Acos AffineGrid ArgMax Attention AveragePool BatchNormalization BitShift Cast Clip Col2Im Concat Conv ConvInteger
    ConvTranspose CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div DynamicQuantizeLinear Einsum Equal Expand
    EyeLike GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GridSample GroupNormalization Hardmax If
    InstanceNormalization IsInf LRN LSTM LayerNormalization LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger
    MaxPool MaxUnpool Mean Mish Mod NegativeLogLikelihoodLoss OneHot PRelu Pad Pow QLinearConv QLinearMatMul
    QuantizeLinear RMSNormalization RNN ReduceL2 ReduceLogSumExp ReduceProd Resize RoiAlign
    RotaryEmbedding STFT ScatterElements ScatterND Selu Shrink Slice Softmax SoftmaxCrossEntropyLoss SpaceToDepth Split
    Swish ThresholdedRelu Tile TopK Transpose TreeEnsemble Trilu Upsample Where
""".split()  # noqa: SIM905
OF_OTHER_TYPES = (
    *(
        "BFLOAT16",
        "E8M0",
        "FLOAT4",
        "FLOAT8",
        "INT2",
        "INT4",
        "bf16",
        "bfloat16",
        "blocked_symmetric",
        "e4m3fn",
        "e5m2",
    ),
    *("float4", "float8", "int2", "int4", "opt", "seq", "string"),
    "convtranspose_group",
)
DATA = (
    "out_of_bounds",
    "empty_set",
    "axes_input",
    "nms_",
    "zero_size",
    "tril_zero",
    "triu_zero",
    "default_axes",
    "training",
)
"""Of cases whose shapes depend on data, or are of no elements."""


MODULES = [name for _, name, _ in pkgutil.walk_packages(nodes.__path__, f"{nodes.__name__}.")]


def all_cases(operator: str) -> list[TestCase]:
    """Those of the module about an operator, and of others that have been asked for: to make all takes long."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the casts that make the cases
        for name in MODULES:
            if name.rpartition(".")[2].replace("_", "") == operator.lower():
                importlib.import_module(name)
        return list(nodes._NodeTestCases)  # noqa: SLF001


def _array(value: Any) -> Any:
    """The words of a tensor that a case has as a message."""
    return to_array(value) if isinstance(value, TensorProto) else value


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.some(8)
@pytest.mark.parametrize("operator", OPERATORS)
def test_programs_make_what_the_operators_text_says(operator: str, tmp_path: Path) -> None:
    cases = [
        one
        for one in all_cases(operator)
        if one.model.graph.node[0].op_type == operator
        and not any(part in one.name for part in (*OF_OTHER_TYPES, *DATA))
        and not one.name.endswith("_expanded")
    ]
    assert cases
    for number, case in enumerate(cases):
        graph = load_network(saved(tmp_path, case.model)).wiring
        assert graph is not None
        check_writable(graph, form="numpy")
        rng = random.Random(number)
        program = network_program(random_answer(rng, graph, random_architecture(rng, capacity=100_000), most=1))
        inputs, expected = (list(map(_array, values)) for values in case.data_sets[0])
        names = [value.name for value in case.model.graph.input]
        found = run_by_numpy(program, dict(zip(names, inputs, strict=True)))
        for one, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, np.ravel(right).astype(float), rtol=1e-3, atol=1e-5, err_msg=case.name)


def random_pooling(rng: random.Random) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """A node that windows slide along, with any padding, over an image of 6 x 8. Beyond these `onnx.reference` makes
    others than the operators' texts say, where steps are longer than windows or windows are spread."""
    op = rng.choice(["MaxPool", "AveragePool", "LpPool", "Conv", "ConvTranspose"])
    kernel, pads = [rng.randint(1, 3), rng.randint(1, 3)], rng.choice(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    pads = "SAME_UPPER" if op == "MaxPool" and pads == "SAME_LOWER" else pads
    strides = [rng.randint(1, size) for size in kernel]
    given: dict[str, Any] = {"kernel_shape": kernel, "auto_pad": pads, "strides": strides}
    given |= {"dilations": [rng.randint(1, 2), rng.randint(1, 2)]} if pads == "NOTSET" else {}
    given |= {"pads": [rng.randrange(size) for size in kernel * 2]} if pads == "NOTSET" else {}
    if op in ("Conv", "ConvTranspose"):
        return op, given, {"W": np.random.default_rng(1).standard_normal((2, 2, *kernel)).astype(np.float32)}
    given |= {"ceil_mode": rng.randrange(2)} if pads == "NOTSET" else {}
    given |= {"count_include_pad": rng.randrange(2)} if op == "AveragePool" else {}
    return op, given, {}


def random_resizing(rng: random.Random) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """A Resize of an image of 6 x 8 in any way that programs have. Where the scaled extents are not whole,
    `onnx.reference` takes them as they are, and not what the output has."""
    mode, axes = rng.choice(["nearest", "linear", "cubic"]), rng.choice([None, [2, 3], [3, 2]])
    ways = ["align_corners", "asymmetric", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel"]
    given: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": rng.choice(ways)}
    rounded = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
    given |= {"nearest_mode": rng.choice(rounded)} if mode == "nearest" else {}
    given |= {"cubic_coeff_a": -0.5} if mode == "cubic" and rng.random() < 0.5 else {}
    given |= {"axes": axes} if axes else {}
    chosen, empty = axes or [0, 1, 2, 3], np.zeros(0, np.float32)
    if rng.random() < 0.5:
        scales = [1.0 if axis < 2 else rng.choice([0.5, 1.0, 1.5, 2.0, 3.0]) for axis in chosen]
        return "Resize", given, {"roi": empty, "scales": np.array(scales, np.float32)}
    sizes = [axis + 1 if axis < 2 else rng.randint(3, 12) for axis in chosen]
    return "Resize", given, {"roi": empty, "scales": empty, "sizes": np.array(sizes)}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", longer.seeds(40))
@pytest.mark.parametrize("drawn", [random_pooling, random_resizing])
def test_windows_and_sizes_of_all_kinds(drawn: Any, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    op, attributes, stored = drawn(rng)
    x = np.random.default_rng(seed).standard_normal((1, 2, 6, 8)).astype(np.float32)
    node = helper.make_node(op, ["x", *stored], ["y"], "one", **attributes)
    made = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([node], "one", [helper.make_tensor_value_info("x", 1, x.shape)], [made])
    graph.initializer.extend(numpy_helper.from_array(words, name) for name, words in stored.items())
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    expected = np.asarray(ReferenceEvaluator(model).run(None, {"x": x})[0])
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, expected.shape))
    wired = load_network(saved(tmp_path, model)).wiring
    assert wired is not None
    program = network_program(random_answer(rng, wired, random_architecture(rng, capacity=100_000), most=1))
    (found,) = run_by_numpy(program, {"x": x, **stored})
    np.testing.assert_allclose(found, np.ravel(expected).astype(float), rtol=1e-3, atol=1e-5, err_msg=str(attributes))
