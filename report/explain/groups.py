"""The nest in groups, as its picture draws them: nodes of one memory, loops of one array, loops in time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TypeAlias

from ...arch import Architecture
from ...ir import Loop, Mapping, Node

LevelItems: TypeAlias = tuple[str, list[tuple[int, Loop | Node]]]
"""What neighbours have in common, `memory GLB`, `fanout array` or `time`; and they, with their places in the nest."""


def groups_of(mapping: Mapping, arch: Architecture) -> Iterator[LevelItems]:
    """The nest without loops of one trip; arrays that run nothing have an empty group at their place."""
    items = [(i, x) for i, x in enumerate(mapping.nest) if isinstance(x, Node) or x.trips > 1]
    used = {loop.axis.fanout for _, loop in items if isinstance(loop, Loop) and loop.axis is not None}
    unused = [fanout.name for fanout in arch.fanouts if fanout.name not in used]
    for kind, group in itertools.groupby(items, key=lambda pair: _kind(pair[1])):
        depth = arch.depth[kind.split(" ", 1)[1]] if kind != _TIME else -1
        while unused and arch.depth[unused[0]] < depth:
            yield f"fanout {unused.pop(0)}", []
        yield kind, list(group)
    for name in unused:
        yield f"fanout {name}", []


_TIME = "time"


def _kind(item: Loop | Node) -> str:
    if isinstance(item, Node):
        return f"memory {item.memory}"
    return f"fanout {item.axis.fanout}" if item.axis is not None else _TIME
