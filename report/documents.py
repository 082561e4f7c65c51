"""mapping.json: a mapping with everything that it needs to be understood, run and checked elsewhere.

    {
      "schema_version": 1,
      "written_by": "tilewright 0.1.0",
      "summary": {"energy_pj": ..., "latency_cycles": ..., "edp": ..., "proven": true, ...},
      "problem": {"name": ..., "dims": [["M", 16], ...], "tensors": [...]},
      "architecture": {...},         the whole specification, in base units
      "nest": [{"kind": "node", "memory": "DRAM", "tensor": "A"}, {"kind": "loop", "dim": "M", "trips": 16}, ...],
      "cost": {...},                 what the mapping costs, by memory and tensor
      "certificate": {...}           what the search proved; null for a mapping that was not searched for
    }

The nest is a list of loops and nodes, outermost first; a loop with an axis is spatial. A tensor's rank is a list of
(dimension, coefficient). Unknown keys are refused, so a reader never overlooks what a newer writer meant.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, WithJsonSchema

from ..arch import Architecture, Fanout, Memory
from ..cost_models import Cost, MemoryUse, NetworkUse, TensorTraffic, parse_objective
from ..inputs import checks
from ..ir import (
    Axis,
    Loop,
    LoopNest,
    Mapping,
    MappingError,
    Node,
    Problem,
    ProblemError,
    Role,
    Tensor,
    TilewrightError,
    did_you_mean,
)
from ..ir.files import missing_file
from ..ir.limits import LARGEST_COUNT, check_countable
from ..mapper.certificate import Certificate

SCHEMA_VERSION: Final = 1

_LARGEST_FILE = 2**24  # bytes; a document takes a few thousand
_LINE_LENGTH = 110


@dataclass(frozen=True)
class Recorded:
    """The figures that a document carries; recomputing them is `evaluate`.

    cost         what the mapping costs
    certificate  what is proven of it; None for a mapping that was not searched for
    """

    cost: Cost
    certificate: Certificate | None


class LoadedMapping(NamedTuple):
    """What a document holds.

    mapping   with its problem
    arch      that it is for
    recorded  figures that were written down with it
    """

    mapping: Mapping
    arch: Architecture
    recorded: Recorded


class _Strict(BaseModel):
    """Base of the records: types are exact, unknown keys and numbers that are not finite are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


Size = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1})]
"""A size or a coefficient; `Problem` says it better when one is not positive."""


class _AxisPart(_Strict):
    """One axis of an array.

    fanout  its name
    index   0 is x, 1 is y
    """

    fanout: str
    index: Literal[0, 1]


class _LoopPart(_Strict):
    """Steps along a dimension, one after the other, or side by side on an axis.

    kind   "loop"
    dim    name of the dimension
    trips  how many steps
    axis   whose instances take a step each; null: they are taken in time
    """

    kind: Literal["loop"] = "loop"
    dim: str
    trips: Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
    axis: _AxisPart | None = None


class _NodePart(_Strict):
    """From here inwards, a memory holds the tile of a tensor that the loops further in touch.

    kind    "node"
    memory, tensor  their names
    """

    kind: Literal["node"] = "node"
    memory: str
    tensor: str


class _TensorPart(_Strict):
    """A tensor, and which of its elements each point of the dimensions touches.

    name   of the tensor
    role   what the architecture calls it
    ranks  its axes; each a list of [dimension, coefficient], of which it is the sum
    bits   of a word; null: as wide as the architecture's
    partial_bits  of a partial sum, of outputs only; null: as wide as the architecture's
    """

    name: str
    role: Role
    ranks: tuple[tuple[tuple[str, Size], ...], ...]
    bits: PositiveInt | None = None
    partial_bits: PositiveInt | None = None


class _ProblemPart(_Strict):
    """A layer: its output is, at every point of the dimensions, the sum of the products of its operands.

    name     of the layer
    dims     a list of [dimension, size]
    tensors  operands first, the output last
    """

    name: str
    dims: tuple[tuple[str, Size], ...]
    tensors: tuple[_TensorPart, ...]


class _ArchitecturePart(Architecture):
    """The whole specification of the machine, in base units."""

    # As the specification; but its levels are told apart by `kind`, for errors that speak of one of them only.

    levels: tuple[Annotated[Memory | Fanout, Field(discriminator="kind")], ...]


class _Summary(_Strict):
    """The figures that most readers want, some of them derived from those in `cost` and `certificate`.

    energy_pj, latency_cycles, utilization, limited_by  as in `cost`
    latency_s  the whole run, in seconds
    edp        energy x latency, in pJ x cycles
    proven     whether no mapping of the space is better; null: it was not searched for
    gap        how much better another one could be at most, as a fraction of the value; null: it was not searched for
    """

    energy_pj: float
    latency_cycles: float
    latency_s: float
    edp: float
    utilization: float
    limited_by: str
    proven: bool | None
    gap: float | None


class MappingDocument(_Strict):
    """A mapping of a layer on an accelerator, with everything that it needs to be understood, run and checked.

    schema_version  of this document
    written_by      the program and its version
    summary         figures that most readers want
    problem         the layer
    architecture    the machine
    nest            loops and storage nodes, outermost first
    cost            what the mapping costs, by memory and tensor
    certificate     what the search proved; null for a mapping that was not searched for
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    written_by: str
    summary: _Summary
    problem: _ProblemPart
    architecture: _ArchitecturePart
    nest: tuple[Annotated[_LoopPart | _NodePart, Field(discriminator="kind")], ...]
    cost: Cost
    certificate: Certificate | None


def dump_mapping(mapping: Mapping, arch: Architecture, cost: Cost, certificate: Certificate | None = None) -> str:
    """The mapping.json text of a mapping and its cost; without a certificate for one that was not searched for."""
    document = document_of(mapping, arch, cost, certificate)
    return _spread(document.model_dump(mode="json"), 0) + "\n"


def document_of(
    mapping: Mapping, arch: Architecture, cost: Cost, certificate: Certificate | None = None
) -> MappingDocument:
    """The document of a mapping and its cost."""
    return MappingDocument(
        written_by=written_by(),
        summary=_summary_of(cost, certificate),
        problem=_problem_part(mapping.problem),
        architecture=_ArchitecturePart.model_validate(_fields_of(arch)),
        nest=tuple(_item_part(item) for item in mapping.nest),
        cost=cost,
        certificate=certificate,
    )


@cache
def written_by() -> str:
    """What documents and records say of their writer, such as "tilewright 0.1.0"."""
    return f"tilewright {version('tilewright')}"


def load_mapping(text_or_path: str | os.PathLike[str], where: str | None = None) -> LoadedMapping:
    """The mapping, architecture and recorded figures of a mapping.json.

    text_or_path  its path, or its text, which starts with `{`
    where  what messages call the document; by default its path

    Raises MappingError, with file and field path, for a document that cannot be read, is not of this version, or
    holds a nest that does not cover its problem.
    """
    if isinstance(text_or_path, str) and text_or_path.lstrip().startswith("{"):
        return parse_mapping(text_or_path, where or "<text>")
    path = checks.path(text_or_path, "the mapping", "the path or the text of a mapping.json", MappingError)
    place = where or path
    return parse_mapping(read_text(Path(text_or_path), place), place)


def parse_mapping(text: str, where: str) -> LoadedMapping:
    """As `load_mapping`, of a text; `where` is what messages call it."""
    document = _parse(text, where)
    problem, nest = _problem_and_nest(document, where)
    try:
        mapping = Mapping(problem, nest)
    except TilewrightError as error:
        raise error.located(f"{where}: nest") from None
    if document.certificate:
        _check_objective(document.certificate, where)
    arch = Architecture.model_validate(_fields_of(document.architecture))
    return LoadedMapping(mapping, arch, Recorded(document.cost, document.certificate))


def parse_nest(text: str, where: str) -> tuple[Problem, LoopNest]:
    """As `parse_mapping`, but for the problem and the nest alone: the nest need not cover the problem."""
    return _problem_and_nest(_parse(text, where), where)


def _problem_and_nest(document: MappingDocument, where: str) -> tuple[Problem, LoopNest]:
    try:
        problem = _problem_of(document.problem)
        check_countable(problem)
    except ProblemError as error:
        raise MappingError(error.message, where=f"{where}: problem: {error.where}", hint=error.hint) from None
    return problem, LoopNest(tuple(_item_of(part) for part in document.nest))


def _check_objective(certificate: Certificate, where: str) -> None:
    try:
        parse_objective(certificate.objective)
    except TilewrightError as error:
        raise MappingError(error.message, where=f"{where}: certificate.{error.where}", hint=error.hint) from None


def _summary_of(cost: Cost, certificate: Certificate | None) -> _Summary:
    return _Summary(
        energy_pj=cost.energy_pj,
        latency_cycles=cost.latency_cycles,
        latency_s=cost.latency_s,
        edp=cost.edp,
        utilization=cost.utilization,
        limited_by=cost.limited_by,
        proven=certificate.proven if certificate else None,
        gap=certificate.gap if certificate else None,
    )


def _fields_of(arch: Architecture) -> dict[str, Any]:
    return {name: getattr(arch, name) for name in Architecture.model_fields}


def _problem_part(problem: Problem) -> _ProblemPart:
    tensors = tuple(
        _TensorPart(name=t.name, role=t.role, ranks=t.ranks, bits=t.bits, partial_bits=t.partial_bits)
        for t in problem.tensors
    )
    return _ProblemPart(name=problem.name, dims=problem.dims, tensors=tensors)


def part_of(found: Architecture | Problem) -> Any:
    """An architecture or a problem as it stands in mapping.json, in Python's lists and dicts."""
    part: BaseModel
    if isinstance(found, Architecture):
        part = _ArchitecturePart.model_validate(_fields_of(found))
    else:
        part = _problem_part(found)
    return part.model_dump(mode="json")


def _problem_of(part: _ProblemPart) -> Problem:
    tensors = tuple(Tensor(t.name, t.ranks, t.role, t.bits, t.partial_bits) for t in part.tensors)
    return Problem(part.name, part.dims, tensors)


def _item_part(item: Loop | Node) -> _LoopPart | _NodePart:
    if isinstance(item, Node):
        return _NodePart(memory=item.memory, tensor=item.tensor)
    if item.axis is None:
        return _LoopPart(dim=item.dim, trips=item.trips)
    axis = _AxisPart.model_validate({"fanout": item.axis.fanout, "index": item.axis.index})
    return _LoopPart(dim=item.dim, trips=item.trips, axis=axis)


def _item_of(part: _LoopPart | _NodePart) -> Loop | Node:
    if isinstance(part, _NodePart):
        return Node(part.memory, part.tensor)
    return Loop(part.dim, part.trips, Axis(part.axis.fanout, part.axis.index) if part.axis else None)


def _spread(value: Any, indent: int) -> str:
    """JSON with every list and object on one line where it fits, and a line for each member where it does not."""
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not isinstance(value, (dict, list)) or not value or len(flat) + indent <= _LINE_LENGTH:
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {_spread(v, indent + 2)}" for key, v in value.items()]
    else:
        lines = [inner + _spread(element, indent + 2) for element in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(lines) + f"\n{' ' * indent}{closing}"


def read_text(path: Path, where: str) -> str:
    """The text of a mapping.json; MappingError when the file cannot be read; `where` is what messages call it."""
    hint = "`tilewright search LAYER --out DIR` writes a mapping.json"
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except FileNotFoundError:
        raise MappingError(f"{missing_file(path)}, expected a mapping.json", where=where, hint=hint) from None
    except IsADirectoryError:
        if (path / "mapping.json").is_file():
            hint = f"write {path / 'mapping.json'}"
        raise MappingError("this is a directory, expected a mapping.json", where=where, hint=hint) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MappingError(f"the file cannot be read: {reason}", where=where) from None
    if len(data) > _LARGEST_FILE:
        raise MappingError("larger than 16 MiB, expected a mapping.json", where=where)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise MappingError("not a text file, expected a mapping.json", where=where) from None


def _parse(text: str, where: str) -> MappingDocument:
    """The document of a text: first as JSON, then its version, then all its fields."""
    try:
        data = json.loads(text, object_pairs_hook=_refuse_twice, parse_float=_finite, parse_constant=_finite)
    except json.JSONDecodeError as error:
        place = f"{where}:{error.lineno}"
        raise MappingError(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}", where=place) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error).partition(";")[0]
        raise MappingError(f"not a mapping.json: {reason}", where=where) from None
    if not isinstance(data, dict):
        raise MappingError(f"found {_kind(data)}, expected an object with problem, architecture and nest", where=where)
    _check_version(data, where)
    try:
        return MappingDocument.model_validate_json(text.removeprefix("\ufeff"), strict=True)
    except ValidationError as error:
        raise _first_error(error, where) from None


def _refuse_twice(members: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in members]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ValueError(f"the key {twice!r} is given twice")
    return dict(members)


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"found {text}, expected a finite number")
    return value


def _check_version(data: dict[str, Any], where: str) -> None:
    place = f"{where}: schema_version"
    if "schema_version" not in data:
        unlike = "this does not look like a mapping.json of tilewright"
        raise MappingError(f"missing, expected {SCHEMA_VERSION}", where=place, hint=unlike)
    version = data["schema_version"]
    if type(version) is not int or version != SCHEMA_VERSION:
        newer = type(version) is int and version > SCHEMA_VERSION
        hint = "it was written by a newer tilewright: read it with that one" if newer else None
        raise MappingError(f"found {version!r}, expected {SCHEMA_VERSION}", where=place, hint=hint)


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")
_MISSING = ("missing", "missing_argument")


def _first_error(error: ValidationError, where: str) -> MappingError:
    """What is wrong with a document, in one message; a key that is unknown explains more than one that is missing."""
    errors = error.errors(include_url=False)
    first = min(errors, key=lambda e: e["type"] not in _UNKNOWN_KEY)
    place = f"{where}: {_path(first['loc'])}"
    found, context = first.get("input"), first.get("ctx", {})
    match first["type"]:
        case "extra_forbidden" | "unexpected_keyword_argument":
            parent = first["loc"][:-1]
            missing = [str(e["loc"][-1]) for e in errors if e["type"] in _MISSING and e["loc"][:-1] == parent]
            near = did_you_mean(str(first["loc"][-1]), [*missing, *_known_keys()])
            return MappingError("unknown key", where=place, hint=near if near.startswith("did you mean") else None)
        case "missing" | "missing_argument":
            return MappingError("missing", where=place)
        case "union_tag_not_found":
            return MappingError("missing", where=f"{place}.kind")
        case "union_tag_invalid":
            message = f"found {context.get('tag')!r}, expected {context.get('expected_tags')}"
            return MappingError(message, where=f"{place}.kind")
        case "value_error":
            return MappingError(first["msg"].removeprefix("Value error, "), where=place)
    shown = repr(found) if isinstance(found, (str, int, float)) and len(repr(found)) <= 60 else _kind(found)
    return MappingError(f"found {shown}, expected {_expected(first['msg'])}", where=place)


def _expected(message: str) -> str:
    """What pydantic asks for, in this file's words."""
    text = message.removeprefix("Input should be ").removeprefix("a valid ").removeprefix("an ")
    words = {"array": "a list", "tuple": "a list", "integer": "a whole number", "string": "a text"}
    words |= {"number": "a number", "boolean": "true or false", "dictionary": "an object", "object": "an object"}
    return f"a number {text}" if text.startswith(("greater", "less")) else words.get(text, text)


def _path(loc: tuple[int | str, ...]) -> str:
    """`nest[3].trips`; the tags by which pydantic tells loops from nodes are left out."""
    path = ""
    for i, part in enumerate(loc):
        if isinstance(part, int):
            path += f"[{part}]"
        elif not (i and isinstance(loc[i - 1], int) and part in ("loop", "node", "memory", "fanout") and i > 1):
            path += f".{part}" if path else part
    return path


def _known_keys() -> Iterator[str]:
    """Every key of a document."""
    models = (MappingDocument, _Summary, _ProblemPart, _TensorPart, _LoopPart, _NodePart, _AxisPart)
    for model in (*models, Architecture, Memory, Fanout):
        yield from model.model_fields
    for record in (Cost, MemoryUse, NetworkUse, TensorTraffic, Certificate):
        yield from (field.name for field in fields(record))
