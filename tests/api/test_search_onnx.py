"""Whatever an ONNX file turns into can be searched on every machine, and the program of its mapping runs."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import tilewright as tw
from tilewright.workloads.network import Widths
from tilewright.workloads.onnx import load_onnx

INPUTS = {
    "line": [1, 4, 9],
    "image": [1, 4, 4, 6],
    "volume": [1, 2, 3, 4, 5],
    "left": [2, 1, 4, 6],
    "right": [1, 3, 6, 8],
    "rows": [4, 6],
}
STORED = {"w1": [6, 2, 3], "w2": [8, 1, 3, 3], "w3": [4, 2, 2, 3, 2], "u": [4, 2, 3, 3], "a": [6, 4], "b": [4, 8]}
NODES = [
    helper.make_node("Conv", ["line", "w1"], ["o1"], "one_axis", group=2, strides=[2]),
    helper.make_node("Conv", ["image", "w2"], ["o2"], "depthwise", group=4, pads=[1, 1, 1, 1], dilations=[1, 2]),
    helper.make_node("Conv", ["volume", "w3"], ["o3"], "three_axes", strides=[1, 1, 2]),
    helper.make_node("ConvTranspose", ["image", "u"], ["o4"], "transposed", strides=[2, 2]),
    helper.make_node("MatMul", ["left", "right"], ["o5"], "broadcast"),
    helper.make_node("Einsum", ["rows", "a", "b"], ["o6"], "chain", equation="ij,jk,kl->il"),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def typed(name: str, shape: list[int]) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT16, shape)

    stored = [TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT16) for name, shape in STORED.items()]
    inputs = [typed(name, shape) for name, shape in INPUTS.items()]
    outputs = [helper.make_empty_tensor_value_info(node.output[0]) for node in NODES]
    graph = helper.make_graph(NODES, "kinds", inputs, outputs, stored)
    path = tmp_path_factory.mktemp("onnx") / "kinds.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return path


def test_every_node_is_a_layer(model: Path) -> None:
    network = load_onnx(model)
    names = {layer.name.partition("#")[0] for layer in network.layers}
    assert names == {node.name for node in NODES} | {"chain.1"}  # three operands, two at a time
    assert not network.passed


@pytest.mark.some(1)
@pytest.mark.parametrize(("arch", "widths"), [("eyeriss", "file"), ("tpu_v1", "arch")])
def test_searches(model: Path, arch: str, widths: Widths) -> None:
    """TPU v1 has one register of 8 bits for weights in a cell: words of its own width fit, and one weight operand."""
    for layer in tw.load_network(model, widths=widths).layers:
        result = tw.search(layer.problem, arch, "energy")
        assert result.certificate.proven, layer.name
        checked = result.verify()
        assert checked.agrees, layer.name
        assert checked.words_agree, layer.name


@pytest.mark.parametrize("layer", ["three_axes", "chain"])
def test_dataflows(model: Path, layer: str) -> None:
    """Dataflows are about roles, and so are at home with any problem."""
    problem = tw.load_layer(f"{model}:{layer}")
    assert tw.search(problem, "eyeriss", constraints="output-stationary").certificate.proven


def test_half_precision_weights_do_not_fit_a_register_of_8_bits(model: Path) -> None:
    with pytest.raises(tw.TilewrightError, match="one word of W needs 2 B, capacity is 1 B"):
        tw.search(tw.load_layer(f"{model}:broadcast"), "tpu_v1")
