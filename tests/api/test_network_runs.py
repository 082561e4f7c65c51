"""`result.run` computes what the model says, by either program."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import tilewright as tw
from onnx_models import model_of
from tilewright.compiled import NetworkForm
from tilewright.network_runs import compiler

node = helper.make_node


def small(rows: int | str = 2) -> onnx.ModelProto:
    """Two inputs, of which one is added behind a product, and two outputs."""
    rng = np.random.default_rng(3)
    stored = {name: rng.standard_normal((6, 6)).astype(np.float32) for name in ("v", "w")}
    nodes = [
        node("MatMul", ["x", "v"], ["a"], "first"),
        node("Add", ["a", "shift"], ["b"], "add"),
        node("Relu", ["b"], ["h"], "relu"),
        node("MatMul", ["h", "w"], ["y"], "last"),
    ]
    return model_of(nodes, {"x": [rows, 6], "shift": [rows, 6]}, outputs=("h", "y"), stored=stored)


def given() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    return {name: rng.standard_normal((2, 6)).astype(np.float32) for name in ("shift", "x")}


@pytest.mark.parametrize("form", get_args(NetworkForm))
def test_outputs_have_the_names_shapes_and_types_of_the_model(form: NetworkForm) -> None:
    if form == "c" and compiler() is None:
        pytest.skip("no C compiler")
    model = small()
    result = tw.compile(model, "three_level", widths="arch", fuse="none", workers=1)
    for _ in range(2):  # the program is there the second time
        found = result.run(given(), form)
        expected = ReferenceEvaluator(model).run(None, given())
        assert list(found) == ["h", "y"]
        for words, reference in zip(found.values(), expected, strict=True):
            assert words.dtype == np.float32
            np.testing.assert_allclose(words, reference, rtol=1e-5, atol=1e-5)


def test_numpy_runs_where_there_is_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    result = tw.compile(small(), "three_level", widths="arch", fuse="none", workers=1)
    assert list(result.run(given())) == ["h", "y"]
    with pytest.raises(tw.TilewrightError, match="no C compiler"):
        result.run(given(), "c")


@pytest.mark.long
def test_bytes_are_a_model_and_messages_do_not_name_the_file_that_keeps_them() -> None:
    result = tw.compile(
        small("batch").SerializeToString(), "three_level", widths="arch", dims={"batch": 2}, fuse="none"
    )
    assert list(result.run(given(), "numpy")) == ["h", "y"]
    with pytest.raises(tw.TilewrightError, match=r"^the model: the size of batch \(x\.0 and shift\.0\) is not given"):
        tw.compile(small("batch"), "three_level")
    with pytest.raises(tw.TilewrightError, match="not an ONNX model"):
        tw.compile(b"no model", "three_level")


def test_a_table_runs_on_rows_of_words(tmp_path: Path) -> None:
    table = tmp_path / "two.yaml"
    table.write_text(
        "network: two\nlayers:\n  - {name: up, op: gemm, M: 4, N: 6, K: 5, weight: true}\n"
        "  - {name: down, op: gemm, M: 4, N: 3, K: 6, weight: true}\ngraph: [up, down]\n"
    )
    found = tw.compile(table, "three_level", fuse="none", workers=1).run({"input": np.ones(20)}, "numpy")
    assert {name: words.shape for name, words in found.items()} == {"down": (12,)}


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "the input x is not given; expected numbers of shape [2, 6]"),
        ({**given(), "z": 1}, "unknown input 'z'"),
        ({**given(), "x": np.ones((6, 2))}, "the input x is [6, 2] of float64, expected [2, 6] of numbers"),
        ({**given(), "x": np.full((2, 6), "a")}, "expected [2, 6] of numbers"),
        (np.ones((2, 6)), "expected arrays by name"),
    ],
)
def test_wrong_inputs_are_named(inputs: dict[str, np.ndarray], message: str) -> None:
    result = tw.compile(small(), "three_level", widths="arch", fuse="none", workers=1)
    with pytest.raises(tw.TilewrightError) as error:
        result.run(inputs)
    assert message in str(error.value)


def test_what_the_compiler_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuses = tmp_path / "cc"
    refuses.write_text("#!/bin/sh\necho 'error: no such target' >&2\nexit 1\n")
    refuses.chmod(0o755)
    monkeypatch.setenv("CC", str(refuses))
    result = tw.compile(small(), "three_level", widths="arch", fuse="none", workers=1)
    with pytest.raises(tw.TilewrightError, match="the compiler refuses it: error: no such target"):
        result.run(given())
