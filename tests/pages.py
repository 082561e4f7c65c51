"""Pages of documentation that are run: their files, commands and Python, and what these print.

A page is Markdown with fenced blocks. A comment directly before a block marks it:

    <!-- file: NAME -->   the block is the file NAME
    <!-- fails -->        its commands print their message and exit with code 2
    <!-- not run -->      its commands are only shown, as those that install things

`walk` goes through a page as a reader does, from top to bottom in one folder: it writes files, runs commands and
Python, and compares. A `text` block directly after a block is what that one prints; a line `...` in it stands for any
lines, ` ...` at the end of a line for its rest, and lines that no two runs share are left out on both sides.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tilewright.cli import app

ROOT = Path(__file__).parent.parent

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>.+?) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
NOT_REPEATABLE = re.compile(r"  (Time|Evaluated|Pruned|Recalled) .*\n")
"""Lines of a certificate that tell how the search went, and not what it found."""

_MAY_BE_MISSING = ("gcc", "mlir-opt-16", "mlir-cpu-runner-16")
"""Programs without which the rest of a page is skipped."""


@dataclass(frozen=True)
class Block:
    """One fenced block: the comment before it, its language, its text, and the line of the page where it starts."""

    mark: str
    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The name of the file that the block is."""
        return self.mark.removeprefix("file: ") if self.mark.startswith("file: ") else None

    @property
    def commands(self) -> list[str]:
        """The commands of a shell block, without comments; lines that end in a backslash go on."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(m["mark"] or "", m["language"], m["text"], text.count("\n", 0, m.start()) + 1)
        for m in _BLOCK.finditer(text)
    ]


def marked(blocks: list[Block], mark: str) -> str:
    """The text of the one block with a mark."""
    (found,) = (block.text for block in blocks if block.mark == mark)
    return found


def tilewright_commands(blocks: list[Block]) -> list[list[str]]:
    """Arguments of every tilewright command in the shell blocks, in order."""
    lines = [part for b in blocks if b.language == "sh" for line in b.commands for part in line.split("&&")]
    words = [shlex.split(line) for line in lines]
    return [line[1:] for line in words if line and Path(line[0]).name == "tilewright"]


def run(arguments: list[str]) -> Any:
    """One tilewright command, in this process."""
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, arguments)


def run_python(program: str, names: dict[str, Any]) -> str:
    """What a program prints; its names stay in `names`."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, names)
    return printed.getvalue()


def agree(expected: str, printed: str) -> bool:
    """Whether a text block shows what was printed."""
    expected, printed = (NOT_REPEATABLE.sub("", text) for text in (expected, printed))
    pattern = "".join(map(_line_pattern, expected.splitlines(keepends=True)))
    return re.fullmatch(pattern, printed) is not None


def _line_pattern(line: str) -> str:
    if line == "...\n":
        return "(?:.*\n)*?"
    return re.escape(line[:-4]) + ".*\n" if line.endswith(" ...\n") else re.escape(line)


def walk(page: Path) -> None:
    """Run a page in the current folder; every `text` block must be what the block before it prints."""
    names: dict[str, Any] = {}
    blocks = blocks_of(page)
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        printed = _printed(block, names, f"{page.name}:{block.line}")
        if after is not None and after.language == "text":
            assert agree(after.text, printed), f"{page.name}:{after.line} is out of date. Printed:\n{printed}"


def _printed(block: Block, names: dict[str, Any], place: str) -> str:
    """What a block prints when it is run; a file is written."""
    if block.file is not None:
        Path(block.file).write_text(block.text, encoding="utf-8")
    elif block.language == "python":
        return run_python(block.text, names)
    elif block.language == "sh" and block.mark != "not run":
        return "".join(_command(line, 2 if block.mark == "fails" else 0, place) for line in block.commands)
    return ""


def _command(line: str, expected: int, place: str) -> str:
    """What a command prints, to stderr where it has to fail; a `>` at its end writes the file that it names."""
    line, _, target = (part.strip() for part in line.partition(" > "))
    words = shlex.split(line)
    code, stdout, stderr = _tilewright(words[1:]) if words[0] == "tilewright" else _program(words)
    assert code == expected, f"{place}: {line}\nexit code {code}\n{stdout}{stderr}"
    if target:
        Path(target).write_text(stdout, encoding="utf-8")
        return ""
    return stderr if expected else stdout


def _tilewright(arguments: list[str]) -> tuple[int, str, str]:
    done = run(arguments)
    return done.exit_code, done.stdout, done.stderr


def _program(words: list[str]) -> tuple[int, str, str]:
    """Another program; `python` is the one that runs the tests."""
    if words[0] in _MAY_BE_MISSING and shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed: the page is not run from here on")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        words, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


def links_of(page: Path) -> Iterator[str]:
    """Targets of the links and pictures of a page, outside its blocks of code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"\]\(([^()\s]+)\)", text)
