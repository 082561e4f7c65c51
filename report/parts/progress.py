"""The signs of life of whatever takes its time: best value so far, gap, what is being done, how long already.

On a terminal they move on stderr, in a notebook they are a bar that is drawn again and again, and elsewhere, as in a
pipe, they are a line every half minute.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from ...ir.units import percent, plural
from ...mapper.progress import SearchProgress, Watched, again_and_again, watched

if TYPE_CHECKING:
    from rich.console import Group

    from ...run.batch.run import Progress

LONG = 2.0
"""Seconds after which a notebook shows a bar."""

PAUSE = 30.0
"""Seconds between two lines where nothing can move."""

_REDRAWN = 0.5
_SHOWN = 4  # running searches that are named


class Signs:
    """What there is to say of something that takes its time.

    what         is being done as a whole
    search       the search that runs, if any does
    done, total  pieces of work that are done, of so many; of 0 where nobody counts
    """

    def __init__(self, what: str = "", search: Watched | None = None) -> None:
        self.what, self.search = what, search or Watched()
        self.done = self.total = 0
        self._texts: tuple[str, ...] = ()
        self._started = time.monotonic()

    def begin(self, name: str, number: int, total: int) -> None:
        """Say of a piece of work that it begins: its name, its number from 1, and how many there are."""
        self.done, self.total, self._texts = number - 1, total, (f"{number:,} of {total:,}: {name}",)

    def of_batch(self, progress: Progress) -> None:
        """Say how far a batch is."""
        searched = progress.total - progress.recalled
        self.done, self.total = (progress.done, searched) if searched else (1, 1)
        self._texts = (progress_text(progress), *running_texts(progress))

    def texts(self) -> list[str]:
        """What there is to say at the moment."""
        texts, search = [self.what, *self._texts], self.search.now()
        if search.done or search.left:
            self.done, self.total = search.done, search.done + search.left
            texts.append(f"{search.done:,} groups searched, {search.left:,} left at most")
        return [text for text in (*texts, search_text(search)) if text]

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self._started

    @property
    def line(self) -> str:
        """The same in one line, with the time."""
        return f"{'; '.join(self.texts())}; {duration(self.seconds)}"

    def __rich__(self) -> Group:
        """The same as a bar, if there is anything to count, and lines."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        texts = [*self.texts(), f"{self.seconds:,.0f} s"]
        bar = [ProgressBar(total=self.total, completed=self.done, width=60)] if self.total else []
        return Group(*bar, *(Text(text, overflow="ellipsis", no_wrap=True) for text in texts))


def signs_of_life(what: str = "", wanted: bool | None = True) -> AbstractContextManager[Signs]:
    """What to tell what is being done, and where it is shown: in a notebook, on stderr, or nowhere.

    wanted  None: in a notebook alone
    """
    if wanted if wanted is not None else _in_notebook():
        return _shown(what)
    return nullcontext(Signs(what))


@contextmanager
def _shown(what: str) -> Iterator[Signs]:
    with watched() as search:
        signs = Signs(what, search)
        if _in_notebook():
            moving: AbstractContextManager[object] = _bar_in_notebook(signs)
        elif sys.stderr.isatty():
            moving = _moving(signs)
        else:
            moving = again_and_again(lambda: print(signs.line, file=sys.stderr, flush=True), PAUSE, PAUSE)
        with moving:
            yield signs


def _moving(signs: Signs) -> AbstractContextManager[object]:
    from rich.console import Console
    from rich.live import Live

    return Live(get_renderable=signs.__rich__, console=Console(stderr=True), refresh_per_second=4, transient=True)


def _in_notebook() -> bool:
    """Whether IPython runs in a kernel, whose outputs are shown as HTML."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def _bar_in_notebook(signs: Signs) -> Iterator[None]:
    """A bar for what takes long; it stays with what was said last."""
    from IPython.display import HTML, display  # type: ignore[import-not-found]

    from .html import to_html

    shown: list[Any] = []

    def draw() -> None:
        page = HTML(to_html(signs.__rich__()))
        if shown:
            shown[0].update(page)
        else:
            shown.append(display(page, display_id=True))

    with again_and_again(draw, LONG, _REDRAWN):
        yield
    if shown:
        draw()


def progress_text(progress: Progress) -> str:
    """How many are done and left, and how long that takes."""
    searched = progress.total - progress.recalled
    text = f"{progress.done:,} of {plural(searched, 'search', 'searches')} done, {progress.left:,} left"
    text += f", {progress.recalled:,} more from the store" if progress.recalled else ""
    text += f", {progress.failed:,} failed" if progress.failed else ""
    if progress.left and progress.seconds_left is not None:
        text += f", about {duration(progress.seconds_left)}"
    return text


def running_texts(progress: Progress) -> list[str]:
    """On how many workers what runs, and how far each of that has come."""
    workers = f"{progress.workers:,} worker{'' if progress.workers == 1 else 's'}"
    shown = [
        f"{one}: {told.removeprefix(f'{how_far.objective} ')}" if (told := search_text(how_far)) else str(one)
        for one, how_far in progress.running
    ]
    more = [f"and {len(shown) - _SHOWN:,} more"] if len(shown) > _SHOWN else []
    return [workers, *shown[:_SHOWN], *more]


def search_text(progress: SearchProgress) -> str:
    """The value and the gap of the best answer so far, and what is being done."""
    found = ""
    if progress.value < math.inf:
        value = f"{progress.value:,.0f}" if 1e3 <= progress.value < 1e9 else f"{progress.value:.4g}"
        found = f"{progress.objective} {value}, gap {percent(progress.gap, 1)}; "
    return f"{found}{progress.doing}"


def duration(seconds: float) -> str:
    """A rough time such as `40 s`, `3 min` or `2 h 10 min`: nobody knows it to the second."""
    if seconds < 90:
        return f"{max(round(seconds / 5) * 5, 5)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
