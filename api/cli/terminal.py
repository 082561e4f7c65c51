"""What the commands say on a terminal: messages on stderr, a moving line while something takes its time."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

import typer

from ..ir import did_you_mean


def status(text: str) -> AbstractContextManager[object]:
    """A moving line on a terminal while something takes its time; nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console
    from rich.text import Text

    return Console(stderr=True).status(Text(text))


def near_word(word: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known word, if one is near."""
    near = did_you_mean(word, known)
    return near if near.startswith("did you mean") else None


def complain(text: str) -> None:
    """Print an error message on stderr."""
    say(f"error: {text}")


def say(text: str) -> None:
    """Print a line on stderr."""
    typer.echo(text, err=True)
