"""Timeloop's files together: each holds one or more of the parts, in any order."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...arch import Architecture
from ...arch.document import Field, read_document, read_text
from ...arch.units import shown
from ...ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem, TilewrightError
from ..constraints.constraints import ANY
from ..constraints.files import load_constraints
from ..constraints.violations import violations
from .architecture import read_architecture, spatial_name, without_sharing
from .constraints import constraints_of, switches_of
from .directives import OTHERS, Directives, Loops, Names, TargetAsks, read_directives
from .implied import resolve
from .nodes import NO_SPARSE, TimeloopNode, read_leaves
from .problem import read_problem

TAGS = ("!Container", "!Component", "!Parallel", "!Hierarchical", "!Pipelined", "!Nothing")
VERSION = "0.4"
_PARTS = {
    "architecture": "Timeloop's architecture, with nodes",
    "problem": "Timeloop's problem, with shape and instance",
    "mapping": "Timeloop's mapping, a list of directives",
}
_TABLES = ("ERT", "ART", "ERT_summary", "ART_summary")
_LEFT_OUT = {
    "mapper": "it steers Timeloop's search",
    "mapspace": "it names Timeloop's search space; --tiling and --space choose ours",
    "globals": "they are for expressions and estimators",
    "components": "an ERT has what classes of components come to",
    "compound_components": "an ERT has what classes of components come to",
}
_CONSTRAINTS = ("constraints", "architecture_constraints", "mapspace_constraints")
_WITHOUT_EQUAL = {"layout": "Timeloop's layouts have no equal here", "sparse_optimizations": NO_SPARSE}
_OLDER = ("subtree", "local", "arithmetic", "storage")
"""Keys of an architecture before v0.4."""


class Imported(NamedTuple):
    """What the files describe, in our terms."""

    mapping: Mapping
    arch: Architecture

    @property
    def problem(self) -> Problem:
        return self.mapping.problem


class Parts(NamedTuple):
    """What files hold, as far as it is there.

    given        names of the parts
    mapping      where there is a problem and an architecture as well
    constraints  in the form of a constraints file, with Timeloop's dimensions
    notes        what was left out, changed or assumed, a sentence each
    """

    given: frozenset[str]
    problem: Problem | None
    arch: Architecture | None
    mapping: Mapping | None
    constraints: dict[str, Any]
    notes: tuple[str, ...]


@dataclass
class _Files:
    """The parts as they are written; of constraints there may be several."""

    parts: dict[str, Field] = field(default_factory=dict)
    constraints: list[Field] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_timeloop(paths: Iterable[str | os.PathLike[str]] = (), texts: Iterable[tuple[str, str]] = ()) -> Imported:
    """The mapping and architecture in Timeloop v0.4 files.

    paths  of files
    texts  (name, text) of files that are here already

    Raises MappingError, with file, line and field, for what cannot be read and for what has no equal in our model.
    """
    return complete(read_parts(paths, texts))


def complete(parts: Parts) -> Imported:
    """The mapping and architecture of parts; MappingError names those that are missing."""
    missing = [f"{key} ({what})" for key, what in _PARTS.items() if key not in parts.given]
    if parts.mapping is None or parts.arch is None:
        raise MappingError(f"missing: {', '.join(missing)}", where="Timeloop files")
    return Imported(parts.mapping, parts.arch)


def read_parts(paths: Iterable[str | os.PathLike[str]] = (), texts: Iterable[tuple[str, str]] = ()) -> Parts:
    """What is in Timeloop v0.4 files, each part alone; the arguments and errors are those of `read_timeloop`."""
    try:
        read = [(os.fspath(path), read_text(Path(path), os.fspath(path), "a Timeloop file")) for path in paths]
        return _read(_files([*read, *texts]))
    except TilewrightError as error:
        raise MappingError(error.message, where=error.where, hint=error.hint) from None


def _read(files: _Files) -> Parts:
    parts, notes = files.parts, files.notes
    problem = read_problem(parts["problem"], notes) if "problem" in parts else None
    if "architecture" not in parts:
        if files.constraints and "mapping" not in parts:
            raise files.constraints[0].error("constraints name levels, expected the file with the architecture as well")
        return Parts(frozenset(parts), problem, None, None, {}, tuple(notes))
    variables = parts["variables"].mapping("variables by name") if "variables" in parts else {}
    members = parts["architecture"].members({"nodes": "a list of !Container and !Component"}, ("version",))
    leaves = read_leaves(members["nodes"], variables, notes)
    arch = read_architecture(parts["architecture"], leaves, parts.get("ERT"), parts.get("ART"), notes)
    # Names those that no number refers to.
    given = [each.value for leaf in leaves for each in leaf.attributes.own.values()]
    texts = [text for text in (*given, *(each.value for each in variables.values())) if isinstance(text, str)]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    unread = [name for name in variables if name not in ("version", "global_cycle_seconds") and name not in words]
    if unread:
        notes.append(f"variables that no number refers to are left out: {', '.join(unread)}")
    names = Names(problem, notes)
    asked = read_directives(leaves, files.constraints, None, names)
    resolve(asked, leaves, names)
    arch = without_sharing(arch, switches_of(asked, leaves, arch, problem))
    constraints = constraints_of(asked, leaves, arch, problem, notes)
    if "mapping" not in parts or problem is None:
        return Parts(frozenset(parts), problem, arch, None, constraints, tuple(notes))
    asked = read_directives(leaves, files.constraints, parts["mapping"], Names(problem, []))
    resolve(asked, leaves, Names(problem, []))
    arch = without_sharing(arch, switches_of(asked, leaves, arch, problem))
    mapping = Mapping(problem, read_nest(asked, leaves, problem, arch))
    broken = violations(mapping, arch, load_constraints(constraints, problem, arch)) if constraints else ()
    if broken:
        notes.append(f"the mapping breaks constraints of the files: {'; '.join(broken)}")
    return Parts(frozenset(parts), problem, arch, mapping, {}, tuple(notes))


def _files(texts: Iterable[tuple[str, str]]) -> _Files:
    found = _Files()
    known = (*_PARTS, *_TABLES, "variables", *_CONSTRAINTS, *_LEFT_OUT, *_WITHOUT_EQUAL)
    for name, text in texts:
        if re.search(r"\{%|\{\{\s*\w+[\s(|}]", text):
            hint = "fill in its {{...}} and {%...%} first"
            raise MappingError("this is a template, expected plain YAML", where=name, hint=hint)
        top = read_document(text, name, "a Timeloop file", "start with 'architecture:', 'problem:' or 'mapping:'", TAGS)
        # Refuse the oldest files, and what Timeloop's front end makes of its input: in it nodes are flat, as once.
        members = top.value if isinstance(top.value, MappingABC) else {}
        expected = f"expected the input itself, version {VERSION}"
        if "dumped_by_timeloop_front_end" in members:
            message = "this is what Timeloop's front end made of its input, in the form of version 0.3"
            raise members["dumped_by_timeloop_front_end"].error(f"{message}; {expected}")
        if "arch" in members and isinstance(members["arch"].value, MappingABC) and _older(members["arch"].value):
            message = f"arch is how version 0.1 of Timeloop calls an architecture, expected version {VERSION}"
            raise members["arch"].error(message, hint=_REWRITE)
        for written, part in top.members({}, known).items():
            key = written.removesuffix("_summary")
            _check_version(part, key)
            if key in _WITHOUT_EQUAL and _says_something(part):
                raise part.error(_WITHOUT_EQUAL[key])
            if key in _LEFT_OUT and _says_something(part):
                found.notes.append(f"{key} is left out: {_LEFT_OUT[key]}")
            elif key in _CONSTRAINTS:
                found.constraints.append(part)
            elif key in found.parts:
                raise part.error(f"a second {key}, the first is in {found.parts[key].where}")
            else:
                found.parts[key] = part
    return found


def _check_version(part: Field, key: str) -> None:
    """Refuse a part of another version than 0.4, and an architecture or a problem of none."""
    if key in ("ERT", "ART") or not isinstance(part.value, MappingABC):
        return
    if "version" in part.value:
        _check_text(part.value["version"], key)
    if key in ("architecture", "problem"):
        older = _older(part.value)
        if older is not None:
            message = f"{older[0]} is how versions {older[1]} of Timeloop write it, expected version {VERSION}"
            raise part.error(message, hint=_REWRITE if key == "architecture" else None)
        if "version" not in part.value:
            hint = f"version: {VERSION}, if it is so"
            raise part.error(f"no version is stated, expected version {VERSION}", key="version", hint=hint)


def _older(part: MappingABC[str, Field]) -> tuple[str, str] | None:
    """What of an architecture or a problem is older than v0.4, and of which versions it is."""
    found = next((name for name in _OLDER if name in part), None)
    if found is not None:
        return found, "0.2 and 0.3" if found in ("subtree", "local") else "0.1"
    shape = part.get("shape")
    if shape is not None and isinstance(shape.value, MappingABC) and "data-spaces" in shape.value:
        return "data-spaces", "0.1 to 0.3"
    return ("shape as a name", "0.1 to 0.3") if shape is not None and isinstance(shape.value, str) else None


_REWRITE = "v0.4 lists nodes, !Container and !Component, from the outside in"


def _check_text(given: Field, key: str) -> None:
    text = given.text(f"version: {VERSION}")
    if text != VERSION:
        message = f"this {key} is of Timeloop's version {shown(text)[1:-1]}, expected version {VERSION}"
        raise given.error(message, hint=_REWRITE if key == "architecture" else None)


def _says_something(part: Field) -> bool:
    """Whether a part holds more than a version and empty lists."""
    if isinstance(part.value, str):
        return bool(part.value)
    values = part.value.items() if not isinstance(part.value, tuple) else enumerate(part.value)
    return any(key != "version" and member.value for key, member in values)


# What a mapping does not say of a target, its constraints say; what neither says is one trip, and kept.


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
