"""The file of a mapping that a command line names, or standard input, read once; and which kind of mapping it holds."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from ..ir import TilewrightError


class MappingSource(NamedTuple):
    """A file of a mapping, or standard input.

    given     on the command line
    place     what messages call it
    text      that was read: always of standard input and of cascades
    is_fused  whether it is the mapping.json of a cascade
    is_plan   whether it is the plan.json of a network
    """

    given: str
    place: str
    text: str | None
    is_fused: bool
    is_plan: bool = False


def read_source(given: str) -> MappingSource:
    """What there is under a name; what cannot be read is left to those who read it, and say so."""
    if given == "-":
        text = standard_input()
        return MappingSource(given, "<stdin>", text, _is_fused(text), _is_plan(text))
    path = Path(given)
    if path.suffix not in (".yaml", ".yml") and os.path.isfile(given):  # `Path.is_file` raises for names too long
        from ..run.documents.files import read_text

        try:
            text = read_text(path, given)
        except TilewrightError:
            return MappingSource(given, given, None, is_fused=False)
        return MappingSource(given, given, text, _is_fused(text), _is_plan(text))
    return MappingSource(given, given, None, is_fused=False)


def standard_input() -> str:
    """All of it. Raises TilewrightError where it is no text."""
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise TilewrightError("not a text, expected a mapping", where="<stdin>") from None


def _is_fused(text: str) -> bool:
    if '"schema_version"' not in text:
        return False
    from ..run.documents.mappings import is_of_cascade

    return is_of_cascade(text)


def _is_plan(text: str) -> bool:
    return text.lstrip().startswith("{") and '"network_plan_version"' in text and '"schema_version"' not in text
