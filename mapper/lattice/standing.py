"""One partial mapping stands for another that has as much left to do, if whatever follows makes it no dearer.

As much left to do: the same tile, and the same parallel loops above. What follows divides what is still open, tensor by
tensor, by 1 at least and by the loops left that do not move it at most; before, it takes off what slides by one way at
most, times (n - 1) / n for some n trips. So with differences d_t of what is open, and s_w of what is saved by each way
of a tensor,

    known_a - known_b + sum over t of max over w of max(e, e / most loops) <= 0,    e = d_t, or d_t - s_w (n - 1) / n
    for most trips n

in every column, no more compute steps, and no more room taken: all that follows is linear in (n - 1) / n, which lies
between.

Of every tile only the partial mapping with the lowest bound so far is compared with, its *leader*. None leaves itself
aside, since each is compared with earlier ones only.
"""

from __future__ import annotations

import numpy as np

from .bounds import TileBounds
from .columns import Columns, Flags, Floats, Ints
from .placement import Placement


class Standing:
    """The leaders of one search."""

    def __init__(self, bounds: TileBounds) -> None:
        self.bounds, self.counting, self.halo = bounds, bounds.counting, bounds.halo
        self.q, self.lattice, self.exact, self.arrays = bounds.q, bounds.lattice, bounds.exact, bounds.counting.arrays
        self.leaders: dict[object, tuple[dict[int, int], list[Floats]]] = {}

    def keep(self, placement: Placement, step: int, bound: Floats, columns: Columns) -> Ints:
        """Which of some rows, sorted by bound, nothing stands for."""
        rows, tile = columns["row"], columns["tile"]
        left = self.lattice.full - tile - self.counting.between(-1, placement.levels[step])[rows]
        least = np.stack([1 / still[left] for still in self.counting.kept_still], 1)[:, :, None]
        ways = [
            (w, t, d) for w, (t, d, zone) in enumerate(self.halo.ways(placement)) if zone >= placement.zones[step - 1]
        ]
        slides = [columns["slides"][:, w] * self.bounds.trips[d][left][:, None] for w, _, d in ways]
        most, where = self._moving(placement, step, columns)
        compute = self.arrays.compute[rows] * self.q.timed
        flat = np.concatenate([compute[:, None], columns["known"], columns["open"].reshape(len(rows), -1), *slides], 1)
        kind = self.counting.kinds(tuple(self.bounds.key(placement, step)))[rows]
        places = tile + kind * self.lattice.size
        flat = np.concatenate([where, flat, most], 1)
        if any(late.start < step <= late.settled for late in placement.late):
            odd = np.flatnonzero(self.counting.windowed(placement)[rows])  # not counted to the end yet
            places[odd] = -1 - np.arange(len(odd))
        slot, kept_rows = self.leaders.setdefault((placement, step), ({-1: 0}, [np.zeros((0, 1 + flat.shape[1]))]))
        own, at_first, back = np.unique(places, return_index=True, return_inverse=True)
        number = np.array([slot.setdefault(p, len(slot)) if p >= 0 else 0 for p in own.tolist()])
        at = kept_rows[0]
        if len(slot) > len(at):
            at = kept_rows[0] = np.concatenate([at, np.full((2 * len(slot) - len(at), at.shape[1]), np.inf)])
        tensors = [t for _, t, _ in ways]
        self.wide, self.keyed = most.shape[1], where.shape[1]
        kept = np.flatnonzero(~self._worse(at[number[back.ravel()], 1:], flat, least, tensors))  # of earlier batches
        kept = np.union1d(kept, np.flatnonzero(places < 0))
        new = at_first[(bound[at_first] < at[number, 0]) & (own >= 0)]
        fixed = np.zeros(0, np.int64)
        for _ in range(2):  # of this one
            _, lead, back = np.unique(places[kept], return_index=True, return_inverse=True)
            leader = kept[lead][back.ravel()]
            fixed = np.concatenate([fixed, kept[lead]])
            kept = kept[(leader != kept) & ~self._worse(flat[leader], flat[kept], least[kept], tensors)]
        number = number[np.searchsorted(own, places[new])]
        at[number, 0], at[number, 1:] = bound[new], flat[new]
        return np.sort(np.concatenate([fixed, kept]))

    def _worse(self, leader: Floats, other: Floats, least: Floats, ways: list[int]) -> Flags:
        """Whether a leader stands for the other, row by row; `ways`: their tensors."""
        columns = 1 + len(self.q.columns)
        tensors = least.shape[1]
        with np.errstate(invalid="ignore"):
            leader, more = self._with_moving(leader, other)
            other = other[:, self.keyed : other.shape[1] - self.wide]
            slack = other - leader
            first = slack.shape[1] - columns * (1 + tensors + len(ways))
            parts = slack[:, first:].reshape(len(slack), 1 + tensors + len(ways), columns)
            known, opened, slides = parts[:, 0], parts[:, 1 : 1 + tensors], parts[:, 1 + tensors :]
            if ways:
                worst = opened.copy()
                for w, t in enumerate(ways):
                    np.minimum(worst[:, t], opened[:, t] - slides[:, w], out=worst[:, t])
                opened = worst
            total = known - more + np.minimum(opened, opened * least).sum(1)
            return np.asarray(np.all(slack[:, :first] >= 0, axis=1) & np.all(total >= 0, axis=1))

    def _moving(self, placement: Placement, step: int, columns: Columns) -> tuple[Floats, Floats]:
        """What nodes with halo `exact` cost at most (columns, node by node), and where they are: equal where they are
        given the same."""
        exact, rows = self.exact, columns["row"]
        nodes = exact.nodes(placement)
        tiles, most, where = list(columns["tiles"].T), [np.zeros((len(rows), 0))], [np.zeros((len(rows), 0))]
        for e, (own, b) in enumerate(nodes):
            if own < step:
                node = exact.priced(placement, b, rows, tiles, own)
                most.append(columns["rest"][:, e, None] * (node.inside + node.outside))
                where.append(np.column_stack([node.tile, *node.wraps]))
            else:
                most.append(np.zeros((len(rows), columns["known"].shape[1])))
                where.append(np.zeros((len(rows), 1 + len(self.q.sizes))))
        return np.concatenate(most, 1), np.concatenate(where, 1)

    def _with_moving(self, leader: Floats, other: Floats) -> tuple[Floats, Floats | float]:
        """Leaders without what is moving, and by how much that may cost more than the others' at most."""
        if not self.wide:
            return leader, 0.0
        columns = 1 + len(self.q.columns)
        n = self.wide // columns
        a, b = (each[:, each.shape[1] - self.wide :].reshape(len(each), n, columns) for each in (leader, other))
        same = (
            (leader[:, : self.keyed] == other[:, : self.keyed])
            .reshape(len(leader), n, self.keyed // n)
            .all(-1)[:, :, None]
        )
        more = np.where(same, np.maximum(a - b, 0), a).sum(1)
        return leader[:, self.keyed : leader.shape[1] - self.wide], more
