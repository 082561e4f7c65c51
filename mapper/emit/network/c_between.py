"""Functions of what is done between groups, each different one once, and their calls: the program and its check share
them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .c_apart import apart_function
from .c_finish import finish_function
from .operands import Weight
from .program import ApartCall, NetworkProgram

Lines = Callable[[str], Iterator[str]]
"""The lines of a function, by its name."""


def _apart_parts(call: ApartCall, *, is_check: bool) -> list[Lines]:
    """What is called for it, one after the other; the check has elements alone."""
    kinds = None if is_check else call.kinds
    found: list[Lines] = [lambda name: apart_function(name, call.operation, kinds)]
    if call.finished is not None:
        finish = call.finished.finish
        found.append(lambda name: finish_function(name, finish, call.operation.shape, kinds))
    return found


def _apart_bodies(program: NetworkProgram) -> dict[str, Lines]:
    """What is done between groups, each different function once, by its text without a name."""
    return _bodies(program, is_check=False) | _bodies(program, is_check=True)


def _bodies(program: NetworkProgram, *, is_check: bool) -> dict[str, Lines]:
    calls = [call for call in program.steps if isinstance(call, ApartCall)]
    return {_text(one): one for call in calls for one in _apart_parts(call, is_check=is_check)}


def _text(part: Lines) -> str:
    return "\n".join(part("FUNCTION"))


def apart_lines(program: NetworkProgram, *, is_check: bool) -> Iterator[str]:
    """These functions: those of the program, or what only the check has."""
    own = _bodies(program, is_check=False)
    for number, (text, part) in enumerate(_apart_bodies(program).items()):
        if (text in own) != is_check:
            yield from part(f"between{number}")


def apart_calls(
    program: NetworkProgram,
    call: ApartCall,
    place: Callable[[str], str],
    weight: Callable[[Weight], str],
    unfinished: str | None = None,
) -> Iterator[str]:
    """What is called for it, in the program as in its check: both do the same.

    place       where a tensor begins
    weight      where a parameter does
    unfinished  where words are before anything is done with them, in the program of a network that stores them in types
                of their own; None: in place, as the check has them
    """
    bodies = list(_apart_bodies(program))
    given = [weight(one) if isinstance(one, Weight) else place(one) for one in call.inputs]
    finishing = [weight(one) for one in call.finished.parameters] if call.finished else []
    is_check = unfinished is None
    apart = not is_check and call.finished is not None and call.kinds is not None
    arguments = [[*given, unfinished if apart else place(call.key)]]
    arguments.append([place(call.key), *([unfinished] if apart else []), *finishing])
    for part, each in zip(_apart_parts(call, is_check=is_check), arguments, strict=False):
        yield f"    between{bodies.index(_text(part))}({', '.join(map(str, each))});"
