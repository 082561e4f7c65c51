"""How often Python looks for garbage while a search runs.

A search makes millions of small objects that last. Python goes through what it has made for cycles that nothing uses
after every 700 of them, ever more of them each time: up to a third of the time of a search over trees, in which there
is next to nothing to find.
"""

from __future__ import annotations

import gc
import os
from contextlib import ContextDecorator
from threading import Lock
from typing import Final

OBJECTS: Final = 50_000
"""After so many new objects garbage is looked for."""


class _Rarely(ContextDecorator):
    """While any search runs, in whichever thread, garbage is looked for more rarely; afterwards as before. A program
    that has it looked for more rarely still, or not at all, has its way."""

    def __init__(self) -> None:
        self._before = 0
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """No search runs: nor does one in a process that is forked off, where none of the threads goes on that may run
        one, or hold the lock."""
        self._lock = Lock()
        self._running = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._running:
                self._before, *older = gc.get_threshold()
                if 0 < self._before < OBJECTS:
                    gc.set_threshold(OBJECTS, *older)
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running = max(self._running - 1, 0)
            now, *older = gc.get_threshold()
            if not self._running and now == OBJECTS:
                gc.set_threshold(self._before, *older)


collecting_rarely: Final = _Rarely()
"""Of a function, or a `with` block, that searches."""
