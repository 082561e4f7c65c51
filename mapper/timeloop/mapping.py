"""`mapping:` of Timeloop v0.4: per target, factors with a permutation (innermost first), and what is bypassed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...arch import Architecture, Fanout, Memory
from ...arch.document import Field
from ...arch.units import shown
from ...ir import Axis, Loop, LoopNest, Node, Problem, did_you_mean
from .architecture import spatial_name

_DIRECTIVE = ("factors", "permutation", "split", "keep", "bypass")
_FACTOR = re.compile(r"(.+?)=?([0-9]{1,15})")
_BYPASS = ("bypass", "datatype", "dataspace")


@dataclass
class _Target:
    """What the directives say about one level."""

    temporal: list[tuple[str, int]] = field(default_factory=list)
    spatial: list[tuple[str, int, int]] = field(default_factory=list)
    bypassed: set[str] = field(default_factory=set)


def read_nest(part: Field, problem: Problem, arch: Architecture) -> LoopNest:
    """The nest. Raises TilewrightError with the place of what cannot be expressed."""
    targets = {level.name: _Target() for level in arch.levels}
    for directive in part.elements("a list of directives such as '- target: DRAM'"):
        _read(directive, problem, arch, targets)
    items: list[Loop | Node] = []
    for level in arch.levels:
        target = targets[level.name]
        if isinstance(level, Memory):
            items += [Node(level.name, t.name) for t in problem.tensors if t.name not in target.bypassed]
        items += [Loop(dim, trips) for dim, trips in target.temporal]
        # Y loops lie outside X loops.
        items += [
            Loop(d, n, Axis(level.name, axis)) for wanted in (1, 0) for d, n, axis in target.spatial if axis == wanted
        ]
    return LoopNest(tuple(items))


def _read(directive: Field, problem: Problem, arch: Architecture, targets: dict[str, _Target]) -> None:
    members = directive.members({"target": "a level", "type": "temporal, spatial or bypass"}, _DIRECTIVE)
    kind = members["type"].choice(("temporal", "spatial", *_BYPASS))
    name = _level(members["target"], arch, kind)
    if kind in _BYPASS:
        if "bypass" in members:
            targets[name].bypassed |= set(_names(members["bypass"], [t.name for t in problem.tensors]))
        if "keep" in members:
            kept = set(_names(members["keep"], [t.name for t in problem.tensors]))
            targets[name].bypassed |= {t.name for t in problem.tensors} - kept if "bypass" not in members else set()
        return
    loops = list(_loops(members, problem))
    if kind == "temporal":
        targets[name].temporal = loops
        return
    split = _split(members["split"]) if "split" in members else len(problem.dims)
    order = _permutation(members, problem)
    axes = {dim: int(order.index(dim) >= split) if dim in order else 0 for dim, _ in loops}
    targets[name].spatial = [(dim, trips, axes[dim]) for dim, trips in loops]


def _split(field: Field) -> int:
    """How many dimensions of the permutation are on the first axis."""
    expected = "a number of dimensions such as 2"
    text = field.text(expected)
    if not re.fullmatch("[0-9]{1,9}", text):
        raise field.error(f"found {shown(text)}, expected {expected}")
    return int(text)


def _level(field: Field, arch: Architecture, kind: str) -> str:
    """The level that a target stands for: an array has the name of its container, or that of the front end; the
    spatial loops of a memory run on the array below it."""
    name = field.text("a level such as DRAM")
    if spatial_name(name) in arch.depth:
        name = spatial_name(name)
    if name not in arch.depth:
        raise field.error(f"the architecture has no {name!r}", hint=did_you_mean(name, arch.depth))
    level = arch.level(name)
    if kind != "spatial" or isinstance(level, Fanout):
        return name
    below = arch.levels[arch.depth[name] + 1 : arch.depth[name] + 2]
    if not below or not isinstance(below[0], Fanout):
        raise field.error(f"{name} has no array below it, so it has no spatial loops")
    return below[0].name


def _loops(members: Mapping[str, Field], problem: Problem) -> Iterator[tuple[str, int]]:
    """(dimension, factor) of the loops of several trips, outermost first."""
    factors = dict(_factors(members["factors"], problem)) if "factors" in members else {}
    order = _permutation(members, problem)
    left = [dim for dim, trips in factors.items() if trips > 1 and dim not in order]
    if left:
        raise members["factors"].error(f"the permutation does not place {', '.join(left)}")
    yield from ((dim, factors[dim]) for dim in reversed(order) if factors.get(dim, 1) > 1)


def _permutation(members: Mapping[str, Field], problem: Problem) -> list[str]:
    if "permutation" not in members:
        return list(problem.dim_names)
    return _names(members["permutation"], list(problem.dim_names))


def _factors(given: Field, problem: Problem) -> Iterator[tuple[str, int]]:
    elements = given.value if isinstance(given.value, tuple) else ()
    texts = [e.text("a factor such as K=4") for e in elements] or re.split(r"[,\s]+", given.text("factors").strip())
    for text in texts:
        match = _FACTOR.fullmatch(text.replace(" ", ""))
        if match is None or match[1] not in problem.sizes:
            raise given.error(f"found {text!r}, expected a dimension and its factor, such as K=4")
        if int(match[2]) == 0:
            raise given.error(f"{text!r} leaves the factor to the tool, expected a number of 1 or more")
        yield match[1], int(match[2])


def _names(given: Field, known: list[str]) -> list[str]:
    """A list of names; or a text of them, apart from each other by commas, by spaces, or, if short, by nothing."""
    if isinstance(given.value, tuple):
        names = [element.text("a name") for element in given.value]
    else:
        names = re.split(r"[,\s]+", given.text("names").strip())
        if len(names) == 1 and names[0] not in known:
            names = list(names[0])
    for name in names:
        if name not in known:
            raise given.error(f"unknown name {name!r}", hint=did_you_mean(name, known))
    return names
