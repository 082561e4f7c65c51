"""Densities from tables of layers, and counted from the weights of ONNX files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli import app
from tilewright.cost_models.sparse import densities_of

TABLE = """
network: pruned
graph: [fc, dense]
layers:
  - {name: fc, op: gemm, M: 16, N: 16, K: 16, weight: true, density: {W: 2:4@K, A: 0.5}}
  - {name: dense, op: gemm, M: 16, N: 16, K: 16, weight: true}
"""


@pytest.mark.long
def test_a_table_states_densities(tmp_path: Path) -> None:
    path = tmp_path / "pruned.yaml"
    path.write_text(TABLE)
    layer = tw.load_layer(f"{path}:fc")
    assert [tensor.density for tensor in layer.tensors] == ["0.5", "2:4@K", None]
    found = tw.search(layer, "sparse_tensor_core")
    assert found.cost.zeros is not None
    assert found.cost.zeros.operations.skipped == 16**3 / 2
    compared = tw.compare(networks=[path], archs=["sparse_tensor_core"], tiling="perfect")
    by_layer = {row.layer: row.value for row in compared.rows}
    assert by_layer["fc"] < by_layer["dense"]


@pytest.mark.parametrize("command", ["search", "space", "bound", "compile"])
def test_cascades_refuse_what_a_table_states(command: str, tmp_path: Path) -> None:
    """Its densities were left out without a word once."""
    path = tmp_path / "pruned.yaml"
    path.write_text(TABLE)
    work = str(path) if command == "compile" else f"{path}:fc+dense"
    machine = () if command == "bound" else ("--arch", "sparse_tensor_core")
    done = CliRunner().invoke(app, [command, work, *machine])
    assert done.exit_code == 2, done.output
    assert "fc: density: cascades know no densities yet" in done.stderr
    given = CliRunner().invoke(app, ["space", f"{path}:fc+dense", "--density", "W=0.5", "--arch", "scnn_like"])
    assert "give one operation at a time" in given.stderr


@pytest.mark.parametrize(
    ("density", "message"),
    [
        ("{X: 0.5}", "no operand 'X'"),
        ("{W: [1]}", "found a list, expected a density"),
        ("2:4", "expected keys with values"),
    ],
)
def test_what_a_table_may_not_say(density: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "pruned.yaml"
    path.write_text(TABLE.replace("{W: 2:4@K, A: 0.5}", density))
    with pytest.raises(tw.TilewrightError, match=message):
        tw.load_layer(f"{path}:fc")


def onnx_file(folder: Path) -> tuple[Path, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    weights = {
        "w1": rng.integers(0, 2, (4, 8, 3, 3)).astype(np.float32),
        "w2": (rng.random((6, 4 * 36)) < 0.3).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["y"], name="conv"),
        helper.make_node("Flatten", ["y"], ["f"], name="flat"),
        helper.make_node("Gemm", ["f", "w2"], ["z"], name="fc", transB=1),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 8, 8])]
    outputs = [helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 6])]
    stored = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    model = helper.make_model(helper.make_graph(nodes, "net", inputs, outputs, stored))
    path = folder / "net.onnx"
    onnx.save(model, path)
    return path, weights


@pytest.mark.long
def test_weights_of_an_onnx_file_are_counted(tmp_path: Path) -> None:
    path, weights = onnx_file(tmp_path)
    for name, stored in (("conv", weights["w1"]), ("fc", weights["w2"].T)):
        words = ("search", f"{path}:{name}", "--arch", "scnn_like", "--density", "W=measured", "--objective", "energy")
        done = CliRunner().invoke(app, [*words, "--json", "--no-cache"])
        assert done.exit_code == 0, done.stderr
        document = tmp_path / "mapping.json"
        document.write_text(done.stdout)
        loaded = tw.load_mapping(document)
        (measured,) = densities_of(loaded.mapping.problem).values()
        assert (measured.values == (stored.reshape(measured.values.shape) != 0)).all()
        done_macs = json.loads(done.stdout)["cost"]["zeros"]["operations"]["done"]
        share = np.count_nonzero(stored) / stored.size
        assert done_macs == pytest.approx(loaded.mapping.problem.macs * share)


def test_what_cannot_be_counted(tmp_path: Path) -> None:
    path, _ = onnx_file(tmp_path)
    for layer, message in ((f"{path}:conv", "I=measured"), ("resnet50:conv1", "W=measured")):
        done = CliRunner().invoke(app, ["search", layer, "--arch", "scnn_like", "--density", message])
        assert (done.exit_code, done.stdout) == (2, "")
        assert "measured is known of the weights" in done.stderr
