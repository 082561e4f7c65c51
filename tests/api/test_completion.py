"""What a shell may put in the place of a word: for every option whose values are known there are some."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from commands import every_command
from tilewright.cli import completions
from tilewright.forms import Format
from tilewright.report.explorations.measures import MEASURES
from tilewright.report.parts.tables import FORMATS

OPEN = ("--memory", "--copied", "--pareto", "--axes")
"""Whose words are those of a machine or a mapping, or a single one."""

KNOWN = ("NAME|PATH", "NAME,...", "NETWORK", "LAYER", "LAYER|CASCADE", "WHAT", "KIND", "FORM", "TYPE", "ORDER", "WORD")
KNOWN += ("SOURCE", "MEASURE,...")


def completed() -> list[Any]:
    found = []
    for name, command in every_command():
        for parameter in command.params:
            if parameter.metavar in KNOWN and parameter.opts[0] not in OPEN:
                found.append(pytest.param(parameter, id=f"{name} {parameter.opts[0]}"))
    return found


@pytest.mark.parametrize("parameter", completed())
def test_every_option_whose_values_are_known_completes_them(parameter: Any) -> None:
    assert parameter.shell_complete(None, "")


def test_the_words_are_those_that_are_taken() -> None:
    assert set(completions.form("")) == set(get_args(Format))
    assert completions.measures("energy,a") == ["energy,area"]
    assert set(completions.measures("")) == set(MEASURES)
    assert set(completions.formats("")) == set(FORMATS)
    assert completions.layer("alexnet:conv1") == ["alexnet:conv1"]
