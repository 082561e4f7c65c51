"""Sums of neighbours of Resize, against `onnx.reference`."""

from __future__ import annotations

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

    def __init__(self, scales: np.ndarray) -> None:
        self.scales = scales

    def values(self) -> dict[str, np.ndarray]:
        return {"scales": self.scales}


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
    assert is_weighted(node)
    rows, columns = taps(node, x.shape, expected.shape, Parameters(given))  # type: ignore[arg-type]
    words = x[rows[0][:, None, :, None], columns[0][None, :, None, :]]
    found = (words * rows[1][:, None, :, None] * columns[1][None, :, None, :]).sum(axis=(2, 3))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def resized(x: np.ndarray, scales: np.ndarray, attributes: dict[str, object]) -> np.ndarray:
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes)
    known = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in ("x", "scales")]
    graph = helper.make_graph([node], "g", known, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    return np.asarray(ReferenceEvaluator(model).run(None, {"x": x, "scales": scales})[0])


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
