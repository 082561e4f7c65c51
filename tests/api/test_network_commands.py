"""Commands that take a whole network in place of a layer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from onnx import helper
from typer.testing import CliRunner, Result

from onnx_models import model_of, saved
from tilewright.cli import app
from tilewright.mapper.ski_slope import ski_slope
from tilewright.workloads import load_network

LONG = "/model/encoder/layers/0/attention/self/query/projection/MatMul"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def model(tmp_path: Path) -> Path:
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["a"], LONG),
        helper.make_node("MatMul", ["a", "w"], ["b"], "second"),
        helper.make_node("MatMul", ["b", "w"], ["y"], "third"),
    ]
    return saved(tmp_path, model_of(nodes, {"x": ["n", 8]}, stored={"v": [8, 16], "w": [16, 16]}))


def test_bound_of_a_network_is_the_sum_over_its_layers(tmp_path: Path) -> None:
    path = model(tmp_path)
    shown = json.loads(run("bound", path, "--dim", "n=4", "--sizes", "32,1024", "--json").stdout)
    layers = load_network(path, {"n": 4}).layers
    each = [list(ski_slope(layer.problem, [32, 1024])) for layer in layers]
    assert [layer.repeat for layer in layers] == [1, 2]
    for number, point in enumerate(shown["points"]):
        expected = sum(layer.repeat * points[number].traffic for layer, points in zip(layers, each, strict=True))
        assert point["traffic_words"] == point["least_words"] == expected
        assert point["bound_words"] <= expected
    assert shown["points"][1]["traffic_words"] == shown["compulsory_words"]
    assert [layer["repeat"] for layer in shown["layers"]] == [1, 2]
    page = run("bound", path, "--dim", "n=4", "--sizes", "32,1024").stdout
    assert "3 layers, 2 distinct ones" in page


def test_bound_of_a_network_refuses_what_is_of_a_layer(tmp_path: Path) -> None:
    refused = run("bound", model(tmp_path), "--out", tmp_path / "out")
    assert refused.exit_code == 2
    assert "--out: the traffic of a whole network is printed" in refused.stderr


def test_roofline_takes_a_network_in_place_of_a_layer(tmp_path: Path) -> None:
    path = model(tmp_path)
    asked = ("--dim", "n=4", "--arch", "three_level", "--widths", "arch", "--json")
    assert run("roofline", path, *asked).stdout == run("roofline", "--network", path, *asked).stdout


def test_tables_shorten_names_in_the_middle(tmp_path: Path) -> None:
    path = model(tmp_path)
    page = run("network", path, "--dim", "n=4").stdout
    assert LONG not in page
    assert "/model/encoder/laye…ry/projection/MatMul" in page
    assert LONG in run("network", path, "--dim", "n=4", "--json").stdout


def test_the_last_lines_of_a_network_say_what_programs_there_are(tmp_path: Path) -> None:
    """The forms, what programs compute apart from all groups, and the share of the MACs that groups have."""
    weights = {"w": [1, 8, 4], "r": [1, 8, 2], "v": [2, 4]}
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r"], ["", "h"], "cell", hidden_size=2),
        helper.make_node("Reshape", ["h", "flat"], ["f"], "flatten"),
        helper.make_node("MatMul", ["f", "v"], ["y"], "last"),
    ]
    stored = {**weights, "flat": np.array([1, 2])}
    path = saved(tmp_path, model_of(nodes, {"x": [3, 1, 4]}, stored=stored))
    lines = run("network", path).stdout.splitlines()
    assert lines[-4] == "Programs"
    assert lines[-3].startswith("  Forms      compile --emit c, numpy")
    assert lines[-2] == "  Apart      1 LSTM"
    assert lines[-1].startswith("  In groups")
    document = json.loads(run("network", path, "--json").stdout)
    assert list(document["computed_apart"].values()) == [["LSTM"]]
