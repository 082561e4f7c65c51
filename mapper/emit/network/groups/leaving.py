"""Where the words of a group's outputs are finished that are stored in another way than their sums are.

Sums that leave a tile once, complete, are finished as they leave. Where they are added up in the array of the output
itself, that has to be an array of sums: one of the program's own, from which they are finished in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...lowering.bands import renamed
from ...lowering.lifetimes import arrays_of
from ...lowering.loop_program import Affine, Allocate, Array, Drain, Finish, For, Statement, Variable, Zero


def finished_outside(body: tuple[Statement, ...], memory: str) -> tuple[Statement, ...]:
    """The same statements; what is done with the words of whole outputs puts them there.

    memory  the outermost one, which has arrays of sums
    """
    for last in [each for each in body if isinstance(each, Finish) and not each.array.is_local]:
        rest = tuple(each for each in body if each is not last)
        body = _as_they_leave(rest, last) or _from_sums(rest, last, memory)
    return body


def _as_they_leave(body: Sequence[Statement], last: Finish) -> tuple[Statement, ...] | None:
    """With the words finished as they leave, where each does once."""
    output = last.array
    users = [each for each in body if output in set(arrays_of(each))]
    zeros = [each for each in users if isinstance(each, Zero)]
    others = [each for each in users if not isinstance(each, Zero)]
    changed = _changed(others[0], last, ()) if len(others) == 1 else None
    if changed is None:
        return None
    return tuple(changed if each is others[0] else each for each in body if not any(each is zero for zero in zeros))


def _changed(statement: Statement, last: Finish, loops: tuple[For, ...]) -> Statement | None:
    """The statement with the only drain into the output finishing its words; None where they do not leave once."""
    if isinstance(statement, For):
        users = [each for each in statement.body if last.array in set(arrays_of(each))]
        inside = _changed(users[0], last, (*loops, statement)) if len(users) == 1 else None
        if inside is None:
            return None
        return replace(statement, body=tuple(inside if each is users[0] else each for each in statement.body))
    if not isinstance(statement, Drain) or not _leaves_once(statement, loops):
        return None
    start = (Affine(),) * len(statement.at)
    return Finish(statement.buffer, start, statement.extents, statement.at, last.finish, last.array)


def _leaves_once(drain: Drain, loops: Sequence[For]) -> bool:
    """Whether tiles of different iterations are different ones: of every dimension the innermost loop says where a tile
    begins, and begins itself where those around it say."""
    innermost: dict[str, Variable] = {}
    for loop in loops:
        before = innermost.get(loop.variable.dim)
        if loop.start != (Affine.of(before) if before is not None else Affine()):
            return False
        innermost[loop.variable.dim] = loop.variable
    return set(innermost.values()) <= {variable for index in drain.at for variable, _ in index.terms}


def _from_sums(body: Sequence[Statement], last: Finish, memory: str) -> tuple[Statement, ...]:
    """With sums in an array of their own, from which words are finished in the end."""
    output = last.array
    sums = sums_of(output, memory)
    kept = tuple(renamed(each, {output: sums}) for each in body)
    return (Allocate(sums), *kept, replace(last, array=sums, target=output))


def sums_of(output: Array, memory: str) -> Array:
    """The array of the sums of an output."""
    return replace(output, memory=memory, position=-1, is_local=True)
