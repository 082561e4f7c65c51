"""Architecture files: YAML with the units written out, read into an `Architecture` in base units.

Which keys there are, and what each means, is in `keys.py`, which docs/architecture-keys.md is made from. A number with
or without a unit may be a formula in other fields of the level, in parameters and in fields elsewhere:
`read: 6 pJ * (size / 108 KiB)**0.5`, `x: lanes / 2`, `bandwidth: array.x words/cycle` (formulas.py, expression.py).

Sizes are `bit`, `B`, `KiB` (1024 B), `kB` (1000 B) and so on, or `words` of the architecture's width; a bandwidth is a
size per cycle or per second. Unknown keys, keys given twice, aliases and tags are refused, and every error says
`file:line: field.path`, what was found and what was expected.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ..inputs import checks
from ..ir import ArchitectureError, did_you_mean
from .document import is_path, read_document, read_text
from .estimate_fields import estimated_text
from .keys import ArchitectureKeys, optional
from .levels import level_of, mac_of, refuse_second_name
from .parts import Scale, build, flag
from .settings import Setting, shown_settings, with_settings
from .spec import Architecture, Footprint, Latency, Overlap, Padding, Reuse
from .units import clock_hz, size_bits

_LIBRARY = Path(__file__).parent / "library"

_TOP = {
    "name": "a name such as eyeriss",
    "clock": "a clock such as 200 MHz",
    "word": "a width such as 16 bit",
    "levels": "a list of memories and fanouts, outermost first",
    "mac": "a mapping such as {energy: 1 pJ}",
}
_OVERLAPS = ("within_operations", "across_operations")
_TOP_OPTIONAL = optional(ArchitectureKeys, _TOP)


def list_archs() -> tuple[str, ...]:
    """Names of the machines in the library, in alphabetical order."""
    return tuple(sorted(path.stem for path in _LIBRARY.glob("*.yaml")))


def load_arch(name_or_path: str | os.PathLike[str], set: Mapping[str, Setting] | None = None) -> Architecture:
    """A machine of the library by its name, or an architecture file by its path.

    name_or_path  a text is a path when it ends in .yaml or .yml, holds a path separator, or names an existing file; a
                  library name comes first
    set  fields to set before the file is checked, such as {"array.x": 128, "GLB.size": "1 MiB"} (settings.py)

    Raises ArchitectureError when there is no such machine, file or field, or when the file cannot be understood.
    """
    return parse_arch(*arch_file(name_or_path), set)


def arch_file(name_or_path: str | os.PathLike[str]) -> tuple[str, str]:
    """The text of an architecture's file, and how messages call it. Raises ArchitectureError where there is none."""
    name = checks.path(
        name_or_path, "the architecture", "a name of the library or the path of a file", ArchitectureError
    )
    known = list_archs()
    if isinstance(name_or_path, str) and name in known:
        path = _LIBRARY / f"{name}.yaml"
        return read_text(path, f"library/{path.name}"), f"library/{path.name}"
    if isinstance(name_or_path, str) and not is_path(name):
        raise ArchitectureError(
            f"no architecture is named {name!r}, expected a library name or a path that ends in .yaml",
            hint=did_you_mean(name, known),
        )
    text = read_text(Path(name), name, hint=_instead_of(Path(name), known))
    if text.lstrip().startswith("{") and '"schema_version"' in text:
        hint = f"its own architecture is in it: `tilewright evaluate {name}` needs no --arch"
        raise ArchitectureError("this is a mapping.json, expected an architecture file", where=name, hint=hint)
    if _has("system", text) and _has("fabric", text):
        hint = f"`tilewright show {name}` shows it; `device:` in it names the architecture"
        raise ArchitectureError(
            "this is a system of several devices, expected an architecture file", where=name, hint=hint
        )
    if other := tool_file(text, name):
        raise ArchitectureError(f"this is {other.what}, expected an architecture file", where=name, hint=other.hint)
    return text, name


def _instead_of(path: Path, known: Sequence[str]) -> str:
    """A hint for a path that is not there: the nearest file beside it or name of the library, or all these names."""
    stems = {name: name for name in known}
    with contextlib.suppress(OSError, ValueError):  # a folder that is not there, or not to be read
        stems |= {
            other.stem: str(other)
            for other in path.parent.iterdir()
            if other.suffix in (".yaml", ".yml") and other.is_file()
        }
    near = difflib.get_close_matches(path.stem, stems, n=1)
    return f"did you mean {stems[near[0]]!r}?" if near else f"library names are {', '.join(known)}"


def parse_arch(text: str, where: str = "<text>", set: Mapping[str, Setting] | None = None) -> Architecture:
    """The architecture that a YAML text describes, with the keys of `keys.py`.

    where  how messages call the text, usually its file name
    set    fields to set, as for `load_arch`

    Raises ArchitectureError with `where:line: field.path` when the text cannot be understood.
    """
    chosen = checks.mapping({} if set is None else set, "set", 'a dict such as {"array.x": 128}', ArchitectureError)
    for key in chosen:
        checks.text(key, "a field in set", "a path such as array.x", ArchitectureError)
    document = with_settings(read_document(text, where), chosen, (*_TOP, *_TOP_OPTIONAL))
    top = document.members(_TOP, _TOP_OPTIONAL)
    scale = Scale(
        word_bits=top["word"].quantity(size_bits, _TOP["word"]),
        clock_hz=top["clock"].quantity(clock_hz, _TOP["clock"]),
        estimated={},
    )
    level_fields = top["levels"].elements(_TOP["levels"])
    levels = [level_of(field, scale, outermost=i == 0) for i, field in enumerate(level_fields)]
    refuse_second_name(level_fields)
    mac = mac_of(top["mac"], scale)
    texts = {key: top[key].text() for key in ("name", "description", "technology", "source") if key in top}
    if estimated := estimated_text(scale.estimated):
        texts["source"] = "; ".join(filter(None, [texts.get("source"), estimated]))
    # What is left to go wrong in a whole architecture is its outermost level, so the error stands there.
    return build(
        Architecture,
        document,
        level_fields[0],
        **texts,
        settings=shown_settings(set or {}),
        clock_hz=scale.clock_hz,
        word_bits=scale.word_bits,
        partial_sum_bits=scale.size(top["partial_sum"]) if "partial_sum" in top else None,
        inner_drain_read=flag(top, "inner_drain_read", True),
        first_read_elision=flag(top, "first_read_elision", True),
        reuse=cast(Reuse, top["reuse"].choice(("across_levels", "at_node"))) if "reuse" in top else "across_levels",
        footprint=cast(Footprint, top["footprint"].choice(("exact", "box"))) if "footprint" in top else "exact",
        padding=cast(Padding, top["padding"].choice(("read", "free"))) if "padding" in top else "read",
        latency=cast(Latency, top["latency"].choice(("steady", "with_fill"))) if "latency" in top else "steady",
        overlap=cast(Overlap, top["overlap"].choice(_OVERLAPS)) if "overlap" in top else _OVERLAPS[0],
        levels=levels,
        mac=mac,
        **scale.idle(top),
    )


@dataclass(frozen=True)
class ToolFile:
    """A file of another tool.

    what     it is, in words
    command  the subcommand of `tilewright import` that reads it
    hint     how to make a file of ours of it
    """

    what: str
    command: str
    hint: str


_KEYS = {
    "architecture": ("an architecture of Timeloop", "timeloop"),
    "arch": ("an architecture of AccelForge", "accelforge"),
    "operational_array": ("a hardware file of ZigZag", "zigzag"),
    "(?:ERT|ART)(?:_summary)?": ("a table of Accelergy", "accelergy"),
}


def tool_file(text: str, name: str) -> ToolFile | None:
    """What a text is if it is another tool's; `name` is how commands call its file."""
    if _has("levels", text):
        return None
    for key, (what, command) in _KEYS.items():
        # What Timeloop's first version calls arch has no nodes.
        if _has(key, text) and (key != "arch" or re.search(r"^\s+nodes:", text, re.MULTILINE)):
            words = f"`tilewright import {command} {name}{_beside(command, text)}` makes one of it"
            return ToolFile(what, command, words)
    return None


def _beside(command: str, text: str) -> str:
    """The rest of the command: what belongs to the file, and where the result goes."""
    if command == "accelergy":
        return " --arch MACHINE > machine.yaml"
    tables = " ERT.yaml" if command == "timeloop" and not _has("ERT(?:_summary)?", text) else ""
    several = command == "timeloop" and (_has("problem", text) or "constraints:" in text)
    return f"{tables} --out DIR" if several else f"{tables} > machine.yaml"


def _has(key: str, text: str) -> bool:
    return re.search(rf"^{key}:", text, re.MULTILINE) is not None
