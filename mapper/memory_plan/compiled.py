"""Functions on arrays that are compiled where numba is installed, and run as they stand where it is not: slower, the
same.

Only what the search for addresses does millions of times is compiled. The machine code is kept beside the source, or in
numba's own folder where that cannot be written, so that each machine compiles once.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

from .work import Work

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILES = find_spec("numba") is not None
"""Whether there is a compiler here."""


def compiled(function: Function) -> Function:
    """The function as machine code. Its annotations say all types: whole numbers are of 64 bits, arrays of floats."""
    return _compiled(function, {})


def compiled_part(function: Function) -> Function:
    """The same for a function that compiled ones alone call: without what Python would need to call it."""
    return _compiled(function, {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})


def _compiled(function: Function, options: dict[str, bool]) -> Function:
    if not COMPILES:
        return function
    numba: Any = import_module("numba")  # its annotations do not know all of its own options
    types = numba.types

    other = {"tightness": types.float64[:, ::1], "others": types.int64[::1], "counters": types.int64[::1]}
    arrays = [other.get(name, types.int64[:, ::1]) for name in Work._fields]
    kinds = {
        "Work": types.NamedTuple(arrays, Work),
        "int": types.int64,
        "bool": types.boolean,
        "np.ndarray": types.float64[::1],
        "None": types.void,
    }
    named = dict(function.__annotations__)
    # One signature, given: left alone, numba would make a version for every number that is written out in a call.
    signature = kinds[named.pop("return")](*(kinds[kind] for kind in named.values()))
    made: Function = numba.njit(signature, cache=True, error_model="numpy", **options)(function)
    return made
