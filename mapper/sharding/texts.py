"""Shardings as the field writes them: X[b:data, s, d:model], and {model} behind it for partial sums over model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ...ir.sharding import PARTIAL, SPREAD, Deal, Sharding
from ...workloads.graph import NetworkGraph
from ...workloads.graph.occurrences import written_dims

_LETTERS = "abcdefgh"


def sharding_text(graph: NetworkGraph, name: str, sharding: Sharding, axes: Sequence[str]) -> str:
    """What an occurrence makes, its ranks by the letters of its dimensions, each with the axes that deal it.

    A rank that is not dealt in one piece, such as heads among features, says so: d%512 is dealt anew every 512. Words
    whose order no plan knows, as those of experts, are spread by an axis.

    axes  names of the axes of the mesh, the innermost first
    """
    ranks = _ranks(graph, name)
    dealt: dict[str, list[str]] = {letter: [] for letter, _, _ in ranks}
    told: dict[str, str] = {letter: letter for letter in dealt}
    for axis, placement in reversed(list(zip(axes, sharding, strict=True))):
        if not isinstance(placement, Deal):
            continue
        for letter, stride, size in ranks:
            if stride <= placement.block < stride * size:
                dealt[letter].append(axis)
                if placement.period < stride * size and len(dealt[letter]) == 1:
                    told[letter] = f"{letter}%{placement.period // stride}"
    shown = [f"{told[letter]}:{'+'.join(by)}" if by else letter for letter, by in dealt.items()]
    text = f"{name}[{', '.join(shown)}]"
    kinds = list(zip(axes, sharding, strict=True))
    sums, spread = ([axis for axis, one in kinds if one == kind] for kind in (PARTIAL, SPREAD))
    return text + (f"{{{', '.join(sums)}}}" if sums else "") + (f" spread by {', '.join(spread)}" if spread else "")


def _ranks(graph: NetworkGraph, name: str) -> list[tuple[str, int, int]]:
    """The letter, stride in words and size of every rank of what an occurrence makes, slowest first."""
    shape = graph.shape(name) or ()
    strides = list(accumulate([1, *shape[:0:-1]], lambda done, size: done * size))[::-1] if shape else []
    return list(zip(_letters_of(graph, name, len(shape)), strides, shape, strict=True))


def _letters_of(graph: NetworkGraph, name: str, count: int) -> Sequence[str]:
    """Of a layer those of its dimensions; of what is done with as many ranks between layers those of what it reads."""
    occurrence = graph.by_name.get(name)
    if occurrence is None:
        return _LETTERS[:count]
    if occurrence.problem is not None and occurrence.shape is None:
        return [dim.lower() for dim in written_dims(occurrence)]
    for source in occurrence.sources:
        if len(graph.shape(source.name) or ()) == count and source.name in graph.by_name:
            return _letters_of(graph, source.name, count)
    return _LETTERS[:count]
