"""The moving display of a batch: what is done, what runs, how long the rest takes, about."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .terminal import is_lively, say

if TYPE_CHECKING:
    from rich.console import Group

    from ..report.batch.run import Progress, Watch

_PAUSE = 30.0  # seconds between two lines where nothing can move
_SHOWN = 4  # running searches that are named


@contextmanager
def showing_progress() -> Iterator[Watch]:
    """What to call with the progress: a bar on a terminal, a line now and then elsewhere; all of it on stderr."""
    if not is_lively():
        yield _Lines()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
        yield lambda progress: live.update(_display(progress))


class Remembered:
    """The progress that was shown last; `watch` is what to call with it."""

    def __init__(self, show: Watch) -> None:
        from ..report.batch.run import Progress

        self.last = Progress(0)
        self._show = show

    def watch(self, progress: Progress) -> None:
        self.last = progress
        self._show(progress)


@contextmanager
def remembering_progress(kept: bool) -> Iterator[Remembered]:
    """As `showing_progress`; what was shown last can be asked for afterwards. Warnings are said as notes are.

    kept  whether answers are: Ctrl-C says how to go on
    """
    with showing_progress() as show, warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = lambda message, *_: say(str(message))
        remembered = Remembered(show)
        try:
            yield remembered
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_how_to_go_on(remembered.last, kept)) from None


def _how_to_go_on(last: Progress, kept: bool) -> str:
    """What Ctrl-C says of a batch."""
    if not kept:
        return "nothing is kept with --no-cache"
    return f"{last.done + last.recalled:,} of {last.total:,} are in the store; the same command goes on from there"


class _Lines:
    """One line every half minute, none for a batch that is done sooner."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PAUSE

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _PAUSE
            say(f"{progress_text(progress)}; {running_text(progress)}")


def progress_text(progress: Progress) -> str:
    """How many are done and left, and how long that takes."""
    from ..report.units import plural

    searched = progress.total - progress.recalled
    text = f"{progress.done:,} of {plural(searched, 'search', 'searches')} done, {progress.left:,} left"
    text += f", {progress.recalled:,} more from the store" if progress.recalled else ""
    text += f", {progress.failed:,} failed" if progress.failed else ""
    if progress.left and progress.seconds_left is not None:
        text += f", about {duration(progress.seconds_left)}"
    return text


def running_text(progress: Progress) -> str:
    """What runs, and on how many workers."""
    workers = f"{progress.workers:,} worker{'' if progress.workers == 1 else 's'}"
    if not progress.running:
        return workers
    names = [str(question) for question in progress.running[:_SHOWN]]
    more = len(progress.running) - len(names)
    return f"{workers}: {'; '.join(names)}{f'; and {more:,} more' if more else ''}"


def duration(seconds: float) -> str:
    """A rough time such as `40 s`, `3 min` or `2 h 10 min`: nobody knows it to the second."""
    if seconds < 90:
        return f"{max(round(seconds / 5) * 5, 5)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _display(progress: Progress) -> Group:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    searched = progress.total - progress.recalled
    bar = ProgressBar(total=max(searched, 1), completed=progress.done if searched else 1, width=60)
    return Group(bar, Text(progress_text(progress)), Text(running_text(progress), overflow="ellipsis", no_wrap=True))
