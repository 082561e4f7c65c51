"""What `compile` says of ONNX models that no program can be written for: one message, with all that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import tilewright as tw
from onnx_models import model_of, saved
from pages import run

node = helper.make_node
PRODUCT = [node("MatMul", ["x", "w"], ["y"], "product")]
WEIGHTS = np.ones((3, 4), np.float32)


def said(path: Path, **options: Any) -> str:
    with pytest.raises(tw.TilewrightError) as caught:
        tw.compile(path, "three_level", tiling="perfect", fuse="none", widths="arch", **options).save_program(
            path.parent
        )
    return str(caught.value)


def test_all_operators_without_a_program_are_named(tmp_path: Path) -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["a"], "first"),
        node("RandomNormalLike", ["a"], ["b"], "noise"),
        node("Unique", ["b"], ["u"], "different"),
        node("MatMul", ["b", "v"], ["y"], "second"),
    ]
    stored = {"w": WEIGHTS, "v": WEIGHTS.T.copy()}
    message = said(saved(tmp_path, model_of(nodes, {"x": [2, 3]}, ("y", "u"), stored=stored)))
    assert "RandomNormalLike noise: its words are random; Unique different: there is no program where" in message
    assert "what a program can have stands in docs/networks.md" in message


def test_outputs_of_unknown_size_are_said_before_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["boxes"], "product"),
        node("NonMaxSuppression", ["boxes", "scores"], ["y"], "best"),
    ]
    model = model_of(nodes, {"x": [1, 6, 4], "scores": [1, 2, 6]}, stored={"w": [4, 4]})
    monkeypatch.setattr("tilewright.compiled.compiled", None)  # nothing is searched
    command = ["compile", str(saved(tmp_path, model)), "--arch", "three_level", "--out", str(tmp_path / "out")]
    for form in ("c", "numpy"):
        done = run([*command, "--emit", form])
        assert done.exit_code == 2
        assert "NonMaxSuppression best: there is no program where the shape of y depends on data" in done.stderr


def test_operators_of_others_are_named_together(tmp_path: Path) -> None:
    nodes = [
        node("Magic", ["x"], ["a"], "magic", domain="mine"),
        node("Spell", ["a"], ["b"], "spell", domain="mine"),
        node("MatMul", ["b", "w"], ["y"], "product"),
    ]
    message = said(saved(tmp_path, model_of(nodes, {"x": [2, 3]}, stored={"w": WEIGHTS}, domains=("mine",))))
    assert "Magic magic is an operator of mine (so are Spell spell)" in message


def test_open_dimensions(tmp_path: Path) -> None:
    path = saved(tmp_path, model_of(PRODUCT, {"x": ["batch", 3]}, stored={"w": WEIGHTS}))
    assert "the size of batch (x.0) is not given" in said(path)


def test_no_outputs(tmp_path: Path) -> None:
    model = model_of(PRODUCT, {"x": [2, 3]}, stored={"w": WEIGHTS})
    del model.graph.output[:]
    assert "the graph has no outputs" in said(saved(tmp_path, model))


@pytest.mark.parametrize("left", [None, b"abc"])
def test_parameters_in_files_that_are_missing_or_short(left: bytes | None, tmp_path: Path) -> None:
    model, path = model_of(PRODUCT, {"x": [2, 3]}, stored={"w": WEIGHTS}), tmp_path / "model.onnx"
    onnx.save_model(model, str(path), save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "w.bin").unlink()
    if left is not None:
        (tmp_path / "w.bin").write_bytes(left)
    assert "parameters that lie in files of their own cannot be read" in said(path)


def test_parameters_without_data(tmp_path: Path) -> None:
    path = saved(tmp_path, model_of(PRODUCT, {"x": [2, 3]}, stored={"w": [3, 4]}))
    assert "the data of parameter w is missing, or not what its type and shape say" in said(path)
