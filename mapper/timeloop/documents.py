"""Timeloop's files together: each holds one or more of the parts, in any order."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ...arch import Architecture
from ...arch.document import Field, read_document, read_text
from ...ir import Mapping, MappingError, Problem, TilewrightError
from .architecture import read_architecture
from .constraints import read_constraints
from .mapping import read_nest
from .problem import read_problem

TAGS = ("!Container", "!Component", "!Parallel", "!Hierarchical", "!Pipelined", "!Nothing")
_PARTS = {
    "architecture": "Timeloop's architecture, with nodes",
    "problem": "Timeloop's problem, with shape and instance",
    "mapping": "Timeloop's mapping, a list of directives",
}
# What steers searches and front ends has no bearing on what a given mapping costs.
_NO_BEARING = ("mapper", "mapspace", "mapspace_constraints", "architecture_constraints", "globals", "variables")
_TABLES = ("ERT", "ART", "ERT_summary", "ART_summary")
_EMPTY = ("compound_components", "components", "sparse_optimizations")


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
    constraints  of the architecture's nodes, in the form of a constraints file, with Timeloop's dimensions
    """

    given: frozenset[str]
    problem: Problem | None
    arch: Architecture | None
    mapping: Mapping | None
    constraints: dict[str, Any]


def read_timeloop(paths: Iterable[str | os.PathLike[str]] = (), texts: Iterable[tuple[str, str]] = ()) -> Imported:
    """The mapping and architecture in Timeloop v0.4 files.

    paths  of files
    texts  (name, text) of files that are here already

    Raises MappingError, with file, line and field, for what cannot be read and for what has no equal in our model.
    """
    parts = read_parts(paths, texts)
    missing = [f"{key} ({what})" for key, what in _PARTS.items() if key not in parts.given]
    if parts.mapping is None or parts.arch is None:
        raise MappingError(f"missing: {', '.join(missing)}", where="Timeloop files")
    return Imported(parts.mapping, parts.arch)


def read_parts(paths: Iterable[str | os.PathLike[str]] = (), texts: Iterable[tuple[str, str]] = ()) -> Parts:
    """What is in Timeloop v0.4 files, each part alone; the arguments and errors are those of `read_timeloop`."""
    try:
        read = [(os.fspath(path), read_text(Path(path), os.fspath(path), "a Timeloop file")) for path in paths]
        parts = _parts([*read, *texts])
        problem = read_problem(parts["problem"]) if "problem" in parts else None
        arch, constraints = None, {}
        if "architecture" in parts:
            arch = read_architecture(parts["architecture"], parts.get("ERT"), parts.get("ART"))
            constraints = read_constraints(parts["architecture"], arch)
        mapping = None
        if "mapping" in parts and problem is not None and arch is not None:
            mapping = Mapping(problem, read_nest(parts["mapping"], problem, arch))
        return Parts(frozenset(parts), problem, arch, mapping, constraints)
    except TilewrightError as error:
        raise MappingError(error.message, where=error.where, hint=error.hint) from None


def _parts(files: Iterable[tuple[str, str]]) -> dict[str, Field]:
    parts: dict[str, Field] = {}
    for name, text in files:
        top = read_document(text, name, "a Timeloop file", "start with 'architecture:', 'problem:' or 'mapping:'", TAGS)
        for written, part in top.members({}, (*_PARTS, *_TABLES, *_NO_BEARING, *_EMPTY)).items():
            key = written.removesuffix("_summary")
            if key in parts:
                raise part.error(f"a second {key}, the first is in {parts[key].where}")
            if key in _EMPTY and _says_something(part):
                raise part.error(f"{key} has no equal here")
            parts[key] = part
    return parts


def _says_something(part: Field) -> bool:
    """Whether a part holds more than a version and empty lists."""
    if isinstance(part.value, str):
        return bool(part.value)
    values = part.value.items() if not isinstance(part.value, tuple) else enumerate(part.value)
    return any(key != "version" and member.value for key, member in values)
