"""Programs of transposed convolutions, phase by phase, against their definition on integers, and ONNX's reference."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from emitted_networks import agrees_with_onnx, needs_gcc, random_answer
from onnx import helper

import longer
from cases import CASES
from generators import random_architecture
from onnx_models import integers, model_of, saved
from tilewright.ir import MappingError
from tilewright.mapper.emit.network import check_writable, emit_numpy_network, network_program, network_weights
from tilewright.workloads import load_network

node = helper.make_node


def scattered(x: np.ndarray, w: np.ndarray, given: dict[str, Any]) -> np.ndarray:
    """The definition: every word of the image times the filter is added to the output."""
    strides, dilations, pads, grown = (given[key] for key in ("strides", "dilations", "pads", "output_padding"))
    groups, count = given["group"], len(strides)
    sizes = [
        s * (n - 1) + g + d * (k - 1) + 1
        for s, n, g, d, k in zip(strides, x.shape[2:], grown, dilations, w.shape[2:], strict=True)
    ]
    full = np.zeros((x.shape[0], w.shape[1] * groups, *sizes))
    reads, makes = x.shape[1] // groups, w.shape[1]
    for place in np.ndindex(*x.shape[2:]):
        for tap in np.ndindex(*w.shape[2:]):
            at = tuple(s * i + d * r for s, i, d, r in zip(strides, place, dilations, tap, strict=True))
            for group in range(groups):
                seen, theirs = (
                    x[(slice(None), slice(group * reads, (group + 1) * reads), *place)],
                    slice(group * reads, (group + 1) * reads),
                )
                full[(slice(None), slice(group * makes, (group + 1) * makes), *at)] += (
                    seen @ w[(theirs, slice(None), *tap)]
                )
    cut = (slice(low, size - high) for low, high, size in zip(pads[:count], pads[count:], sizes, strict=True))
    return full[(slice(None), slice(None), *cut)]


def a_model(seed: int) -> tuple[onnx.ModelProto, np.ndarray, np.ndarray]:
    """A transposed convolution of a few axes behind a Relu, with a bias and another Relu; an image, and the result."""
    rng = np.random.default_rng(seed)
    count, groups = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    strides, dilations = rng.choice([1, 2, 2, 3], count).tolist(), rng.integers(1, 3, count).tolist()
    image = [int(rng.integers(1, 3)), 2 * groups, *rng.integers(2, 5, count).tolist()]
    w = integers([2 * groups, int(rng.integers(1, 3)), *rng.integers(1, 5, count).tolist()], seed)
    reach = [
        s * (n - 1) + d * (k - 1) + 1 for s, n, d, k in zip(strides, image[2:], dilations, w.shape[2:], strict=True)
    ]
    pads = [int(rng.integers(0, min(3, 1 + r // 3))) for r in (*reach, *reach)]
    grown = [int(rng.integers(0, s)) for s in strides]
    given = {"strides": strides, "dilations": dilations, "pads": pads, "output_padding": grown, "group": groups}
    bias, x = integers([groups * w.shape[1]], seed + 1), integers(image, seed + 2)
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("ConvTranspose", ["r", "w", "b"], ["c"], "up", **given),
        node("Relu", ["c"], ["y"]),
    ]
    stored = {"w": w.astype(np.float32), "b": bias.astype(np.float32)}
    shape = (-1,) + (1,) * count
    return (
        model_of(nodes, {"x": image}, stored=stored),
        x,
        np.maximum(scattered(np.maximum(x, 0), w, given) + bias.reshape(shape), 0),
    )


@pytest.mark.parametrize("seeds", longer.blocks(120, 12))
def test_phases_make_what_the_definition_says(seeds: range, tmp_path: Path) -> None:
    """Also where it is computed apart: many phases, or one that reads a part of the image."""
    counts = set()
    for seed in seeds:
        model, x, expected = a_model(seed)
        network = load_network(saved(tmp_path, model))
        graph = network.wiring
        assert graph is not None
        assert sum(one.macs for one in graph) == network.macs
        rng = random.Random(seed)
        answer = random_answer(rng, graph, random_architecture(rng, capacity=8000), stays=seed % 2 == 1)
        assert graph.meaning is not None
        counts.add(len(graph.meaning.computed))
        if any(one.missing for one in graph.meaning.computed.values()):
            with pytest.raises(MappingError, match=r"ConvTranspose up: onnx\.reference takes it for one"):
                check_writable(graph, form="numpy")
            continue
        program = network_program(answer)
        names: dict[str, Any] = {"__name__": "network"}
        exec(compile(emit_numpy_network(program, "weights.bin"), "<network>", "exec"), names)
        (found,) = names["run"]([x.astype(np.float64)], network_weights(program))[0]
        np.testing.assert_array_equal(found, expected.ravel(), err_msg=f"seed {seed}")
    assert longer.occurs(counts == {0, 1})


@pytest.mark.some(1)
@needs_gcc
@pytest.mark.parametrize("name", ["k3s2p1op1", "ct_1d"])
def test_programs_in_c_agree_with_onnx(name: str, tmp_path: Path) -> None:
    for seed in longer.seeds(2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        agrees_with_onnx(onnx.load(CASES / "onnx" / f"{name}.onnx"), folder, seed)
