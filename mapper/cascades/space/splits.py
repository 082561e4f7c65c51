"""Branches of a split: which operations may be one, what it finds there, and what is left for those after it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

from ....ir import Tree
from ...kernel.remembered import remembered
from ..relaxations.part_bounds import PartBounds
from ..terms.branch import Room
from ..terms.exchanges import Exchange, Exchanges
from ..terms.generations import Generations
from ..terms.parts import FoundPart, VisitedPart, held_by, less_rooms, some_of
from ..terms.tree_rules import TreeRules


@dataclass(frozen=True)
class Split:
    """Branches of a split, one after the other, for one visit.

    exchanged  intermediates that nodes directly above the split hold, with their memories
    """

    weight: float
    energy_pj: float
    latency_cycles: float
    branches: tuple[Tree, ...] = ()
    stored: frozenset[str] = frozenset()
    exchanged: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, eq=False)
class Splits(TreeRules):
    """The splits of one cascade on one machine."""

    bounds: PartBounds
    exchanges: Exchanges
    generations: Generations

    def may_be_branch(self, inside: VisitedPart, start: int, end: int) -> bool:
        """Whether some operations may be one branch of a split: those that are uneven, or read what is, are alone."""
        if not self.generations.may_be_branch(inside, start, end) or self._parts_close_ones(inside, start, end):
            return False
        if end - start == 1:
            return True
        nests = not self.flat or self.generations.steps_together(inside, start, end)
        nests &= self.shares_loops and end - start < len(inside.names)
        return nests and not inside.alone & set(inside.names[start:end])

    def _parts_close_ones(self, inside: VisitedPart, start: int, end: int) -> bool:
        """Whether some operations are a branch without a reader of what one of them writes, or the other way round,
        that has to find it at a node further in than this split."""
        names = inside.names[start:end]
        producers = self.cascade.producers
        return any((producers[tensor].name in names) != (reader in names) for tensor, reader in inside.further)

    def least(self, inside: VisitedPart, start: int, live: Exchange, cutoff: float) -> float:
        """What branches from one operation on weigh at least together, or the cutoff if that is less."""
        self.means.check()
        count, least = len(inside.names), cutoff
        if start == count:
            return min(0.0, cutoff)
        for end in (end for end in range(start + 1, count + 1) if self.may_be_branch(inside, start, end)):
            for exchange in self.exchanges.choices(inside, start, end, live):
                branch = self.branch_part(inside, start, end, exchange)
                first = math.inf if branch is None else self.bounds.close(branch)
                if first < least:
                    after, still = self.after(inside, end, exchange)
                    least = min(least, first + self.least(after, end, still, least - first))
        return least

    @remembered
    def after(self, inside: VisitedPart, end: int, exchange: Exchange) -> tuple[VisitedPart, Exchange]:
        """What branches from one operation on find, and which intermediates are live for them."""
        homes = dict(inside.homes) | {one.tensor: one.memory for one in exchange}
        return replace(inside, homes=tuple(sorted(homes.items()))), self.exchanges.live_after(inside, end, exchange)

    @remembered
    def branch_part(self, inside: VisitedPart, start: int, end: int, exchange: Exchange) -> VisitedPart | None:
        """What one branch of a split finds; None where it has no room."""
        taken = tuple(
            tuple(itertools.chain(*(one.taken[i] for one in exchange), self._in_use(inside, start, end, i)))
            for i in range(start, end)
        )
        room = less_rooms(inside.room[start:end], taken)
        if room is None:
            return None
        homes = dict(inside.homes) | {one.tensor: one.memory for one in exchange}
        branch = some_of(inside, start, end)
        used = {t.name for name in branch.names for t in self.cascade.operation(name).problem.tensors}
        found = replace(
            branch,
            room=room,
            homes=tuple(sorted((t, m) for t, m in homes.items() if t in used)),
            further=branch.further | {(one.tensor, r) for one in exchange for r in one.further if r in branch.names},
            sums=branch.sums + held_by((one.sums for one in exchange if one.sums), inside.names, start, end),
        )
        return self.finishing(found)

    @staticmethod
    def _in_use(inside: VisitedPart, start: int, end: int, place: int) -> Room:
        """What nodes directly above the split take while an operation of a branch works that does not use them, since
        others of that branch do."""
        names = set(inside.names[start:end])
        rooms = (dict(brief.others).get(inside.names[place], ()) for brief in inside.brief if names & brief.users)
        return tuple(itertools.chain(*rooms))

    def finishing(self, branch: VisitedPart) -> VisitedPart | None:
        """A branch, or a whole tree, with whether it is taken for granted that finished words alone come to the home of
        its output; None where they do not, since its visits add to each other's sums."""
        homes, is_one = dict(branch.homes), len(branch.names) == 1
        for place, operation in enumerate(map(self.cascade.operation, branch.names)):
            output = operation.output.name
            if (output, homes.get(output)) in self.sums.finished:
                ragged = any(one.dim in operation.reduced_dims for one in branch.over_of(place))
                adds = ragged or branch.again[place] > 1
                if adds and operation.iterates is None:
                    return None
                branch = replace(branch, finished=is_one and not adds)
        return branch

    def joined(self, first: FoundPart, rest: Split, exchange: Exchange) -> Split:
        """A branch with those after it."""
        outermost = self.memories.outermost
        return Split(
            self.bounds.weights.of(first.energy_pj, first.latency_cycles) + rest.weight,
            first.energy_pj + rest.energy_pj,
            first.latency_cycles + rest.latency_cycles,
            (first.tree, *rest.branches),
            first.stored | rest.stored | {one.tensor for one in exchange if one.memory == outermost},
            rest.exchanged | {(one.tensor, one.memory) for one in exchange if one.memory != outermost},
        )
