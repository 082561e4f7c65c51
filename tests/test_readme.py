"""README is run: its Python, its commands in their order, its architecture file; and its output is compared."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tilewright.cli import app

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"(?:<!-- (?P<mark>.+?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [match.groupdict() for match in _BLOCK.finditer(README)]

MAIN_OUTPUT = "output: main"
NOT_REPEATABLE = re.compile(r"  (Time|Evaluated|Pruned) .*\n")
"""Lines of the certificate that tell how the search went, and not what it found."""


def block(mark: str) -> str:
    """The text of the one block that a comment marks."""
    (found,) = (block["text"] for block in BLOCKS if block["mark"] == mark)
    return str(found)


def commands() -> list[list[str]]:
    """Arguments of every tilewright command in the shell blocks, in order."""
    found = []
    for shell in (b["text"] for b in BLOCKS if b["language"] == "sh"):
        for line in re.split(r"\n|&&", shell.replace("\\\n", " ")):
            words = shlex.split(line)
            if words and Path(words[0]).name == "tilewright":
                found.append(words[1:])
    return found


def run(arguments: list[str]) -> Any:
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, arguments)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_readme_has_its_commands() -> None:
    """The two that CI runs, and as many others as a newcomer is shown."""
    assert "pip install" in block("command: install")
    assert "pytest" in block("command: test")
    assert len(commands()) >= 10


def test_the_main_output_is_real() -> None:
    main = commands()[0]
    assert main[0] == "search"
    done = run(main)
    assert done.exit_code == 0, done.output
    expected, found = (NOT_REPEATABLE.sub("", text) for text in (block(MAIN_OUTPUT), done.stdout))
    assert found == expected, f"README is out of date: paste what `COLUMNS=100 tilewright {shlex.join(main)}` prints"


def test_every_command_works() -> None:
    """In order and in one folder, since later ones read what earlier ones write."""
    for mark in {b["mark"] for b in BLOCKS if b["mark"] and b["mark"].startswith("file: ")}:
        Path(mark.removeprefix("file: ")).write_text(block(mark), encoding="utf-8")
    for arguments in commands():
        done = run(arguments)
        assert done.exit_code == 0, f"tilewright {shlex.join(arguments)}\n{done.output}"


def test_the_python_examples_run_and_print_what_they_say() -> None:
    """A `text` block directly after a `python` block is what that one prints."""
    names: dict[str, Any] = {}
    for example, output in zip(BLOCKS, [*BLOCKS[1:], None], strict=True):
        if example["language"] != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(example["text"], names)
        if output is not None and output["language"] == "text":
            assert printed.getvalue() == output["text"]
