"""docs/onnx.md is run: its commands, its Python, and their outputs."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import onnx
import pytest

from pages import ROOT, agree, blocks_of, run, run_python

BLOCKS = blocks_of(ROOT / "docs" / "onnx.md")


def texts(language: str) -> list[str]:
    return [block.text for block in BLOCKS if block.language == language]


@pytest.fixture(autouse=True)
def _with_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = re.search(r"\)(/backend/\S+)\"", texts("sh")[0])
    assert path
    shutil.copy(f"{onnx.__path__[0]}{path[1]}", tmp_path)


@pytest.mark.long
def test_commands() -> None:
    commands = [shlex.split(line)[1:] for line in texts("sh")[1].splitlines()]
    assert len(commands) == 4
    done = [run(command) for command in commands]
    assert [one.exit_code for one in done] == [0] * 4, [one.output for one in done]
    assert agree(texts("text")[0], done[0].stdout)


def test_python() -> None:
    (program,) = texts("python")
    assert run_python(program, {}) == texts("text")[1]
