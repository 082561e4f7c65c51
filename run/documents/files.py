"""Documents of mappings as files: read strictly, with one message for whatever is wrong, and written for people."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ...ir import MappingError, did_you_mean
from ...ir.files import bytes_of, missing_file

SCHEMA_VERSION: Final = 6

_LARGEST_FILE = 2**24  # bytes; a document takes a few thousand
_LINE_LENGTH = 110

DocumentT = TypeVar("DocumentT", bound=BaseModel)


@dataclass(frozen=True)
class DocumentKind:
    """A kind of document.

    name     of its file
    key      of its version
    newest   version, which is written; earlier ones are read
    wanted   its keys that tell it from others
    writer   a command that writes one
    """

    name: str
    key: str
    newest: int
    wanted: str
    writer: str


MAPPING: Final = DocumentKind(
    "mapping.json", "schema_version", SCHEMA_VERSION, "an object with cascade, architecture and tree", "search LAYER"
)


class Strict(BaseModel):
    """Base of the records: types are exact, unknown keys and numbers that are not finite are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def spread(value: Any, indent: int) -> str:
    """JSON with every list and object on one line where it fits, and a line for each member where it does not."""
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not isinstance(value, (dict, list)) or not value or len(flat) + indent <= _LINE_LENGTH:
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {spread(v, indent + 2)}" for key, v in value.items()]
    else:
        lines = [inner + spread(element, indent + 2) for element in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(lines) + f"\n{' ' * indent}{closing}"


def read_text(path: Path, where: str, kind: DocumentKind = MAPPING) -> str:
    """The text of a document; MappingError when the file cannot be read; `where` is what messages call it."""
    what, hint = kind.name, f"`tilewright {kind.writer} --out DIR` writes a {kind.name}"
    try:
        data = bytes_of(path, _LARGEST_FILE)
    except FileNotFoundError:
        raise MappingError(f"{missing_file(path)}, expected a {what}", where=where, hint=hint) from None
    except IsADirectoryError:
        if (path / what).is_file():
            hint = f"write {path / what}"
        raise MappingError(f"this is a directory, expected a {what}", where=where, hint=hint) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MappingError(f"the file cannot be read: {reason}", where=where) from None
    if len(data) > _LARGEST_FILE:
        raise MappingError(f"larger than 16 MiB, expected a {what}", where=where)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise MappingError(f"not a text file, expected a {what}", where=where) from None


def members_of(text: str, where: str, kind: DocumentKind = MAPPING) -> dict[str, Any]:
    """The members of a document; MappingError for a text that is no JSON, no object, or of an unknown version.

    where  what messages call it
    """
    try:
        data = json.loads(text, object_pairs_hook=_refuse_twice, parse_float=_finite, parse_constant=_finite)
    except json.JSONDecodeError as error:
        place = f"{where}:{error.lineno}"
        raise MappingError(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}", where=place) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error).partition(";")[0]
        raise MappingError(f"not a {kind.name}: {reason}", where=where) from None
    if not isinstance(data, dict):
        raise MappingError(f"found {_kind(data)}, expected {kind.wanted}", where=where)
    _check_version(data, where, kind)
    return data


def document_from(text: str, model: type[DocumentT], known: Iterable[str], where: str) -> DocumentT:
    """The document of a text that `members_of` could read; MappingError for the first field that is wrong.

    known  all keys of such a document, for hints
    """
    try:
        return model.model_validate_json(text.removeprefix("\ufeff"), strict=True)
    except ValidationError as error:
        raise _first_error(error, known, where) from None


def _check_version(data: dict[str, Any], where: str, kind: DocumentKind) -> None:
    place = f"{where}: {kind.key}"
    if kind.key not in data:
        unlike = f"this does not look like a {kind.name} of tilewright"
        if "network_plan_version" in data:
            unlike = "it is the plan of a network, which `tilewright emit` knows; its groups are groups/N/mapping.json"
        raise MappingError(f"missing, expected {kind.newest}", where=place, hint=unlike)
    version = data[kind.key]
    if type(version) is not int or not 1 <= version <= kind.newest:
        newer = type(version) is int and version > kind.newest
        hint = "it was written by a newer tilewright: read it with that one" if newer else None
        raise MappingError(f"found {version!r}, expected {kind.newest}", where=place, hint=hint)


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


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")
_MISSING = ("missing", "missing_argument")


def _first_error(error: ValidationError, known: Iterable[str], where: str) -> MappingError:
    """What is wrong with a document, in one message; a key that is unknown explains more than one that is missing."""
    errors = error.errors(include_url=False)
    first = min(errors, key=lambda e: e["type"] not in _UNKNOWN_KEY)
    place = f"{where}: {_path(first['loc'])}"
    found, context = first.get("input"), first.get("ctx", {})
    match first["type"]:
        case "extra_forbidden" | "unexpected_keyword_argument":
            parent = first["loc"][:-1]
            missing = [str(e["loc"][-1]) for e in errors if e["type"] in _MISSING and e["loc"][:-1] == parent]
            near = did_you_mean(str(first["loc"][-1]), [*missing, *known])
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


_KINDS = ("loop", "node", "memory", "fanout")
KINDS_OF_COSTS = ("Cost", "CascadeCost")


def _path(loc: tuple[int | str, ...]) -> str:
    """`tree.items[3].trips`; the tags by which pydantic tells loops from nodes, and kinds of costs, are left out."""
    path = ""
    for i, part in enumerate(loc):
        if isinstance(part, int):
            path += f"[{part}]"
        elif part not in KINDS_OF_COSTS and not (i > 1 and isinstance(loc[i - 1], int) and part in _KINDS):
            path += f".{part}" if path else part
    return path


SCHEMA_NAME: Final = "mapping-schema"
"""What `tilewright show` calls it."""


# A JSON Schema says keys, types and ranges. The reader refuses more: nests that do not cover their problem, names of
# nothing, keys given twice, 16.0 where a whole number belongs. `python docs/make_schema.py` writes the present version.


def schema_path(version: int) -> Path:
    """The file of a version."""
    return Path(__file__).parent / "schema" / f"mapping-{version}.json"


def network_plan_schema_path(version: int) -> Path:
    """The file of a version of plan.json of a network."""
    return Path(__file__).parent / "schema" / f"network-plan-{version}.json"


def sharded_plan_schema_path(version: int) -> Path:
    """The file of a version of plan.json of a network on a system."""
    return Path(__file__).parent / "schema" / f"sharded-plan-{version}.json"


def schema_text() -> str:
    """The schema of the present version: JSON Schema, draft 2020-12."""
    from .files import SCHEMA_VERSION

    return schema_path(SCHEMA_VERSION).read_text(encoding="utf-8")
