"""Tables that have been made, as long as there is room for them: those that were used last."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar, cast

from ..means import UNLIMITED, Means


class Sized(Protocol):
    """What a memo keeps: an array, or several."""

    @property
    def nbytes(self) -> int: ...


Kept = TypeVar("Kept", bound=Sized)


class TableBudget:
    """The tables of one search share a budget of bytes.

    means  a table is not begun when the time is up
    most   bytes of all tables; where they take more, those go that were not used for longest
    """

    def __init__(self, means: Means = UNLIMITED, most: float = math.inf) -> None:
        self.means = means
        self.most = most
        self.nbytes = 0
        self._tables: OrderedDict[tuple[int, Hashable], Sized] = OrderedDict()
        self._owners: Iterator[int] = itertools.count()

    @contextmanager
    def under(self, means: Means) -> Iterator[None]:
        """Let tables be made by other means for a while."""
        before, self.means = self.means, means
        try:
            yield
        finally:
            self.means = before

    def memo(self) -> TableMemo:
        """Return a memo for the tables of one kind of rows."""
        return TableMemo(self, next(self._owners))

    def find(self, key: tuple[int, Hashable]) -> Sized | None:
        found = self._tables.get(key)
        if found is not None:
            self._tables.move_to_end(key)
        return found

    def keep(self, key: tuple[int, Hashable], table: Sized) -> None:
        self.drop(key)
        self._tables[key] = table
        self.nbytes += table.nbytes
        while self.nbytes > self.most and len(self._tables) > 1:
            _, oldest = self._tables.popitem(last=False)
            self.nbytes -= oldest.nbytes

    def forget(self) -> None:
        """Drop all tables; they are made again when they are asked for."""
        self._tables.clear()
        self.nbytes = 0

    def drop(self, key: tuple[int, Hashable]) -> None:
        table = self._tables.pop(key, None)
        if table is not None:
            self.nbytes -= table.nbytes


class TableMemo:
    """A memo keeps the tables of one owner, by what they are of."""

    def __init__(self, budget: TableBudget, owner: int) -> None:
        self.budget = budget
        self._owner = owner
        self._keys: set[Hashable] = set()

    def of(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """Return the table of a key, and make it if it is not there any more."""
        found = self.budget.find((self._owner, key))
        if found is None:
            self.budget.means.check()
            found = make()
            self.keep(key, found)
        return cast(Kept, found)

    def keep(self, key: Hashable, table: Sized) -> None:
        self._keys.add(key)
        self.budget.keep((self._owner, key), table)

    @property
    def nbytes(self) -> int:
        """Add up the bytes of all tables that are there."""
        return sum(table.nbytes for _, table in self.items())

    def items(self) -> Iterator[tuple[Hashable, Sized]]:
        """Yield all tables that are there."""
        for key in self._keys:
            table = self.budget.find((self._owner, key))
            if table is not None:
                yield key, table

    def forget(self) -> None:
        """Drop all tables; they are made again when they are asked for."""
        for key in self._keys:
            self.budget.drop((self._owner, key))
        self._keys.clear()
