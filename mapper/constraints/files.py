"""Constraints as a user writes them: a YAML file, a dict of the same form, the name of a dataflow, or one line.

    name: my-dataflow                  # all of it is optional; texts first
    description: one line
    source: where it is from
    optional: [R, S]                   # names that a layer or a machine may lack; all others must exist
    memories:
      GLB:
        keep: {weight: never}          # must, never; prefer, avoid: where the architecture leaves a choice
        temporal: {C: 1, K: {max: 16}, others: {min: 1, max: 4}}    # trips of the temporal loops at this memory
        order: [N, [K, C], others]     # its loops, outermost first; the order within [K, C] is free
    fanouts:
      array:
        utilization: 0.5               # least share of its instances in use
        x: {dims: [K], trips: {K: 16}} # only these are spread over the axis; and over so many instances
        y: relevant(weight)            # short for {dims: relevant(weight)}
    utilization: 0.8                   # least share of the MACs at work while any is

`names.py` lists what may stand for memories, fanouts, dimensions and tensors; `inline.py` has
the form in one line. A memory's order can be given once; everything else adds up.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ...arch import Architecture, Fanout, Memory
from ...arch.document import Field, is_path, read_document, read_text
from ...inputs import checks
from ...ir import ArchitectureError, ConstraintError, Problem, did_you_mean
from .constraints import Constraints, Range, combine
from .inline import field_of, parse_inline
from .names import KnownNames

ConstraintSource: TypeAlias = "Constraints | Field | Mapping[str, Any] | str | os.PathLike[str]"
"""One set of constraints: resolved, a document, a dict, the name of a dataflow or one line, or the path of a file."""

_DATAFLOWS = Path(__file__).parent / "dataflows"
_TEXTS = ("name", "description", "source")
_KEEP_WORDS = ("must", "never", "prefer", "avoid")
_A_RANGE = "a number of trips such as 4, or {min: 2, max: 8}"
_A_TRIP_COUNT = "a number of trips such as 4"
_TERMS = "dimensions such as [K, C] or relevant(weight)"
_AN_ORDER = "groups of dimensions, outermost first, such as [N, [K, C]]"
_A_SHARE = "a share such as 0.5"


def list_dataflows() -> tuple[str, ...]:
    """Names of the dataflows that come with tilewright, in alphabetical order."""
    return tuple(sorted(path.stem for path in _DATAFLOWS.glob("*.yaml")))


def dataflow_text(name: str) -> str:
    """The file of a dataflow, comments and all. Raises ConstraintError when there is none of that name."""
    if name not in list_dataflows():
        hint = did_you_mean(name, list_dataflows())
        raise ConstraintError(f"no dataflow is named {name!r}", hint=hint)
    return (_DATAFLOWS / f"{name}.yaml").read_text(encoding="utf-8")


def load_constraints(
    source: ConstraintSource | Sequence[ConstraintSource] | None, problem: Problem, arch: Architecture
) -> Constraints:
    """What one or several sources ask for, together, of the mappings of a problem on an architecture.

    source  the name of a dataflow ("weight-stationary"), the path of a file, one line ("GLB.temporal.K<=16"), a dict in
            the form of a file, constraints that are resolved already, or a list of these; None asks for nothing

    Raises ConstraintError when a source cannot be understood, names what does not exist, asks for what the architecture
    rules out, or contradicts another one.
    """
    if source is None:
        return Constraints()
    if isinstance(source, Sequence) and not isinstance(source, str):
        return combine(load_constraints(one, problem, arch) for one in source)
    if isinstance(source, Constraints):
        return source
    document = read_constraints(source)
    try:
        return resolve(document, problem, arch)
    except ArchitectureError as error:
        raise _as_constraint_error(error) from None


def read_constraints(source: Field | Mapping[str, Any] | str | os.PathLike[str]) -> Field:
    """The document of a source, for `load_constraints` to resolve: to read it once for many layers and machines.

    Raises ConstraintError when there is no such source, or it is no document.
    """
    try:
        if isinstance(source, Field):
            return source
        if isinstance(source, Mapping):
            return field_of(source, "constraints")
        expected = (
            "a dataflow's name, the path of a file, a line such as GLB.temporal.K<=16, a dict, or a list of these"
        )
        text = checks.path(source, "a constraint", expected, ConstraintError)
        if isinstance(source, str) and text in list_dataflows():
            return _read(dataflow_text(text), f"dataflows/{text}.yaml")
        if isinstance(source, str) and not is_path(text):
            if any(sign in text for sign in "<>="):
                return parse_inline(text)
            hint = did_you_mean(text, list_dataflows())
            expected = "expected one of these, a path that ends in .yaml, or a line such as GLB.temporal.K<=16"
            raise ConstraintError(f"no dataflow is named {text!r}, {expected}", hint=hint)
        return _read(read_text(Path(text), text, "a constraints file"), text)
    except ArchitectureError as error:
        raise _as_constraint_error(error) from None


def _as_constraint_error(error: ArchitectureError) -> ConstraintError:
    """Of the reader that architecture files share."""
    return ConstraintError(error.message, where=error.where, hint=error.hint)


def resolve(document: Field, problem: Problem, arch: Architecture) -> Constraints:
    """The constraints that a document describes. Raises ArchitectureError or ConstraintError with the place in it."""
    top = document.members({}, (*_TEXTS, "optional", "memories", "fanouts", "utilization"))
    texts = {key: top[key].text() for key in _TEXTS if key in top}
    optional = top["optional"].elements("a list of names such as [R, S]") if "optional" in top else ()
    names = KnownNames(problem, arch, frozenset(element.text("a name such as R") for element in optional))
    found = Constraints(min_utilization=_share(top["utilization"])) if "utilization" in top else Constraints()
    if "memories" in top:
        for key, member in top["memories"].mapping("memories, such as {GLB: {temporal: {K: 1}}}").items():
            for memory in names.memories(member, key):
                found = _with(found, _memory(member, memory, names), member)
    if "fanouts" in top:
        for key, member in top["fanouts"].mapping("fanouts, such as {array: {x: [K]}}").items():
            for fanout in names.fanouts(member, key):
                found = _with(found, _fanout(member, fanout, names), member)
    return combine([found], texts.get("name", "constraints"))


def _read(text: str, where: str) -> Field:
    return read_document(text, where, "constraints", "start with 'memories:' or 'fanouts:'")


def _with(found: Constraints, more: Constraints, place: Field) -> Constraints:
    try:
        return combine([found, more])
    except ConstraintError as error:
        raise place.error(error.message, hint=error.hint) from None


def _memory(field: Field, memory: Memory, names: KnownNames) -> Constraints:
    members = field.members({}, ("keep", "temporal", "order"))
    keeps: dict[tuple[str, str], bool] = {}
    if "keep" in members:
        keeps = _keeps(members["keep"], memory, names)
    temporal: dict[tuple[str, str], Range] = {}
    if "temporal" in members:
        temporal = {(memory.name, dim): span for dim, span in _ranges(members["temporal"], names).items()}
    orders = {memory.name: _order(members["order"], names)} if "order" in members else {}
    try:
        return Constraints(keeps=keeps, temporal=temporal, orders=orders)
    except ConstraintError as error:
        raise field.error(error.message, hint=error.hint) from None


def _keeps(field: Field, memory: Memory, names: KnownNames) -> dict[tuple[str, str], bool]:
    given = {"all": field} if isinstance(field.value, str) else field.mapping("a mapping such as {weight: never}")
    beside = {t for key, member in given.items() if key != "others" for t in names.tensors(member, key)}
    found: dict[tuple[str, str], bool] = {}
    for key, member in given.items():
        word = member.choice(_KEEP_WORDS)
        keep = word in ("must", "prefer")
        for tensor in names.tensors(member, key, beside):
            says = memory.keeps[names.problem.tensor(tensor).role]
            if says == ("never" if keep else "must") and word in ("must", "never"):
                rule = f"by the architecture {memory.name} {'never keeps' if keep else 'must keep'} {tensor}"
                hint = f"write {'prefer' if keep else 'avoid'} for what holds where there is a choice"
                raise member.error(f"found {word}, but {rule}", hint=hint)
            if says == "may" and found.setdefault((memory.name, tensor), keep) != keep:
                raise member.error(f"{memory.name} is to keep {tensor}, and is not to")
    return found


def _ranges(field: Field, names: KnownNames) -> dict[str, Range]:
    """Trips by dimension."""
    given = {"all": field} if isinstance(field.value, str) else field.mapping("a mapping such as {K: 16}")
    beside = {d for key, member in given.items() if key != "others" for d in names.dims(member, [key])}
    found: dict[str, Range] = {}
    for key, member in given.items():
        span = _range(member)
        for dim in names.dims(member, [key], beside):
            if found.setdefault(dim, span) != span:
                hint = "write others for the dimensions that nothing else names"
                raise member.error(f"the trips of {dim} are given twice", hint=hint)
    return found


def _range(field: Field) -> Range:
    if isinstance(field.value, str):
        count = field.whole(_A_RANGE)
        return count, count
    members = field.members({}, ("min", "max"))
    if not members:
        raise field.error(f"found nothing, expected {_A_RANGE}")
    least = members["min"].whole(_A_TRIP_COUNT) if "min" in members else 1
    most = members["max"].whole(_A_TRIP_COUNT) if "max" in members else None
    if most is not None and most < least:
        raise field.error(f"found at least {least} and at most {most} trips, expected a range that has a number in it")
    return least, most


def _order(field: Field, names: KnownNames) -> tuple[frozenset[str], ...]:
    groups = field.elements(_AN_ORDER)
    if len(groups) < 2:
        raise field.error(f"found one group, expected {_AN_ORDER}")
    written = [_terms(group) for group in groups]
    beside: set[str] = set()
    for group, terms in zip(groups, written, strict=True):
        named = [term for term in terms if not term.startswith(("others", "not "))] if "others" in terms else terms
        beside |= names.dims(group, named)
    return tuple(names.dims(group, terms, beside) for group, terms in zip(groups, written, strict=True))


def _terms(field: Field) -> list[str]:
    if isinstance(field.value, str):
        return [field.text(_TERMS)]
    return [element.text(_TERMS) for element in field.elements(_TERMS)]


def _fanout(field: Field, fanout: Fanout, names: KnownNames) -> Constraints:
    members = field.members({}, ("utilization", "x", "y"))
    spatial: dict[tuple[str, int, str], Range] = {}
    for index, key in enumerate(("x", "y")):
        if key not in members or (index >= len(fanout.axes) and names.is_optional(key)):
            continue
        if index >= len(fanout.axes):
            hint = "list y as optional if only some machines have it"
            raise members[key].error(f"{fanout.name} has one axis, x", hint=hint)
        spans = _axis(members[key], names)
        spatial |= {(fanout.name, index, dim): span for dim, span in spans.items()}
    shares = {fanout.name: _share(members["utilization"])} if "utilization" in members else {}
    return Constraints(spatial=spatial, utilization=shares)


def _axis(field: Field, names: KnownNames) -> dict[str, Range]:
    """Trips by dimension on one axis."""
    if not isinstance(field.value, Mapping):
        return _only(names.dims(field, _terms(field)), names)
    members = field.members({}, ("dims", "trips"))
    found = _only(names.dims(members["dims"], _terms(members["dims"])), names) if "dims" in members else {}
    for dim, span in (_ranges(members["trips"], names) if "trips" in members else {}).items():
        if dim in found and span[0] > 1:
            raise members["trips"].error(f"{dim} has {span[0]} trips or more, and 'dims' leaves it out")
        found.setdefault(dim, span)
    return found


def _only(dims: frozenset[str], names: KnownNames) -> dict[str, Range]:
    """No trips of any other dimension."""
    return {dim: (1, 1) for dim in names.problem.dim_names if dim not in dims}


def _share(field: Field) -> float:
    share = field.number(_A_SHARE)
    if share > 1:
        raise field.error(f"found {share:.4g}, expected a share of at most 1")
    return share
