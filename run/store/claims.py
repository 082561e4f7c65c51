"""Who is searching for what: runs on one store share their work.

A claim is a lock on one byte of a file beside the store, at a place that the key of the question says. The system gives
it back when its process ends, however that comes about, so nothing has to be cleaned up after a crash. Two questions on
one byte cost a wait, and never an answer. Claims are between processes: within one, every claim is granted.
"""

from __future__ import annotations

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: every claim is granted, and runs do some work twice
    fcntl = None  # type: ignore[assignment]

_BYTES = 2**40
_DIGITS = 16  # of a key, hexadecimal


class Claims:
    """The claims of this process on the questions of a store.

    Where the file cannot be made or locked, every claim is granted.
    """

    def __init__(self, store: Path) -> None:
        self._descriptor: int | None = None
        if fcntl is not None:
            try:
                self._descriptor = os.open(f"{store}-claims", os.O_RDWR | os.O_CREAT, 0o666)
            except OSError:
                return

    def take(self, key: str) -> bool:
        """Claim a question; False if another process has it."""
        if self._descriptor is None:
            return True
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
        return True

    def release(self, key: str) -> None:
        """Give a claim back."""
        if self._descriptor is not None:
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, _place(key))
            except OSError:  # there was none
                return

    def close(self) -> None:
        """Give all claims back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _place(key: str) -> int:
    return int(key[:_DIGITS], 16) % _BYTES
