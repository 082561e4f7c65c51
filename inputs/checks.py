"""What callers give, checked: every function that is public takes its arguments through these.

Each returns the value as the rest of the program wants it, or raises a `TilewrightError` that says what was found and
what was expected. `what` is how the message calls the argument. Numbers of other libraries, numpy's above all, count as
numbers; True and False do not.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from numbers import Real
from typing import Any, TypeVar

from ..ir import TilewrightError, did_you_mean
from ..ir.errors import shown as shown

F = TypeVar("F")
C = TypeVar("C", bound=Callable[..., Any])


def known_keywords(function: C) -> C:
    """Have a function answer keywords that it does not know with the nearest one that it does, as the commands do."""
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def called(*arguments: Any, **given: Any) -> Any:
        for name in given:
            if name not in known:
                found = f"{function.__name__}() got an unexpected keyword argument {name!r}"
                raise TypeError(f"{found}; {key_hint(name, known)}")
        return function(*arguments, **given)

    return called  # type: ignore[return-value]


def key_hint(word: str, known: Iterable[str]) -> str:
    """As `did_you_mean`, but a word that differs in case alone counts as near."""
    names = list(known)
    same = [name for name in names if name.lower() == word.lower()]
    return f"did you mean {same[0]!r}?" if same else did_you_mean(word, names)


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
