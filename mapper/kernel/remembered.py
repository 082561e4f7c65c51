"""What an object has worked out, kept as long as the object lives: by what it was asked, or what matters of that."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

OwnerT = TypeVar("OwnerT")
P = ParamSpec("P")
T = TypeVar("T")


def remembered(method: Callable[Concatenate[OwnerT, P], T]) -> Callable[Concatenate[OwnerT, P], T]:
    """A method whose results are kept by its arguments, all of them positional."""
    return remembered_by(cast(Any, _arguments))(method)


def remembered_by(
    key: Callable[Concatenate[Any, P], Hashable],
) -> Callable[[Callable[Concatenate[OwnerT, P], T]], Callable[Concatenate[OwnerT, P], T]]:
    """The same of a method that depends on a part of its arguments alone.

    key  that part
    """

    def with_memory(method: Callable[Concatenate[OwnerT, P], T]) -> Callable[Concatenate[OwnerT, P], T]:
        place = f"_results_of_{method.__name__}"

        @wraps(method)
        def known(self: OwnerT, /, *args: P.args, **kwargs: P.kwargs) -> T:
            results: dict[Hashable, T] | None = self.__dict__.get(place)
            if results is None:
                results = self.__dict__[place] = {}  # also where the object is frozen
            asked = key(self, *args, **kwargs)
            try:
                return results[asked]
            except KeyError:
                found = results[asked] = method(self, *args, **kwargs)
                return found

        return known

    return with_memory


def _arguments(_: object, *args: Any) -> Hashable:
    return args
