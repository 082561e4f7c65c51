"""Workers of a Dask cluster that is running already, on any number of machines."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ...ir import TilewrightError, need_package
from ...mapper.progress import SearchProgress

if TYPE_CHECKING:
    from distributed import Client

A = TypeVar("A")
T = TypeVar("T")

_PATIENCE = 10.0  # seconds to reach the scheduler
_ADDRESS = re.compile(r"(?:[a-z]+://)?(?:[^/:\s]+|\[[0-9a-fA-F:.]+\]):(?P<port>[0-9]{1,5})/?")
_LAST_PORT = 65_535


class Cluster:
    """The workers behind a scheduler, as `run.Workers`. A call whose worker dies is run again by the cluster.

    address  such as tcp://host:8786

    Raises TilewrightError when `distributed` is not installed, or the scheduler cannot be reached.
    """

    def __init__(self, address: str) -> None:
        # What it has to say of a scheduler that is gone, we say.
        self._talk = logging.getLogger("distributed.client")
        self._level = self._talk.level
        self._client = _connect(address)
        self._talk.setLevel(logging.CRITICAL)
        self._executor: Any = self._client.get_executor(pure=False)  # type: ignore[no-untyped-call]

    def submit(self, function: Callable[[A], T], argument: A) -> Future[T]:
        """Have a worker call the function; both it and its argument are pickled."""
        return cast("Future[T]", self._executor.submit(function, argument))

    def count(self) -> int:
        """Threads of all workers at the moment; more may join at any time."""
        # Of a scheduler that has just gone away nothing is known, until its calls end with that.
        workers: dict[str, Any] = self._client.scheduler_info(n_workers=-1).get("workers", {})
        return sum(worker["nthreads"] for worker in workers.values())

    def said(self, _argument: object) -> SearchProgress:
        """Nothing: workers elsewhere do not say how far they have come."""
        return SearchProgress()

    def on_scheduler(self, function: Callable[[], T]) -> T:
        """The result of a function that the scheduler's own process calls."""
        return cast("T", self._client.run_on_scheduler(function))  # type: ignore[no-untyped-call]

    def stop(self) -> None:
        """Give up what this batch has submitted; the cluster stays."""
        self._executor.shutdown(wait=False)
        self._client.close()  # type: ignore[no-untyped-call]
        self._talk.setLevel(self._level)


def _connect(address: str) -> Client:
    need_package("distributed", "cluster", "--scheduler")
    host = _ADDRESS.fullmatch(address)
    if host is None or int(host["port"]) > _LAST_PORT:
        message = f"found {address!r}, expected the address of a Dask scheduler"
        raise TilewrightError(message, where="--scheduler", hint="write it as tcp://host:8786")
    from distributed import Client

    try:
        # Raises whatever keeps the scheduler from answering; in a thread, for notebooks have a loop in theirs.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(asyncio.wait_for(_ask(address), _PATIENCE))).result()
        return Client(address, timeout=_PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except Exception as error:  # whatever is at that address may answer anything
        hint = "start one with `dask scheduler`, and write its address, such as tcp://host:8786"
        reason = "no answer" if isinstance(error, TimeoutError) else str(error).partition("\n")[0]
        message = f"the scheduler cannot be reached: {reason or type(error).__name__}"
        raise TilewrightError(message, where=address, hint=hint) from None


async def _ask(address: str) -> None:
    """Have the scheduler say who it is."""
    from distributed.core import rpc

    async with rpc(address, timeout=_PATIENCE) as scheduler:  # type: ignore[no-untyped-call]
        await scheduler.identity()
