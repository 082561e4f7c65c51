"""A YAML document in which every value knows its file, line and field path, so that every error can name them.

Only the plain core of YAML is read: mappings, lists and text. What a text means (a number, a quantity, true or
false) is decided by the field that it stands in, not by YAML's own guesses, so `no` and `1e3` hold no surprises.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..inputs.plain_yaml import LARGEST_FILE, check_plain
from ..ir import ArchitectureError, did_you_mean
from ..ir.files import bytes_of, missing_file
from .units import shown

if TYPE_CHECKING:
    import yaml

T = TypeVar("T")

LEVEL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
"""What a level may be called in a file."""

_ARCHITECTURE_START = "start with 'name:', 'clock:', 'word:', 'levels:' and 'mac:'"
_WHOLE = re.compile(r"[0-9]{1,9}")
_PLAIN_KEY = re.compile(r"[\w-]{1,60}")
_NUMBER = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?")


@dataclass(frozen=True)
class Field:
    """One value of the document and its place.

    value  text, a list, or a mapping
    line   where the value starts (for a member, its key), counted from 1; 0 where there are no lines
    path   field path from the top, such as `levels[1].read`; empty for the document itself
    tag    the value's tag, such as `!Component`, where the reader allows it
    formula  that the value was calculated by (`formulas.py`)
    """

    value: str | tuple[Field, ...] | Mapping[str, Field]
    file: str
    line: int
    path: str
    tag: str = ""
    formula: str = ""

    @property
    def where(self) -> str:
        """`file:line: field.path`, and the formula if the value comes from one."""
        place = f"{self._place}: {self.path}" if self.path else self._place
        return f"{place}: formula {shown(self.formula)}" if self.formula else place

    @property
    def _place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    def error(self, message: str, *, key: str | None = None, hint: str | None = None) -> ArchitectureError:
        """An error at this place, or at the place where its member `key` should stand."""
        where = self.where if key is None else f"{self._place}: {child_path(self.path, key)}"
        return ArchitectureError(message, where=where, hint=hint)

    @property
    def found(self) -> str:
        """What the value is, as a message says it."""
        if isinstance(self.value, str):
            return shown(self.value) if self.value else "nothing"
        return "a list" if isinstance(self.value, tuple) else "a mapping"

    def mapping(self, expected: str) -> Mapping[str, Field]:
        """The members, whatever their names."""
        if not isinstance(self.value, Mapping):
            raise self.error(f"found {self.found}, expected {expected}")
        return self.value

    def members(self, required: Mapping[str, str], optional: Collection[str] = ()) -> Mapping[str, Field]:
        """The members of a mapping; unknown keys and missing required ones are refused.

        required  what each required key holds, in the words of the message that asks for it
        """
        known = [*required, *optional]
        members = self.mapping(f"a mapping with {', '.join(known)}")
        for key, member in members.items():
            if key not in known:
                raise member.error(f"unknown key {shown(key)}", hint=did_you_mean(key, known))
        for key, expected in required.items():
            if key not in members:
                raise self.error(f"missing, expected {expected}", key=key)
        return members

    def elements(self, expected: str) -> tuple[Field, ...]:
        """The elements of a list that is not empty."""
        if not isinstance(self.value, tuple):
            raise self.error(f"found {self.found}, expected {expected}")
        if not self.value:
            raise self.error(f"the list is empty, expected {expected}")
        return self.value

    def text(self, expected: str = "a text") -> str:
        """The text, without line breaks, not empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.error(f"found {self.found}, expected {expected}")
        return " ".join(self.value.split())

    def quantity(self, parse: Callable[[str], T], expected: str) -> T:
        """The text read by one of the functions of `units`, with this place put in front of its errors."""
        text = self.text(expected)
        try:
            return parse(text)
        except ArchitectureError as error:
            raise error.located(self.where) from None

    def choice(self, options: tuple[str, ...]) -> str:
        """One of a few words."""
        expected = " or ".join([", ".join(options[:-1]), options[-1]])
        text = self.text(expected)
        if text not in options:
            near = did_you_mean(text, options)
            hint = near if near.startswith("did you mean") else None
            raise self.error(f"found {shown(text)}, expected {expected}", hint=hint)
        return text

    def boolean(self) -> bool:
        return self.choice(("true", "false")) == "true"

    def whole(self, expected: str) -> int:
        """A whole number from 1 to 999,999,999."""
        text = self.text(expected)
        if not _WHOLE.fullmatch(text) or int(text) == 0:
            raise self.error(f"found {shown(text)}, expected {expected}")
        return int(text)

    def number(self, expected: str) -> float:
        """A positive number without a unit."""
        text = self.text(expected)
        if not _NUMBER.fullmatch(text) or float(text) == 0:
            raise self.error(f"found {shown(text)}, expected {expected}")
        return float(text)


def is_path(text: str) -> bool:
    """Whether a text is a path and not a name: it says .yaml or .yml, has a separator, or is there."""
    separated = os.sep in text or (os.altsep is not None and os.altsep in text)
    return separated or text.endswith((".yaml", ".yml")) or os.path.isfile(text)


def read_text(path: Path, where: str, what: str = "an architecture file", hint: str | None = None) -> str:
    """The text of a file; ArchitectureError, with the hint if there is no such file, when it cannot be had."""
    expected = f"expected {what}"
    try:
        data = bytes_of(path, LARGEST_FILE)
    except FileNotFoundError:
        raise ArchitectureError(f"{missing_file(path)}, {expected}", where=where, hint=hint) from None
    except IsADirectoryError:
        raise ArchitectureError(f"this is a directory, {expected}", where=where) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ArchitectureError(f"the file cannot be read: {reason}", where=where) from None
    if len(data) > LARGEST_FILE:
        raise ArchitectureError(f"larger than 1 MiB, {expected}", where=where)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte {data[error.start]:#04x} is not UTF-8 text, expected a YAML file of plain text"
        raise ArchitectureError(message, where=f"{where}:{line}") from None


def read_document(
    text: str,
    file: str,
    what: str = "an architecture",
    start: str = _ARCHITECTURE_START,
    tags: Collection[str] = (),
) -> Field:
    """The document as a tree of fields.

    file   how messages call it
    what   what is expected, and `start` what to begin an empty one with, in the words of the messages
    tags   those that are allowed: they only mark values, and ask for no objects

    Raises ArchitectureError for text that is not YAML, an empty document, several documents, a key given twice,
    aliases (a few lines of them can stand for gigabytes) and tags (which could ask for arbitrary objects).
    """
    import yaml  # here, so that a program that reads no file does not pay for the import

    text = text.removeprefix("\ufeff")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        check_plain(text, file, what, ArchitectureError, loader, tags)
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        raise _not_yaml(error, text, file) from None
    if root is None:
        raise ArchitectureError(
            f"the file is empty, expected {what}",
            where=file,
            hint=start,
        )
    return _field(root, file, "", _line(root))


def _not_yaml(error: yaml.YAMLError, text: str, file: str) -> ArchitectureError:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    if mark is None:
        return ArchitectureError(f"not YAML: {problem}", where=file)
    line = (text.splitlines()[mark.line : mark.line + 1] or [""])[0]
    indentation = line[: len(line) - len(line.lstrip())]
    hint = "indent with spaces, not tabs" if "\t" in indentation else None
    where = f"{file}:{mark.line + 1}"
    return ArchitectureError(f"not YAML: {problem}", where=where, hint=hint)


def _field(node: yaml.Node, file: str, path: str, line: int) -> Field:
    import yaml

    tag = node.tag if node.tag.startswith("!") else ""
    if isinstance(node, yaml.MappingNode):
        return Field(_members(node, file, path), file, line, path, tag)
    if isinstance(node, yaml.SequenceNode):
        children = enumerate(node.value)
        elements = tuple(_field(child, file, f"{path}[{i}]", _line(child)) for i, child in children)
        return Field(elements, file, line, path, tag)
    return Field(str(node.value), file, line, path, tag)


def _members(node: yaml.MappingNode, file: str, path: str) -> dict[str, Field]:
    import yaml

    members: dict[str, Field] = {}
    for key_node, value_node in node.value:
        line = _line(key_node)
        if not isinstance(key_node, yaml.ScalarNode):
            here = Field("", file, line, path)
            raise here.error("a key is a list or a mapping, expected a name")
        key = str(key_node.value)
        member = _field(value_node, file, child_path(path, key), line)
        if key in members:
            raise member.error(f"given twice, first in line {members[key].line}")
        members[key] = member
    return members


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def child_path(path: str, key: str) -> str:
    """The field path of a member."""
    name = key if _PLAIN_KEY.fullmatch(key) else shown(key)
    return f"{path}.{name}" if path else name
