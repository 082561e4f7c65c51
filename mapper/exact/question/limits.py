"""Constraints as the steps of the search ask for them: by number instead of by name."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....ir import Problem
from ...constraints.constraints import ANY, Constraints, Range
from ..rows import Flags, Floats, Ints, Rows, ceil_div_array
from ..tiles.instances import AxisSpans, axis_spans
from .hierarchy import Hierarchy, Path, Placement, State


class SearchLimits:
    """What constraints allow on one problem and machine.

    groups  per memory with an ordered level: groups of dimensions, from the inside out
    """

    def __init__(self, hierarchy: Hierarchy, constraints: Constraints) -> None:
        self.hierarchy = hierarchy
        self.constraints = constraints
        self.dims = hierarchy.problem.dim_names
        self.names = [memory.name for memory in hierarchy.memories]
        index = {dim: d for d, dim in enumerate(self.dims)}
        self.groups: dict[int, tuple[frozenset[int], ...]] = {
            self.names.index(name): tuple(frozenset(index[d] for d in group if d in index) for group in groups[::-1])
            for name, groups in constraints.orders.items()
        }
        self._trips = {
            (self.names.index(name), index[dim]): span
            for (name, dim), span in constraints.temporal.items()
            if dim in index
        }

    # ---- placements ----------------------------------------------------------------------------------------

    def keep(self, memory: int, tensor: int) -> bool | None:
        """Whether a memory is to keep a tensor; None: as it may."""
        return self.constraints.keeps.get((self.names[memory], self.hierarchy.problem.tensors[tensor].name))

    def allows(self, placement: Placement) -> bool:
        """Whether a placement keeps what it must; a memory that keeps nothing has no loops."""
        for (name, tensor), keep in self.constraints.keeps.items():
            t = next(i for i, x in enumerate(self.hierarchy.problem.tensors) if x.name == tensor)
            if (self.names.index(name) in placement[t]) is not keep:
                return False
        used = {m for held in placement for m in held}
        return all(memory in used or least <= 1 for (memory, _), (least, _) in self._trips.items())

    # ---- arrays --------------------------------------------------------------------------------------------

    def spans(self, fanout: int) -> list[AxisSpans]:
        """Per dimension, the least and the most trips on each axis of a fanout."""
        level = self.hierarchy.fanouts[fanout]
        return [axis_spans(self.hierarchy.problem, level, dim, self.constraints.spatial) for dim in self.dims]

    def enough_in_use(self, fanout: int, instances: Ints) -> Flags:
        """(rows,) whether enough of a fanout's instances, (rows, dims), are in use."""
        level = self.hierarchy.fanouts[fanout]
        share = self.constraints.utilization.get(level.name, 0.0)
        in_use: Flags = instances.prod(axis=1) >= share * level.instances * (1 - 1e-12)
        return in_use

    def enough_at_work(self, steps: Floats) -> Flags:
        """(rows,) whether enough MACs are at work over so many time steps."""
        macs = self.hierarchy.problem.macs / self.hierarchy.arch.mac_instances
        at_work: Flags = steps * self.constraints.min_utilization <= macs * (1 + 1e-12)
        return at_work

    # ---- loops ---------------------------------------------------------------------------------------------

    def trips(self, memory: int, d: int) -> Range:
        """The least and the most trips of a dimension's temporal loops at a memory."""
        return self._trips.get((memory, d), ANY)

    def most_trips(self, memory: int, d: int) -> float:
        most = self.trips(memory, d)[1]
        return math.inf if most is None else most

    def in_order(self, state: State, d: int) -> bool:
        """Whether the order of the loops of a memory lets one over a dimension come next."""
        return all(d not in group or g == state.groups_behind for g, group in enumerate(self._groups_of(state)))

    def has_next_group(self, state: State) -> bool:
        """Whether another group of loops of the same memory may follow, further out."""
        return state.groups_behind < len(self._groups_of(state)) - 1

    def may_loop(self, state: State, d: int) -> bool:
        """Whether a loop over a dimension may come next that has more than one trip."""
        return self.in_order(state, d) and (not self._trips or self.most_trips(state.loops_at, d) > 1)

    def _groups_of(self, state: State) -> tuple[frozenset[int], ...]:
        """Those of the loops that come next."""
        return self.groups.get(state.loops_at, ()) if self.groups else ()

    def reach(self, memory: int) -> Floats:
        """(dims,) by how many times all loops in time at a memory and outside it can make a tile larger."""
        outside = range(memory, len(self.names))
        return np.array([math.prod(self.most_trips(m, d) for m in outside) for d in range(len(self.dims))])

    def enough_trips(self, path: Path, rows: Rows, bands: Sequence[tuple[Ints, Ints]]) -> Flags:
        """(rows,) whether the loops at the memory of the outermost band are as long as they must.

        bands  per band of that memory, (rows, dims) the tiles below and above its loops
        """
        memory = path.memory_at(path.band)
        fine = np.ones(len(rows), dtype=bool)
        for d in range(len(self.dims)):
            least, most = self.trips(memory, d)
            if (least, most) != ANY:
                trips = np.ones(len(rows), dtype=np.int64)
                for below, above in bands:
                    trips = trips * ceil_div_array(above[:, d], below[:, d])
                fine &= (trips >= least) & (trips <= (math.inf if most is None else most))
        return fine

    def bounded(self, memory: int) -> bool:
        """Whether any loop at a memory has a least or a most length."""
        return any(m == memory for m, _ in self._trips)


def named_dims(constraints: Constraints) -> frozenset[str]:
    """Dimensions that some constraint names: each of them is searched on its own."""
    named = {dim for _, dim in constraints.temporal} | {dim for _, _, dim in constraints.spatial}
    return frozenset(named.union(*(group for groups in constraints.orders.values() for group in groups)))


def wants_more(constraints: Constraints) -> bool:
    """Whether some constraint may ask for longer loops, or more instances, than would be needed."""
    longer = any(least > 1 for least, _ in (*constraints.temporal.values(), *constraints.spatial.values()))
    return longer or bool(constraints.utilization)


def missing_dims(constraints: Constraints, problem: Problem) -> bool:
    """Whether loops are asked for over dimensions that have only one element, and so no loop."""
    return any(
        least > 1 and problem.sizes.get(dim, 1) == 1
        for dim, (least, _) in (
            *((dim, span) for (_, dim), span in constraints.temporal.items()),
            *((dim, span) for (_, _, dim), span in constraints.spatial.items()),
        )
    )
