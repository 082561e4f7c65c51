"""One constraint in one line, as on the command line: "GLB.temporal.K<=16".

    GLB.temporal.K<=16                trips of the temporal loops over K at GLB: <=, >=, or = for exactly
    GLB.keep.weight=never             must, never, prefer or avoid; without a tensor, for all of them
    GLB.order=N>K,C>P                 loops over N outside those over K and C, those outside those over P
    array.x.dims=K,C                  nothing else is spread over the axis
    array.x.trips.K>=4                trips of the loops over K on the axis
    array.utilization>=0.5            share of the instances in use
    utilization>=0.8                  share of the MACs at work

Names may be any of `names.py`: innermost(output).temporal.reduction=1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...arch.document import Field, child_path
from ...arch.units import shown
from ...ir import ConstraintError, did_you_mean

_EXPRESSION = re.compile(r"\s*([^<>=]+?)\s*(<=|>=|=)\s*(.+?)\s*")
_MEMORY_KEYS = ("keep", "temporal", "order")
_FANOUT_KEYS = ("utilization", "x", "y")
_EXAMPLES = "write GLB.temporal.K<=16, GLB.keep.weight=never, GLB.order=N>K,C, array.x.dims=K,C or utilization>=0.5"


def parse_inline(text: str) -> Field:
    """The document that one expression stands for, in the form of a constraints file.

    Raises ConstraintError for text that is no such expression; names are looked at later.
    """
    where = f"constraint {shown(text)}"
    match = _EXPRESSION.fullmatch(text)
    if match is None:
        raise ConstraintError("found no '=', '<=' or '>=' with a value behind it", where=where, hint=_EXAMPLES)
    path = [part.strip() for part in match[1].split(".")]
    return field_of({"name": text.strip(), **_document(path, match[2], match[3], where)}, where)


def _document(path: list[str], sign: str, value: str, where: str) -> dict[str, Any]:
    match path:
        case ["utilization"]:
            return {"utilization": _share(sign, value, where)}
        case [memory, "keep"]:
            return {"memories": {memory: {"keep": _plain(sign, value, where)}}}
        case [memory, "keep", tensor]:
            return {"memories": {memory: {"keep": {tensor: _plain(sign, value, where)}}}}
        case [memory, "temporal", dim]:
            return {"memories": {memory: {"temporal": {dim: _range(sign, value)}}}}
        case [memory, "order"]:
            groups = [_terms(group) for group in _plain(sign, value, where).split(">")]
            return {"memories": {memory: {"order": groups}}}
        case [fanout, "utilization"]:
            return {"fanouts": {fanout: {"utilization": _share(sign, value, where)}}}
        case [fanout, "x" | "y" as axis, "dims"]:
            return {"fanouts": {fanout: {axis: {"dims": _terms(_plain(sign, value, where))}}}}
        case [fanout, "x" | "y" as axis, "trips", dim]:
            return {"fanouts": {fanout: {axis: {"trips": {dim: _range(sign, value)}}}}}
    hint = _EXAMPLES
    if len(path) > 1 and path[1] not in (*_MEMORY_KEYS, *_FANOUT_KEYS):
        hint = did_you_mean(path[1], (*_MEMORY_KEYS, *_FANOUT_KEYS))
    raise ConstraintError(f"cannot read {shown('.'.join(path))}", where=where, hint=hint)


def _plain(sign: str, value: str, where: str) -> str:
    if sign != "=":
        raise ConstraintError(f"found {shown(sign)}, expected '='", where=where, hint=_EXAMPLES)
    return value


def _share(sign: str, value: str, where: str) -> str:
    if sign != ">=":
        raise ConstraintError(f"found {shown(sign)}, expected '>='", where=where, hint="utilization has a least share")
    return value


def _range(sign: str, value: str) -> str | dict[str, str]:
    return value if sign == "=" else {"max" if sign == "<=" else "min": value}


def _terms(text: str) -> list[str]:
    return [term.strip() for term in text.split(",")]


def field_of(value: Any, where: str, path: str = "") -> Field:
    """Nested dicts, lists, texts, numbers and booleans as a tree of fields; `where` is how messages call it.

    Raises ConstraintError for anything else.
    """
    if isinstance(value, Mapping):
        members = {str(key): field_of(member, where, child_path(path, str(key))) for key, member in value.items()}
        return Field(members, where, 0, path)
    if isinstance(value, list | tuple):
        elements = tuple(field_of(element, where, f"{path}[{i}]") for i, element in enumerate(value))
        return Field(elements, where, 0, path)
    if isinstance(value, bool):
        return Field(str(value).lower(), where, 0, path)
    if isinstance(value, str | int):
        return Field(str(value), where, 0, path)
    if isinstance(value, float):
        return Field(f"{value:.12g}", where, 0, path)
    place = f"{where}: {path}" if path else where
    raise ConstraintError(f"found a {type(value).__name__}, expected text, a number, a list or a dict", where=place)
