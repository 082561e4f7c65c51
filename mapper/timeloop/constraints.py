"""What Timeloop's files ask of mappings, as a constraints file of ours says it.

    dataspace: {keep: [Inputs], bypass: [Weights]}              keep: {input: must, weight: never}
    temporal: {factors: [N=1, C<=4], permutation: [R, S]}       temporal: {N: 1, C: {max: 4}}, order: [others, S, R]
    temporal: {factors_only: [R=3]}                             temporal: {R: 3, others: 1}
    spatial: {factors: [P=1], permutation: [N, C], split: 1}    x: {trips: {P: 1, C: 1, ...}}, y: {trips: {P: 1, N: 1}}

Dimensions have Timeloop's names, and so have data spaces; roles stand for those whose role is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...arch import Architecture, Fanout
from ...ir import Problem, Role
from ..constraints.constraints import ANY
from .architecture import spatial_name
from .directives import EVERY, GIVE_PROBLEM, OTHERS, Directives, Loops, Span, TargetAsks
from .nodes import TimeloopNode

_ROLES: dict[str, Role] = {"inputs": "input", "input": "input", "weights": "weight", "weight": "weight",
                           "outputs": "output", "output": "output", "psums": "output"}  # fmt: skip
_USUAL: dict[str, Role] = {"Inputs": "input", "Weights": "weight", "Outputs": "output"}


def space_names(problem: Problem | None) -> dict[str, str]:
    """Data space -> its role, where each role is of one; of no problem, by the usual names."""
    if problem is None:
        return dict(_ROLES)
    roles = {tensor.name: tensor.role for tensor in problem.tensors}
    return dict(roles) if len(set(roles.values())) == len(roles) else {}


def constraints_of(
    asked: Directives, leaves: Sequence[TimeloopNode], arch: Architecture, problem: Problem | None, notes: list[str]
) -> dict[str, Any]:
    """`memories`, `fanouts` and `utilization` of a constraints file; empty if nothing is asked for.

    Raises ArchitectureError with the place of what has no equal.
    """
    memories: dict[str, Any] = {}
    fanouts: dict[str, Any] = {}
    for leaf in leaves:
        if (one := asked.targets.get(leaf.name)) is None or leaf.kind == "nothing":
            continue
        if leaf.kind == "compute" and (one.temporal or one.spatial or one.keeps):
            raise leaf.field.error(f"{leaf.name} computes: neither loops nor data spaces can be asked of it")
        if leaf.kind == "storage" and (found := _memory(one, leaf, arch, problem)):
            memories[leaf.name] = found
        if leaf.kind == "container" and one.temporal and any(span != (1, 1) for span in one.temporal.trips.values()):
            notes.append(f"temporal constraints of {leaf.name} are left out, as in Timeloop: a container has no loops")
        if one.spatial is not None:
            level = _array(leaf, one.spatial, arch)
            if axes := _axes(one.spatial, level, problem, leaf.name, notes):
                fanouts[level.name] = axes
    parts: dict[str, Any] = {"memories": memories, "fanouts": fanouts, "utilization": asked.utilization}
    return {key: found for key, found in parts.items() if found}


def switches_of(
    asked: Directives, leaves: Sequence[TimeloopNode], arch: Architecture, problem: Problem | None
) -> dict[str, dict[str, bool]]:
    """By array, the switches that take apart what its instances may not share."""
    found = {}
    for leaf in leaves:
        loops = asked.targets.get(leaf.name, TargetAsks()).spatial
        if loops is None or not loops.apart:
            continue
        level = _array(leaf, loops, arch)
        role = {tensor.name: tensor.role for tensor in problem.tensors} if problem is not None else _USUAL
        named = {name.lower() for name in loops.apart}
        apart = {space for space in role if space.lower() in named or OTHERS in named}
        operands = {space for space, its in role.items() if its != "output"}
        if problem is None and len(apart) < len(named):
            message = f"which operands {', '.join(loops.apart)} are is in the problem"
            raise loops.place.error(message, hint=GIVE_PROBLEM)
        if shared := operands - apart if operands & apart else set():
            message = f"instances of {level.name} share {', '.join(sorted(shared))}, not {', '.join(sorted(apart))}"
            raise loops.place.error(f"{message}; here they share all operands (multicast) or none")
        found[level.name] = {"multicast": not operands & apart, "spatial_reduction": not apart - operands}
    return found


def _array(leaf: TimeloopNode, loops: Loops, arch: Architecture) -> Fanout:
    """The array of a node; spatial loops of a memory without one run on the array below it."""
    if spatial_name(leaf.name) in arch.depth:
        level = arch.level(spatial_name(leaf.name))
    else:
        at = arch.depth.get(leaf.name, len(arch.levels))
        level = arch.levels[min(at + 1, len(arch.levels) - 1)]
    if not isinstance(level, Fanout):
        raise loops.place.error(f"{leaf.name} has no array, so it has no spatial loops", hint="spatial: {meshX: 8}")
    return level


def _memory(asked: TargetAsks, leaf: TimeloopNode, arch: Architecture, problem: Problem | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    names = space_names(problem)
    outermost = leaf.name == arch.memories[0].name
    if outermost and (bypassed := [space for space, keep in asked.keeps.items() if not keep]):
        raise leaf.field.error(f"{leaf.name} is the outermost memory, which keeps all here, and bypasses {bypassed[0]}")
    if asked.keeps and not outermost:
        words = {space: "must" if keep else "never" for space, keep in asked.keeps.items()}
        found["keep"] = {names.get(space, names.get(space.lower(), space)): word for space, word in words.items()}
    if asked.temporal is not None:
        trips = _trips(asked.temporal.trips, names)
        found |= {"temporal": trips} if trips else {}
        order = _order(asked.temporal, problem)
        found |= {"order": order} if len(order) > 1 else {}
    return found


def _trips(spans: dict[str, Span], names: dict[str, str]) -> dict[str, Any]:
    def word(dim: str) -> str:
        call = re.fullmatch(r"(\w*relevant)\((.+)\)", dim)
        return f"{call[1]}({names.get(call[2].lower(), call[2])})" if call else dim

    return {word(dim): _span(span) for dim, span in spans.items() if span != ANY}


def _span(span: Span) -> Any:
    least, most = span
    if least == most:
        return least
    return ({"min": least} if least > 1 else {}) | ({"max": most} if most is not None else {})


def _order(loops: Loops, problem: Problem | None) -> list[str]:
    """Outermost first. Dimensions of one trip have no place; those that are not listed lie between inner and outer."""
    inner, outer = ([dim for dim in reversed(dims) if loops.exactly(dim) != 1] for dims in (loops.inner, loops.outer))
    listed = {*loops.inner, *loops.outer}
    if not inner and not outer:
        return []
    free = [dim for dim in problem.dim_names if dim not in listed and loops.exactly(dim) != 1] if problem else [OTHERS]
    return [*outer, *([OTHERS] if len(free) > 1 or free == [OTHERS] else free), *inner]


def _axes(loops: Loops, level: Fanout, problem: Problem | None, name: str, notes: list[str]) -> dict[str, Any]:
    """Trips on each axis; with a split, dimensions of the permutation up to it run along x and the others along y."""
    sizes = {"xy"[i]: axis.size for i, axis in enumerate(level.axes)}
    wide = [axis for axis, size in sizes.items() if size > 1]
    split = loops.split if loops.inner or loops.split in (0, EVERY) else None
    found: dict[str, dict[str, Any]] = {}
    for axis in wide:
        trips = dict(loops.trips)
        if split is not None:
            trips |= dict.fromkeys(_off_axis(axis, split, loops, problem), (1, 1))
        elif len(wide) > 1:
            trips = {dim: _either(dim, span, axis, sizes, name, notes) for dim, span in trips.items()}
        found[axis] = {"trips": _trips(trips, space_names(problem))}
    if loops.split is not None and len(wide) > 1:
        _note_split(loops, loops.split, problem, name, notes)
    return {axis: each for axis, each in found.items() if each["trips"]}


def _note_split(loops: Loops, split: int, problem: Problem | None, name: str, notes: list[str]) -> None:
    """Says where a split may mean something else there."""
    dims = problem.dim_names if problem is not None else ()
    if not loops.inner or len(loops.inner) < split < (len(dims) or EVERY):
        notes.append(f"split of {name} is left out for dimensions that its permutation does not list")
    ones = [dim for dim in (*loops.trips, *dims) if dim not in loops.inner and _is_one(dim, loops, problem)]
    if ones and 0 < split < (len(dims) or EVERY):
        words = f"{', '.join(dict.fromkeys(ones))} of factor 1 before it, and counts them"
        notes.append(f"split of {name} counts its permutation as written; Timeloop's front end puts {words}")


def _is_one(dim: str, loops: Loops, problem: Problem | None) -> bool:
    return loops.exactly(dim) == 1 or (problem is not None and problem.sizes.get(dim) == 1)


def _off_axis(axis: str, split: int, loops: Loops, problem: Problem | None) -> Iterator[str]:
    """The dimensions that a split keeps away from an axis."""
    listed = loops.inner
    yield from listed[split:] if axis == "x" else listed[:split]
    rest = [dim for dim in problem.dim_names if dim not in listed] if problem is not None else [OTHERS]
    count = len(problem.dims) if problem is not None else 99
    if (axis == "x" and split <= len(listed)) or (axis == "y" and split >= count):
        yield from rest


def _either(dim: str, span: Span, axis: str, sizes: dict[str, int], name: str, notes: list[str]) -> Span:
    """A factor without a split may be on either axis, but on one alone."""
    least, most = span
    if most == 1 or least == 1:
        return span
    room = [each for each, size in sizes.items() if size >= least]
    if len(room) == 1:
        return span if room == [axis] else (1, 1)
    if axis == "x":
        notes.append(
            f"{dim} of {name} may lie on either axis, {least} trips or more; here it is left open: give a split"
        )
    return (1, most)
