"""A constraints document given as Python data, in the form that files are read into."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...arch.document import Field, child_path
from ...ir import ConstraintError


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
