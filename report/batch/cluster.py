"""Workers of a Dask cluster that is running already, on any number of machines."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ...ir import TilewrightError, need_package

if TYPE_CHECKING:
    from distributed import Client

A = TypeVar("A")
T = TypeVar("T")

_PATIENCE = 10.0  # seconds to reach the scheduler


class Cluster:
    """The workers behind a scheduler, as `run.Workers`. A call whose worker dies is run again by the cluster.

    address  such as tcp://host:8786

    Raises TilewrightError when `distributed` is not installed, or the scheduler cannot be reached.
    """

    def __init__(self, address: str) -> None:
        self._client = _connect(address)
        self._executor: Any = self._client.get_executor(pure=False)  # type: ignore[no-untyped-call]

    def submit(self, function: Callable[[A], T], argument: A) -> Future[T]:
        """Have a worker call the function; both it and its argument are pickled."""
        return cast("Future[T]", self._executor.submit(function, argument))

    def count(self) -> int:
        """Threads of all workers at the moment; more may join at any time."""
        workers: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return sum(worker["nthreads"] for worker in workers.values())

    def on_scheduler(self, function: Callable[[], T]) -> T:
        """The result of a function that the scheduler's own process calls."""
        return cast("T", self._client.run_on_scheduler(function))  # type: ignore[no-untyped-call]

    def stop(self) -> None:
        """Give up what this batch has submitted; the cluster stays."""
        self._executor.shutdown(wait=False)
        self._client.close()  # type: ignore[no-untyped-call]


def _connect(address: str) -> Client:
    need_package("distributed", "cluster", "--scheduler")
    from distributed import Client

    try:
        return Client(address, timeout=_PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        hint = "start one with `dask scheduler`, and write its address, such as tcp://host:8786"
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TilewrightError(f"the scheduler cannot be reached: {reason}", where=address, hint=hint) from None
