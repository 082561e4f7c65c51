"""Whose file is this? What other tools describe machines with, known by the keys at the top."""

from __future__ import annotations

import re
from dataclasses import dataclass


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
