"""docs/gpu.md shows what its commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.cli import app

PAGE = (Path(__file__).parent.parent.parent / "docs" / "gpu.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```text\n\$ tilewright ([^\n]*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_shows_commands() -> None:
    assert len(SHOWN) >= 2


@pytest.mark.parametrize(("command", "expected"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_shows_what_is_printed(command: str, expected: str) -> None:
    done = CliRunner().invoke(app, shlex.split(command))
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == expected.strip()


def test_the_program_on_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(program, {})
    plan, advice = capsys.readouterr().out.splitlines()
    assert plan.startswith("256x128 ")
    assert "50272" in advice
