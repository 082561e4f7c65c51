"""What callers give, checked: every function that is public takes its arguments through these.

Each returns the value as the rest of the program wants it, or raises a `TilewrightError` that says what was found and
what was expected. `what` is how the message calls the argument. Numbers of other libraries, numpy's above all, count as
numbers; True and False do not.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from math import isfinite
from numbers import Real
from typing import Any, TypeVar

from ..ir import TilewrightError
from ..ir.errors import shown as shown

F = TypeVar("F")


def whole(
    value: object, what: str, least: int = 1, error: type[TilewrightError] = TilewrightError, where: str | None = None
) -> int:
    """A whole number of at least `least`."""
    try:
        number = operator.index(value) if not isinstance(value, bool) else None  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise error(f"{what} is {shown(value)}, expected a whole number", where=where)
    if number < least:
        raise error(f"{what} is {number}, expected {least} or more", where=where)
    return number


def seconds(value: object, what: str) -> float:
    """A number of seconds, 0 or more."""
    if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value) or value < 0:
        raise TilewrightError(f"{what} is {shown(value)}, expected seconds, 0 or more")
    return float(value)


def flag(value: object, what: str, error: type[TilewrightError] = TilewrightError) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise error(f"{what} is {shown(value)}, expected True or False")
    return value


def function(value: F, what: str, error: type[TilewrightError] = TilewrightError) -> F:
    """Something that can be called."""
    if not callable(value):
        raise error(f"{what} is {shown(value)}, expected a function")
    return value


def path(value: object, what: str, expected: str, error: type[TilewrightError] = TilewrightError) -> str:
    """A text, or the text of a path."""
    if isinstance(value, str | os.PathLike) and isinstance(text := os.fspath(value), str):
        return text
    raise error(f"{what} is {shown(value)}, expected {expected}")


def text(value: object, what: str, expected: str, error: type[TilewrightError] = TilewrightError) -> str:
    """A text."""
    if not isinstance(value, str):
        raise error(f"{what} is {shown(value)}, expected {expected}")
    return value


def items(value: object, what: str, expected: str, error: type[TilewrightError] = TilewrightError) -> list[Any]:
    """The items of a list or of anything like it; a text or a dict is none."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise error(f"{what} is {shown(value)}, expected {expected}")
    return list(value)


def mapping(
    value: object, what: str, expected: str, error: type[TilewrightError] = TilewrightError
) -> Mapping[Any, Any]:
    """A dict, or anything like it."""
    if not isinstance(value, Mapping):
        raise error(f"{what} is {shown(value)}, expected {expected}")
    return value
