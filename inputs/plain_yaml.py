"""The plain core of YAML: one document of mappings, lists and texts, nothing that stands for gigabytes or for code."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ..ir import TilewrightError

LARGEST_FILE = 2**20
"""Bytes of the largest YAML file; a specification takes a few thousand."""

DEEPEST = 20
"""Levels of nesting; a specification needs five, and deeper ones would only exhaust the stack."""


def check_plain(
    text: str, file: str, what: str, error: type[TilewrightError], loader: Any, tags: Collection[str] = ()
) -> None:
    """Refuse what plain files do not have, before anything is built from the text: characters that nobody can see,
    aliases (a few lines can stand for gigabytes), tags (which could ask for arbitrary objects), deep nesting and
    second documents.

    file    how messages call it
    what    is expected, in the words of messages
    error   that is raised
    loader  of the yaml library, whose errors are passed on
    tags    those that are allowed: they only mark values
    """
    import yaml  # here, so that a program that reads no file does not pay for the import

    # The C parser has a message of its own for these, without the line.
    if strange := yaml.reader.Reader.NON_PRINTABLE.search(text):
        line = text.count("\n", 0, strange.start()) + 1
        message = f"found the character {strange[0]!r}, expected a YAML file of plain text"
        raise error(message, where=f"{file}:{line}")
    depth = documents = 0
    too_deep = f"nested more than {DEEPEST} deep, expected {what}"
    for event in _events(text, file, error, too_deep, loader):
        where = f"{file}:{event.start_mark.line + 1}"
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        if isinstance(event, yaml.AliasEvent):
            raise error(
                f"the alias {_shown(f'*{event.anchor}')} is not allowed, expected plain YAML",
                where=where,
                hint="write the value out where it is used",
            )
        if getattr(event, "tag", None) not in (None, *tags):
            raise error(f"the tag {_shown(event.tag)} is not allowed, expected plain YAML", where=where)
        if depth > DEEPEST:
            raise error(too_deep, where=where)
        if documents > 1:
            raise error("a second document starts here, expected one in a file", where=where)


def _events(text: str, file: str, error: type[TilewrightError], too_deep: str, loader: Any) -> Iterator[Any]:
    """What the parser finds. It looks ahead, and some refuse deep nesting (1,000 levels in PyYAML 6.0.4) before they
    have handed over the first level of it."""
    import yaml

    try:
        yield from yaml.parse(text, Loader=loader)
    except yaml.MarkedYAMLError as refused:
        if "nesting depth" not in (refused.problem or ""):
            raise
        line = refused.problem_mark.line + 1 if refused.problem_mark else 1
        raise error(too_deep, where=f"{file}:{line}") from None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
