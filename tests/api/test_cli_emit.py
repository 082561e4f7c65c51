"""`tilewright emit`: every form, to standard output and into a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli import app
from tilewright.forms import FORMS, Format


def run(*arguments: object, text: str | None = None) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(a) for a in arguments], input=text)


@pytest.fixture(scope="module")
def result() -> tw.SearchResult:
    return tw.search(tw.gemm(16, 16, 16), "three_level")


@pytest.fixture
def saved(result: tw.SearchResult, tmp_path: Path) -> Path:
    result.save(tmp_path)
    return tmp_path / "mapping.json"


@pytest.mark.parametrize("form", [form for form in FORMS if form != "timeloop"])
def test_every_form_is_the_text_of_the_result(form: Format, result: tw.SearchResult, saved: Path) -> None:
    done = run("emit", saved, "--to", form)
    assert done.exit_code == 0, done.output
    assert done.stdout == result.emit(form)


def test_into_a_file(result: tw.SearchResult, saved: Path, tmp_path: Path) -> None:
    done = run("emit", saved, "--to", "c", "--out", tmp_path / "schedule.c", "--element", "int32", "--copied", "GLB")
    assert done.exit_code == 0, done.output
    assert done.output == ""
    text = (tmp_path / "schedule.c").read_text()
    assert text == result.emit("c", element="int32", copied=["GLB"])
    assert "typedef int32_t element;" in text
    bare = run("emit", saved, "--to", "c", "--copied", "none").stdout
    assert bare == result.emit("c", copied=[])
    assert "GLB keeps" not in bare[bare.index("void run") :]


def test_a_mapping_of_ones_own(result: tw.SearchResult) -> None:
    options = ("--gemm", "M=16,N=16,K=16", "--arch", "three_level", "--to", "json")
    done = run("emit", "-", *options, text=result.emit("yaml"))
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["certificate"] is None
    assert tw.load_mapping(done.stdout).mapping.nest == result.mapping.nest


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "cc"], "unknown form 'cc'"),
        (["--to", "c", "--element", "half"], "unknown kind of element 'half', expected float or double or int32"),
        (["--to", "c", "--copied", "GLB,spat"], "cannot copy into 'spat', which is no memory"),
        (["--to", "yaml", "--element", "float"], "can be chosen in c or mlir or tvm, and not in yaml"),
        (["--to", "c", "--out", "/dev/null/x.c"], "/dev/null/x.c: its folder cannot be made"),
    ],
)
def test_what_cannot_be_is_refused(options: list[str], message: str, saved: Path) -> None:
    done = run("emit", saved, *options)
    assert done.exit_code == 2
    assert message in done.stderr
