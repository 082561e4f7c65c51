"""The progress of a batch on the command line, and what Ctrl-C says of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .terminal import say, signs

if TYPE_CHECKING:
    from ..report.parts.progress import Signs
    from ..run.batch.run import Progress


class Remembered:
    """The progress that was shown last; `watch` is what to call with it."""

    def __init__(self, shown: Signs) -> None:
        from ..run.batch.run import Progress

        self.last = Progress(0)
        self._shown = shown

    def watch(self, progress: Progress) -> None:
        self.last = progress
        self._shown.of_batch(progress)


@contextmanager
def remembering_progress(kept: bool, fused: bool = False) -> Iterator[Remembered]:
    """Signs of life of a batch; its last progress can be asked for afterwards. Warnings are said as notes are.

    kept   whether answers are: Ctrl-C says how to go on
    fused  whether whole networks are searched, of which groups are kept
    """
    with signs() as shown, warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = lambda message, *_: say(str(message))
        remembered = Remembered(shown)
        try:
            yield remembered
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_how_to_go_on(remembered.last, kept, fused)) from None


def _how_to_go_on(last: Progress, kept: bool, fused: bool) -> str:
    """What Ctrl-C says of a batch."""
    if not kept:
        return "nothing is kept with --no-cache"
    if fused:
        done = f"{last.done:,} of {last.total:,} networks are done"
        return f"{done}, and every group found by then is in the store; the same command goes on from there"
    return f"{last.done + last.recalled:,} of {last.total:,} are in the store; the same command goes on from there"
