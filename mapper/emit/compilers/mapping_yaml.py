"""A mapping as the YAML that people write (`mapper/mapping_files.py`): levels, loops, and the tensors they keep."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from ....ir import Loop, Mapping, Node
from ..parts.names import printable

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NOT_PLAIN = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def emit_mapping_yaml(mapping: Mapping, arch_name: str) -> str:
    """The text of a mapping file; the layer and the architecture are named in comments."""
    head = [f"# {printable(line)}" for line in (str(mapping.problem), f"on {arch_name}; outermost level first")]
    return "\n".join([*head, "levels:", *_entries(mapping)]) + "\n"


def _entries(mapping: Mapping) -> Iterator[str]:
    """Nodes of one memory and the loops in time below them make an entry; so do spatial loops of one fanout."""
    items = list(mapping.nest.items)
    while items:
        memory, fanout = _memory(items[0]), _fanout_of(items[0])
        if fanout is not None:
            yield from _fanout(_take(items, fanout, _fanout_of))
            continue
        lines = []
        if memory is not None:
            tensors = [_text(node.tensor) for node in _take(items, memory, _memory) if isinstance(node, Node)]
            lines += [f"memory: {_text(memory)}", f"keep: [{', '.join(tensors)}]"]
        loops = [_loop(loop) for loop in _take(items, True, _in_time) if isinstance(loop, Loop)]
        yield from _entry([*lines, f"loops: [{', '.join(loops)}]"] if loops else lines)


def _memory(item: Loop | Node) -> str | None:
    return item.memory if isinstance(item, Node) else None


def _fanout_of(item: Loop | Node) -> str | None:
    return item.axis.fanout if isinstance(item, Loop) and item.axis else None


def _in_time(item: Loop | Node) -> bool:
    return isinstance(item, Loop) and item.axis is None


def _take(items: list[Loop | Node], wanted: object, kind: Callable[[Loop | Node], object]) -> list[Loop | Node]:
    """Remove the items at the head that are of a kind, and return them."""
    taken = []
    while items and kind(items[0]) == wanted:
        taken.append(items.pop(0))
    return taken


def _fanout(loops: list[Loop | Node]) -> Iterator[str]:
    """Runs on one axis become a key; an axis that comes again needs an entry of its own."""
    spatial = [loop for loop in loops if isinstance(loop, Loop) and loop.axis is not None]
    lines: list[str] = []
    used: set[int] = set()
    for axis, run in groupby(spatial, key=lambda loop: loop.axis):
        assert axis is not None
        if not lines or axis.index in used:
            yield from _entry(lines)
            lines, used = [f"fanout: {_text(axis.fanout)}"], set()
        lines.append(f"{'xy'[axis.index]}: [{', '.join(map(_loop, run))}]")
        used.add(axis.index)
    yield from _entry(lines)


def _entry(lines: Iterable[str]) -> Iterator[str]:
    for i, line in enumerate(lines):
        yield f"  {' ' if i else '-'} {line}"


def _loop(loop: Loop) -> str:
    return f"{_text(loop.dim)}={loop.trips}" if _is_plain(loop.dim) else _quoted(f"{loop.dim}={loop.trips}")


def _text(name: str) -> str:
    return name if _is_plain(name) else _quoted(name)


def _is_plain(name: str) -> bool:
    return _PLAIN.fullmatch(name) is not None and name.lower() not in _NOT_PLAIN


def _quoted(text: str) -> str:
    """A double-quoted YAML text: JSON's form is one."""
    return json.dumps(text)
