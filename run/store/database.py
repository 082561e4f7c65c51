"""The database of the result store: one SQLite file with a write-ahead log, safe for several processes at once.

What is written is there once the call returns, whatever happens to the process then. Every failure is a `StoreError`
that says how to go on; a record is compared with its checksum whenever it is read.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, TypeVar

from ...ir import StoreError, UnwritableStoreError
from ...mapper.answer import Answer
from ...mapper.question import AnyQuestion, TreeQuestion
from .key import Part, stored_key
from .known_trees import KnownTrees
from .record import COLUMNS, DAMAGED_RECORD, Record, is_settled, record_of
from .result import Kept, NoMapping, Searches

KeptT = TypeVar("KeptT", bound=Kept)

SCHEMA_VERSION: Final = 2
"""Of the table below; stores of version 1, which had no memory limits, are brought up to it, others are refused."""

_APPLICATION_ID: Final = 0x74_69_6C_65  # "tile": tells a store from other SQLite files
_PATIENCE = 60.0  # seconds to wait for another process that is writing
_PAUSE = 0.01  # seconds between attempts to prepare a file that others prepare, too
_JOURNAL_BYTES = 64 * 1024  # less room than that, and a transaction may fail for want of it
_WHOLE_NUMBERS = {"model_version", "memory_limit_bytes"}
_TEXTS = {
    "key",
    "format",
    "layer",
    "arch",
    "dataflow",
    "objective",
    "tiling",
    "space",
    "status",
    "written_by",
    "checksum",
}

ELSEWHERE = "name a file that can be written with --store PATH, or use --no-cache"
GO_ON = "move the file away (results are found again), name another with --store PATH, or use --no-cache"


@dataclass(frozen=True)
class Recalled:
    """A result from the store, and the record that it comes from.

    result  an answer, or why there is none
    """

    result: Any
    record: Record


class Store:
    """An open store; use it in a `with` statement, and in one thread.

    Raises StoreError when the file cannot be opened or made, is no result store, is damaged, or was written by another
    version of tilewright.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with self._explained():
            if self.path.is_dir():
                raise StoreError("this is a directory, expected a file", where=str(self.path))
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
        try:
            with self._explained():
                self._prepare_patiently()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; nothing is pending."""
        self._connection.close()

    def recall(self, question: AnyQuestion) -> Recalled | None:
        """The stored result of a question, or None: one without proof answers only a question whose limits allow no
        more time and no more memory than it had."""
        found = next(iter(self.records({"key": stored_key(question)})), None)
        if found is None or not found.answers_under(question.limits):
            return None
        return Recalled(found.result().of(question.work), found)

    def keep(self, question: AnyQuestion, result: Kept, seconds: float = 0.0) -> Record:
        """Store a result that took `seconds` to find, with what is known of its question already."""
        return self.write(record_of(question, result, seconds))

    def keep_best(self, question: AnyQuestion, result: KeptT, seconds: float = 0.0) -> KeptT:
        """Store a result, and give back the best mapping and bound that are known now of its question."""
        record = self.keep(question, result, seconds)
        if not isinstance(result, Answer) or is_settled(result):
            return result
        known: Any = record.result().of(question.work)
        best: KeptT = known
        return best

    def recall_trees(self, question: TreeQuestion) -> KnownTrees | NoMapping:
        """What is known of a cascade as a group of networks, whatever was of interest and however long it took."""
        tree, searches = (self._outcome(question, part) for part in ("tree", "searches"))
        if isinstance(tree, NoMapping):
            return tree
        assert not isinstance(tree, Searches)
        return KnownTrees(searches if isinstance(searches, Searches) else Searches(0.0), tree)

    def _outcome(self, question: TreeQuestion, part: Part) -> Kept | None:
        found = next(iter(self.records({"key": stored_key(question, part)})), None)
        return None if found is None else found.result().of(question.cascade)

    def keep_trees(self, question: TreeQuestion, known: KnownTrees | NoMapping, seconds: float = 0.0) -> None:
        """Store what is known of a cascade as a group of networks, with what others have found out meanwhile."""
        if isinstance(known, NoMapping):
            self.write(record_of(question, known, seconds, "tree"))
            return
        with self._explained(), self._transaction():
            before = self.recall_trees(question)
            known = known if isinstance(before, NoMapping) else known.with_others(before)
            if known.answer is not None:
                self._replace(record_of(question, known.answer, seconds, "tree"))
            self._replace(record_of(question, known.searches, seconds, "searches"))

    def write(self, record: Record) -> Record:
        """Store a record, merged with what is stored of the same question; the record that is there then."""
        with self._explained(), self._transaction():
            before = next(self.records({"key": record.key}, only="intact"), None)
            merged = record if before is None else record.merged_with(before)
            if merged is not before:
                self._replace(merged)
        return merged

    def _replace(self, record: Record) -> None:
        marks = ", ".join("?" * len(COLUMNS))
        values = [getattr(record, column) for column in COLUMNS]
        self._connection.execute(f"INSERT OR REPLACE INTO results ({', '.join(COLUMNS)}) VALUES ({marks})", values)

    def records(
        self, equal: Mapping[str, object] | None = None, only: Literal["intact", "damaged"] | None = None
    ) -> Iterator[Record]:
        """Stored records, oldest first.

        equal  values that columns must have; a text may have `*` and `?` as wildcards, as in file names
        only   those that match their checksums, or those that do not

        Raises StoreError at the first record that does not match its checksum, unless `only` is given.
        """
        terms, values = _conditions(equal or {})
        with self._explained():
            rows = self._connection.execute(
                f"SELECT {', '.join(COLUMNS)} FROM results{terms} ORDER BY created_s, key", values
            )
            for row in rows:
                record = Record(*row)
                if only is None and not record.is_intact:
                    place = f"{self.path}: result {str(record.key)[:12]}"
                    raise StoreError("the record does not match its checksum", where=place, hint=DAMAGED_RECORD)
                if only is None or record.is_intact == (only == "intact"):
                    yield record

    def remove(self, keys: Iterable[str]) -> int:
        """Delete the records of these keys; how many there were."""
        with self._explained():
            before = self._connection.total_changes
            with self._transaction():
                self._connection.executemany("DELETE FROM results WHERE key = ?", ((key,) for key in keys))
            return self._connection.total_changes - before

    def compact(self) -> None:
        """Give the room of deleted records back to the file system."""
        with self._explained():
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _prepare_patiently(self) -> None:
        """Prepare the file; again, where others that make it at this moment stand in the way: SQLite does not wait
        when waiting could go on for ever, as when two that read both want to write."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._prepare()
            except sqlite3.OperationalError as error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                if "locked" not in str(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(_PAUSE)

    def _prepare(self) -> None:
        """Make the table in an empty file, or bring it up to this version; refuse what is not a store."""
        with self._transaction("DEFERRED"):  # or what another process writes meanwhile would be seen in part
            version = self._version()
        if version != SCHEMA_VERSION:
            self._connection.execute("PRAGMA journal_mode = WAL")
            with self._transaction():
                version = self._version()  # another process may have made it meanwhile
                if version == 0:
                    self._connection.execute(_schema())
                    self._connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                elif version == 1:
                    self._connection.execute("ALTER TABLE results ADD COLUMN memory_limit_bytes INTEGER")
                self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        # With a write-ahead log this survives the end of the process; only a power failure may cost the last results.
        self._connection.execute("PRAGMA synchronous = NORMAL")

    def _version(self) -> int:
        """Of the store that the file is; 0 for an empty file. Raises StoreError for anything else."""
        ((identity,),) = self._connection.execute("PRAGMA application_id")
        ((version,),) = self._connection.execute("PRAGMA user_version")
        ((tables,),) = self._connection.execute("SELECT count(*) FROM sqlite_master")
        if (identity, version, tables) == (0, 0, 0):
            return 0
        place = str(self.path)
        if identity != _APPLICATION_ID:
            hint = "name another file with --store PATH"
            raise StoreError("this is a database of another program, expected a result store", where=place, hint=hint)
        if not 1 <= version <= SCHEMA_VERSION:
            writer = "a newer" if version > SCHEMA_VERSION else "an older"
            hint = f"use the version that wrote it, or {GO_ON}"
            message = f"found a result store of version {version}, of {writer} tilewright, expected {SCHEMA_VERSION}"
            raise StoreError(message, where=place, hint=hint)
        return int(version)

    @contextmanager
    def _transaction(self, kind: Literal["DEFERRED", "IMMEDIATE"] = "IMMEDIATE") -> Iterator[None]:
        self._connection.execute(f"BEGIN {kind}")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:  # where the disk is full, SQLite may have rolled back by itself
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of the database and of the file system as a `StoreError`."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise _unusable(str(error), str(self.path)) from None
        except sqlite3.Error as error:
            raise StoreError(f"the result store is damaged: {error}", where=str(self.path), hint=GO_ON) from None
        except (FileExistsError, NotADirectoryError):
            message = "the folder of the result store cannot be made: a file is in its place"
            raise UnwritableStoreError(message, where=str(self.path), hint=ELSEWHERE) from None
        except OSError as error:
            message = f"the result store cannot be made: {error.strerror}"
            raise UnwritableStoreError(message, where=str(self.path), hint=ELSEWHERE) from None


def _conditions(equal: Mapping[str, object]) -> tuple[str, list[object]]:
    terms, values = [], []
    for column, value in equal.items():
        assert column in COLUMNS, column
        wild = isinstance(value, str) and any(sign in value for sign in "*?")
        terms.append(f"{column} GLOB ?" if wild else f"{column} = ?")
        values.append(value)
    return (f" WHERE {' AND '.join(terms)}" if terms else ""), values


def _schema() -> str:
    kinds = dict.fromkeys(_TEXTS, "TEXT") | dict.fromkeys(_WHOLE_NUMBERS, "INTEGER") | {"payload": "BLOB"}
    columns = ", ".join(f"{name} {kinds.get(name, 'REAL')}" for name in COLUMNS if name != "key")
    return f"CREATE TABLE results (key TEXT PRIMARY KEY, {columns})"


def _is_full(path: Path) -> bool:
    """Whether the disk of a file has no room for as much as its journal: SQLite may call that an I/O error."""
    try:
        return shutil.disk_usage(path.parent).free < _JOURNAL_BYTES
    except OSError:
        return False


def _unusable(text: str, where: str) -> StoreError:
    """What an operational error of the database means, and how to go on."""
    if "full" in text or ("I/O" in text and _is_full(Path(where))):
        hint = "make room, or name a file on another disk with --store PATH; what is stored stays"
        return UnwritableStoreError("there is no room left on the disk for the result store", where=where, hint=hint)
    if "readonly" in text or "unable to open" in text or "I/O" in text:
        return UnwritableStoreError(f"the result store cannot be written: {text}", where=where, hint=ELSEWHERE)
    if "locked" in text:
        message = f"another process has been writing to the result store for {_PATIENCE:.0f} s"
        return StoreError(message, where=where, hint="try again when it is done, or use --no-cache")
    return StoreError(f"the result store cannot be used: {text}", where=where, hint=GO_ON)
