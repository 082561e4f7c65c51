"""Wrong command lines of every kind: each option and argument of each command, with all that is wrong for its kind.

Nothing here knows a single option: the commands say what they take, and `commands.py` what is wrong for each kind of
value. Every one ends in exit code 2 and in one message that names the option or the value.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands import (
    BAD,
    BASES,
    CASCADES,
    Asked,
    every_command,
    everything_asked,
    flags,
    prepare,
    refusal,
    without_option,
)
from tilewright.cli import app

ASKED = everything_asked()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("faults")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_STORE", str(place / "store.sqlite3"))
        prepare(place)
    return place


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TILEWRIGHT_STORE", str(folder / "store.sqlite3"))


def test_every_command_and_every_kind_of_value_is_known_here() -> None:
    assert [name for name, _ in every_command()] == list(BASES)
    assert {asked.metavar for asked in ASKED} == set(BAD)
    assert sum(len(asked.bad) for asked in ASKED) > 1000


@pytest.mark.parametrize("command", [command for command in BASES if command != "results show"])
def test_a_right_line_is_answered(command: str) -> None:
    """Or else nothing below would mean anything."""
    done = CliRunner().invoke(app, [*command.split(), *BASES[command]])
    assert done.exit_code == 0, done.output


@pytest.mark.some(40)
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: f"{asked.command} {asked.option}")
def test_a_wrong_value_is_refused(asked: Asked) -> None:
    for value in dict.fromkeys(("", *asked.bad)):
        message = refusal(asked.line(value))
        pieces = (value, *re.split(r"[,=:]", value))
        named = {asked.option, asked.option.lstrip("-"), asked.metavar, repr(value)[1:20], "empty text"}
        named |= {piece.strip()[:20] for piece in pieces}
        assert any(word and word.lower() in message.lower() for word in named), f"{asked.line(value)}: {message}"


@pytest.mark.parametrize("command", CASCADES)
def test_a_right_line_with_a_cascade_is_answered(command: str) -> None:
    done = CliRunner().invoke(app, [command, *CASCADES[command]])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("command", CASCADES)
def test_a_wrong_value_is_refused_beside_a_cascade(command: str) -> None:
    """What cascades do not know is refused, too, and never passed over."""
    for asked in ASKED:
        if asked.command == command and not asked.is_argument and asked.option != "--op":
            without = ("--no-cache",) if asked.option == "--store" else ()
            base = [word for word in CASCADES[command] if word not in without]
            base = base if asked.option in ("--set", "--constraint", "--op") else without_option(base, asked.option)
            refusal([command, *base, f"{asked.option}={asked.bad[0]}"])


@pytest.mark.parametrize(("command", "flag"), flags())
def test_a_flag_takes_no_value(command: str, flag: str) -> None:
    assert flag in refusal([*command.split(), *BASES[command], f"{flag}=yes"])


@pytest.mark.parametrize("command", BASES)
def test_what_a_command_does_not_know_is_refused(command: str) -> None:
    assert "--nonsense" in refusal([*command.split(), *BASES[command], "--nonsense"])
    surplus = [*command.split(), *BASES[command], "one", "two", "three.yaml"]
    assert any(word in refusal(surplus) for word in ("one", "two", "three"))
