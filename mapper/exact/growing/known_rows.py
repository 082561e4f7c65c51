"""Rows that have been queued, and dominate those that come later by other steps.

Where several memories follow each other without an array between them, many steps lead to the same tile with the same
left to do.

Lemma. Let all fanouts be passed, and let two rows have the same tile, the same state (`State`: what is still to be
placed, and what waits), the same node group last, and alike where something waits since inside a fanout: all node
groups and tiles from there on, and the arrays. Then whatever may follow one may follow the other, as far as memories
have room, and costs as much: what is charged further out depends on the tile that charges it, and on instances between
the holders, which lie inside. (Of node groups without a loop between them one order is tried; so the last one has to be
the same.) So a row that has cost no more in any column, takes no more time steps, and no more room in any memory that
is still to hold something, dominates the other one, which may be pruned, whatever steps it has taken.

Only rows that have been queued before dominate others: all that grows from them is looked at, or bounded by what was
let go of. Rows that dives have looked at are dropped again, and do not count.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ....cost_models.ports import Port
from ....ir import Tensor
from ..counting.cost_columns import rounds_unequally
from ..rows import Floats, Ints
from .batch import Batch
from .context import SearchContext


class KnownRows:
    """Known rows are those that one search has queued: they prune rows that they dominate.

    Where they take the room that tables leave, none are added any more.
    """

    def __init__(self, context: SearchContext) -> None:
        self.context = context
        self.nbytes = 0
        self._known: dict[Hashable, _Alike] = {}
        self._applies = (
            context.hierarchy.space == "uneven"
            and context.zeros is None
            and context.limits.constraints.is_free
            and not context.every_mapping
            and context.costs.lines is None
            and _columns_compare(context)
        )

    def new_ones(self, batch: Batch) -> Batch:
        """Return the rows of a batch that no known row dominates; they are known from now on, and have to be queued."""
        if not self._applies or batch.complete or not _is_settled(self.context, batch):
            return batch
        costs = np.concatenate([batch.costs, batch.steps[None], *self._room_taken(batch)])
        alike = self._known.setdefault(self._key(batch), _Alike(len(costs)))
        tiles = _codes(_waiting_on(batch))
        new = np.flatnonzero(alike.standing_for(tiles, costs, self.context.effort.few) < 0)
        self.context.leave_aside("dominated", len(batch) - len(new))
        tables = self.context.bounds.memo.budget
        if self.nbytes + tables.nbytes < tables.most:
            alike.add([tiles[row] for row in new.tolist()], costs[:, new])
            self.nbytes += len(new) * (200 + costs.itemsize * len(costs))  # about, of Python's objects
        return batch if len(new) == len(batch) else batch.take(new)

    def _key(self, batch: Batch) -> Hashable:
        """Return what rows of one batch have in common that their future costs depend on."""
        path, since = batch.path, _waiting_since(batch)
        innermost = tuple(held[0] for held in path.placement)
        inside = (since, path.bands) if since < len(path.node_groups) - 1 else None
        return batch.state, innermost, path.node_groups[since:], inside

    def _room_taken(self, batch: Batch) -> list[Floats]:
        """Count (1, rows) the bits taken in every part of every memory that is still to hold something."""
        found, hierarchy, nothing = [], self.context.hierarchy, np.zeros((1, len(batch)))
        for memory in range(len(hierarchy.memories)):
            if any(memory in held and memory != hierarchy.home(t) for t, held in enumerate(batch.state.ahead)):
                groups = [(k, g) for k, g in enumerate(batch.path.node_groups) if g.memory == memory]
                held = [(t, batch.rows.tiles[k]) for k, g in groups for t in g.tensors]
                used = self.context.footprints.used(memory, held) if held else []
                found += [bits[None].astype(np.float64) for bits in used] or [nothing]
        return found


class _Alike:
    """Rows whose future costs are the same where their tiles are, each with what it has cost.

    Those of the same tiles form a chain: the last one first, and `before` each the place of the one before it.
    """

    def __init__(self, columns: int) -> None:
        self._last: dict[bytes, int] = {}
        self._before = np.zeros(0, dtype=np.int64)
        self._costs = np.zeros((columns, 0))
        self._count = 0

    def standing_for(self, tiles: list[bytes], costs: Floats, most: int) -> Ints:
        """Return (rows,) the place of a row that dominates each; -1 if none of `most` rows with its tiles does."""
        found = np.full(len(tiles), -1, dtype=np.int64)
        places = np.array([self._last.get(each, -1) for each in tiles], dtype=np.int64)
        rows = np.flatnonzero(places >= 0)
        for _ in range(most):
            if not len(rows):
                break
            beaten = (self._costs[:, places[rows]] <= costs[:, rows]).all(axis=0)
            found[rows[beaten]] = places[rows[beaten]]
            rows = rows[~beaten]
            places[rows] = self._before[places[rows]]
            rows = rows[places[rows] >= 0]
        return found

    def add(self, tiles: list[bytes], costs: Floats) -> None:
        first, self._count = self._count, self._count + len(tiles)
        if self._count > len(self._before):
            room = 2 * self._count
            before, known = np.zeros(room, dtype=np.int64), np.zeros((len(costs), room))
            before[:first], known[:, :first] = self._before[:first], self._costs[:, :first]
            self._before, self._costs = before, known
        self._costs[:, first : self._count] = costs
        for place, each in enumerate(tiles, first):
            self._before[place] = self._last.get(each, -1)
            self._last[each] = place


def _columns_compare(context: SearchContext) -> bool:
    """Tell whether columns say enough to compare rows by.

    They do not where columns of ports are averages over instances some of which have less to do than others: ports
    inside arrays, with ragged tiles or zeros of padding, that pass windows, of which the first instance need not have
    the most (`counting/first_instance.py`). The busiest
    one may then need more cycles where the average is lower, by the order of loops alone.
    """
    if rounds_unequally(context.hierarchy.arch, context.tiling):
        return False
    inside = context.hierarchy.memories[: max(context.hierarchy.inside, default=0)]
    ports = [port for port in context.costs.cost_columns.ports if port.memory in inside]
    every_alike = context.tiling == "perfect" and not context.hierarchy.problem.stores_less
    if every_alike or not ports:
        return True
    passing = (t for t in context.hierarchy.problem.tensors if any(_passes(t, port) for port in ports))
    return context.costs.knows_busiest and all(len(rank) <= 1 for tensor in passing for rank in tensor.ranks)


def _passes(tensor: Tensor, port: Port) -> bool:
    """Tell whether words of a tensor may pass a port of a memory."""
    return port.memory.keeps[tensor.role] != "never" and port.kind.role in (None, tensor.role)


def _is_settled(context: SearchContext, batch: Batch) -> bool:
    """Tell whether all that has been charged is known for good, and time steps with it."""
    if batch.pending or batch.state.passed < len(context.hierarchy.fanouts):
        return False
    exact = any(memory.halo == "exact" for memory in context.hierarchy.memories[:-1])
    arch = context.hierarchy.arch
    return not exact and arch.latency == "steady" and not arch.refills


def _waiting_on(batch: Batch) -> list[Ints]:
    """Return the tile; and where something waits since further inside, the tiles from there on, and the arrays: how
    many instances have work in the last round depends on the tiles below them."""
    tiles, arrays, since = batch.rows.tiles, batch.rows.arrays, _waiting_since(batch)
    parts = [*tiles[since:], *(arrays if since < len(tiles) - 1 else ())]
    return [column for part in parts for column in part.T]


def _waiting_since(batch: Batch) -> int:
    """Return the innermost node group on whose tile future charges depend: that of a boundary which waits, with
    instances outside its inner memory; else the last one."""
    path = batch.path
    inner = (
        path.node_group_of(boundary.inner, boundary.tensor)
        for boundary in batch.state.waiting
        if any(inside > boundary.inner for inside in path.hierarchy.inside)
    )
    return min(inner, default=len(batch.rows.tiles) - 1)


def _codes(columns: list[Ints]) -> list[bytes]:
    """Join (rows,) some columns of each row to one value."""
    table = np.ascontiguousarray(np.stack(columns, axis=1))
    codes: list[bytes] = table.view(f"V{table.itemsize * table.shape[1]}").ravel().tolist()
    return codes
