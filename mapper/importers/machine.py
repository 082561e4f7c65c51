"""What an import comes to: a machine, and what of the file it does not say."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ...arch import Architecture
from ...ir import ArchitectureError

T = TypeVar("T")


class ImportedMachine(NamedTuple):
    """A machine from another tool's file.

    notes  what was left out, changed or assumed, a sentence each
    """

    arch: Architecture
    notes: tuple[str, ...]


def checked(build: Callable[[], T], where: str) -> T:
    """What is built; a machine that is refused as a whole, such as one with two levels of a name, is an
    ArchitectureError that names the file."""
    try:
        return build()
    except ArchitectureError as error:
        raise error.located(where) from None
