"""Programs of quantized models have the meaning of their integers, to the last bit of `onnx.reference`."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from emitted_networks import as_library, built, needs_gcc, random_answer, self_checked
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from quantized_models import IMAGE, qdq, qlinear

import longer
import tilewright as tw
from generators import random_architecture
from onnx_models import model_of, saved
from tilewright.ir import MappingError
from tilewright.mapper.emit.network import (
    check_writable,
    emit_c_network,
    network_program,
    network_weights,
    stored_bytes,
)
from tilewright.mapper.emit.network.words.stored import WordType
from tilewright.workloads import load_network
from tilewright.workloads.onnx.rewrites import rewritten

node = helper.make_node


def computed(model: onnx.ModelProto, folder: Path, x: np.ndarray, seed: int) -> np.ndarray:
    """What the program of a model makes of an input, in some groups on some machine, under sanitizers."""
    rng = random.Random(seed)
    graph = load_network(saved(folder, model)).wiring
    assert graph is not None
    arch = random_architecture(rng, capacity=8000)
    program = network_program(random_answer(rng, graph, arch, stays=seed % 2 == 1, weights=seed % 3 == 1))
    done = self_checked(folder, program, emit_c_network(program), seed, *["-DPLANNED"] * (seed % 2))
    assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"
    return as_library(folder, program, [x.astype(np.float64)], network_weights(program))


def reference(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    (found,) = ReferenceEvaluator(model).run(None, {"x": x})
    return np.asarray(found).astype(np.float64).ravel()


def image(seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(IMAGE) * (1 + 2 * (seed % 2))).astype(np.float32)


@needs_gcc
@pytest.mark.parametrize("seed", longer.seeds(2))
def test_qlinear_operators(seed: int, tmp_path: Path) -> None:
    model, x = qlinear(seed), image(seed)
    np.testing.assert_array_equal(computed(model, tmp_path, x, seed), reference(model, x))


@pytest.mark.long
@needs_gcc
@pytest.mark.parametrize("seed", longer.seeds(2))
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


@pytest.mark.long
@needs_gcc
def test_words_have_types_of_their_own(tmp_path: Path) -> None:
    """Of inputs and outputs of a model, in the file of the parameters, and in arenas; distances of 8-bit words
    from a zero point too, which have 9 bits. An input may be a file of these types, or of doubles."""
    rng = np.random.default_rng(0)
    nodes = [
        node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "as", "az"], ["a"], "conv1", pads=[1, 1, 1, 1]),
        node("QLinearConv", ["a", "as", "az", "w2", "ws", "wz", "as", "az"], ["b"], "conv2", pads=[1, 1, 1, 1]),
        node("MaxPool", ["b"], ["y"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("DequantizeLinear", ["b", "as", "az"], ["z"], "dq"),
    ]
    stored = {
        **{"w": rng.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8), "xs": np.float32(0.1), "xz": np.uint8(200)},
        **{"w2": rng.integers(-128, 128, (4, 4, 3, 3)).astype(np.int8), "ws": np.float32(0.01), "wz": np.int8(0)},
        **{"as": np.float32(0.3), "az": np.uint8(77)},
    }
    model = model_of(
        nodes,
        {"x": (list(IMAGE), TensorProto.UINT8)},
        stored={k: np.asarray(v) for k, v in stored.items()},
        outputs=["y", "z"],
    )
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    program = network_program(random_answer(random.Random(0), graph, random_architecture(random.Random(0)), most=1))
    types = {key: program.kind(key) for key in (*program.inputs, *program.outputs)}
    assert [(one.type, one.bias) for one in types.values()] == [("uint8_t", 0), ("uint8_t", 0), ("float", 0)]
    assert WordType("uint8_t", 77) in program.stored.values()
    weights = network_weights(program)
    assert [w.stored_as.type for w in program.weights if w.words > 100] == ["int8_t", "int8_t"]
    assert len(stored_bytes(program, weights)) == sum(w.words * w.stored_as.bytes for w in program.weights)
    done = self_checked(tmp_path, program, emit_c_network(program), 0)
    assert done.returncode == 0, done.stdout + done.stderr
    x = rng.integers(0, 256, IMAGE).astype(np.uint8)
    y, z = ReferenceEvaluator(model).run(None, {"x": x})
    made = built(tmp_path, emit_c_network(program))
    for kind in (np.uint8, np.float64):
        x.astype(kind).tofile(tmp_path / "input.bin")
        files = ["--input", tmp_path / "input.bin", "--output", tmp_path / "output.bin"]
        subprocess.run([made, *files, "--weights", tmp_path / "weights.bin"], check=True, timeout=60)
        found = np.fromfile(tmp_path / "output.bin")
        np.testing.assert_array_equal(found, np.concatenate([y.ravel(), z.ravel()]).astype(float))


def test_what_c_has_no_program_for_is_named(tmp_path: Path) -> None:
    nodes = [
        node("MatMulInteger", ["x", "w"], ["a"], "product"),
        node("Cast", ["a"], ["b"], "narrow", to=TensorProto.FLOAT16),
        node("Cast", ["b"], ["c"], "wide", to=TensorProto.INT32),
        node("Add", ["c", "b8"], ["y"], "sum"),
    ]
    stored = {"w": np.ones((3, 4), np.int8), "b8": np.ones(4, np.int32)}
    model = model_of(nodes, {"x": ([2, 3], TensorProto.INT8)}, stored=stored)
    graph = load_network(saved(tmp_path, model)).wiring
    assert graph is not None
    why = "Cast narrow: C of a quantized model has no functions to link"
    with pytest.raises(MappingError, match=why):
        check_writable(graph, form="c")
    check_writable(graph, form="numpy")
    result = tw.compile(model, "eyeriss", total_limit=1)
    with pytest.raises(MappingError, match=why):
        result.save_program(tmp_path, "c")
