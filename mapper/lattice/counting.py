"""Words that cross a boundary, exactly, as columns: pJ, then cycles of every port.

One boundary of one tensor: from a memory that keeps it (or the MAC) to the next one outwards that does. For a node with
tile T, over the run and all instances,

    visits   = words(T) * whole / T / (loops directly above that do not move the tensor)
    arrivals = visits * share               what instances want at once is read once (multicast), or added up

less what halos keep (`halo.py`). Operand: visits are written inside, arrivals read outside. Output: visits are written
inside (but the first ones), and read there; arrivals are written outside, and read there (but the first ones). First
visits and finished words depend on the arrays alone, so they are constants of a placement and an array choice; the rest
is linear in the visits.
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np

from ..means import Means
from .arrays import Arrays
from .columns import Flags, Floats, Ints, Rank
from .lattice import NumberedTiles, distinct_sums
from .look_ups import LookUps
from .orders import orders_of
from .placement import MAC_LEVEL, Placement, PricedBoundary, StorageStep
from .plain_question import PlainQuestion


class Counting:
    """Costs of nodes, tiles of all kinds and choices of parallel loops at once."""

    def __init__(self, question: PlainQuestion, lattice: NumberedTiles, arrays: Arrays, means: Means) -> None:
        self.means = means
        self.q, self.lattice, self.arrays = question, lattice, arrays
        everything = range(len(question.sizes))
        self.still = [tuple(d for d in everything if d not in t.dims) for t in question.tensors]
        self.kept_still = [lattice.product(dims) for dims in self.still]  # loops -> trips that do not move a tensor
        self.moved = [lattice.product(t.dims) for t in question.tensors]
        self.visits = [w * lattice.count[::-1] for w in lattice.words]  # tile -> visits, if every loop above moves it
        self.slides = {t: tensor.windows for t, tensor in enumerate(question.tensors) if question.slides(tensor)}
        self.orders = orders_of(
            question.tensors,
            self.slides,
            len(question.sizes),
        )
        self.numbered = [(o, movers, dims) for o, order in enumerate(self.orders) for movers, dims in order.movers]
        self.number = {(o, movers): i for i, (o, movers, _) in enumerate(self.numbered)}
        self.stay_products = [[lattice.product(dims) for dims in order.stays] for order in self.orders]
        self.look_ups = LookUps(lattice)
        self.crossed: dict[tuple[float, float], Ints] = {}
        self.alike: dict[tuple[int, ...], Ints] = {}

    def stays(self, order: int, loops: Ints) -> tuple[list[Floats], list[Flags]]:
        """Per tensor, the trips of a band over which it stays, and whether it is moved at all."""
        moved = [self.moved[t][loops] > 1 for t in range(len(self.still))]
        products = self.stay_products[order]
        return [np.where(m, products[t][loops], self.kept_still[t][loops]) for t, m in enumerate(moved)], moved

    def between(self, outer: float, inner: float) -> Ints:
        """All arrays -> the parallel loops between two levels."""
        if (outer, inner) not in self.crossed:
            self.crossed[outer, inner] = self.arrays.between(outer, inner)
        return self.crossed[outer, inner]

    def crossed_to(self, zone: int, level: float) -> Ints:
        """All arrays -> the parallel loops above a level that a band stands outside of, which is outside `zone`
        fanouts."""
        inside = [f.level for f in self.q.fanouts][len(self.q.fanouts) - zone :]
        return self.between(min(inside, default=level) - 0.1, level)

    def kinds(self, fanouts: tuple[int, ...]) -> Ints:
        """All arrays -> a number that those with the same choice on some fanouts share."""
        if fanouts not in self.alike:
            chosen = self.arrays.chosen[:, list(fanouts)]
            self.alike[fanouts] = (
                np.unique(chosen, axis=0, return_inverse=True)[1].ravel()
                if fanouts
                else np.zeros(len(chosen), np.int64)
            )
        return self.alike[fanouts]

    def windowed(self, placement: Placement) -> Flags:
        """All arrays -> whether they share windows that bands between may tear apart (`late.py`)."""
        out = np.zeros(len(self.arrays.total), bool)
        for late in placement.late:
            windows = self.lattice.product(self.q.tensors[late.boundary.tensor].windows)
            for i in self.joined(placement, late.boundary):
                out |= windows[self.arrays.chosen[:, i]] > 1
        return out

    def slid_by(self, t: int, d: int) -> Flags:
        """Numbered orders -> whether a tensor's tiles slide along a dimension."""
        return np.array([movers[t] == d for _, movers, _ in self.numbered])

    def constants(self, placement: Placement) -> Floats:
        """All arrays -> columns: what the MACs read and write, less what first visits and finished words save."""
        q, arrays = self.q, self.arrays
        out = np.zeros((len(arrays.total), 1 + len(q.columns)))
        out[:, 0] = q.mac_energy
        for b in placement.at_mac:
            one = np.zeros(len(arrays.total), np.int64)
            share = self.share(placement, b, one, np.arange(len(one)))
            out += q.macs * share[:, None] * b.per_arrival / arrays.shares
        for b in [*placement.at_mac, *itertools.chain(*placement.nodes)]:
            if q.tensors[b.tensor].output:
                for memory, saving in ((b.inner, b.per_first), (b.outer, b.per_first_arrival)):
                    if memory is not None:
                        copies = self.kept_still[b.tensor][self.between(-1, q.memories[memory].level)]
                        words = self.lattice.words[b.tensor][self.lattice.full] * copies
                        out -= (words[:, None] * (saving[0] + (copies == 1)[:, None] * saving[1])) / arrays.shares
        return out

    # ---- what instances want together ----------------------------------------------------------------------

    def joined(self, placement: Placement, b: PricedBoundary) -> list[int]:
        """The fanouts of a boundary whose instances are served together, outermost first."""
        output = self.q.tensors[b.tensor].output
        return [
            i for i in placement.inside(b) if (self.q.fanouts[i].reduces if output else self.q.fanouts[i].multicast)
        ]

    def parts(
        self, placement: Placement, b: PricedBoundary, tiles: Ints, rows: Ints, starts: dict[int, Ints]
    ) -> list[tuple[Ints, Ints]]:
        """Of the fanouts that are served together, innermost first: their instances, and how far these are apart. They
        begin at `starts`, or else side by side."""
        at, found, joined = tiles, [], self.joined(placement, b)
        for i in placement.inside(b)[::-1]:
            at = starts.get(i, at)
            own = self.arrays.chosen[rows, i]
            if i in joined:
                found.append((own, at))
            at = at + own
        return found

    def share(
        self, placement: Placement, b: PricedBoundary, tiles: Ints, rows: Ints, starts: dict[int, Ints] | None = None
    ) -> Floats:
        """Arrivals per visit. Without `starts`, bands between are thought away: at least, of windows that are
        shared."""
        q, lattice = self.q, self.lattice
        inside, joined = placement.inside(b), self.joined(placement, b)
        apart = starts is None and any(late.boundary is b for late in placement.late) and not q.tensors[b.tensor].dense
        if starts is None and not apart and inside == joined:
            crossed = self.between(
                q.memories[b.outer].level, MAC_LEVEL if b.inner is None else q.memories[b.inner].level
            )[rows]
            words: Floats = lattice.words[b.tensor]
            return np.asarray(words[tiles + crossed] / words[tiles] / lattice.count[crossed])
        parts = self.parts(placement, b, tiles, rows, starts or {})
        share = np.ones(len(rows))
        for own, _ in parts:
            share = share / lattice.count[own]
        for rank in q.tensors[b.tensor].ranks:
            if apart and len(rank) > 1:
                continue
            dims = {d for d, _ in rank}
            here = [part for i, part in zip(joined[::-1], parts, strict=True) if dims & q.fanouts[i].dims]
            if here:
                keys = [*((d, tiles) for d, _ in rank), *((d, each) for part in here for d, _ in rank for each in part)]
                share = share * self.look_ups.of(("union", rank, len(here)), keys, partial(_union, rank))
        return share

    def node(self, placement: Placement, b: PricedBoundary, tiles: Ints, rows: Ints) -> tuple[Floats, Floats, Floats]:
        """visits, what they cost before any loop stays, and arrivals per visit."""
        visits = self.visits[b.tensor][tiles]
        share = self.share(placement, b, tiles, rows)
        cost = (visits[:, None] * b.per_visit + (visits * share)[:, None] * b.per_arrival) / self.arrays.shares[rows]
        return visits, cost, share

    # ---- capacity --------------------------------------------------------------------------------------------

    def bits(self, memory: int, t: int, tiles: Ints) -> Floats:
        """tiles -> bits that a tensor takes of every part of a memory."""
        tensor = self.q.tensors[t]
        words = self.lattice.words[t][tiles] * tensor.wide
        return np.stack([words * (tensor.role in roles) for roles, _ in self.q.memories[memory].parts], -1)

    def fitting(self, step: StorageStep) -> Flags:
        """Tiles that fit a step's memory."""
        every = np.arange(self.lattice.size)
        room = [bits for _, bits in self.q.memories[step.memory].parts]
        taken = np.sum([self.bits(step.memory, t, every) for t in sorted(step.kept)], axis=0)
        return np.asarray(np.all(taken <= room, axis=-1))


def _union(rank: Rank, extents: list[int]) -> float:
    """Words along a rank that joined instances want together, per word of one of them.

    extents  of the tile, and of the instances, each with how far they are apart
    """
    alone = tuple((e, c) for e, (_, c) in zip(extents, rank, strict=False))
    rest = extents[len(rank) :]
    apart = tuple((n, c * at) for n, at, (_, c) in zip(rest[::2], rest[1::2], itertools.cycle(rank), strict=False))
    return distinct_sums(alone + apart) / distinct_sums(alone)
