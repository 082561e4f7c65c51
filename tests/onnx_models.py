"""ONNX models of one node or a few, made on the spot, and what they compute on small integers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OPSET = 21


def model_of(
    nodes, inputs, outputs=("y",), stored=(), opset=OPSET, element=TensorProto.FLOAT, functions=(), domains=()
):
    """A model: inputs as {name: shape} (or (shape, type)), stored parameters as {name: array}, or {name: shape} without
    their data."""
    typed = []
    for name, shape in dict(inputs).items():
        shape, kind = shape if isinstance(shape, tuple) and shape and isinstance(shape[0], list) else (shape, element)
        typed.append(helper.make_tensor_value_info(name, kind, shape))
    parameters = []
    for name, value in dict(stored).items():
        if isinstance(value, np.ndarray):
            parameters.append(numpy_helper.from_array(value, name))
        else:
            parameters.append(TensorProto(name=name, dims=value, data_type=element))
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(list(nodes), "test", typed, results, parameters)
    operator_sets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=operator_sets, functions=list(functions), ir_version=10)


def saved(folder: Path, model, name: str = "model.onnx") -> Path:
    path = folder / name
    onnx.save(model, path)
    return path


def integers(shape, seed=0, low=-4, high=5):
    return np.random.default_rng(seed).integers(low, high, shape)


def computed_by_onnx(model, operands, dtype=np.float32):
    """What ONNX's reference implementation says, as integers."""
    typed = {name: array if array.dtype == np.int8 else array.astype(dtype) for name, array in operands.items()}
    (result,) = ReferenceEvaluator(model).run(None, typed)
    return np.asarray(result).astype(np.int64)
