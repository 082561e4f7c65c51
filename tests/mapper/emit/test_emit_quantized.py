"""Programs of quantized models have the meaning of their integers, to the last bit of `onnx.reference`."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from emitted_networks import as_library, needs_gcc, random_answer, self_checked
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from quantized_models import IMAGE, qdq, qlinear

from generators import random_architecture
from longer import TIMES
from onnx_models import model_of, saved
from tilewright.ir import MappingError
from tilewright.mapper.emit.network import emit_c_network, network_program, network_weights
from tilewright.workloads import load_network
from tilewright.workloads.onnx.rewrites import rewritten

node = helper.make_node


def computed(model: onnx.ModelProto, folder: Path, x: np.ndarray, seed: int) -> np.ndarray:
    """What the program of a model makes of an input, in some groups on some machine, under sanitizers."""
    rng = random.Random(seed)
    graph = load_network(saved(folder, model)).wiring
    assert graph is not None
    program = network_program(random_answer(rng, graph, random_architecture(rng, capacity=8000)))
    done = self_checked(folder, program, emit_c_network(program), seed)
    assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"
    return as_library(folder, program, [x.astype(np.float64)], network_weights(program))


def reference(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    (found,) = ReferenceEvaluator(model).run(None, {"x": x})
    return np.asarray(found).astype(np.float64).ravel()


def image(seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(IMAGE) * (1 + 2 * (seed % 2))).astype(np.float32)


@needs_gcc
@pytest.mark.parametrize("seed", range(2 * TIMES))
def test_qlinear_operators(seed: int, tmp_path: Path) -> None:
    model, x = qlinear(seed), image(seed)
    np.testing.assert_array_equal(computed(model, tmp_path, x, seed), reference(model, x))


@needs_gcc
@pytest.mark.parametrize("seed", range(2 * TIMES))
def test_floats_between_quantizing_become_integers(seed: int, tmp_path: Path) -> None:
    """With scales that make no rounding errors in single precision, the integers are those of the floats."""
    model, x = qdq(seed, exact=seed % 2 == 0), image(seed)
    found = computed(model, tmp_path, x, seed)
    np.testing.assert_array_equal(found, reference(rewritten(model)[0], x))
    if seed % 2 == 0:
        np.testing.assert_array_equal(found, reference(model, x))


@needs_gcc
def test_ties_and_the_ends_of_the_range(tmp_path: Path) -> None:
    """Halves are rounded to the even number, before the zero point is added; what is too large is the largest."""
    x = np.array([[-1e4, -3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1e4]], np.float32)
    nodes = [
        node("QuantizeLinear", ["x", "one", "zero"], ["q"], "q"),
        node("DequantizeLinear", ["q", "one", "zero"], ["d"], "d"),
        node("MatMul", ["d", "w"], ["y"], "product"),
    ]
    stored = {"one": np.float32(1), "zero": np.array(3, np.int8), "w": np.eye(9, dtype=np.float32)}
    model = model_of(nodes, {"x": [1, 9]}, stored={k: np.asarray(v) for k, v in stored.items()})
    found = computed(model, tmp_path, x, 0)
    np.testing.assert_array_equal(found, [-131, -4, -2, -2, 0, 0, 2, 2, 124])
    np.testing.assert_array_equal(found, reference(model, x))


@needs_gcc
def test_integers_of_the_caller_are_read_and_written(tmp_path: Path) -> None:
    """Inputs and outputs of whole numbers; sums of 32 bits."""
    nodes = [node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], "conv", pads=[1, 1, 1, 1])]
    rng = np.random.default_rng(0)
    stored = {
        "w": rng.integers(0, 256, (4, 3, 3, 3)).astype(np.uint8),
        **{"xz": np.array(7, np.uint8), "wz": np.array(131, np.uint8)},
    }
    model = model_of(nodes, {"x": (list(IMAGE), TensorProto.UINT8)}, stored=stored)
    x = rng.integers(0, 256, IMAGE).astype(np.uint8)
    np.testing.assert_array_equal(computed(model, tmp_path, x, 1), reference(model, x))


def test_what_has_no_program_is_named(tmp_path: Path) -> None:
    nodes = [
        node("MatMulInteger", ["x", "w"], ["a"], "product"),
        node("Cast", ["a"], ["b"], "narrow", to=TensorProto.INT8),
        node("Cast", ["b"], ["c"], "wide", to=TensorProto.INT32),
        node("Add", ["b", "b8"], ["y"], "sum"),
    ]
    stored = {"w": np.ones((3, 4), np.int8), "b8": np.ones(4, np.int8)}
    model = model_of(nodes, {"x": ([2, 3], TensorProto.INT8)}, stored=stored)
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    rng = random.Random(0)
    with pytest.raises(MappingError) as caught:
        network_program(random_answer(rng, graph, random_architecture(rng)))
    assert "Cast narrow: there is no program for a cast from INT32 to INT8, which wraps" in str(caught.value)
