"""One branch of a tree: what is asked of the mapping of one operation's visits, and what answers it.

A branch lasts for one visit of its tile: nodes inside it are filled anew at every visit (docs/cascades.md).
So what an operation costs inside its branch is the number of visits times the cost of an ordinary mapping of the tile,
whose tensors come from, and go to, the innermost nodes above the branch: their *homes*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from ....cost_models.cascades import VisitSizes
from ....ir import Loop, Node, Role, ceil_div
from ...pareto.weights import UNKNOWN, LeastOfEach, OpenRegion, Weights

Sizes = tuple[tuple[str, int], ...]
"""Dimensions of one operation and their elements, as far as one visit goes."""

Homes = tuple[tuple[str, str], ...]
"""By tensor, the memory that it comes from."""

Room = tuple[tuple[str, str, int], ...]
"""Bits that are left in one instance of a memory: (memory, role or "" for the part that roles share, bits)."""

Busy = tuple[tuple[str, Role, float, float], ...]
"""Bits that are read and written for other reasons, by memory and role."""

NamedPort = tuple[str, str]
"""A memory, and the name of one of its ports."""

Slot = tuple[str, int, str]
"""A loop of instances side by side: array, axis (0 is x and 1 is y), dimension."""


def by_memory(busy: Busy, visits: float = 1) -> dict[str, dict[Role, tuple[float, float]]]:
    """The bits of so many visits."""
    found: dict[str, dict[Role, tuple[float, float]]] = {}
    for memory, role, read, written in busy:
        found.setdefault(memory, {})[role] = visits * read, visits * written
    return found


@dataclass(frozen=True)
class BranchQuestion:
    """All visits of one operation's branch.

    operation  its name
    sizes      of the tile of one visit, by dimension; all dimensions of the operation
    homes      by tensor, the memory of the innermost node above the branch
    room       bits left for the branch's own nodes, for every bounded part of every memory outside all arrays
    again      visits that add to one output tile, one after the other: in all but the first of them the tile is filled
               from its home, and first updates read. Costs are means over these visits
    cut        dimensions that loops above step over, and others along which tiles inside divide that of the visit
    over       of dimensions of which the last visit is shorter: elements of all visits together. Costs are means over
               these visits
    made       of dimensions along which visits are uneven, how many of them make so many positions. Costs are means
               over these visits
    finished   whether the output comes to its home as finished words alone
    slower     so many times as long does computing take as it does for the visit alone
    beside     of dimensions, how many trips loops over them have at least and at most along axes of arrays
    keeps      (memory, tensor) of those inside arrays, whether the one keeps the other
    wider      by tensor, so many times as wide are its words
    waits_for  the port that alone takes cycles; None: all do, and computing
    busy       what the nodes above need for this operation: bits read and written per visit, by memory and
               role. It takes cycles of ports, and no energy here
    """

    operation: str
    sizes: Sizes
    homes: Homes
    room: Room
    again: int = 1
    busy: Busy = ()
    cut: frozenset[str] = frozenset()
    over: Sizes = ()
    made: tuple[tuple[str, VisitSizes], ...] = ()
    finished: bool = False
    slower: float = 1.0
    beside: tuple[tuple[Slot, int, int], ...] = ()
    keeps: tuple[tuple[str, str, bool], ...] = ()
    wider: tuple[tuple[str, float], ...] = ()
    waits_for: NamedPort | None = None

    def idle(self) -> BranchQuestion:
        """The same with nothing else at the ports."""
        return replace(self, busy=()) if self.busy else self

    @property
    def visits(self) -> int:
        """Visits that are not all alike: as many as costs are means over."""
        tile, uneven = dict(self.sizes), (sum(times for _, times in sizes) for _, sizes in self.made)
        return math.prod(ceil_div(whole, tile[dim]) for dim, whole in self.over) * math.prod(uneven)

    @property
    def asks_less(self) -> tuple[object, ...]:
        """By which fewer mappings are asked about, or such as cost more: nothing, where by none."""
        return self.beside, self.keeps, self.wider

    @cached_property
    def roomless(self) -> BranchQuestion:
        """All but the room."""
        return replace(self, room=())


@dataclass(frozen=True)
class BranchMapping:
    """A mapping of one visit.

    energy_pj, latency_cycles  of a visit, in the mean; `busy` adds to the latency, and so to what leaks
    used   bits that its own nodes take, as `BranchQuestion.room` has them
    items  loops and nodes of the branch, outermost first
    """

    energy_pj: float
    latency_cycles: float
    used: Room
    items: tuple[Loop | Node, ...]


@dataclass(frozen=True)
class BranchAnswer:
    """What is known of a branch.

    bound    no mapping weighs less
    mapping  the one of least weight; None: it weighs the bound or more, or nothing fits (then the bound is infinite)
    """

    bound: float
    mapping: BranchMapping | None = None


class BranchSolver(Protocol):
    """Answers questions about branches, exactly."""

    @property
    def knows_all(self) -> bool:
        """Whether bounds are what mappings weigh, whatever has been asked before."""

    @property
    def learned(self) -> int:
        """How often something has been learned that bounds may follow from: they stay the same while it does."""

    def least(
        self, question: BranchQuestion, weights: Weights, cutoff: float = math.inf, apart: LeastOfEach = UNKNOWN
    ) -> BranchAnswer:
        """The mapping of least weight, if it weighs less than the cutoff.

        apart  what every mapping takes at least
        """

    def counted(self, question: BranchQuestion, weights: Weights, cutoff: float = math.inf) -> BranchAnswer | None:
        """The mapping of least weight of uneven visits (`BranchQuestion.made`), if it weighs less than the cutoff; None
        where that takes long, or they cannot be counted."""

    def lower(
        self, question: BranchQuestion, weights: Weights, cutoff: float = math.inf, apart: LeastOfEach = UNKNOWN
    ) -> float:
        """What the mapping weighs at least, or the cutoff if that is less: the same, unless that takes long."""

    def know(self, question: BranchQuestion, weights: Weights, bound: float) -> None:
        """Note what every mapping weighs at least."""

    def lower_accesses(self, question: BranchQuestion, cutoff: float = math.inf) -> float:
        """pJ that the mapping takes at least if nothing leaks, or the cutoff if that is less."""

    def bound(self, question: BranchQuestion, weights: Weights, apart: LeastOfEach = UNKNOWN) -> float:
        """What the mapping weighs at least, as far as that can be said at once.

        apart  what every mapping takes at least
        """

    def at_peak(self, operation: str, sizes: Sizes) -> float:
        """Cycles that a tile takes if all units compute at all times that it can use."""

    def front(self, question: BranchQuestion, region: OpenRegion) -> list[BranchMapping]:
        """Mappings that lie in a region, of which no other one has as little energy and latency."""
