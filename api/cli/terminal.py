"""What the commands say on a terminal: pages on stdout, messages on stderr, a moving line while something goes on.

With `--quiet` only errors and documents are left of all that.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import typer

from ..ir import did_you_mean

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..report.parts.progress import Signs

FAILED = 1
"""The exit code where a search could not be run to its end."""

_quiet = False
_interrupts: list[int] = []


def be_quiet(quiet: bool) -> None:
    """Whether pages, notes and progress are left out from here on."""
    global _quiet
    _quiet = quiet


def begin_command() -> None:
    """Forget what the command before has left in this process."""
    be_quiet(False)
    _interrupts.clear()


def was_interrupted() -> bool:
    """Whether the command that runs has had a Ctrl-C while it searched."""
    return bool(_interrupts)


def is_quiet() -> bool:
    """Whether pages are left out, and what is worked out for them alone need not be."""
    return _quiet


def own_command(without: Collection[str] = (), instead: Mapping[str, str] | None = None) -> str:
    """The command that runs, as a shell takes it: pages in a browser say how they are made again.

    without  options that are left out, with their values
    instead  words in place of others; none for an empty one
    """
    import shlex

    words, skipped = ["tilewright"], False
    for word in sys.argv[1:]:
        if not skipped and word.partition("=")[0] not in without:
            words.append((instead or {}).get(word, word))
        skipped = word in without
    return shlex.join(filter(None, words))


def show_page(page: RenderableType) -> None:
    """Print a page for people."""
    if not _quiet:
        from ..report.parts.text import write

        write(page)


def show_line(text: str) -> None:
    """Print a line for people on stdout."""
    if not _quiet:
        typer.echo(text)


def show_document(document: object) -> None:
    """Print a document for programs: a text as it stands, anything else as JSON."""
    if isinstance(document, str):
        typer.echo(document.removesuffix("\n"))
        return
    from json import dumps

    typer.echo(dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def signs(what: str = "") -> AbstractContextManager[Signs]:
    """Signs of life while something takes its time: they move on a terminal, and are a line now and then elsewhere."""
    from ..report.parts.progress import signs_of_life

    return signs_of_life(what, not _quiet)


@contextmanager
def noting_interrupts() -> Iterator[list[int]]:
    """A list that gets an entry for each Ctrl-C: a search that hands over what it has by then raises nothing.

    Where interrupts are ignored, or another handler is in charge of them, that stays so. The command ends with the
    status of an interrupted one, whatever it hands over.
    """
    seen = _interrupts

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield seen
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def near_word(word: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known word, if one is near."""
    near = did_you_mean(word, known)
    return near if near.startswith("did you mean") else None


def say_what_was_replaced() -> None:
    """Name the files that a command has written over."""
    files = sys.modules.get(f"{__package__.rpartition('.')[0]}.report.parts.files")
    if files is not None and files.replaced:
        say(f"note: written over: {', '.join(map(str, files.replaced))}")
        files.replaced.clear()


def complain(text: str) -> None:
    """Print an error message on stderr."""
    typer.echo(f"error: {text}", err=True)


def say(text: str) -> None:
    """Print a note on stderr."""
    if not _quiet:
        typer.echo(text, err=True)
