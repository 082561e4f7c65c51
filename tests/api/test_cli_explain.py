"""`tilewright explain` from the command line, and `explain` from Python."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli import app
from tilewright.explanations import explain

SIZES = "M=4,N=4,K=4"


def run(*arguments: object, text: str | None = None) -> Any:
    return CliRunner().invoke(app, ["explain", *map(str, arguments)], input=text)


@cache
def found() -> tw.SearchResult:
    return tw.search(tw.gemm(4, 4, 4), "eyeriss", "energy", "perfect")


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    found().save(tmp_path)
    return tmp_path / "mapping.json"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests that search changes of the machine."""
    return tmp_path_factory.mktemp("known") / "results.sqlite3"


def test_the_page(mapping: Path, store: Path, tmp_path: Path) -> None:
    picture = tmp_path / "nest.svg"
    done = run(mapping, "--svg", picture, "--store", store)
    assert done.exit_code == 0, done.output
    for title in ("Where the energy goes", "What bounds the latency", "What each loop does", "How often words are used",
                  "How far from the bounds", "What would help"):  # fmt: skip
        assert f"\n{title}\n" in done.stdout
    assert "On this machine no mapping has less energy (even space, perfect tilings; proven)." in done.stdout
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    assert str(picture) in done.stdout


def test_json_has_the_same_facts(mapping: Path, store: Path) -> None:
    done = run(mapping, "--json", "--store", store)
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document == json.loads(json.dumps(explain(found(), store=store).as_dict()))
    assert document["energy_pj"] == found().cost.energy_pj
    assert sum(part["energy_pj"] for part in document["energy"]) == pytest.approx(found().cost.energy_pj)
    assert document["improvement"]["objective"] == "energy"
    assert all(change["gain"] >= 1 - 1e-9 for change in document["improvement"]["changes"])


def test_standard_input_a_layer_and_a_file_are_the_same(mapping: Path) -> None:
    page = run(mapping, "--no-changes").stdout
    assert "What would help" not in page
    assert run("-", "--no-changes", text=mapping.read_text()).stdout == page
    assert run("--gemm", SIZES, "--arch", "eyeriss", "--objective", "energy", "--no-changes").stdout == page
    mine = found().emit("yaml")
    path = mapping.with_name("mine.yaml")
    path.write_text(mine)
    assert run(path, "--gemm", SIZES, "--arch", "eyeriss", "--no-changes").stdout == page


def test_from_python_in_all_ways(mapping: Path) -> None:
    expected = explain(found(), changes=False)
    assert expected.improvement is None
    assert explain(mapping, changes=False).as_dict() == expected.as_dict()
    assert explain(found().mapping, "eyeriss", changes=False).as_dict() == expected.as_dict()
    assert str(expected).startswith("Layer")


def test_fields_of_the_machine_in_a_document_can_be_set(mapping: Path) -> None:
    given = ("--no-changes", "--set", "DRAM.read=900 pJ", "--json")
    done = run(mapping, *given)
    assert done.exit_code == 0, done.output
    name = tw.load_mapping(mapping).arch.name
    assert done.stdout == run(mapping, "--arch", name, *given).stdout
    assert json.loads(done.stdout)["energy_pj"] > tw.evaluate(mapping).energy_pj


def test_what_is_public_prints_what_the_command_does(mapping: Path) -> None:
    why = tw.explain(mapping, changes=False)
    assert run(mapping, "--no-changes", "--json").stdout == why.to_json() + "\n"
    assert why.text() == str(why)
    assert why.svg().startswith("<svg")


def test_searches_are_recalled_from_the_store(mapping: Path, store: Path) -> None:
    first = run(mapping, "--store", store)
    assert first.exit_code == 0, first.output
    from tilewright.run.store import Store

    with Store(store) as kept:
        records = len(list(kept.records()))
    assert records > 5
    assert run(mapping, "--store", store).stdout == first.stdout
    with Store(store) as kept:
        assert len(list(kept.records())) == records


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "expected a mapping or a layer, found neither"),
        (("nowhere.json",), "no such file"),
        (("alexnet:conv1", "--arch", "eyeriss"), "hint: write --layer alexnet:conv1"),
        (("--gemm", SIZES), "no architecture is given"),
        (("--gemm", SIZES, "--arch", "eyeriss", "--tiling", "raged"), "unknown tiling 'raged'"),
        (("--gemm", SIZES, "--arch", "eyeriss", "--space", "odd"), "unknown space 'odd'"),
        (("--gemm", SIZES, "--arch", "eyeriss", "--time-limit", "-1"), "the time limit is -1"),
        (("--gemm", SIZES, "--arch", "eyeriss", "--svg", "/dev/null/a.svg"), "its folder cannot be made"),
    ],
)
def test_bad_input_is_refused(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output
