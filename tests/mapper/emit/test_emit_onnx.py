"""C programs of ONNX models compute what ONNX's reference implementation does, their parameters included."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from emitted_networks import agrees_with_onnx, as_library, needs_gcc, random_answer, self_checked
from onnx import helper
from onnx.reference import ReferenceEvaluator

import longer
import tilewright as tw
from generators import random_architecture
from onnx_models import model_of, saved
from tilewright.ir import MappingError
from tilewright.mapper.emit.network import emit_c_network, emit_numpy_network, network_program, network_weights
from tilewright.workloads import load_network

node = helper.make_node
RNG = np.random.default_rng(5)


def w(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def images() -> onnx.ModelProto:
    """Convolutions with bias, batch norm, pooling with zeros around, groups, a residual addition, a last product."""
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["a"], "conv1", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["a", "s", "bb", "m", "v"], ["b"], "bn"),
        node("Relu", ["b"], ["c"], "relu"),
        node("MaxPool", ["c"], ["d"], "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Conv", ["d", "w2"], ["e"], "conv2", pads=[1, 1, 1, 1], group=2),
        node("Clip", ["e", "low", "high"], ["f"], "clip"),
        node("Add", ["f", "d"], ["g"], "add"),
        node("GlobalAveragePool", ["g"], ["h"], "gap"),
        node("Flatten", ["h"], ["i"], "flat"),
        node("Gemm", ["i", "w3", "b3"], ["y"], "fc", transB=1, alpha=0.5, beta=2.0),
    ]
    norm = {"s": w(4), "bb": w(4), "m": w(4), "v": np.abs(w(4)) + 0.5}
    bounds = {"low": np.array(0, np.float32), "high": np.array(6, np.float32)}
    stored = {"w1": w(4, 3, 3, 3), "b1": w(4), "w2": w(4, 2, 3, 3), "w3": w(5, 4), "b3": w(5), **norm, **bounds}
    return model_of(nodes, {"x": [1, 3, 6, 6]}, stored=stored)


def words() -> onnx.ModelProto:
    """A transformer block: norms with scale and bias, two heads, a softmax, a gated feed-forward."""
    nodes = [
        node("LayerNormalization", ["x", "g1", "c1"], ["n"], "norm1", epsilon=0.1),
        *(node("MatMul", ["n", f"w{one}"], [one], f"{one}_proj") for one in "qkv"),
        node("Add", ["q", "bq"], ["qb"], "q_bias"),
        *(node("Reshape", [f"{one}", "heads"], [f"{one}h"], f"{one}_heads") for one in ("qb", "k", "v")),
        node("Transpose", ["qbh"], ["qt"], "q_t", perm=[1, 0, 2]),
        node("Transpose", ["kh"], ["kt"], "k_t", perm=[1, 2, 0]),
        node("Transpose", ["vh"], ["vt"], "v_t", perm=[1, 0, 2]),
        node("MatMul", ["qt", "kt"], ["s"], "qk"),
        node("Div", ["s", "root"], ["sd"], "scale"),
        node("Softmax", ["sd"], ["p"], "softmax"),
        node("MatMul", ["p", "vt"], ["o"], "av"),
        node("Transpose", ["o"], ["ot"], "o_t", perm=[1, 0, 2]),
        node("Reshape", ["ot", "flat"], ["of"], "merge"),
        node("MatMul", ["of", "wo"], ["z"], "out"),
        node("Add", ["z", "x"], ["r"], "add1"),
        node("MatMul", ["r", "wu"], ["u"], "up"),
        node("Sigmoid", ["u"], ["us"], "sigmoid"),
        node("Mul", ["u", "us"], ["silu"], "silu"),
        node("MatMul", ["silu", "wd"], ["d"], "down"),
        node("Add", ["d", "r"], ["y"], "add2"),
    ]
    square = {f"w{one}": w(4, 4) for one in "qkvo"}
    shapes = {"heads": np.array([3, 2, 2]), "flat": np.array([3, 4])}
    rest = {"g1": w(4), "c1": w(4), "bq": w(4), "root": np.array(1.5, np.float32), "wu": w(4, 6), "wd": w(6, 4)}
    return model_of(nodes, {"x": [3, 4]}, stored={**square, **shapes, **rest})


def inverted() -> onnx.ModelProto:
    """Rows of pixels turned into products: functions of words that lie in another order, and one that is a parameter
    computed from parameters."""
    nodes = [
        node("Conv", ["x", "w1"], ["a"], "conv"),
        node("Reshape", ["a", "flat"], ["b"], "flat"),
        node("Transpose", ["b"], ["c"], "turn", perm=[1, 0]),
        node("Mul", ["twice", "twice"], ["four"], "folded"),
        node("Add", ["c", "four"], ["d"], "bias"),
        node("LeakyRelu", ["d"], ["e"], "leaky", alpha=0.1),
        node("MatMul", ["e", "w2"], ["f"], "product"),
        node("HardSwish", ["f"], ["y"], "swish"),
    ]
    stored = {"w1": w(3, 2, 1, 1), "flat": np.array([3, 4]), "twice": w(3), "w2": w(3, 2)}
    return model_of(nodes, {"x": [1, 2, 2, 2]}, stored=stored)


def gelus() -> onnx.ModelProto:
    """Two layers with the exact Gelu: as one operator, and as exporters write it out."""
    nodes = [
        node("MatMul", ["x", "w1"], ["a"], "up"),
        node("Gelu", ["a"], ["b"], "gelu"),
        node("MatMul", ["b", "w2"], ["c"], "down"),
        node("Div", ["c", "root"], ["d"], "div"),
        node("Erf", ["d"], ["e"], "erf"),
        node("Add", ["e", "one"], ["f"], "add"),
        node("Mul", ["c", "f"], ["g"], "mul"),
        node("Mul", ["g", "half"], ["y"], "half"),
    ]
    numbers = {"root": np.float32(2**0.5), "one": np.float32(1), "half": np.float32(0.5)}
    return model_of(
        nodes, {"x": [3, 4]}, stored={"w1": w(4, 6), "w2": w(6, 4), **{k: np.array(v) for k, v in numbers.items()}}
    )


MODELS = {"gelus": gelus, "images": images, "words": words, "inverted": inverted}


@pytest.mark.some(1)
@needs_gcc
@pytest.mark.parametrize("name", MODELS)
def test_a_model_computes_what_onnx_does(name: str, tmp_path: Path) -> None:
    """Whatever is fused, and on whatever machine; within the precision of the reference, which is single."""
    for seed in longer.seeds(2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        agrees_with_onnx(MODELS[name](), folder, seed)


def refused(
    folder: Path, nodes: list[Any], inputs: dict[str, Any], outputs: tuple[str, ...] = ("y",), **stored: Any
) -> str:
    graph = load_network(saved(folder, model_of(nodes, inputs, outputs, stored=stored))).wiring
    assert graph is not None
    rng = random.Random(0)
    with pytest.raises(MappingError) as caught:
        network_program(random_answer(rng, graph, random_architecture(rng)))
    return str(caught.value)


def test_all_that_has_no_program_is_named(tmp_path: Path) -> None:
    nodes = [
        node("MatMul", ["x", "u"], ["a"], "first"),
        node("RandomNormalLike", ["a"], ["b"], "noise"),
        node("CumSum", ["b", "axis"], ["c"], "sums"),
        node("MatMul", ["c", "v"], ["d"], "second"),
        node("Gather", ["d", "rows"], ["y"], "chosen"),
        node("Resize", ["d", "", "", "wide"], ["z"], "larger"),
    ]
    inputs = {"x": [2, 3], "rows": ([1], onnx.TensorProto.INT64), "wide": ([2], onnx.TensorProto.INT64)}
    said = refused(tmp_path, nodes, inputs, ("y", "z"), u=w(3, 4), v=w(4, 2), axis=np.array(0))
    assert "RandomNormalLike noise: its words are random" in said
    assert "Resize larger: there is no program where its sizes (wide) are computed while the model runs" in said
    assert "chosen" not in said
    assert "sums" not in said


def test_the_command_writes_the_parameters_of_the_file(tmp_path: Path) -> None:
    stored = {"u": w(3, 4), "v": w(4, 2), "b": w(2)}
    nodes = [node("MatMul", ["x", "u"], ["a"], "first"), node("Gemm", ["a", "v", "b"], ["y"], "second")]
    path = saved(tmp_path, model_of(nodes, {"x": ["batch", 3]}, stored=stored))
    result = tw.compile(
        path, "three_level", tiling="perfect", fuse="none", stays=False, dims={"batch": 2}, time_limit=1
    )
    values = np.frombuffer(result.weights(), "<f8")
    np.testing.assert_array_equal(values, np.concatenate([stored[name].ravel() for name in "uvb"]))
    text, weights, header, reference = result.save_program(tmp_path / "out")
    assert np.fromfile(reference, "<f8").size == 2 * 3 + 2 * 2
    assert (text.name, header.name) == ("network.c", "network.h")
    assert weights.read_bytes() == result.weights()


@needs_gcc
def test_cpp_calls_the_program_by_its_header(tmp_path: Path) -> None:
    path = saved(tmp_path, model_of([node("Relu", ["x"], ["y"], "only")], {"x": [3]}))
    tw.compile(path, "three_level", tiling="perfect", time_limit=1).save_program(tmp_path, element="float")
    (tmp_path / "main.cpp").write_text("""
        #include "network.h"
        #include <cstdio>
        #include <cstdlib>
        int main() {
            const float x[] = {-1, 2, 3}, *inputs[] = {x};
            float y[3], *outputs[] = {y};
            arenas *arena = static_cast<arenas *>(std::aligned_alloc(64, (arena_bytes() + 63) / 64 * 64));
            load(nullptr, arena);
            run(inputs, nullptr, outputs, arena);
            std::printf("%g %g %g", y[0], y[1], y[2]);
            std::free(arena);
        }
    """)
    strict = ["-Wall", "-Wextra", "-Werror"]
    for call in (["gcc", *strict, "-DNO_MAIN", "-c", "network.c"], ["g++", *strict, "main.cpp", "network.o", "-lm"]):
        subprocess.run(call, cwd=tmp_path, check=True)
    assert subprocess.run(["./a.out"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout == "0 2 3"


@pytest.mark.long
@needs_gcc
def test_functions_of_words_behind_windows_along_shared_loops(tmp_path: Path) -> None:
    """An inverted residual whose rows pass on chip, as searched: in C, and in numpy, which counts its words."""
    rng = np.random.default_rng(0)
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["a"], "expand"),
        node("Relu", ["a"], ["b"], "relu1"),
        node("Conv", ["b", "w2", "b2"], ["c"], "dw", pads=[1, 1, 1, 1], group=6),
        node("Relu", ["c"], ["d"], "relu2"),
        node("Conv", ["d", "w3"], ["y"], "project"),
    ]
    stored = {"w1": w(6, 2, 1, 1), "b1": w(6), "w2": w(6, 1, 3, 3), "b2": w(6), "w3": w(2, 6, 1, 1)}
    model = model_of(nodes, {"x": [1, 2, 8, 8]}, stored=stored)
    arch = tw.load_arch(Path(__file__).parents[2] / "golden" / "fused" / "F2.yaml", {"GLB.size": "360 B"})
    result = tw.compile(saved(tmp_path, model), arch, tiling="perfect", widths="arch", stays=False)
    mappings = [one.answer.mapping for one in result.segments if one.answer is not None]
    assert any(mapping.windows(name) for mapping in mappings for name in mapping.leaves)
    program = network_program(result.answer)
    x = rng.standard_normal((1, 2, 8, 8)).astype(np.float32)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    assert self_checked(tmp_path, program, emit_c_network(program), 0).returncode == 0
    weights = network_weights(program)
    found = as_library(tmp_path, program, [x.astype(np.float64)], weights)
    np.testing.assert_allclose(found, expected.ravel(), rtol=2e-4, atol=2e-5)
    names: dict[str, Any] = {"__name__": "network"}
    exec(compile(emit_numpy_network(program, "weights.bin"), "<network>", "exec"), names)
    assert not names["check"](weights, 0)[0]
    np.testing.assert_allclose(names["run"]([x], weights)[0][0], expected.ravel(), rtol=2e-4, atol=2e-5)
