"""Which of Timeloop's approximations touch a count, decided by the mapping alone.

Four of its rules are approximations of its own, and we do not imitate them (docs/other-tools.md). With neighbour links
switched off, three are left. They touch nothing but the words of tiles that overlap:

    separate halos  instances whose tiles overlap without being equal are served one by one
    repeated move   a tile that moves by the same vector as at its last move keeps the overlap, although another loop
                    moves it; only iterations 0 and 1 of every loop are looked at
    phantom stay    between iteration 1 of the inner loops and the next of the outer one the tile happens to stand
                    still, so nothing is fetched; between their last iteration and the next it does move
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from tilewright.arch import Architecture
from tilewright.cost_models.boundaries import Boundary, boundaries_of
from tilewright.cost_models.sets import hull
from tilewright.ir import Digit, Loop, Mapping, digits_by_dimension, tile_below

SEPARATE_HALOS, REPEATED_MOVE, PHANTOM_STAY = "separate halos", "repeated move", "phantom stay"
Rules = frozenset[str]


@dataclass(frozen=True)
class _Passage:
    """A boundary with the loops of the mapping as digits, by position."""

    mapping: Mapping
    boundary: Boundary
    digits: dict[int, Digit]

    @property
    def hulls(self) -> list[int]:
        """Length of the inner tile along each rank, gaps included."""
        position = self.boundary.inner_position
        tile = tile_below(self.mapping.problem, self.mapping.nest, position)
        ranks = self.boundary.tensor.ranks
        return [hull(tuple(c for _, c in rank), tuple(tile[dim] for dim, _ in rank)) for rank in ranks]

    def steps(self, position: int) -> list[int]:
        """How far one step of a loop moves the tensor along each of its ranks."""
        loop = self.mapping.nest.items[position]
        assert isinstance(loop, Loop)
        tile = self.digits[position].tile
        return [sum(c * tile for dim, c in rank if dim == loop.dim) for rank in self.boundary.tensor.ranks]

    def loops(self, *, spatial: bool) -> list[int]:
        """Positions of the loops above the inner tile with several trips, outermost first."""
        found = (d for d in self.digits.values() if d.spatial == spatial and d.trips > 1)
        return sorted(d.position for d in found if d.position < self.boundary.inner_position)


def touched(mapping: Mapping, arch: Architecture) -> dict[tuple[str, str, str], Rules]:
    """(level, tensor, "reads" or "writes") -> the rules that may make Timeloop's count another one than ours."""
    digits = {d.position: d for found in digits_by_dimension(mapping.problem, mapping.nest).values() for d in found}
    rules: dict[tuple[str, str, str], Rules] = {}
    for boundary in boundaries_of(mapping, arch):
        if boundary.tensor.is_output:
            continue
        passage = _Passage(mapping, boundary, digits)
        moves = _sampled_moves(passage) if boundary.inner is not None else frozenset()
        rules[boundary.outer.name, boundary.tensor.name, "reads"] = moves | _halos(passage)
        if boundary.inner is not None:
            rules[boundary.inner.name, boundary.tensor.name, "writes"] = moves
    return {key: found for key, found in rules.items() if found}


def _halos(passage: _Passage) -> Rules:
    """Whether instances that one read serves have tiles that overlap, and are not equal."""
    by_fanout: dict[str, list[int]] = {}
    for position in passage.boundary.multicast:
        loop = passage.mapping.nest.items[position]
        assert isinstance(loop, Loop)
        assert loop.axis is not None
        by_fanout.setdefault(loop.axis.fanout, []).append(position)
    for rank, length in enumerate(passage.hulls):
        places = [_places(passage, rank, positions) for positions in by_fanout.values()]
        together = {sum(place) for place in itertools.product(*places)}
        wanted = {place + x for place in together for x in range(length)}
        if len(wanted) < length * math.prod(len(each) for each in places):
            return frozenset({SEPARATE_HALOS})
    return frozenset()


def _places(passage: _Passage, rank: int, positions: list[int]) -> set[int]:
    """Where along a rank the tiles of a fanout's instances begin."""
    steps = ([value * passage.steps(p)[rank] for value in range(passage.digits[p].trips)] for p in positions)
    return {sum(values) for values in itertools.product(*steps)}


def _sampled_moves(passage: _Passage) -> Rules:
    """What the moves look like when only iterations 0 and 1 of every loop are visited."""
    loops = passage.loops(spatial=False)
    movers = [p for p in loops if any(passage.steps(p))]
    rules: set[str] = set()
    for outer in loops:
        inside = [p for p in movers if p > outer]
        if not inside:
            continue
        back = [sum(steps) for steps in zip(*(passage.steps(p) for p in inside), strict=True)]
        sampled = [step - b for step, b in zip(passage.steps(outer), back, strict=True)]
        if not any(sampled):
            rules.add(PHANTOM_STAY)
        overlaps = all(abs(shift) < length for shift, length in zip(sampled, passage.hulls, strict=True))
        if sampled == passage.steps(inside[-1]) and overlaps:
            rules.add(REPEATED_MOVE)
    return frozenset(rules)
