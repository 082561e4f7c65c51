"""Tables of the pages that list what is there have all of it, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cli.commands import COMMANDS
from tilewright.forms import FORMS
from tilewright.mapper.constraints.files import list_dataflows
from tilewright.mapper.strategies import STRATEGIES

ROOT = Path(__file__).parent.parent
SEARCH = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")


def named(row: str) -> set[str]:
    """What a row of the table of what is modelled names."""
    (line,) = (line for line in SEARCH.splitlines() if line.startswith(f"| {row} |"))
    return set(re.findall(r"`([\w-]+)`", line))


@pytest.mark.parametrize(
    ("row", "known"),
    [
        ("Networks", set(tw.list_networks())),
        ("Output", set(FORMS)),
        ("Mappings: search", {*STRATEGIES, *list_dataflows()}),
    ],
)
def test_what_is_modelled_is_what_there_is(row: str, known: set[str]) -> None:
    assert named(row) == known


def test_every_command_is_tried_on_a_page() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert set(COMMANDS) <= set(re.findall(r"tilewright ([a-z]+)", page))
