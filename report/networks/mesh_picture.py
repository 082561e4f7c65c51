"""The mesh of a system as a picture: devices along its axes, and the bytes that pass over links of each in a plan."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from markupsafe import Markup

from ...arch.system import MeshAxis
from ...ir.units import count, plural
from ...mapper.sharding import Resharding, ShardedAnswer
from ..parts.svg import CHARACTER, circle, label, line, path, svg

_GAP, _LEFT, _TOP, _HIGH = 44, 24, 40, 96
_MOST = 16
"""Devices along an axis that are drawn; of more the first and the last."""

_ONE_MOVES = ".moved { stroke: #0072b2; stroke-width: 2.5; fill: none } .still { stroke: #a0aec0; fill: none }"


def mesh_svg(answer: ShardedAnswer) -> tuple[str, str]:
    """A line of every axis, with what passes its links in all; and the same in words."""
    system = answer.question.system
    moved = Counter[tuple[str, tuple[int, int]]]()
    for step in answer.steps:
        if isinstance(step, Resharding) and step.phase is not None:
            moved.update({(step.axis, link): number for link, number in step.phase.bytes_by_link.items()})
    shapes: list[Markup] = []
    told = []
    width = 320.0
    for row, axis in enumerate(system.axes):
        links = {link: number for (name, link), number in moved.items() if name == axis.name}
        most = max(links.values(), default=0)
        words = f"{axis.name}: {axis.kind} of {axis.size}, " + (
            f"{count(most)} B over the busiest link" if most else "no bytes"
        )
        told.append(words)
        top = _TOP + row * _HIGH
        shapes += [label(_LEFT, top - 16, words, "name"), *_line(axis, links, top)]
        width = max(width, _LEFT * 2 + len(words) * CHARACTER, _LEFT * 2 + (min(axis.size, _MOST) - 1) * _GAP)
    about = f"{plural(system.devices, 'device')}; " + "; ".join(told)
    height = _TOP + len(system.axes) * _HIGH - 16
    return svg(width, height, f"The mesh of {system.name}", about, _ONE_MOVES, shapes), about


def _line(axis: MeshAxis, links: dict[tuple[int, int], int], top: float) -> list[Markup]:
    """The devices of one line of an axis, and its links: bold where bytes pass."""
    places = list(range(axis.size)) if axis.size <= _MOST else [*range(_MOST - 1), axis.size - 1]
    x = {device: _LEFT + i * _GAP for i, device in enumerate(places)}
    shapes: list[Markup] = []
    kind = "moved" if links else "still"
    middle, low = (_LEFT + x[places[-1]]) / 2, top + 36
    if axis.kind == "switch":
        shapes += [line(x[device], top, middle, low, kind) for device in places]
        shapes += [circle(middle, low, "mac", 9), label(middle + 14, low + 5, "switch", "quiet")]
    elif axis.kind == "full":
        shapes += [_arc(x[a], x[b], top, kind) for a in places for b in places if a < b]
    else:
        shapes += [line(x[a], top, x[b], top, kind) for a, b in pairwise(places)]
        if axis.kind == "ring" and axis.size > 2:
            shapes.append(_arc(x[places[0]], x[places[-1]], top, kind))
    if axis.size > _MOST:
        shapes.append(label((x[places[-2]] + x[places[-1]]) / 2, top - 4, "...", "quiet", "middle"))
    return [*shapes, *(circle(x[device], top, "input", 7) for device in places)]


def _arc(start: float, stop: float, top: float, kind: str) -> Markup:
    return path(f"M {start:g} {top:g} Q {(start + stop) / 2:g} {top + 60:g} {stop:g} {top:g}", kind)
