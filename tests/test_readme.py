"""README is run: its Python, its commands in their order, its architecture file; and its output is compared."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from pages import ROOT, agree, blocks_of, marked, run, run_python, tilewright_commands

BLOCKS = blocks_of(ROOT / "README.md")
COMMANDS = tilewright_commands(BLOCKS)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_readme_has_its_commands() -> None:
    """The two that CI runs, and as many others as a newcomer is shown."""
    assert "pip install" in marked(BLOCKS, "command: install")
    assert "pytest" in marked(BLOCKS, "command: test")
    assert len(COMMANDS) >= 10


@pytest.mark.long
def test_every_command_works_and_prints_what_is_shown() -> None:
    """In order and in one folder, since later ones read what earlier ones write."""
    for block in BLOCKS:
        if block.file is not None:
            Path(block.file).write_text(block.text, encoding="utf-8")
    assert COMMANDS[0][0] == "search"
    outputs = {"main": COMMANDS[0], "cascade": next(arguments for arguments in COMMANDS if "--op" in arguments)}
    for arguments in COMMANDS:
        done = run(arguments)
        assert done.exit_code == 0, f"tilewright {shlex.join(arguments)}\n{done.output}"
        for name in (name for name, shown in outputs.items() if shown is arguments):
            message = f"README is out of date: paste what `COLUMNS=100 tilewright {shlex.join(arguments)}` prints"
            assert agree(marked(BLOCKS, f"output: {name}"), done.stdout), f"{message}\n{done.stdout}"


def test_the_python_examples_run_and_print_what_they_say() -> None:
    """A `text` block directly after a `python` block is what that one prints."""
    names: dict[str, Any] = {}
    for example, output in zip(BLOCKS, [*BLOCKS[1:], None], strict=True):
        if example.language != "python":
            continue
        printed = run_python(example.text, names)
        if output is not None and output.language == "text":
            assert printed == output.text
