"""What no schedule of a collective is below: bytes that must pass a cut over the links of the cut, and the hops to the
farthest device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any, TypeAlias

from ...arch.system import FabricKind, MeshAxis, System
from .schedules import Operation, all_to_all

Cut: TypeAlias = tuple[int, int]
"""Bytes that must pass from one side to the other, and links that lead there, parallel ones counted once."""


def cuts(operation: Operation, kind: FabricKind, blocks: Any, reduces: bool) -> list[Cut]:
    """Cuts of one line, in an order that its size alone decides, so that those of lines through one port add up.

    blocks  of every device; of an all-to-all a matrix, from and to; of an all-reduce the parts of the tensor
    """
    n = len(blocks)
    if operation == "all-to-all":
        return _pair_cuts(kind, blocks)
    size = sum(blocks)
    if operation == "all-reduce":
        links = {"ring": 2 * n, "line": 2 * (n - 1), "full": n * (n - 1), "switch": n}[kind]
        return [(size, 1)] if reduces else [(2 * (n - 1) * size, min(links, n * (n - 1)))]
    into = [(size - block, {"ring": min(2, n - 1), "line": 1, "full": n - 1, "switch": 1}[kind]) for block in blocks]
    if kind == "line":  # from one side of a link to the other one
        return [cut for part in list(accumulate(blocks))[:-1] for cut in ((part, 1), (size - part, 1))]
    return [*into, ((n - 1) * size, n)] if kind == "switch" and not reduces else into


def _pair_cuts(kind: FabricKind, blocks: Sequence[Sequence[int]]) -> list[Cut]:
    """Of an all-to-all: around every device, or at every link of a line, or between the halves of a ring. The ways of
    the schedule pass these two once, so what passes the links of the cut is what has to."""
    n = len(blocks)
    if kind in ("switch", "full") or n == 2:
        links = n - 1 if kind == "full" else 1
        sent = [sum(row) - row[i] for i, row in enumerate(blocks)]
        got = [sum(column) - column[i] for i, column in enumerate(zip(*blocks, strict=True))]
        return [(moved, links) for moved in (*sent, *got)]
    passing = Counter(all_to_all(kind, blocks).links)
    if kind == "line":
        return [(passing[ends], 1) for k in range(n - 1) for ends in ((k, k + 1), (k + 1, k))]
    found = []
    for last in range(n):
        first, after = (last + 1 - n // 2) % n, (last + 1) % n
        found += [(passing[last, after] + passing[first, (first - 1) % n], 2)]
        found += [(passing[after, last] + passing[(first - 1) % n, first], 2)]
    return found


def least_seconds(system: System, operation: Operation, size: int, axes: Sequence[MeshAxis]) -> float:
    """What a collective over several axes takes at least: the hops to the farthest device, or bytes over the cut that
    is passed most slowly, around a device, around all devices of the inner axes, or between halves of an axis."""
    devices = prod(axis.size for axis in axes)
    found = [sum(axis.diameter * axis.latency for axis in axes)]
    for inside, axis in enumerate(axes):
        group, outer = prod(other.size for other in axes[:inside]), axes[inside:]
        groups = devices // group
        share = size * (groups - 1) / groups
        if operation == "all-to-all":
            half = axis.size // 2
            across = devices / axis.size * axis.halved * axis.bandwidth / _sharing(system, axis, axes)
            found.append(size * half * (axis.size - half) / axis.size**2 / across)
            share *= group / devices
        elif operation == "all-reduce":
            share = size if any(other.reduces for other in outer) else 2 * share
        rate = sum(group * _out_of(other, operation) / _sharing(system, other, axes) for other in outer)
        found.append(share / rate)
    return max(found)


def _out_of(axis: MeshAxis, operation: Operation) -> float:
    """Bytes per second of a device's links along an axis; of a line's end one leads on, but in an all-reduce, which
    asks all devices alike, the mean counts."""
    if axis.kind != "line":
        return axis.bytes_per_second
    return axis.links * axis.bandwidth * (2 * (axis.size - 1) / axis.size if operation == "all-reduce" else 1)


def _sharing(system: System, axis: MeshAxis, axes: Sequence[MeshAxis]) -> int:
    """Devices that have a link or a port of an axis together; copies for those of other axes may count once."""
    sharing = system.within(axis) if axis.shared else ()
    return prod(other.size for other in sharing if other in axes or not axis.multicast)
