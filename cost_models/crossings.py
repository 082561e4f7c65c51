"""The words that cross every boundary of a mapping, by cause: which loop moves them, and how many reads each array
saves.

The words of a boundary are those of the first step and those that move when a temporal loop above the inner node steps
(`closed_form.py`): as every step has one outermost loop that changes, they are shared out among the loops with nothing
left over. A spatial loop between the two holders that is multicast, or reduced, saves as many words at the outer holder
as are counted once less when its instances are taken together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..arch import Architecture
from ..ir import Mapping as LoopMapping
from .boundaries import Boundary, boundaries_of
from .closed_form import Group, Nest, moved_words, sliding_loops, words_in
from .moves import EVERY, FIRST, Steps


@dataclass(frozen=True)
class Words:
    """The words of one tensor that cross one boundary in some of the time steps.

    wanted     by all inner instances: their whole tiles
    delivered  those of them that they did not hold; of an output, the tiles that come into place (and leave later)
    taken      at the outer holder: read for several instances at once (multicast), or added up on the way (reduced)
    """

    wanted: int
    delivered: int
    taken: int

    def __add__(self, other: Words) -> Words:
        return Words(self.wanted + other.wanted, self.delivered + other.delivered, self.taken + other.taken)


@dataclass(frozen=True)
class Crossing:
    """One boundary, loop by loop; keys are positions in the nest.

    first    words of the first step; of the MAC, which holds nothing: of all steps
    moved    words that move when a temporal loop above the inner node steps
    stays    temporal loops above the inner node over which its tile stays
    shares   instances that share a word, on average, thanks to a spatial loop between the holders: 1 if none do
    """

    boundary: Boundary
    first: Words
    moved: Mapping[int, Words]
    stays: frozenset[int]
    shares: Mapping[int, float]

    @property
    def total(self) -> Words:
        """Over the whole run."""
        return sum(self.moved.values(), self.first)


def crossings_of(mapping: LoopMapping, arch: Architecture) -> tuple[Crossing, ...]:
    """All boundaries of a mapping, tensor by tensor, each chain from the outside in.

    Raises MappingError when a node or loop stands where the architecture has no place for it.
    """
    return crossings_in(Nest.of(mapping, arch), boundaries_of(mapping, arch))


def crossings_in(nest: Nest, boundaries: Iterable[Boundary]) -> tuple[Crossing, ...]:
    """The same of some boundaries of a nest, such as those of an operation's way through a tree."""
    return tuple(_crossing(nest, boundary) for boundary in boundaries)


def _crossing(nest: Nest, boundary: Boundary) -> Crossing:
    joined = _joined(boundary)
    innermost = nest.innermost_serving(boundary.tensor, boundary.inner_position)
    above = [i for i in nest.temporal if i < boundary.inner_position]
    at_mac = boundary.inner is None
    moving = [] if at_mac else [i for i in above if i <= innermost]
    return Crossing(
        boundary=boundary,
        first=_words(nest, boundary, EVERY if at_mac else FIRST, joined, held=False),
        moved={
            i: _words(nest, boundary, Steps(i, moving=True), joined, held=_keeps_overlap(nest, boundary, i, innermost))
            for i in moving
        },
        stays=frozenset() if at_mac else frozenset(above) - frozenset(moving),
        shares={i: _share(nest, boundary, joined, i) for i in _between(nest, boundary)},
    )


def _joined(boundary: Boundary) -> frozenset[int]:
    return boundary.reduced if boundary.tensor.is_output else boundary.multicast


def _between(nest: Nest, boundary: Boundary) -> list[int]:
    return [i for i in nest.spatial if boundary.outer_position < i < boundary.inner_position]


def _keeps_overlap(nest: Nest, boundary: Boundary, loop: int, innermost: int) -> bool:
    """Whether words that an instance holds are not moved again when `loop` steps; never those of partial sums."""
    if boundary.inner is None or boundary.tensor.is_output:
        return False
    start = nest.start(boundary.inner_position)
    return loop in sliding_loops(nest, boundary.tensor, boundary.inner.halo, innermost, start)


def _words(nest: Nest, boundary: Boundary, steps: Steps, joined: frozenset[int], held: bool) -> Words:
    tensor, group = boundary.tensor, Group(boundary.inner_position)
    wanted, kept = words_in(nest, tensor, steps, group)
    taken, shared = words_in(nest, tensor, steps, group._replace(joined=joined))
    return Words(wanted, wanted - kept * held, taken - shared * held)


def _share(nest: Nest, boundary: Boundary, joined: frozenset[int], loop: int) -> float:
    """Return the factor by which the outer memory's words would grow if the instances along a loop were served
    separately."""
    if loop not in joined:
        return 1.0
    apart, together = (_total_taken(nest, boundary, which) for which in (joined - {loop}, joined))
    return apart / together


def _total_taken(nest: Nest, boundary: Boundary, joined: frozenset[int]) -> int:
    """Words at the outer holder over the whole run, those of `joined` instances together."""
    tensor, group = boundary.tensor, Group(boundary.inner_position, joined)
    if boundary.inner is None:
        return words_in(nest, tensor, EVERY, group)[0]
    return moved_words(nest, tensor, "none" if tensor.is_output else boundary.inner.halo, group)
