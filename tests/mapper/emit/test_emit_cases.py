"""Small models that programs once computed wrongly or refused compute what ONNX says."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
import pytest
from emitted_networks import model_inputs, needs_gcc, random_answer, self_checked
from onnx.reference import ReferenceEvaluator

import cases
import tilewright as tw
from generators import random_architecture
from tilewright.mapper.emit.network import (
    emit_c_network,
    emit_numpy_network,
    network_program,
    network_weights,
    with_stored_widths,
)
from tilewright.workloads import load_network
from tilewright.workloads.graph import operation_groups

FOLDER = cases.CASES / "onnx"


def response(x: np.ndarray, model: onnx.ModelProto) -> np.ndarray:
    """LRN as its text has it: the reference makes sums of the first channel alone."""
    (kernel,) = (onnx.numpy_helper.to_array(one) for one in model.graph.initializer)
    conv = onnx.helper.make_model(
        onnx.helper.make_graph(model.graph.node[:1], "conv", model.graph.input, [onnx.ValueInfoProto(name="a")])
    )
    conv.graph.initializer.append(onnx.numpy_helper.from_array(kernel, "k"))
    (a,) = ReferenceEvaluator(conv).run(None, {"x": x})
    sums = np.stack([(a[:, max(0, c - 2) : c + 3] ** 2).sum(1) for c in range(3)], axis=1)
    return a / (1 + 1e-4 / 5 * sums) ** 0.75


def spectrum(x: np.ndarray, model: onnx.ModelProto) -> np.ndarray:
    """STFT of a signal without an axis for its parts, which the reference does not read."""
    stored = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    frames = np.stack([x[0, 160 * f : 160 * f + 400] for f in range(8)])
    return np.abs(np.fft.rfft(frames * stored["win"])) ** 2 @ stored["w"]


OWN: dict[str, Any] = {"lrn": response, "stft": spectrum}


@pytest.mark.some(3)
@pytest.mark.parametrize("name", ["idiv", "imean", "range", "chunk0", "zeros", "r4", "same2", "lrn", "stft"])
def test_a_small_model_computes_what_onnx_says(name: str) -> None:
    model, rng = onnx.load(FOLDER / f"{name}.onnx"), random.Random(0)
    graph = load_network(FOLDER / f"{name}.onnx").wiring
    assert graph is not None
    program = network_program(random_answer(rng, graph, random_architecture(rng)))
    inputs = model_inputs(model, 0, dict(zip(program.inputs, program.rows_named, strict=True)))
    if "l" in inputs:
        inputs["l"] = np.array([-15, -7, 6, 9] * (inputs["l"].size // 4)).reshape(inputs["l"].shape)
    emitted: dict[str, Any] = {"__name__": "emitted"}
    exec(emit_numpy_network(program, "weights.bin"), emitted)
    (found,), _ = emitted["run"]([np.ravel(inputs[key]) for key in program.inputs], network_weights(program))
    expected = OWN[name](inputs["x"], model) if name in OWN else ReferenceEvaluator(model).run(None, inputs)[0]
    np.testing.assert_allclose(found, expected.ravel(), rtol=2e-4, atol=2e-5)


def test_a_program_does_not_check_itself_by_its_own_reading(tmp_path) -> None:
    """Division of fractions in place of whole numbers agrees with plain loops of the same, and not with what is stored
    beside the program."""
    plan = tw.compile(FOLDER / "idiv.onnx", "three_level", widths="arch", tiling="perfect", fuse="none")
    source, weights, stored = plan.save_program(tmp_path, "numpy")
    text, words = source.read_text(), np.fromfile(weights, "<f8")
    wrong = text.replace("np.trunc(np.divide(left, right))", "np.divide(left, right)")
    assert wrong != text
    for program, says in ((text, 0), (wrong, 1)):
        emitted: dict[str, Any] = {"__name__": "emitted"}
        exec(program, emitted)
        assert emitted["check"](words)[0] == []
        found = emitted["beside_definition"](np.fromfile(stored, "<f8"), words)
        assert len(found) == says
    assert found[0].startswith("mm, beside onnx.reference: ")


def test_words_that_are_stored_wider_than_planned_are_known_before_the_search() -> None:
    arch = tw.load_arch("three_level")
    graph = load_network(FOLDER / "twosm.onnx").wiring
    assert graph is not None
    widened, wider = with_stored_widths(graph, arch)
    assert (wider["m1.max"], wider["m1.exp"]) == ((8, 32), (8, 64))
    (group,) = (group for group in operation_groups(widened, 1) if group.names == ("m1",))
    assert group.cascade is not None
    bits = {operation.output.name: operation.output.bits for operation in group.cascade}
    assert set(bits.values()) == {32, 64}
    plain = load_network(FOLDER / "same2.onnx").wiring
    assert plain is not None
    assert with_stored_widths(plain, arch) == (plain, {})


@needs_gcc
def test_equal_groups_whose_tensors_have_other_names(tmp_path) -> None:
    """Words of the one are stored as those of the other."""
    plan = tw.compile(FOLDER / "twosm.onnx", "three_level", fuse="none", stays=False, tiling="perfect", most=1)
    program = network_program(plan.answer)
    first, second = program.calls
    assert first.program is second.program
    assert {*first.keys} != {*second.keys}
    done = self_checked(tmp_path, program, emit_c_network(program), 0)
    assert done.returncode == 0, done.stdout + done.stderr
