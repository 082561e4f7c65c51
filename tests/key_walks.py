"""Walks the keys of another tool's format: each is read, refused by name, or named by a note."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from tilewright.ir import TilewrightError

Read = Callable[[str], tuple[object, Sequence[str]]]
"""From a text to what is read, to be compared, and the notes; TilewrightError for what is refused."""

_EVERYWHERE = {"energy", "name", "type", "target"}


def written(template: str, places: Mapping[str, Sequence[str]], place: str = "", key: str = "") -> str:
    """The template with a key at one of its places, which are `@NAME@`."""
    for name in places:
        template = template.replace(f"@{name}@", key if name == place else "")
    return template


def dropped(template: str, places: Mapping[str, Sequence[str]], read: Read) -> Iterator[str]:
    """The keys that change nothing, without an error or a note that names them."""
    plain, before = read(written(template, places))
    for place, keys in places.items():
        for key in keys:
            words = {word.replace("-", "_") for word in re.findall(r"[\w-]{3,}", key)} - {
                "energy",
                "name",
                "type",
                "target",
            }
            try:
                found, notes = read(written(template, places, place, key))
            except TilewrightError as error:
                said = any(
                    word in str(error).replace("-", "_") for word in (*words, key.partition(": ")[2].strip("[]"))
                )
            else:
                new = [note for note in notes if note not in before]
                said = found != plain or any(word in note for note in new for word in words)
            if not said:
                yield f"{key} at {place}"
