"""A worker process: reads pickled calls from standard input, writes pickled results to standard output.

    python -m tilewright.run.batch.worker

Each message is its length in 8 bytes, and a pickle: in, a function and its arguments; out, now and then (None, how far
its search has come), and in the end (True, result) or (False, what went wrong, as a text). When the input ends, the
process ends at once, whatever it is doing: so no worker outlives the program that started it.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import IO

from ...ir import TilewrightError
from ...mapper.progress import Watched, again_and_again, watched

PAUSE = 2.0
"""Seconds between two words on how far a search has come."""

_LENGTH_BYTES = 8


def send(stream: IO[bytes], message: object) -> None:
    """Write one message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(len(data).to_bytes(_LENGTH_BYTES, "little"))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """The pickle of one message. Raises EOFError when the stream ends."""
    length = int.from_bytes(_exactly(stream, _LENGTH_BYTES), "little")
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def main() -> None:
    """Serve calls until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that started this one
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever is printed must not stand among the replies
    calls: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, calls), daemon=True).start()
    while True:
        data = calls.get()
        try:
            function, arguments = pickle.loads(data)
            with watched() as search, again_and_again(partial(_tell, replies, search), PAUSE, PAUSE):
                reply: tuple[bool, object] = (True, function(*arguments))
        except TilewrightError as error:
            reply = (False, str(error))
        except Exception as error:
            reply = (False, f"{type(error).__name__}: {error}")
        send(replies, reply)


def _tell(replies: IO[bytes], search: Watched) -> None:
    """Say how far the search has come; who no longer listens ends this process by itself."""
    with suppress(OSError):
        send(replies, (None, search.now()))


def _read(stream: IO[bytes], calls: SimpleQueue[bytes]) -> None:
    while True:
        try:
            calls.put(receive(stream))
        except EOFError:
            os._exit(0)


if __name__ == "__main__":
    main()
