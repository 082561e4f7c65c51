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
from onnx import TensorProto
from onnx.backend.test.case import node as nodes
from onnx.backend.test.case.test_case import TestCase
from onnx.numpy_helper import to_array

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
