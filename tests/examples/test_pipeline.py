"""examples/pipeline.py: a graph in, a schedule for each operator out, repeats searched once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from onnx import helper

import tilewright as tw
from onnx_models import model_of, saved

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "pipeline.py"
NODES = [
    helper.make_node("Conv", ["x", "w"], ["a"], "/body/conv1", pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["a"], ["b"], "/body/relu"),
    helper.make_node("Conv", ["b", "v"], ["c"], "/body/conv2", pads=[1, 1, 1, 1]),
    helper.make_node("Flatten", ["c"], ["d"], "flat"),
    helper.make_node("Gemm", ["d", "u"], ["y"], "head"),
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    stored = {"w": [4, 4, 3, 3], "v": [4, 4, 3, 3], "u": [144, 8]}
    return saved(tmp_path, model_of(NODES, {"x": [1, 4, 6, 6]}, stored=stored))


def run(*words: object) -> str:
    command = [sys.executable, str(EXAMPLE), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


@pytest.mark.long
def test_a_graph_becomes_schedules(tmp_path: Path, model: Path) -> None:
    folder = tmp_path / "schedules"
    first = run(model, "three_level", folder)
    assert first.startswith("/body/conv1, /body/conv2: ")  # two operators, one search
    assert len(first.splitlines()) == 2
    assert sorted(place.name for place in folder.iterdir() if place.is_dir()) == ["body.conv1", "body.conv2", "head"]
    for name in ("body.conv1", "body.conv2", "head"):
        found = tw.load_mapping(folder / name / "mapping.json")
        assert found.recorded.certificate is not None
        assert found.recorded.certificate.proven
        assert tw.evaluate(found.mapping, found.arch) == found.recorded.cost
        assert "for (" in (folder / name / "kernel.c").read_text()
    shape = tw.load_mapping(folder / "head" / "mapping.json").mapping.problem
    assert shape.macs == 144 * 8
    assert run(model, "three_level", folder) == first
    with_program = subprocess.run([sys.executable, str(folder / "head" / "reference.py")], check=False, timeout=300)
    assert with_program.returncode == 0


def test_it_stays_short() -> None:
    assert len(EXAMPLE.read_text().splitlines()) < 30
