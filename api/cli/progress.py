"""The progress of a batch on the command line: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .terminal import is_lively, progress, say

if TYPE_CHECKING:
    from ..mapper.segmentation import PlanProgress
    from ..run.batch.run import Progress, Watch

_PAUSE = 30.0  # seconds between two lines where nothing can move
_PLAN_PAUSE = 10.0  # likewise, of a plan


@contextmanager
def showing_progress() -> Iterator[Watch]:
    """What to call with the progress: a bar on a terminal, a line now and then elsewhere; all of it on stderr."""
    if not is_lively():
        yield _Lines()
        return
    from ..report.parts.progress import moving_display

    with moving_display() as show:
        yield show


@contextmanager
def showing_plan_progress() -> Iterator[Callable[[PlanProgress], None]]:
    """What to call with the progress of a plan: a bar on a terminal, elsewhere a line now and then
    once there is a plan; all of it on stderr."""
    with progress("") as announce:
        lines = None if is_lively() else _PlanLines()

        def watch(how_far: PlanProgress) -> None:
            from ..report.parts.progress import plan_text

            if lines is None:
                announce(plan_text(how_far), how_far.done + 1, how_far.done + how_far.left)
            else:
                lines(how_far)

        yield watch


class _PlanLines:
    """One line every ten seconds from the first plan on, none for a plan that is done sooner."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PLAN_PAUSE

    def __call__(self, how_far: PlanProgress) -> None:
        if time.monotonic() >= self._next and how_far.value < math.inf:
            self._next = time.monotonic() + _PLAN_PAUSE
            from ..report.parts.progress import plan_text

            say(f"{how_far.done:,} groups searched, {how_far.left:,} left at most: {plan_text(how_far)}")


class Remembered:
    """The progress that was shown last; `watch` is what to call with it."""

    def __init__(self, show: Watch) -> None:
        from ..run.batch.run import Progress

        self.last = Progress(0)
        self._show = show

    def watch(self, progress: Progress) -> None:
        self.last = progress
        self._show(progress)


@contextmanager
def remembering_progress(kept: bool, fused: bool = False) -> Iterator[Remembered]:
    """As `showing_progress`; what was shown last can be asked for afterwards. Warnings are said as notes are.

    kept   whether answers are: Ctrl-C says how to go on
    fused  whether whole networks are searched, of which groups are kept
    """
    with showing_progress() as show, warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = lambda message, *_: say(str(message))
        remembered = Remembered(show)
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


class _Lines:
    """One line every half minute, none for a batch that is done sooner."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PAUSE

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _PAUSE
            from ..report.parts.progress import progress_text, running_text

            say(f"{progress_text(progress)}; {running_text(progress)}")
