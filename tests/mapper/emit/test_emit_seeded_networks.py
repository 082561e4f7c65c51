"""Programs of MobileNet v2, ResNet-50 and a transformer block, smaller than they are, compute what onnx does."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from emitted_networks import as_library, needs_gcc, random_answer, self_checked
from onnx.reference import ReferenceEvaluator
from seeded_models import mobilenet_v2, quantized_mobilenet, resnet50, transformer_block

from generators import random_architecture
from longer import TIMES
from onnx_models import saved
from tilewright.mapper.emit.network import emit_c_network, emit_numpy_network, network_program, network_weights
from tilewright.workloads import load_network

MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "mobilenet_v2": lambda: mobilenet_v2(32, 0.25, 10),
    "resnet50": lambda: resnet50(32, 4, 10),
    "transformer_block": lambda: transformer_block(6, 16, 2),
    "quantized_mobilenet": lambda: quantized_mobilenet(16, 4, 5),
}

REWRITES = {
    "mobilenet_v2": {"batch norms": 52, "epilogues": 35},
    "resnet50": {"batch norms": 53, "epilogues": 49},
    "transformer_block": {"epilogues": 16},
    "quantized_mobilenet": {"epilogues": 4},
}
"""Batch norms of 52 and 53 convolutions, and the functions that are done as words are written."""


@needs_gcc
@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_a_network_computes_what_onnx_does(name: str, tmp_path: Path) -> None:
    """In C under sanitizers, and in numpy, with the words that the plan promises; tensors stay on chip in the first."""
    for seed in range(1, 1 + TIMES):
        model = MODELS[name]()
        network = load_network(saved(tmp_path, model))
        assert network.rewrites == REWRITES[name]  # type: ignore[attr-defined]
        assert network.wiring is not None
        rng = random.Random(seed)
        arch = random_architecture(rng, capacity=20000)
        program = network_program(random_answer(rng, network.wiring, arch, stays=seed % 2 == 1))
        done = self_checked(tmp_path, program, emit_c_network(program), seed)
        assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"
        shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
        x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
        expected = ReferenceEvaluator(model).run(None, {"x": x})[0].ravel()
        weights, close = network_weights(program), 2e-6 * np.abs(expected).max()
        np.testing.assert_allclose(as_library(tmp_path, program, [x], weights), expected, rtol=0, atol=close)
        names: dict[str, Any] = {"__name__": "network"}
        exec(compile(emit_numpy_network(program, "weights.bin"), "<network>", "exec"), names)
        with np.errstate(all="ignore"):
            (found,), words = names["run"]([x], weights)
        np.testing.assert_allclose(found, expected, rtol=0, atol=close)
        assert words == names["EXPECTED"]()
