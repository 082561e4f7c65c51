"""Functions of what is done between groups, each different one once, and their calls: the program and its check share
them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....workloads.graph import ApartOperation
from ..loop_program import TensorFinish
from .c_apart import apart_function
from .c_finish import finish_function
from .operands import Weight
from .program import ApartCall, NetworkProgram


def _apart_bodies(program: NetworkProgram) -> dict[str, ApartOperation | Finishing]:
    """What is done between groups, each different function once, by its text without a name."""
    found: dict[str, ApartOperation | Finishing] = {}
    for call in program.steps:
        if isinstance(call, ApartCall):
            for one in _apart_parts(call):
                found.setdefault("\n".join(_apart_text("FUNCTION", one)), one)
    return found


Finishing = tuple[TensorFinish, tuple[int, ...]]
"""What is done with all words of a tensor, and its extents."""


def _apart_parts(call: ApartCall) -> list[ApartOperation | Finishing]:
    return [call.operation, *([(call.finished.finish, call.operation.shape)] if call.finished else [])]


def _apart_text(function: str, part: ApartOperation | Finishing) -> Iterator[str]:
    return apart_function(function, part) if isinstance(part, ApartOperation) else finish_function(function, *part)


def apart_lines(program: NetworkProgram) -> Iterator[str]:
    """All of these functions."""
    for number, part in enumerate(_apart_bodies(program).values()):
        yield from _apart_text(f"between{number}", part)


def apart_calls(program: NetworkProgram, call: ApartCall, place: Callable[[str], str]) -> Iterator[str]:
    """What is called for it, in the program as in its check: both do the same."""
    bodies = list(_apart_bodies(program))
    given = [f"weights + {one.offset}" if isinstance(one, Weight) else place(one) for one in call.inputs]
    finishing = [f"weights + {one.offset}" for one in call.finished.parameters] if call.finished else []
    for part, before, after in zip(_apart_parts(call), (given, []), ([], finishing), strict=False):
        function = bodies.index("\n".join(_apart_text("FUNCTION", part)))
        yield f"    between{function}({', '.join([*before, place(call.key), *after])});"
