"""Standard input and output of the program: closed, full, or read by somebody who has gone away.

Python opens none of them where the shell has closed them, keeps what could not be written for its last moment, and then
complains in its own words. Here every failure to write is one error, at the moment when it happens, and only once.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, TextIO

from ..ir import TilewrightError

_STANDARD = 3  # streams: input, output, errors


class ReaderGoneError(Exception):
    """Whoever read the output has seen enough, as `| head` does."""


class _Output(io.FileIO):
    """A file that fails once, in words, and then takes anything."""

    def __init__(self, descriptor: int, quietly: bool) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._quietly, self._failed = quietly, False

    def write(self, data: Any, /) -> int:
        if not self._failed:
            try:
                return super().write(data) or 0
            except OSError as error:
                self._failed = True
                if not self._quietly:
                    raise _explained(error) from None
        return len(memoryview(data).cast("B"))


def prepare_streams() -> None:
    """Have the standard streams open, and fail as said above."""
    # Open what the shell has closed: or the next file that the program opens would be its output.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < _STANDARD:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = _guarded(sys.stdout, 1, quietly=False)
    sys.stderr = _guarded(sys.stderr, 2, quietly=True)  # there is nobody to tell


def _guarded(stream: TextIO | None, descriptor: int, quietly: bool) -> TextIO:
    encoding, errors = (stream.encoding, stream.errors or "strict") if stream is not None else ("utf-8", "strict")
    if errors == "strict":
        errors = "replace"  # a terminal that has no such letter is no reason to fail
    buffer = io.BufferedWriter(_Output(descriptor, quietly))
    return io.TextIOWrapper(buffer, encoding, errors, line_buffering=quietly or os.isatty(descriptor))


def _explained(error: OSError) -> Exception:
    if error.errno == errno.EPIPE:
        return ReaderGoneError()
    return TilewrightError(f"cannot be written: {error.strerror}", where="the output")
