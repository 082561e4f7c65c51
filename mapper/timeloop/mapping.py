"""`mapping:` of Timeloop v0.4: per target, factors with a permutation (innermost first), and what is bypassed.

What a mapping does not say of a target, the constraints of the target say; what neither says is one trip, and kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...arch import Architecture
from ...ir import Axis, Loop, LoopNest, Node, Problem
from .architecture import spatial_name
from .directives import ANY, OTHERS, Directives, Loops, TargetAsks
from .nodes import TimeloopNode


def read_nest(asked: Directives, leaves: Sequence[TimeloopNode], problem: Problem, arch: Architecture) -> LoopNest:
    """The nest. Raises TilewrightError with the place of what cannot be expressed."""
    items: list[Loop | Node] = []
    above: Loops | None = None  # spatial loops of a memory without an array of its own: of the array below it
    for leaf in leaves:
        one = asked.targets.get(leaf.name, TargetAsks())
        array = spatial_name(leaf.name)
        has_array = array in arch.depth
        if above is not None and (not has_array or one.spatial is not None) and (has_array or leaf.kind != "container"):
            message = "is asked of the array below as well" if has_array else "has no array below it"
            raise above.place.error(f"{message}, so it has no spatial loops")
        if has_array:
            # The loops of a container lie outside its array, where nothing is kept.
            items += _temporal(one.temporal, problem) if leaf.kind == "container" else ()
            items += _spatial(one.spatial or above, array, problem)
            above = None
        if leaf.kind == "storage":
            items += [Node(leaf.name, t.name) for t in problem.tensors if one.keeps.get(t.name, True)]
            items += _temporal(one.temporal, problem)
            above = None if has_array else one.spatial
    return LoopNest(tuple(items))


def _temporal(loops: Loops | None, problem: Problem) -> Iterator[Loop]:
    if loops is not None:
        yield from (Loop(dim, trips) for dim, trips in reversed(_ordered(loops, problem)) if trips > 1)


def _spatial(loops: Loops | None, array: str, problem: Problem) -> Iterator[Loop]:
    """Y loops lie outside X loops."""
    if loops is None:
        return
    ordered = _ordered(loops, problem)
    split = len(ordered) if loops.split is None else loops.split
    for index, part in ((1, ordered[split:]), (0, ordered[:split])):
        yield from (Loop(dim, trips, Axis(array, index)) for dim, trips in reversed(part) if trips > 1)


def _ordered(loops: Loops, problem: Problem) -> list[tuple[str, int]]:
    """(dimension, trips) of all dimensions, innermost first."""
    listed = {*loops.inner, *loops.outer}
    rest = [dim for dim in problem.dim_names if dim not in listed]
    moving = [dim for dim in rest if _trips(loops, dim) > 1]
    if len(moving) > 1:
        raise loops.place.error(f"the permutation does not place {', '.join(moving)}")
    order = [*loops.inner, *sorted(rest, key=lambda dim: dim in moving), *loops.outer]
    return [(dim, _trips(loops, dim)) for dim in order]


def _trips(loops: Loops, dim: str) -> int:
    exact = loops.exactly(dim)
    if exact is None and loops.trips.get(dim, loops.trips.get(OTHERS, ANY)) != ANY:
        raise loops.place.error(f"a mapping needs one number of trips of {dim}, found a range")
    return exact or 1
