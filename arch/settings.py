"""Fields of an architecture file that are set from outside.

    load_arch("systolic", set={"lanes": 32, "array.y": 64, "DRAM.bandwidth": "34 GB/s", "clock": "1 GHz"})

Paths are those of `formulas.py`. `array=256x256` sets both axes. Fields are set on the document before anything is
checked, so a value that is set is checked as one in the file; references and formulas are filled in after that
(`formulas.py`), so that what refers to a field follows it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ..ir import did_you_mean
from ..ir.errors import ArchitectureError
from .document import Field, child_path, read_document
from .formulas import Target, all_paths, axis_size, check_parameters, field_at, filled_in, target_of
from .units import shown

Setting = str | int | float | bool | list[object] | tuple[object, ...] | dict[str, object]

_AXES = re.compile(r"([0-9]+)\s*(?:x\s*([0-9]+))?")


def with_settings(document: Field, settings: Mapping[str, Setting], keys: tuple[str, ...]) -> Field:
    """The document with fields set, and references and formulas filled in.

    settings  path -> value, as at the top of this module
    keys      that a file may have at its top

    Raises ArchitectureError for a path that leads nowhere, a reference to nothing or to itself, and a formula that
    comes to nothing.
    """
    check_parameters(document, keys)
    for path, value in settings.items():
        document = _set(document, path, value, keys)
    return filled_in(document, keys)


def shown_settings(settings: Mapping[str, Setting]) -> dict[str, str]:
    """The settings as texts, for reports and for repeating them."""
    return {path: _text(value) for path, value in settings.items()}


def _set(document: Field, path: str, value: Setting, keys: tuple[str, ...]) -> Field:
    place = f"set {path}={shown(_text(value))[1:-1]}"
    target = target_of(document, path, keys)
    if target is None:
        raise ArchitectureError(
            f"there is no {path.partition('.')[0]!r}, expected a level and its key, a parameter or a key of the file",
            where=place,
            hint=did_you_mean(path, all_paths(document, keys)),
        )
    level = field_at(document, target) if len(target) == 2 and target[0] == "levels" else None
    if level is not None:
        axes = _axes(level, path, _text(value), place)
        for axis, size in axes.items():
            document = put(document, axis_size(document, (*target, axis)), size, place, "")
        return document
    is_text = not isinstance(value, (dict, list, tuple)) and not _is_yaml(value)
    return put(document, axis_size(document, target) if is_text else target, value, place, "")


def _axes(level: Field, path: str, text: str, place: str) -> dict[str, str]:
    """The axes that `array=256x256` sets."""
    members = level.mapping("a level")
    match = _AXES.fullmatch(text.strip())
    if "fanout" not in members:
        known = [f"{path}.{key}" for key in members if key != "memory"]
        raise ArchitectureError(f"{path} is a memory, expected one of its fields", where=place, hint=", ".join(known))
    if match is None:
        raise ArchitectureError(f"found {shown(text)}, expected sizes such as 256x256 or 64", where=place)
    if match[2] is None and "y" in members:
        raise ArchitectureError(f"{path} has two axes, expected sizes such as {text}x{text}", where=place)
    return {axis: size for axis, size in zip("xy", match.groups(), strict=True) if size is not None}


def put(field: Field, target: Target, value: Setting, place: str, path: str) -> Field:
    """The field with a value put at the target; mappings on the way are made."""
    if not target:
        return _field_of(value, place, path)
    key, *rest = target
    if isinstance(key, int):
        elements = list(field.elements("a list of levels"))
        elements[key] = put(elements[key], tuple(rest), value, place, f"{path}[{key}]")
        return replace(field, value=tuple(elements))
    if not isinstance(field.value, Mapping):
        message = f"{path or 'the file'} is {field.found}, expected a mapping to set {key!r} in"
        raise ArchitectureError(message, where=place)
    inner = field.value.get(key, Field({}, place, 0, child_path(path, key)))
    return replace(field, value={**field.value, key: put(inner, tuple(rest), value, place, child_path(path, key))})


def _field_of(value: object, place: str, path: str) -> Field:
    """A value as the document would hold it; a text in braces or brackets is YAML."""
    if isinstance(value, str) and _is_yaml(value):
        return _moved(read_document(value, place, "a value"), place, path)
    if isinstance(value, Mapping):
        members = {str(key): _field_of(member, place, child_path(path, str(key))) for key, member in value.items()}
        return Field(members, place, 0, path)
    if isinstance(value, (list, tuple)):
        return Field(tuple(_field_of(v, place, f"{path}[{i}]") for i, v in enumerate(value)), place, 0, path)
    return Field(_text(value), place, 0, path)


def _is_yaml(value: object) -> bool:
    """Whether a value is a mapping or a list written as a text."""
    return isinstance(value, str) and value.lstrip()[:1] in ("{", "[")


def _moved(field: Field, place: str, path: str) -> Field:
    if isinstance(field.value, Mapping):
        members = {key: _moved(member, place, child_path(path, key)) for key, member in field.value.items()}
        return Field(members, place, 0, path)
    if isinstance(field.value, tuple):
        return Field(tuple(_moved(f, place, f"{path}[{i}]") for i, f in enumerate(field.value)), place, 0, path)
    return Field(field.value, place, 0, path)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_text(member)}" for key, member in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_text, value)) + "]"
    return str(value)
