"""Opening the store that was asked for; or going on without it, where nobody asked for one and it cannot be had."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...ir import StoreError, UnwritableStoreError
from ...mapper.question import Question
from .database import Store
from .location import is_default, store_path
from .record import Record, record_of
from .result import Result


class _Convenience(Store):
    """A store that nobody asked for: once it cannot be written, it keeps nothing any more."""

    def __init__(self, path: str | os.PathLike[str], note: Callable[[str], None]) -> None:
        super().__init__(path)
        self._note: Callable[[str], None] | None = note

    def keep(self, question: Question, result: Result, seconds: float = 0.0) -> Record:
        if self._note is not None:
            try:
                return super().keep(question, result, seconds)
            except UnwritableStoreError as error:
                self._note(not_kept(error, "further results are"))
                self._note = None
        return record_of(question, result, seconds)


@contextmanager
def opened_for_many(asked: str | os.PathLike[str] | None, note: Callable[[str], None]) -> Iterator[Store | None]:
    """As `opened`; and what cannot be kept later on is a note as well."""
    make = (lambda: _Convenience(store_path(), note)) if is_default(asked) else (lambda: Store(store_path(asked)))
    with _opened(make, asked, note, "results are") as store:
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
