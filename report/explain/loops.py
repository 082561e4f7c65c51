"""What each loop is for: the tensors that it moves, those that stay, and what an array shares.

A loop is looked at from the boundary that it stands in: for every tensor, the innermost memory that holds it above the
loop, and the first one below it, or the MAC. Words are those that cross this boundary because the loop steps, all its
steps together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

from ...arch import Architecture
from ...cost_models.cost import tensor_tile_words
from ...cost_models.crossings import Crossing
from ...cost_models.sets import distinct_sums
from ...ir import Loop, Mapping, Rank, Tensor, tile_below
from ...ir.units import count, percent, significant

MAC = "MAC"
EffectKind: TypeAlias = Literal["moves", "again", "stays", "split", "shared", "apart"]


@dataclass(frozen=True)
class Effect:
    """What a loop does to one tensor.

    kind    in time:  `moves` on to other words; `again`: brings back words that were there before, since loops inside
            it moved on; `stays`: the tile, or the word at the MAC, is the same
            in space: `split` over the instances; `shared`: multicast, or reduced; `apart`: each instance has the same
            words for itself
    outer   the memory above the loop that holds the tensor
    inner   the memory below it, or MAC
    words   that cross because the loop steps: into the inner memory (of an output, out of it); in space, and at the
            MAC, None
    kept    of a tile, the share that stays in place when the loop steps, since tiles overlap (halo)
    shares  instances that share a word, on average
    """

    tensor: str
    is_output: bool
    kind: EffectKind
    outer: str
    inner: str
    words: int | None = None
    kept: float = 0.0
    kept_rows: str = ""
    shares: float = 1.0


@dataclass(frozen=True)
class LoopRole:
    """One loop of several trips: its text, its place in the nest (0 is the outermost item), what it does."""

    loop: str
    position: int
    depth: int
    effects: tuple[Effect, ...]


def loops_of(
    mapping: Mapping, arch: Architecture, crossings: Sequence[Crossing], start: int = 0
) -> tuple[LoopRole, ...]:
    """All loops of more than one trip from a position on, outermost first."""
    items = list(enumerate(mapping.nest))[start:]
    loops = [(i, item) for i, item in items if isinstance(item, Loop) and item.trips > 1]
    return tuple(
        LoopRole(str(loop), position, depth, tuple(_effects(mapping, arch, crossings, position, loop)))
        for depth, (position, loop) in enumerate(loops)
    )


def _effects(
    mapping: Mapping, arch: Architecture, crossings: Sequence[Crossing], position: int, loop: Loop
) -> Iterator[Effect]:
    for crossing in crossings:
        boundary = crossing.boundary
        if not boundary.outer_position < position < boundary.inner_position:
            continue
        tensor, inner = boundary.tensor, boundary.inner.name if boundary.inner else MAC
        still = Effect(tensor.name, tensor.is_output, "stays", boundary.outer.name, inner)
        moves: EffectKind = "moves" if loop.dim in tensor.dims else "again"
        if loop.is_spatial:
            yield replace(still, kind=_space_kind(crossing, position, loop), shares=crossing.shares[position])
        elif boundary.inner is None:
            yield replace(still, kind="moves") if moves == "moves" else still
        elif position in crossing.stays:
            yield replace(still, words=0)
        else:
            words = crossing.moved[position]
            kept = Fraction(words.wanted - words.delivered, words.wanted) if words.wanted else Fraction(0)
            rows = _kept_rows(mapping, arch, tensor, boundary.inner_position, loop, kept)
            yield replace(still, kind=moves, words=words.delivered, kept=float(kept), kept_rows=rows)


def _space_kind(crossing: Crossing, position: int, loop: Loop) -> EffectKind:
    if loop.dim in crossing.boundary.tensor.dims:
        return "split"
    joined = crossing.boundary.reduced if crossing.boundary.tensor.is_output else crossing.boundary.multicast
    return "shared" if position in joined else "apart"


def _kept_rows(mapping: Mapping, arch: Architecture, tensor: Tensor, position: int, loop: Loop, kept: Fraction) -> str:
    """`2 of 10 along p+r`, where that is what stays of a tile; empty where it is no whole number of rows."""
    rank = next((rank for rank in tensor.ranks if any(dim == loop.dim for dim, _ in rank)), None)
    if not kept or rank is None:
        return ""
    tile = tile_below(mapping.problem, mapping.nest, position)
    rows = distinct_sums(tuple(c for _, c in rank), tuple(tile[dim] for dim, _ in rank), arch.footprint)
    staying = kept * rows
    return f"{staying} of {rows} along {_axis(rank)}" if staying.denominator == 1 else ""


def _axis(rank: Rank) -> str:
    return "+".join(dim.lower() if c == 1 else f"{c}{dim.lower()}" for dim, c in rank)


def loop_sentence(role: LoopRole) -> str:
    """All that a loop does, in one line: `moves I into GLB (...); O stays in GLB`."""
    return "; ".join(effect_text(effect) for effect in role.effects)


def effect_text(effect: Effect) -> str:
    """What a loop does to one tensor."""
    name, inner = effect.tensor, effect.inner
    if effect.kind in ("split", "shared", "apart"):
        return _space_text(effect)
    if inner == MAC:
        if effect.is_output:
            return f"adds to the same {name} in {effect.outer}" if effect.kind == "stays" else f"next {name}"
        return f"same {name} from {effect.outer}" if effect.kind == "stays" else f"next {name}"
    if effect.kind == "stays":
        return f"{name} {'sums up' if effect.is_output else 'stays'} in {inner}"
    if effect.kind == "again":
        return f"{name} {'back to' if effect.is_output else 'into'} {inner} again each time"
    words = f"{count(effect.words or 0)} words"
    if effect.is_output:
        return f"next {name} in {inner} ({words})"
    kept = f", {effect.kept_rows or percent(effect.kept, 1)} kept" if effect.kept else ""
    return f"next {name} into {inner} ({words}{kept})"


def _space_text(effect: Effect) -> str:
    name, shares = effect.tensor, significant(effect.shares, 3)
    if effect.kind == "split":
        overlap = f", each word for {shares}" if effect.shares > 1 and not effect.is_output else ""
        return f"splits {name}{overlap}"
    if effect.kind == "apart":
        return f"{'sums of' if effect.is_output else 'reads'} {name} apart"
    return f"adds up {name} of {shares}" if effect.is_output else f"multicasts {name} to {shares}"


def tile_text(mapping: Mapping, arch: Architecture, tensor: Tensor, position: int) -> str:
    """The tile of a tensor below a position, as the extents of its axes: `64 x 10 x 58`."""
    tile = tile_below(mapping.problem, mapping.nest, position)
    extents = (
        distinct_sums(tuple(c for _, c in rank), tuple(tile[dim] for dim, _ in rank), arch.footprint)
        for rank in tensor.ranks
    )
    return " x ".join(map(str, extents)) or str(tensor_tile_words(tensor, tile, arch.footprint))
