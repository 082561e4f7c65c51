"""The family of errors that tilewright raises for bad input.

    TilewrightError
      ProblemError         a layer that cannot be understood
      ArchitectureError    an architecture file that cannot be understood
      ConstraintError      constraints that cannot be understood, or contradict each other
      MappingError         a mapping that is malformed, does not cover its problem, or does not fit
        InfeasibleError    no mapping of the stated space fits; the text is a diagnosis
      MemoryPlanError      buffers that cannot be understood
        NoPlanError        no addresses fit; the text says when, and what is live then
      UndecidedError       time or memory ran out before any mapping was found, or none was ruled out
      SearchCancelledError a search that was given up because the caller asked for it
      StoreError           a result store that is damaged or of another version
        UnwritableStoreError   a result store that the file system does not let us write

A message says where, what was found, what was expected, and (as its hint) what to try.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import TypeVar

Kind = TypeVar("Kind")
Key = TypeVar("Key")
Entry = TypeVar("Entry")

shown = reprlib.repr
"""A value as messages quote it, cut when it is long."""

_LONGEST = 1500  # characters of a part of a message; the longest diagnosis has some hundred


class TilewrightError(Exception):
    """Base of all errors that a user can cause; the command line prints it and exits with 2.

    message  what was found, and what was expected
    where    file, line, field or argument, if there is one
    hint     what to try, if something comes to mind
    """

    message: str
    where: str | None
    hint: str | None

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.message = _cut(str(message))
        self.where = where and _cut(where)
        self.hint = hint and _cut(hint)
        super().__init__(self.__str__())

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\nhint: {self.hint}" if self.hint else text

    def located(self, where: str) -> TilewrightError:
        """Return the same error with a place in front; used by readers that know file and line."""
        place = f"{where}: {self.where}" if self.where else where
        return type(self)(self.message, where=place, hint=self.hint)


def _cut(text: str) -> str:
    """A text that quotes pages of input, without their middle."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"


class ProblemError(TilewrightError):
    """A layer or einsum that cannot be understood."""


class ArchitectureError(TilewrightError):
    """An architecture that cannot be understood."""


class ConstraintError(TilewrightError):
    """Constraints on the mapping space that cannot be understood, or contradict each other."""


class MappingError(TilewrightError):
    """A mapping that is malformed, does not cover its problem, or does not fit its architecture."""


class InfeasibleError(MappingError):
    """No mapping of the stated space fits. The message is a diagnosis: what is too small, and by how much."""


class MemoryPlanError(TilewrightError):
    """Buffers, lifetimes or updates in place that cannot be understood."""


class NoPlanError(MemoryPlanError):
    """No plan fits. The message says what is live when, or how much any plan needs."""


class UndecidedError(TilewrightError):
    """Time or memory ran out before any mapping was found, and before it was clear that there is none."""


class SearchCancelledError(TilewrightError):
    """A search that was given up, or never begun, because the caller asked for it."""


class StoreError(TilewrightError):
    """A result store that is damaged, of another version, or cannot be written."""


class UnwritableStoreError(StoreError):
    """A result store that the file system does not let us make or write: no permission, no room."""


def checked(
    value: object, kind: type[Kind], what: str, expected: str, error: type[TilewrightError] = TilewrightError
) -> Kind:
    """The value, which has to be of that class; `what` is how the message calls it, `expected` what it should be."""
    if not isinstance(value, kind):
        raise error(f"{what} is {shown(value)}, expected {expected}")
    return value


def entry(
    table: Mapping[Key, Entry],
    key: Key,
    what: str,
    error: type[TilewrightError] = TilewrightError,
    where: str | None = None,
) -> Entry:
    """Return a table's value for a key that a caller names, `what` in messages; else raise an error that suggests the
    nearest key."""
    try:
        return table[key]
    except (KeyError, TypeError):  # keys that cannot be in a table included
        names = [" ".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in table]
        raise error(f"unknown {what} {shown(key)}", where=where, hint=did_you_mean(key, names)) from None


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return a hint that names the nearest known word, or lists the known words."""
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6) if isinstance(word, str) else ()
    if near:
        return f"did you mean {near[0]!r}?"
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"known: {shown}"


def need_package(package: str, extra: str, where: str) -> None:
    """TilewrightError with the extra to install, when an optional package is missing; `where` is what needs it."""
    if find_spec(package) is None:
        raise TilewrightError(
            f"the package {package} is not installed", where=where, hint=f"pip install 'tilewright[{extra}]'"
        )


def on_one_line(text: str) -> str:
    """A text with whatever nobody can see escaped, such as line breaks in names."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
