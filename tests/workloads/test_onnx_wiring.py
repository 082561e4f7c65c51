"""ONNX graphs and nodes that are wrong: one message, which blames the node at fault and says what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import tilewright as tw
from onnx_models import model_of, saved

node = helper.make_node
IMAGE, FILTER, SMALL = {"x": [1, 3, 8, 8]}, {"w": [4, 3, 3, 3]}, {"x": [1, 3, 2, 2]}
MATRIX, SQUARE = {"x": [4, 5]}, {"v": [4, 4]}


def conv(**attributes: Any) -> list[Any]:
    """A convolution that is wrong, and one behind it, which is not to blame."""
    return [node("Conv", ["x", "w"], ["a"], "first", **attributes), node("Conv", ["a", "u"], ["y"], "second")]


def einsum(equation: str) -> list[Any]:
    return [node("Einsum", ["x", "v"], ["a"], "first", equation=equation), node("MatMul", ["a", "u"], ["y"], "second")]


CASES: dict[str, tuple[list[Any], dict[str, Any], dict[str, Any], str]] = {
    "a filter larger than its input": (
        conv(),
        SMALL,
        FILTER | {"u": [4, 4, 1, 1]},
        "Conv first: a filter over 3 elements does not fit spatial axis 1, of 2",
    ),
    "stride 0": (conv(strides=[0, 1]), IMAGE, FILTER | {"u": [4, 4, 1, 1]}, "Conv first: strides is 0, expected 1 or"),
    "negative pads": (
        conv(pads=[-1, 0, 0, 0]),
        IMAGE,
        FILTER | {"u": [4, 4, 1, 1]},
        "Conv first: pads is -1, expected 0 or more",
    ),
    "another kernel": (
        conv(kernel_shape=[5, 5]),
        IMAGE,
        FILTER | {"u": [4, 4, 1, 1]},
        "Conv first: kernel_shape is [5, 5], and the filter's shape says [3, 3]",
    ),
    "matrices that do not match": (
        [node("MatMul", ["x", "v"], ["a"], "first"), node("MatMul", ["a", "v"], ["y"], "second")],
        MATRIX,
        SQUARE,
        "MatMul first: shapes [4, 5] and [4, 4] do not match: 5 and 4",
    ),
    "matrices of Gemm": (
        [node("Gemm", ["x", "v"], ["y"], "first")],
        MATRIX,
        SQUARE,
        "Gemm first: shapes [4, 5] and [4, 4] do not match",
    ),
    "an index of nothing": (
        einsum("ij,jk->iq"),
        MATRIX,
        {"v": [5, 6], "u": [6, 6]},
        "Einsum first: output index 'q' is in no operand",
    ),
    "an equation that is none": (
        einsum("ij,jk->ik->i"),
        MATRIX,
        {"v": [5, 6], "u": [6, 6]},
        "Einsum first: cannot read the equation",
    ),
    "too many indices": (
        einsum("ij,jkl->il"),
        MATRIX,
        {"v": [5, 6], "u": [6, 6]},
        "Einsum first: 'jkl' has 3 indices for an operand",
    ),
    "sums that do not match": (
        [node("Add", ["x", "b"], ["a"], "first"), node("MatMul", ["a", "v"], ["y"], "second")],
        {"x": [4, 4], "b": [3, 3]},
        SQUARE,
        "Add first: [4, 4] and [3, 3] do not fit, expected equal sizes or 1",
    ),
    "a pooling that leaves nothing": (
        [node("MaxPool", ["x"], ["a"], "first", kernel_shape=[9, 9]), node("Conv", ["a", "w"], ["y"], "second")],
        IMAGE,
        FILTER,
        "MaxPool first: its window does not fit: of [1, 3, 8, 8] it leaves [1, 3, 0, 0]",
    ),
    "a transposed convolution of nothing": (
        [node("ConvTranspose", ["x", "t"], ["y"], "first", pads=[9, 9, 9, 9])],
        IMAGE,
        {"t": [3, 4, 3, 3]},
        "ConvTranspose first: pads of 9 and 9 leave nothing of the 10 outputs of spatial axis 1",
    ),
    "a cycle": (
        [node("Add", ["x", "b"], ["a"], "one"), node("Relu", ["a"], ["b"], "two"), node("MatMul", ["b", "v"], ["y"])],
        {"x": [4, 4]},
        SQUARE,
        "a cycle: Relu two -> Add one -> Relu two",
    ),
    "an input that nothing makes": (
        [node("Relu", ["zz"], ["a"], "first"), node("MatMul", ["a", "v"], ["y"], "second")],
        MATRIX,
        SQUARE,
        "Relu first: it reads zz, which is neither an input nor a parameter, and no node makes it",
    ),
    "nodes out of order": (
        [node("MatMul", ["b", "v"], ["y"], "first"), node("Relu", ["x"], ["b"], "second")],
        {"x": [4, 4]},
        SQUARE,
        "MatMul first: it reads b, which Relu second makes only after it",
    ),
    "two makers": (
        [node("MatMul", ["x", "v"], ["y"], "first"), node("Relu", ["x"], ["y"], "second")],
        {"x": [4, 4]},
        SQUARE,
        "Relu second: it makes y, which MatMul first has made already",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_node_at_fault_is_blamed(case: str, tmp_path: Path) -> None:
    nodes, inputs, stored, message = CASES[case]
    path = saved(tmp_path, model_of(nodes, inputs, stored=stored))
    with pytest.raises(tw.TilewrightError) as caught:
        tw.load_network(path)
    assert message in str(caught.value)
    assert "shape" not in str(caught.value) or "shape" in message


def test_a_weight_without_elements_is_refused(tmp_path: Path) -> None:
    stored = {"v": np.zeros((4, 0), dtype=np.float32)}
    path = saved(tmp_path, model_of([node("MatMul", ["x", "v"], ["y"])], {"x": [4, 4]}, stored=stored))
    with pytest.raises(tw.TilewrightError, match=r"the weight v is \[4, 0\]: no elements"):
        tw.load_network(path)


def two_files(folder: Path) -> tuple[str, str]:
    """Networks with one symbol in common, and one each of their own."""
    for name, shape in (("a", ["batch", "left", 4]), ("b", ["batch", "right", 4])):
        saved(folder, model_of([node("MatMul", ["x", "v"], ["y"])], {"x": shape}, stored=SQUARE), f"{name}.onnx")
    return str(folder / "a.onnx"), str(folder / "b.onnx")


@pytest.mark.long
def test_several_files_take_the_symbols_that_they_know(tmp_path: Path) -> None:
    sizes = {"batch": 2, "left": 3, "right": 5}
    found = tw.compare(two_files(tmp_path), ["three_level"], ["free"], dims=sizes, workers=1, cache=False)
    assert [row.problem.sizes["M"] for row in found.rows] == [6, 10]
    first, second = (row.command for row in found.rows)
    assert "left=3" in first
    assert "right=" not in first
    assert "right=5" in second
    assert found.command.count("batch=2") == 1
    assert "left=3" in found.command
    assert "right=5" in found.command


def test_the_hint_names_all_symbols_that_are_open(tmp_path: Path) -> None:
    paths = two_files(tmp_path)
    with pytest.raises(tw.TilewrightError) as caught:
        tw.compare(paths, ["three_level"], dims={"batch": 1})
    assert "the size of left, right is not given" in str(caught.value)
    assert "--dim left=1 --dim right=1" in str(caught.value)
    with pytest.raises(tw.TilewrightError, match="unknown dimension 'rihgt'") as caught:
        tw.compare(paths, ["three_level"], dims={"batch": 1, "left": 1, "rihgt": 1})
    assert "did you mean 'right'?" in str(caught.value)
