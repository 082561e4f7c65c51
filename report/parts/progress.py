"""The moving display of a batch: what is done, what runs, how long the rest takes, about.

On a terminal and in a notebook it is one page of rich, drawn again and again: there as text, here as HTML.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...ir.units import percent, plural
from ...mapper.segmentation import PlanProgress
from ...run.batch.run import Progress, Watch

if TYPE_CHECKING:
    from rich.console import Group

_SHOWN = 4  # running searches that are named


@contextmanager
def moving_display() -> Iterator[Watch]:
    """What to call with the progress: a bar in a notebook, or on stderr."""
    if _in_notebook():
        yield _notebook_bar()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
        yield lambda progress: live.update(display(progress))


def _in_notebook() -> bool:
    """Whether IPython runs in a kernel, whose outputs are shown as HTML."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


def _notebook_bar() -> Watch:
    from IPython.display import HTML  # type: ignore[import-not-found]
    from IPython.display import display as show

    from .html import to_html

    handle = show(HTML(""), display_id=True)

    def watch(progress: Progress) -> None:
        handle.update(HTML(to_html(display(progress))))

    return watch


def display(progress: Progress) -> Group:
    """A bar, and what there is to say."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    searched = progress.total - progress.recalled
    bar = ProgressBar(total=max(searched, 1), completed=progress.done if searched else 1, width=60)
    return Group(bar, Text(progress_text(progress)), Text(running_text(progress), overflow="ellipsis", no_wrap=True))


def progress_text(progress: Progress) -> str:
    """How many are done and left, and how long that takes."""
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


def plan_text(progress: PlanProgress) -> str:
    """The value and the gap of the best plan so far, and what is being done."""
    found = ""
    if progress.value < math.inf:
        found = f"{progress.objective} {progress.value:.4g}, gap {percent(progress.gap, 1)}; "
    return f"{found}{progress.doing}"


def duration(seconds: float) -> str:
    """A rough time such as `40 s`, `3 min` or `2 h 10 min`: nobody knows it to the second."""
    if seconds < 90:
        return f"{max(round(seconds / 5) * 5, 5)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
