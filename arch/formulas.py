"""References and formulas in an architecture file, filled in.

    parameters:                             # named values of the file's own
      lanes: 16
      banks: lanes / 4
    levels:
      - memory: DRAM
        bandwidth: $array.y words/cycle     # `$` and a path: the text of that field, in any field
      - memory: GLB
        size: 8 KiB * banks
        read: 6 pJ * (size / 108 KiB)**0.5  # a formula, in a field that is a number with or without a unit
      - fanout: array
        x: $lanes

A name in a formula is a field of the same level, a parameter, or a path; `$` before it leaves the level
out. What a name stands for is worked out first, formulas and all; `expression.py` has the language. A text that is one
number with a unit, or that names nothing and calculates nothing, is no formula and stays as it is for its reader.

A path, as `--set` and sweeps write it too, is the name of a parameter, the name of a level and its key (`array.x`,
`GLB.bandwidth.read`), or a key of the file (`clock`, `mac.energy`). A target is where it leads: the keys and positions
from the top of the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from ..ir import did_you_mean
from ..ir.errors import ArchitectureError
from .document import Field
from .expression import Quantity, UnreadableFormulaError, evaluate, unit
from .units import shown

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


LONGEST_TEXT: Final = 10_000
"""Characters of a text with its references filled in: a few lines of them could stand for gigabytes."""
LONGEST_CHAIN: Final = 50
"""References that lead from one to the next."""

_REFERENCE = re.compile(r"\$([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
_NAME = re.compile(r"(?<![\w.$])[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_CALCULATES = re.compile(r"[*()+]|(?<=[^\s(*/+-])\s*-|/\s*[0-9.$]")
_EXPONENT = re.compile(r"(?<=[0-9.])[eE][+-]?[0-9]+")
_NUMERIC_LEVEL = ("size", "access", "read", "write", "bandwidth", "block", "line", "leakage", "area", "x", "y", "hop")
_NUMERIC_TOP = ("clock", "word", "partial_sum", "leakage", "area")


def filled_in(document: Field, keys: tuple[str, ...]) -> Field:
    """The document with the values of all references and formulas in their places.

    keys  that a file may have at its top

    Raises ArchitectureError for references to nothing or to themselves, and for formulas that come to nothing.
    """
    return _Filling(document, keys).everything(document, ())


class _Filling:
    """The values of one document; each is worked out once."""

    def __init__(self, document: Field, keys: tuple[str, ...]) -> None:
        self.document, self.keys = document, keys
        self.done: dict[Target, Field] = {}
        self.trail: dict[Target, str] = {}

    def everything(self, field: Field, target: Target) -> Field:
        if isinstance(field.value, Mapping):
            members = {key: self.everything(member, (*target, key)) for key, member in field.value.items()}
            return replace(field, value=members)
        if isinstance(field.value, tuple):
            elements = (self.everything(element, (*target, i)) for i, element in enumerate(field.value))
            return replace(field, value=tuple(elements))
        return self._text_field(field, target)

    def _text_field(self, field: Field, target: Target) -> Field:
        """A text with its references filled in, and its value in its place if it is a formula."""
        if target not in self.done:
            text = _REFERENCE.sub(lambda match: self._referred(field, match), str(field.value))
            if len(text) > LONGEST_TEXT:
                raise field.error(f"more than {LONGEST_TEXT:,} characters with all references filled in")
            filled = replace(field, value=text)
            self.done[target] = self._calculated(field, target, filled) if _is_numeric(target) else filled
        return self.done[target]

    def _referred(self, field: Field, match: re.Match[str]) -> str:
        """The text that a `$` path stands for."""
        path = match[1]
        target = target_of(self.document, path, self.keys)
        target = axis_size(self.document, target) if target else None
        found = field_at(self.document, target) if target else None
        if target is None or found is None or not isinstance(found.value, str):
            what = "nothing" if found is None else found.found
            raise field.error(f"${path} refers to {what}", hint=self._near(path))
        return str(self._followed(field, target, found, match[0]).value)

    def _near(self, name: str) -> str:
        return did_you_mean(name, all_paths(self.document, self.keys))

    def _followed(self, field: Field, target: Target, found: Field, name: str) -> Field:
        """The field that a name leads to, filled in; an error where the way comes back to itself."""
        if target in self.trail:
            raise field.error(f"{name} refers to itself, by way of {' and '.join(self.trail.values())}")
        if len(self.trail) == LONGEST_CHAIN:
            raise field.error(f"more than {LONGEST_CHAIN} references lead from one to the next")
        self.trail[target] = name
        try:
            return self._text_field(found, target)
        finally:
            del self.trail[target]

    def _calculated(self, field: Field, target: Target, filled: Field) -> Field:
        written = str(field.value)
        if not self._is_formula(str(filled.value), target) or not self._is_formula(written, target):
            return filled
        own = self._own_names(target)

        def lookup(name: str) -> Quantity | None:
            return self._value_of(field, name, own)

        def known() -> list[str]:
            return [*own, *all_paths(self.document, self.keys)]

        try:
            value = evaluate(written, lookup, known)
        except UnreadableFormulaError as error:
            if target[0] == "parameters":
                return filled  # a text for people that looks like a formula
            raise error.located(field.where) from None
        except ArchitectureError as error:
            raise error if error.where else error.located(field.where) from None
        return replace(field, value=value.text, formula=written)

    def _is_formula(self, text: str, target: Target) -> bool:
        """Whether a text calculates, or names something that is there. A parameter may be any text: what has neither
        digits nor names is none."""
        calculates = _CALCULATES.search(_EXPONENT.sub("", text)) is not None
        if "$" in text or (calculates and (target[0] != "parameters" or re.search("[0-9]", text))):
            return True
        own = self._own_names(target)
        names = [name for name in _NAME.findall(text) if unit(name) is None and name not in ("word", "words")]
        return any(name in own or self._at_path(name) is not None for name in names)

    def _own_names(self, target: Target) -> dict[str, Target]:
        """The numbers that stand beside a field: those of its level, of the MAC, or of the file."""
        home = target[:2] if target[0] == "levels" else target[:1] if target[0] == "mac" else ()
        beside = field_at(self.document, home)
        members = beside.value if beside is not None and isinstance(beside.value, Mapping) else {}
        return {key: (*home, key) for key in members if _is_numeric((*home, key))}

    def _at_path(self, path: str) -> Target | None:
        target = target_of(self.document, path, self.keys)
        return target if target is not None and field_at(self.document, target) is not None else None

    def _value_of(self, field: Field, name: str, own: Mapping[str, Target]) -> Quantity | None:
        """What a name in a formula stands for; None if there is no such field."""
        head, dot, rest = name.partition(".")
        inner: tuple[Key, ...] = tuple(rest.split(".")) if dot else ()
        target = (*own[head], *inner) if head in own else self._at_path(name.removeprefix("$"))
        target = axis_size(self.document, target) if target else None
        found = field_at(self.document, target) if target else None
        if target is None or found is None:
            return None
        if not isinstance(found.value, str):
            parts = ", ".join(f"{name}.{key}" for key in found.value) if isinstance(found.value, Mapping) else ""
            hint = f"name one of its parts: {parts}" if parts else None
            raise field.error(f"{name} is {found.found}, expected a number", hint=hint)
        return self._number(field, name, self._followed(field, target, found, name))

    def _number(self, field: Field, name: str, found: Field) -> Quantity:
        """A field's text as a quantity; it may name the word, and nothing else any more."""
        text = str(found.value)

        def word(asked: str) -> Quantity | None:
            return self._value_of(found, "word", {}) if asked == "word" and name != "word" else None

        try:
            return evaluate(text, word)
        except ArchitectureError:
            message = f"{name} is {shown(text)}, expected a number with or without a unit"
            raise field.error(message, hint=f"it stands at {found.where}") from None


def _is_numeric(target: Target) -> bool:
    """Whether the field at a target is a number with or without a unit, and so may be a formula."""
    match target:
        case ("levels", int(), key, *_) if key in _NUMERIC_LEVEL:
            return target[-1] in (key, "size") if key in ("x", "y") else True
        case ("parameters", _):
            return True
        case ("mac", key):
            return key != "estimate"
        case ("levels", int(), "estimate", key) | ("mac", "estimate", key):
            return key in ("node", "width", "ports")
        case (str() as key,):
            return key in _NUMERIC_TOP
    return False


def check_parameters(document: Field, keys: tuple[str, ...]) -> None:
    """ArchitectureError for a parameter that is no value, or whose name is taken."""
    for name, field in parameters(document).items():
        field.text("a value such as 16")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise field.error(f"found {shown(name)}, expected a name of letters, digits and '_', a letter first")
        if name in keys or name in levels(document):
            raise field.error("a level or a key of the file has this name", hint="choose another name")
