"""Paths in the document of an architecture, as `--set`, sweeps, references and formulas write them.

A path is the name of a parameter, the name of a level and its key (`array.x`, `GLB.bandwidth.read`), or a key of the
file (`clock`, `mac.energy`). A target is where it leads: the keys and positions from the top of the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .document import Field

Key = str | int
Target = tuple[Key, ...]


def parameters(document: Field) -> Mapping[str, Field]:
    """The parameters of the file, by name."""
    top = document.value if isinstance(document.value, Mapping) else {}
    return top["parameters"].mapping("a mapping such as {lanes: 16}") if "parameters" in top else {}


def levels(document: Field) -> dict[str, int]:
    """Name of every level -> its position; what is no level is for the reader of levels to refuse."""
    top = document.value if isinstance(document.value, Mapping) else {}
    fields = top["levels"].value if "levels" in top else ()
    names: dict[str, int] = {}
    for position, level in enumerate(fields if isinstance(fields, tuple) else ()):
        for kind in ("memory", "fanout"):
            named = level.value.get(kind) if isinstance(level.value, Mapping) else None
            if named is not None and isinstance(named.value, str):
                names.setdefault(named.value, position)
    return names


def target_of(document: Field, path: str, keys: tuple[str, ...]) -> Target | None:
    """Where a path leads, or None; what follows its first name is checked when it is read.

    keys  that a file may have at its top
    """
    head, *rest = path.split(".")
    if head in parameters(document):
        return ("parameters", head, *rest)
    positions = levels(document)
    if head in positions:
        return ("levels", positions[head], *rest)
    return (head, *rest) if head in keys and head not in ("levels", "parameters") else None


def field_at(field: Field, target: Target) -> Field | None:
    """The field at a target, or None."""
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


def axis_size(document: Field, target: Target) -> Target:
    """The target itself; or that of its size, if it is an axis that is written out: `array.x=16` keeps its dims."""
    field = field_at(document, target)
    is_axis = len(target) == 3 and target[0] == "levels" and target[2] in ("x", "y")
    return (*target, "size") if is_axis and field is not None and isinstance(field.value, Mapping) else target


def all_paths(document: Field, keys: tuple[str, ...]) -> Iterator[str]:
    """Every path that can be set or referred to, parameters first."""
    yield from parameters(document)
    for name, position in levels(document).items():
        level = field_at(document, ("levels", position))
        members = level.value if level is not None and isinstance(level.value, Mapping) else {}
        yield from (f"{name}.{key}" for key in members if key not in ("memory", "fanout"))
    yield from (key for key in keys if key not in ("levels", "parameters"))
