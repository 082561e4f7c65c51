"""Splits that users fix: `block.*.qk: g@node`, `ff1: n@x, m@y`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from math import prod

from ...ir import ProblemError, did_you_mean
from ...ir.sharding import Split
from ...workloads.graph import Occurrence
from .dividing import dims_of
from .question import ShardingQuestion
from .space import ShardingSpace

_FORM = "operations, dimension and axis such as 'block.*.qk: g@node'"


def fixed_splits(question: ShardingQuestion, lines: Iterable[str]) -> dict[str, Split]:
    """The splits that lines fix, by operation. A line names operations by their names, those in their blocks or those
    of their rows, with `*` for any letters, and dimensions with the axes that deal them; along other axes they are not
    divided. Of several operations it means those that have such dimensions.

    Raises ProblemError for operations, dimensions and axes that there are not, dimensions that cannot be dealt, and
    those that have fewer points than the axes have devices.
    """
    space = ShardingSpace(question.graph, question.system)
    found: dict[str, Split] = {}
    for line in lines:
        names, dealt = _read(line, [axis.name for axis in question.system.axes])
        fixed = dict(_splits(space, names, dealt, f"fix {line!r}"))
        for name in fixed:
            if found.get(name, fixed[name]) != fixed[name]:
                raise ProblemError(f"{name} is fixed already, and otherwise", where=f"fix {line!r}")
        found |= fixed
    return found


def _read(line: str, axes: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The pattern of a line, and by axis the dimension that it deals."""
    where = f"fix {line!r}"
    pattern, colon, rest = (part.strip() for part in line.rpartition(":"))
    parts = [part.strip().split("@") for part in rest.split(",")]
    if not colon or not pattern or any(len(part) != 2 or not all(part) for part in parts):
        raise ProblemError(f"found {line!r}, expected {_FORM}", where="fix")
    dealt: dict[str, str] = {}
    for dim, axis in ((dim.strip(), axis.strip()) for dim, axis in parts):
        if axis not in axes:
            message = f"there is no axis {axis!r}, expected one of {', '.join(axes)}"
            raise ProblemError(message, where=where, hint=did_you_mean(axis, axes))
        if axis in dealt:
            raise ProblemError(f"{axis} deals two dimensions, expected one", where=where)
        dealt[axis] = dim.upper()
    return pattern, dealt


def _splits(space: ShardingSpace, pattern: str, dealt: dict[str, str], where: str) -> Iterator[tuple[str, Split]]:
    graph, axes = space.graph, space.system.axes
    named = [graph.by_name[name] for name in space.names]
    meant = [one for one in named if any(fnmatchcase(name, pattern) for name in (one.name, one.local, one.layer))]
    if not meant:
        known = [name for one in named for name in (one.name, one.local, one.layer) if name]
        message = f"no operation is named {pattern!r}"
        raise ProblemError(message, where=where, hint=did_you_mean(pattern, known))
    having = [one for one in meant if set(dealt.values()) <= dict(dims_of(graph, one)).keys()]
    if not having:
        missing = next(dim for dim in dealt.values() if dim not in dict(dims_of(graph, meant[0])))
        dims = ", ".join(f"{dim.lower()} ({size:,})" for dim, size in dims_of(graph, meant[0]))
        message = f"{meant[0].name} has no dimension {missing.lower()}, expected some of {dims}"
        raise ProblemError(message, where=where)
    for one in having:
        split = tuple(dealt.get(axis.name) for axis in axes)
        _check(space, one, split, where)
        yield one.name, split


def _check(space: ShardingSpace, occurrence: Occurrence, split: Split, where: str) -> None:
    """ProblemError for a split that is not in the space."""
    name, sizes, axes = occurrence.name, dict(dims_of(space.graph, occurrence)), space.system.axes
    dealing = [dim for dim, _ in space.rows(name).dims]
    for dim in dict.fromkeys(dim for dim in split if dim is not None):
        own = [axis for axis, one in zip(axes, split, strict=True) if one == dim]
        if prod(axis.size for axis in own) > sizes[dim]:
            by = " x ".join(f"{axis.name} ({axis.size})" for axis in own)
            message = f"{dim.lower()} of {name} has {sizes[dim]:,} points, and is dealt to more devices: {by}"
            raise ProblemError(message, where=where)
        if dim not in dealing:
            told = ", ".join(map(str.lower, dealing)) or "none"
            message = f"{dim.lower()} of {name} cannot be dealt, expected one of: {told}"
            raise ProblemError(message, where=where)
    if split not in space.splits(name):
        told = ", ".join(f"{dim.lower()}@{axis.name}" for dim, axis in zip(split, axes, strict=True) if dim)
        hint = "deal it along one axis alone"
        raise ProblemError(f"blocks of {name} dealt as {told} do not lie together", where=where, hint=hint)
