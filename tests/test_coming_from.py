"""docs/coming-from.md: what its tables say is here is here, and what they say is not is not."""

from __future__ import annotations

import re

import tilewright as tw
from commands import everything_asked
from pages import ROOT
from tilewright.cli.commands import COMMANDS

ABSENT = {"loma, salsa, `lpf_limit`", "in-memory computing"}
"""What other tools have and nothing here equals; who adds one of them changes its row."""


def rows() -> list[tuple[str, str]]:
    """(theirs, ours) of the tables `| of TOOL | here |`."""
    text = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| of \w+ \| here \|\n\|---\|---\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert len(tables) == 4
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for table in tables for line in table.splitlines()]
    return [(theirs.strip(), ours.strip()) for theirs, ours in cells]


def test_only_what_is_absent_is_said_to_be() -> None:
    assert {theirs for theirs, ours in rows() if ours.startswith("none")} == ABSENT


def test_what_is_said_to_be_here_is_here() -> None:
    known = {asked.option for asked in everything_asked()}
    for _, ours in rows():
        for code in re.findall(r"`([^`]+)`", ours):
            assert set(re.findall(r"(?<!\S)--[a-z-]+", code)) <= known, code
            for command in re.findall(r"\btilewright (\w+)", code):
                assert command in COMMANDS, code
            for name in re.findall(r"\btw\.(\w+)", code):
                assert hasattr(tw, name), code
