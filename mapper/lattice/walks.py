"""The orders of the loops below a step that are worth trying, and what those nodes cost that they move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .columns import Columns, Flags, Floats, Ints
from .counting import Counting
from .exact_halo import ExactHalo
from .halo import Halo
from .orders import Order
from .placement import Placement

Slid = dict[tuple[int, int], Floats]
MORE = 1 + 1e-12


@dataclass
class OrderedPairs:
    """An order for some pairs of a partial mapping and a tile.

    number  of the order, pair by pair of those picked
    stays   per tensor, all pairs: loops over which it stays; moved: whether it is moved at all
    paid    columns: what those cost that are moved, of the pairs picked
    rest    what is left of visits, per node with halo `exact`
    """

    number: Ints
    stays: list[Floats]
    moved: list[Flags]
    pick: Ints
    paid: Floats
    rest: Floats | None = None


@dataclass
class Pairs:
    """Partial mappings with the loops that they may take next."""

    opened: Floats
    still: Flags
    loops: Ints
    saved: Slid


class Walks:
    """Orders for one question."""

    def __init__(self, counting: Counting, halo: Halo, exact: ExactHalo) -> None:
        self.counting, self.halo, self.exact, self.q = counting, halo, exact, counting.q
        self.tensors = range(len(counting.q.tensors))

    def of(
        self, placement: Placement, step: int, some: Columns, parent: Ints, loops: Ints, slides: Floats
    ) -> Iterator[OrderedPairs]:
        """All orders of the band below a step, of pairs."""
        still = some["still"][parent]
        saved: Slid = {}
        zone = placement.zones[step - 1] if step else -1
        for w, (t, d, own) in enumerate(self.halo.ways(placement)):
            if own == zone:
                on = still[:, t] & (self.counting.moved[t][loops] > 1)
                saved[t, d] = slides[:, w] * ((1 - 1 / self.counting.lattice.extent[d][loops]) * on)[:, None]
        if step and self.exact.nodes(placement):
            yield self._at_once(placement, step, some, parent, loops, saved)
        else:
            yield from self._one_by_one(placement, step, Pairs(some["open"][parent], still, loops, saved))

    def _at_once(
        self, placement: Placement, step: int, some: Columns, parent: Ints, loops: Ints, saved: Slid
    ) -> OrderedPairs:
        """Where every loop counts, all orders at once."""
        moved = [self.counting.moved[t][loops] > 1 for t in self.tensors]
        stays = [kept[loops] for kept in self.counting.kept_still]
        paid, rest, number = self.exact.band(placement, step, some, parent, loops, saved)
        return OrderedPairs(number, stays, moved, np.arange(len(loops)), paid, rest)

    def _one_by_one(self, placement: Placement, step: int, pairs: Pairs) -> Iterator[OrderedPairs]:
        """Order by order. One in which nothing stays longer than in the first, and nothing slides for more, is no
        other; nor is one with a loop that may as well stand further out."""
        first = None
        for o, order in enumerate(self.counting.orders if step else self.counting.orders[:1]):
            stays, moved = self.counting.stays(o, pairs.loops)
            on = [pairs.still[:, t] & moved[t] for t in self.tensors]
            closing = np.sum([pairs.opened[:, t] * (on[t] / stays[t])[:, None] for t in self.tensors], axis=0)
            gains = self._gains(o, order, stays, pairs)
            number, best = _best(gains)
            if first is None:
                first, pick = (stays, best), np.arange(len(pairs.loops))
            else:
                longer = [pairs.still[:, t] & (stays[t] > first[0][t]) for t in self.tensors]
                pick = np.flatnonzero(np.any([*longer, (best > first[1] * MORE).any(1)], axis=0))
            here = pick[self._useful(placement.free(step), order, number, on, pairs.loops)[pick]]
            if len(here):
                yield OrderedPairs(number[here], stays, moved, here, closing[here] - best[here])
            for each, gain in gains if len(gains) > 1 else ():
                more = pick[(gain[pick] > best[pick] * MORE).any(1)]
                if len(more):
                    yield OrderedPairs(np.full(len(more), each), stays, moved, more, closing[more] - gain[more])

    def _gains(self, o: int, order: Order, stays: list[Floats], pairs: Pairs) -> list[tuple[int, Floats]]:
        """What is saved by each way to slide in an order, with its number."""
        found = []
        for movers, _ in order.movers:
            gain = np.zeros((len(pairs.loops), pairs.opened.shape[-1]))
            for t, d in enumerate(movers):
                if d is not None and (t, d) in pairs.saved:
                    gain = gain + pairs.saved[t, d] / stays[t][:, None]
            found.append((self.counting.number[o, movers], gain))
        return found

    def _useful(self, free: list[int], order: Order, number: Ints, on: list[Flags], loops: Ints) -> Flags:
        """Pairs none of whose loops may as well stand further out: something stays over each, or slides along it."""
        out = np.ones(len(loops), bool)
        for d in free:
            needed = self.counting.lattice.extent[d][loops] == 1
            for t in self.tensors:
                needed = needed | (on[t] if d in order.stays[t] else on[t] & self.counting.slid_by(t, d)[number])
            out &= needed
        return out


def _best(gains: list[tuple[int, Floats]]) -> tuple[Ints, Floats]:
    """(rows,) the number of the way that saves most, all columns together, and what it saves."""
    every = np.stack([gain for _, gain in gains])
    scale = every.reshape(-1, every.shape[-1]).max(0) + 1e-300
    which = (every / scale).sum(-1).argmax(0)
    return np.array([number for number, _ in gains])[which], every[which, np.arange(every.shape[1])]
