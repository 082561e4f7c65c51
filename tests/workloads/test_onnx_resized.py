"""Sums of neighbours of Resize, against `onnx.reference`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tilewright.ir import ProblemError
from tilewright.workloads.onnx.nodes import OnnxNode, OnnxValue
from tilewright.workloads.onnx.resized import is_weighted, taps

WAYS = ("align_corners", "asymmetric", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
SCALES = ((1.0, 2.0), (1.5, 0.6), (3.0, 1.0))


class Parameters:
    """Stored parameters, by name."""

    def __init__(self, given: np.ndarray) -> None:
        self.given = given

    def values(self) -> dict[str, np.ndarray]:
        return {"scales": self.given, "sizes": self.given}


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scales", SCALES)
def test_sums_of_neighbours_are_those_of_onnx(mode: str, way: str, scales: tuple[float, ...]) -> None:
    x = np.random.default_rng(1).standard_normal((4, 5)).astype(np.float32)
    given = np.array(scales, np.float32)
    attributes = {"mode": mode, "coordinate_transformation_mode": way}
    attributes |= {"exclude_outside": 1} if mode == "cubic" and way == "half_pixel" else {}
    expected = resized(x, given, attributes)
    inputs = (OnnxValue("x", x.shape), None, OnnxValue("scales", (2,), constant=True))
    node = OnnxNode("up", "Resize", "", inputs, (OnnxValue("y", expected.shape),), attributes)
    np.testing.assert_allclose(resized_by_taps(node, x, given), expected, atol=1e-5)


def resized_by_taps(node: OnnxNode, x: np.ndarray, given: Sequence[float] | np.ndarray) -> np.ndarray:
    """What a node makes of an image, whose scales or sizes are given."""
    assert is_weighted(node)
    shape = node.output.shape
    assert shape is not None
    rows, columns = taps(node, x.shape, shape, Parameters(np.asarray(given)))  # type: ignore[arg-type]
    words = x[rows[0][:, None, :, None], columns[0][None, :, None, :]]
    return np.asarray((words * rows[1][:, None, :, None] * columns[1][None, :, None, :]).sum(axis=(2, 3)))


def resized(x: np.ndarray, scales: np.ndarray, attributes: dict[str, object]) -> np.ndarray:
    return computed(helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes), {"x": x, "scales": scales})


def computed(node: onnx.NodeProto, given: dict[str, np.ndarray]) -> np.ndarray:
    known = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), None) for n, v in given.items()]
    graph = helper.make_graph([node], "g", known, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    return np.asarray(ReferenceEvaluator(model).run(None, given)[0])


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller", "stretch"])
@pytest.mark.parametrize("sizes", [(7, 11), (3, 4)])
def test_sizes_may_keep_the_ratio_of_an_image(policy: str, sizes: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).standard_normal((4, 5)).astype(np.float32)
    attributes = {"mode": "linear", "keep_aspect_ratio_policy": policy}
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    expected = computed(node, {"x": x, "sizes": np.array(sizes)})
    inputs = (OnnxValue("x", x.shape), None, None, OnnxValue("sizes", (2,), constant=True))
    found = resized_by_taps(
        OnnxNode("up", "Resize", "", inputs, (OnnxValue("y", expected.shape),), attributes), x, sizes
    )
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_positions_of_old_versions_are_rounded_down() -> None:
    """`onnx.reference` has no such versions."""
    x = np.arange(4.0)
    inputs = (OnnxValue("x", (4,)), OnnxValue("scales", (1,), constant=True))
    for scale, expected in ((2.0, [0, 0, 1, 1, 2, 2, 3, 3]), (1.5, [0, 0, 1, 2, 2, 3]), (0.5, [0, 2])):
        node = OnnxNode("up", "Upsample", "", inputs, (OnnxValue("y", (len(expected),)),), {"mode": b"nearest"})
        assert is_weighted(node)
        ((index, factors),) = taps(node, (4,), (len(expected),), Parameters(np.array([scale])))  # type: ignore[arg-type]
        assert (x[index] * factors).ravel().tolist() == expected


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"mode": "spline"}, "no program for mode 'spline'"),
        ({"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}, "no program for coordinate_"),
        ({"mode": "linear", "antialias": 1}, "no program for antialias"),
    ],
)
def test_other_ways_are_refused_by_name(attributes: dict[str, object], message: str) -> None:
    node = OnnxNode("up", "Resize", "", (OnnxValue("x", (2,)), None, None), (OnnxValue("y", (4,)),), attributes)
    with pytest.raises(ProblemError, match=message):
        is_weighted(node)
