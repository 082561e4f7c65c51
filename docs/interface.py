"""The public interface of tilewright as it stands: names, signatures and docstrings, read from the package itself.

A docstring describes arguments and attributes in lines of their own, further lines of an entry indented:

    problem     what it is
    arch, cost  one text for both

`entries_of` finds these lines by the names, so no mark-up is needed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from pydantic import BaseModel

_SPECIAL = ("__bool__", "__getitem__", "__iter__", "__len__")
_BASES = "tilewright.ir.display"
"""Where bases are that a page does not describe apart: what they add is listed with each class."""
_ENTRY = re.compile(r"([\w*]+(?:, [\w*]+)*)\s+(\S.*)")


@dataclass(frozen=True)
class Member:
    """An attribute, a property or a method of a class.

    signature  such as `edp: float` or `save(folder: str) -> tuple[Path, ...]`
    text       its docstring, or its entry in that of the class
    """

    name: str
    signature: str
    text: str


@dataclass(frozen=True)
class Entry:
    """A line of a docstring that says what some names mean."""

    names: tuple[str, ...]
    text: str


def split_docstring(doc: str, names: Collection[str]) -> list[str | Entry]:
    """The paragraphs of a docstring and its entries, in their order."""
    parts: list[str | Entry] = []
    for paragraph in inspect.cleandoc(doc).split("\n\n"):
        lines = paragraph.strip("\n").split("\n")
        found = list(_entries(lines, names)) if parts else []
        parts += found or [paragraph.strip("\n")]
    return parts


def _entries(lines: list[str], names: Collection[str]) -> Iterator[Entry]:
    """The entries of a paragraph; nothing, if it does not start with one."""
    current: Entry | None = None
    for line in lines:
        match = _ENTRY.fullmatch(line)
        known = _known(match[1].split(", "), names) if match else ()
        if match and known:
            if current:
                yield current
            current = Entry(known, match[2])
        elif current is None:
            return
        else:
            current = Entry(current.names, f"{current.text} {line.strip()}")
    if current:
        yield current


def _known(words: list[str], names: Collection[str]) -> tuple[str, ...]:
    """The names that some words stand for, of which one may have a wildcard; nothing if a word stands for none."""
    found = [[name for name in names if fnmatchcase(name, word)] for word in words]
    return tuple(name for group in found for name in group) if all(found) else ()


def entries_of(kind: type) -> dict[str, str]:
    """What the docstrings of a class, and of those that it is made from, say of its attributes."""
    names = [name for name, _ in attributes(kind)]
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("tilewright") and base.__doc__:
            parts = split_docstring(base.__doc__, names)
            texts |= {name: part.text for part in parts if isinstance(part, Entry) for name in part.names}
    return texts


def attributes(kind: type) -> list[tuple[str, str]]:
    """Name and type, with its default, of every attribute that the constructor takes."""
    if issubclass(kind, BaseModel):
        hints = _annotations(kind)
        models = kind.model_fields.items()
        return [(name, hints[name] + ("" if field.is_required() else _shown(field.default))) for name, field in models]
    if not is_dataclass(kind):
        return list(_annotations(kind).items())
    return [(f.name, f"{f.type}{_default(f)}") for f in fields(kind) if f.init]


def _annotations(kind: type) -> dict[str, str]:
    """Annotated names of a class and of ours among its bases; a named tuple's are references to their texts."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("tilewright"):
            hints = inspect.get_annotations(base).items()
            found |= {name: getattr(hint, "__forward_arg__", str(hint)) for name, hint in hints}
    return found


def _default(field: Any) -> str:
    if field.default is not MISSING:
        return _shown(field.default)
    return " = ..." if field.default_factory is not MISSING else ""


def _shown(default: object) -> str:
    """A default that is a plain value; `...` for anything else."""
    plain = default is None or isinstance(default, str | int | float | tuple)
    return f" = {default!r}" if plain else " = ..."


def members(kind: type) -> list[Member]:
    """Attributes in the order of the constructor, then properties and methods in the order of the source."""
    texts = entries_of(kind)
    found = [Member(name, f"{name}: {hint}", texts.get(name, "")) for name, hint in attributes(kind)]
    for name, value in _own(kind):
        if isinstance(value, property | cached_property):
            getter = value.fget if isinstance(value, property) else value.func
            result = inspect.signature(getter).return_annotation
            found.append(Member(name, f"{name}: {result}", texts.get(name) or inspect.getdoc(getter) or ""))
        elif inspect.isfunction(value) or isinstance(value, classmethod):
            function = value.__func__ if isinstance(value, classmethod) else value
            text = signature(name, function, drop_first=True)
            found.append(Member(name, text, inspect.getdoc(function) or ""))
    return found


def _own(kind: type) -> Iterator[tuple[str, Any]]:
    """What a class defines, itself or through bases for display: public names, special ones only with a docstring."""
    known = {name for name, _ in attributes(kind)}
    shown = (base for base in kind.__bases__ if base.__module__ == _BASES)
    defined = {name: value for base in (kind, *shown) for name, value in base.__dict__.items()}
    for name, value in defined.items():
        special = name in _SPECIAL and bool(value.__doc__)
        if name not in known and (special or not name.startswith("_")):
            yield name, value


def signature(name: str, function: Callable[..., Any], drop_first: bool = False) -> str:
    """A function with its parameters, their types and defaults."""
    found = inspect.signature(function)
    parameters = list(found.parameters.values())[drop_first:]
    words: list[str] = []
    starred = False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        words.append(_parameter(parameter))
    return f"{name}({', '.join(words)}) -> {found.return_annotation}"


def _parameter(parameter: inspect.Parameter) -> str:
    mark = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    default = ""
    if parameter.default is not parameter.empty:
        shown = "..." if callable(parameter.default) else repr(parameter.default)
        default = f" = {shown}"
    return f"{mark}{parameter.name}: {parameter.annotation}{default}"
