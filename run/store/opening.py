"""Opening the store that was asked for; or going on without it, where nobody asked for one and it cannot be had."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...ir import StoreError, UnwritableStoreError
from ...mapper.question import AnyQuestion
from .database import Store
from .record import Record, record_of
from .result import Kept


class _Patient(Store):
    """A store that does not stand in the way of a batch: what it cannot write it holds, and tries again with every
    answer that comes, and at the end."""

    def __init__(self, path: str | os.PathLike[str], note: Callable[[str], None]) -> None:
        super().__init__(path)
        self._note, self._is_noted = note, False
        self._held: list[Record] = []

    def keep(self, question: AnyQuestion, result: Kept, seconds: float = 0.0) -> Record:
        record = record_of(question, result, seconds)
        self._held.append(record)
        self._try_again()
        return record

    def close(self) -> None:
        if self._held:
            self._try_again()
        if self._held:
            self._note(f"note: {self.path}: {len(self._held):,} of the results are not kept")
        super().close()

    def _try_again(self) -> None:
        try:
            while self._held:
                self.write(self._held[0])
                del self._held[0]
        except UnwritableStoreError as error:
            if not self._is_noted:
                self._is_noted = True
                hint = "the batch goes on; as soon as there is room, they are"
                self._note(f"{not_kept(error, 'results are')} for now: {hint}")


@contextmanager
def opened_for_many(asked: str | os.PathLike[str] | None, note: Callable[[str], None]) -> Iterator[Store | None]:
    """As `opened`; and what cannot be kept later on is a note as well."""
    with _opened(lambda: _Patient(store_path(asked), note), asked, note, "results are") as store:
        yield store


@contextmanager
def opened(asked: str | os.PathLike[str] | None, note: Callable[[str], None]) -> Iterator[Store | None]:
    """The store; None, with a note, for one that nobody asked for and that cannot be written.

    Raises StoreError for a store that is damaged or of another version, and for one that was asked for and cannot be
    written.
    """
    with _opened(lambda: Store(store_path(asked)), asked, note, "the result is") as store:
        yield store


@contextmanager
def _opened(
    make: Callable[[], Store], asked: str | os.PathLike[str] | None, note: Callable[[str], None], what: str
) -> Iterator[Store | None]:
    try:
        store = make()
    except UnwritableStoreError as error:
        if not is_default(asked):
            raise
        note(not_kept(error, what))
        yield None
        return
    with store:
        yield store


def not_kept(error: StoreError, what: str = "the result is") -> str:
    """A note on what happens for want of a store."""
    return f"note: {error.where}: {error.message}; {what} not kept"


VARIABLE = "TILEWRIGHT_STORE"
"""The environment variable that names the store where nothing else does."""


def store_path(asked: str | os.PathLike[str] | None = None) -> Path:
    """The path that is asked for, else that of `TILEWRIGHT_STORE`, else one in the cache folder of the user, as the
    platform has it (on Linux `$XDG_CACHE_HOME` or `.cache` in the home folder)."""
    named = asked if asked is not None else os.environ.get(VARIABLE)
    if named:
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path("tilewright", appauthor=False) / "results.sqlite3"


def is_default(asked: str | os.PathLike[str] | None = None) -> bool:
    """Whether nobody chose the place: then it is a convenience, and no reason to fail."""
    return asked is None and not os.environ.get(VARIABLE)
