"""Numpy programs of whole networks: random segmentations and trees compute what onnx does, and move the words that the
plan promises."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from emitted_networks import model_inputs, random_answer
from onnx import helper
from onnx.reference import ReferenceEvaluator
from quantized_models import qdq, qlinear
from small_networks import SMALL
from test_emit_onnx import MODELS
from test_emit_onnx_apart import compared, embedded, exponentials, generator, moved, reshaped, squeezed, transformer

from generators import random_architecture
from longer import TIMES
from onnx_models import model_of, saved
from tilewright.cost_models.cascades import count_tree
from tilewright.mapper.emit.network import (
    NetworkProgram,
    emit_numpy_network,
    network_program,
    network_weights,
    weights_bytes,
)
from tilewright.mapper.segmentation import NetworkAnswer
from tilewright.workloads import load_network
from tilewright.workloads.graph import NetworkGraph

CASES: dict[str, Callable[[], onnx.ModelProto]] = {
    **MODELS,
    **{"compared": compared, "moved": moved, "embedded": embedded, "exponentials": exponentials, "squeezed": squeezed},
    **{"generator": generator, "reshaped": reshaped, "transformer": transformer},
    **{"qlinear": lambda: qlinear(0), "qdq": lambda: qdq(0)},
}


def written(graph: NetworkGraph, seed: int, stays: bool) -> tuple[NetworkAnswer, NetworkProgram, dict[str, Any]]:
    """Some plan of a network, and the names that its program defines."""
    rng = random.Random(seed)
    answer = random_answer(rng, graph, random_architecture(rng, capacity=6000), stays=stays, weights=stays)
    program = network_program(answer)
    names: dict[str, Any] = {"__name__": "network"}
    exec(compile(emit_numpy_network(program, "weights.bin"), "<network>", "exec"), names)
    return answer, program, names


def counted(answer: NetworkAnswer) -> list[dict[tuple[str, str], tuple[int, int]]]:
    """The words that the cost model counts for each group; what stays on chip passes nothing to the outermost memory,
    and takes nothing from it."""
    found = []
    for segment in answer.segments:
        if segment.answer is not None:
            words: Counter[tuple[str, str, str]] = Counter()
            for counts in count_tree(segment.answer.mapping, answer.question.arch).values():
                for (memory, tensor), one in counts.total.items():
                    words += Counter({(memory, tensor, "read"): one.reads, (memory, tensor, "write"): one.writes})
            outermost = answer.question.arch.memories[0].name
            for tensor, memory in segment.stays:
                words[memory, tensor, "write"] -= words.pop((outermost, tensor, "read"), 0)
                drained = words.pop((outermost, tensor, "write"), 0)
                words[memory, tensor, "read"] -= drained * answer.question.arch.inner_drain_read
            keys = dict.fromkeys(key[:2] for key, number in words.items() if number)
            found.append({key: (words[*key, "read"], words[*key, "write"]) for key in keys})
    return found


@pytest.mark.some(2)
@pytest.mark.parametrize("name", CASES)
def test_a_model_computes_what_onnx_does(name: str, tmp_path: Path) -> None:
    """Its own check, `run` beside the reference, and the words beside the cost model; tensors stay on chip in every
    second one."""
    for seed in range(TIMES):
        model = CASES[name]()
        graph = load_network(saved(tmp_path, model)).wiring
        assert graph is not None
        answer, program, names = written(graph, seed, stays=(seed + list(CASES).index(name)) % 2 == 0)
        weights = network_weights(program)
        wrong, words = names["check"](weights, seed)
        assert not wrong, f"seed {seed}: {wrong}"
        assert [{key: both for key, both in group.items() if any(both)} for _, group in words] == counted(answer)
        inputs = model_inputs(model, seed, dict(zip(program.inputs, program.rows_named, strict=True)))
        with np.errstate(all="ignore"):
            (found, *_), _ = names["run"]([inputs[key] for key in program.inputs], weights)
        expected = ReferenceEvaluator(model).run(None, inputs)[0].ravel()
        if name in ("qlinear", "qdq"):
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


def test_a_softmax_of_an_old_operator_set_is_over_all_axes_from_the_second_on(tmp_path: Path) -> None:
    """`onnx.reference` takes one axis there; ONNX's text says that the others are flattened."""
    nodes = [
        helper.make_node("MatMul", ["x", "u"], ["a"], "product"),
        helper.make_node("Softmax", ["a"], ["y"], "softmax"),
    ]
    u = np.arange(12, dtype=np.float32).reshape(3, 4) / 8
    graph = load_network(saved(tmp_path, model_of(nodes, {"x": [2, 2, 3]}, stored={"u": u}, opset=11))).wiring
    assert graph is not None
    _, program, names = written(graph, 0, stays=False)
    x = np.random.default_rng(0).standard_normal((2, 2, 3))
    (found, *_), _ = names["run"]([x], network_weights(program))
    expected = np.exp(x @ u)
    np.testing.assert_allclose(found, (expected / expected.sum(axis=(1, 2), keepdims=True)).ravel(), rtol=1e-9)


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["images", "queries"])
def test_a_table_is_exact(name: str, tmp_path: Path) -> None:
    """A program of a table, run as people do, and one whose promises are wrong."""
    path = tmp_path / f"{name}.yaml"
    path.write_text(SMALL[name], encoding="utf-8")
    graph = load_network(path).wiring
    assert graph is not None
    rng = random.Random(1)
    program = network_program(random_answer(rng, graph, random_architecture(rng, capacity=6000)))
    text = emit_numpy_network(program, "weights.bin")
    (tmp_path / "weights.bin").write_bytes(weights_bytes(network_weights(program)))

    def ran(text: str) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "network.py"
        file.write_text(text, encoding="ascii")
        return subprocess.run([sys.executable, file, "3"], capture_output=True, text=True, check=False, timeout=60)

    done = ran(text)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "OK: all outputs agree, and the words moved by" in done.stdout
    memory, promise = text.split("EXPECTED: dict[tuple[str, str], tuple[int, int]] = {\n")[1].split(": (", 1)
    reads = promise.split(",")[0]
    failed = ran(text.replace(f"{memory}: ({reads},", f"{memory}: ({int(reads) + 1},", 1))
    assert failed.returncode == 1
    assert "the words moved are not those of the plan" in failed.stdout
