"""Fields of an architecture file that are set from outside, and fields that refer to others.

    parameters:                   # named values of the file's own
      lanes: 16
    levels:
      - memory: DRAM
        bandwidth: $array.y words/cycle     # `$` and a parameter, a field of a level, or a field of the file
      - fanout: array
        x: $lanes

    load_arch("systolic", set={"lanes": 32, "array.y": 64, "DRAM.bandwidth": "34 GB/s", "clock": "1 GHz"})

A path is the name of a parameter, the name of a level and its key (`array.x`, `GLB.bandwidth.read`), or a key of the
file (`clock`, `mac.energy`). `array=256x256` sets both axes. Fields are set on the document before anything is
checked, so a value that is set is checked as one in the file; references are filled in after that, so that what refers
to a field follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..ir import did_you_mean
from ..ir.errors import ArchitectureError
from .document import Field, child_path, read_document
from .units import shown

Setting = str | int | float | bool | list[object] | tuple[object, ...] | dict[str, object]
Key = str | int

_REFERENCE = re.compile(r"\$([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_AXES = re.compile(r"([0-9]+)\s*(?:x\s*([0-9]+))?")


def with_settings(document: Field, settings: Mapping[str, Setting], keys: tuple[str, ...]) -> Field:
    """The document with fields set and references filled in.

    settings  path -> value, as at the top of this module
    keys      that a file may have at its top

    Raises ArchitectureError for a path that leads nowhere and a reference to nothing or to itself.
    """
    _check_parameters(document, keys)
    for path, value in settings.items():
        document = _set(document, path, value, keys)
    return _resolved(document, document, keys)


def shown_settings(settings: Mapping[str, Setting]) -> dict[str, str]:
    """The settings as texts, for reports and for repeating them."""
    return {path: _text(value) for path, value in settings.items()}


def _check_parameters(document: Field, keys: tuple[str, ...]) -> None:
    for name, field in _parameters(document).items():
        field.text("a value such as 16")
        if not _NAME.fullmatch(name):
            raise field.error(f"found {shown(name)}, expected a name of letters, digits and '_', a letter first")
        if name in keys or name in _levels(document):
            raise field.error("a level or a key of the file has this name", hint="choose another name")


def _parameters(document: Field) -> Mapping[str, Field]:
    top = document.value if isinstance(document.value, Mapping) else {}
    return top["parameters"].mapping("a mapping such as {lanes: 16}") if "parameters" in top else {}


def _levels(document: Field) -> dict[str, int]:
    """Name of every level -> its position; what is no level is for the reader of levels to refuse."""
    top = document.value if isinstance(document.value, Mapping) else {}
    levels = top["levels"].value if "levels" in top else ()
    names: dict[str, int] = {}
    for position, level in enumerate(levels if isinstance(levels, tuple) else ()):
        for kind in ("memory", "fanout"):
            named = level.value.get(kind) if isinstance(level.value, Mapping) else None
            if named is not None and isinstance(named.value, str):
                names.setdefault(named.value, position)
    return names


def _set(document: Field, path: str, value: Setting, keys: tuple[str, ...]) -> Field:
    place = f"set {path}={shown(_text(value))[1:-1]}"
    target = _target(document, path, keys)
    if target is None:
        raise ArchitectureError(
            f"there is no {path.partition('.')[0]!r}, expected a level and its key, a parameter or a key of the file",
            where=place,
            hint=did_you_mean(path, _paths(document, keys)),
        )
    level = _at(document, target) if len(target) == 2 and target[0] == "levels" else None
    if level is not None:
        axes = _axes(level, path, _text(value), place)
        for axis, size in axes.items():
            document = _put(document, _axis_size(document, (*target, axis)), size, place, "")
        return document
    is_text = not isinstance(value, (dict, list, tuple)) and not _is_yaml(value)
    return _put(document, _axis_size(document, target) if is_text else target, value, place, "")


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


def _axis_size(document: Field, target: tuple[Key, ...]) -> tuple[Key, ...]:
    """An axis that is written out is set by its size: `array.x=16` keeps its dims."""
    field = _at(document, target)
    is_axis = len(target) == 3 and target[0] == "levels" and target[2] in ("x", "y")
    return (*target, "size") if is_axis and field is not None and isinstance(field.value, Mapping) else target


def _target(document: Field, path: str, keys: tuple[str, ...]) -> tuple[Key, ...] | None:
    """Where a path leads in the document, or None; what follows its first name is checked when it is read."""
    head, *rest = path.split(".")
    if head in _parameters(document):
        return ("parameters", head, *rest)
    levels = _levels(document)
    if head in levels:
        return ("levels", levels[head], *rest)
    return (head, *rest) if head in keys and head not in ("levels", "parameters") else None


def _at(field: Field, target: tuple[Key, ...]) -> Field | None:
    for key in target:
        members: dict[Key, Field] = {}
        if isinstance(field.value, Mapping):
            members.update(field.value)
        elif isinstance(field.value, tuple):
            members.update(enumerate(field.value))
        if key not in members:
            return None
        field = members[key]
    return field


def _put(field: Field, target: tuple[Key, ...], value: Setting, place: str, path: str) -> Field:
    """The field with a value put at the target; mappings on the way are made."""
    if not target:
        return _field_of(value, place, path)
    key, *rest = target
    if isinstance(key, int):
        elements = list(field.elements("a list of levels"))
        elements[key] = _put(elements[key], tuple(rest), value, place, f"{path}[{key}]")
        return replace(field, value=tuple(elements))
    if not isinstance(field.value, Mapping):
        message = f"{path or 'the file'} is {field.found}, expected a mapping to set {key!r} in"
        raise ArchitectureError(message, where=place)
    inner = field.value.get(key, Field({}, place, 0, child_path(path, key)))
    return replace(field, value={**field.value, key: _put(inner, tuple(rest), value, place, child_path(path, key))})


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


def _paths(document: Field, keys: tuple[str, ...]) -> Iterator[str]:
    """Every path that can be set or referred to, parameters first."""
    yield from _parameters(document)
    for name, position in _levels(document).items():
        level = _at(document, ("levels", position))
        members = level.value if level is not None and isinstance(level.value, Mapping) else {}
        yield from (f"{name}.{key}" for key in members if key not in ("memory", "fanout"))
    yield from (key for key in keys if key not in ("levels", "parameters"))


def _resolved(field: Field, document: Field, keys: tuple[str, ...], trail: tuple[str, ...] = ()) -> Field:
    """The field with all references in it filled in; `trail` are those that are being followed."""
    if isinstance(field.value, Mapping):
        members = {key: _resolved(member, document, keys, trail) for key, member in field.value.items()}
        return replace(field, value=members)
    if isinstance(field.value, tuple):
        return replace(field, value=tuple(_resolved(element, document, keys, trail) for element in field.value))

    def text_of(match: re.Match[str]) -> str:
        path = match[1]
        if path in trail:
            raise field.error(f"${path} refers to itself, by way of {' and '.join(f'${step}' for step in trail)}")
        target = _target(document, path, keys)
        found = _at(document, _axis_size(document, target)) if target else None
        if found is None or not isinstance(found.value, str):
            what = "nothing" if found is None else found.found
            raise field.error(f"${path} refers to {what}", hint=did_you_mean(path, _paths(document, keys)))
        text = _resolved(found, document, keys, (*trail, path)).value
        assert isinstance(text, str)
        return text

    return replace(field, value=_REFERENCE.sub(text_of, field.value))
