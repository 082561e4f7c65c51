"""Plans: every distinct search once, and reasons where a dataflow makes no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright as tw
from batches import cells, network, questions, settings
from tilewright.ir import ConstraintError, ProblemError, TilewrightError
from tilewright.mapper.question import Question
from tilewright.run.batch.plan import Machine, Workload, distinct_questions, plan_comparison, read_dataflows
from tilewright.run.store import NoMapping

ONLY_CONVOLUTIONS = "memories:\n  GLB:\n    temporal: {R: 1}\n"


def test_equal_searches_are_one(tmp_path: Path) -> None:
    found = cells(tmp_path, archs=("three_level", "eyeriss"), dataflows=("free", "weight-stationary"))
    assert len(found) == 4 * 2 * 2
    distinct = distinct_questions(found)
    assert len({question.key for question in distinct}) == len(distinct) == 3 * 2 * 2


def test_two_networks_share_their_layers(tmp_path: Path) -> None:
    workloads = [Workload(network(tmp_path, name), name) for name in ("one", "two")]
    machines = [Machine(tw.load_arch("three_level"), ())]
    found = plan_comparison(workloads, machines, read_dataflows(["free"]), settings())
    assert len(found) == 8
    assert len(distinct_questions(found)) == 3


def test_questions_say_what_they_are_about(tmp_path: Path) -> None:
    free, stationary = questions(tmp_path, dataflows=("free", "weight-stationary"))[::3]
    assert str(free) == "tiny:first on three_level, edp"
    assert str(stationary) == "tiny:first on three_level, weight-stationary, edp"


def test_a_dataflow_that_a_layer_cannot_have_is_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "windows.yaml"
    file.write_text(ONLY_CONVOLUTIONS, encoding="utf-8")
    found = cells(tmp_path, dataflows=(str(file),))
    assert [cell.dataflow.name for cell in found] == ["windows"] * 4
    kinds = {cell.layer.name: cell.question for cell in found}
    assert isinstance(kinds["conv"], Question)
    assert isinstance(kinds["first"], NoMapping)
    assert "'R'" in kinds["first"].message


def test_a_dataflow_that_no_layer_can_have_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("memories:\n  nowhere:\n    temporal: {M: 1}\n", encoding="utf-8")
    with pytest.raises(ConstraintError, match="nowhere"):
        cells(tmp_path, dataflows=("free", str(file)))


def test_names_must_tell_things_apart(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match="two architectures are named 'three_level'"):
        cells(tmp_path, archs=("three_level", "three_level"))
    with pytest.raises(TilewrightError, match="two dataflows are named 'free'"):
        cells(tmp_path, dataflows=("free", "free"))
    with pytest.raises(TilewrightError, match="no architectures are given"):
        cells(tmp_path, archs=())


def test_layers_that_cannot_be_counted_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    row = "{name: huge, op: gemm, M: 1000000, N: 1000000, K: 1000000, weight: true}"
    path.write_text(f"network: huge\nlayers:\n  - {row}\n", encoding="utf-8")
    workload = Workload(tw.load_network(path), "huge")
    with pytest.raises(ProblemError, match="huge:huge"):
        plan_comparison([workload], [Machine(tw.load_arch("eyeriss"), ())], read_dataflows(["free"]), settings())
