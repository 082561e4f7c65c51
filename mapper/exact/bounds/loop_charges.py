"""How the next loop changes the boundaries that wait: which dimensions are free, and which charge what. The steps
outwards from each state are worked out once."""

from __future__ import annotations

from typing import NamedTuple

from ...constraints import Constraints
from ..question.hierarchy import Hierarchy, MemoryBoundary, NodeGroup, State
from ..question.limits import SearchLimits


class LoopCharge(NamedTuple):
    """A loop charge lists the waiting boundaries that a single loop charges together.

    dims     dimensions whose loop does just that; where something slides, one
    moved    the waiting boundaries that it moves
    sliding  those of them whose tile slides along it
    """

    dims: tuple[int, ...]
    moved: tuple[MemoryBoundary, ...]
    sliding: tuple[MemoryBoundary, ...]

    @property
    def fixed(self) -> tuple[MemoryBoundary, ...]:
        """The moved boundaries that do not slide; their cost does not depend on the length of the loop."""
        return tuple(c for c in self.moved if c not in self.sliding)


class End(NamedTuple):
    """A node group that may come next, while all that waits goes on waiting.

    above    the state above it; None above the last one
    residents  tensors whose tiles its memory holds, or will hold, at least as large as at the node group's tile
    """

    node_group: NodeGroup
    above: State | None
    residents: tuple[int, ...]


class NextSteps(NamedTuple):
    """The steps outwards from a state.

    passing    the state above the fanout that comes next; None: loops and node groups come next
    ends       those node groups
    moves      what a loop that constraints allow can charge, and the state after that
    free       dimensions that constraints allow a loop over, and that move nothing that waits
    since      the innermost fanout whose arrays still matter: it is to come, or something waits since inside it; the
               number of fanouts, where none does
    next_group  the same state once the loops of the next group of an ordered memory follow; None: there is none
    """

    passing: State | None
    ends: tuple[End, ...]
    moves: tuple[tuple[LoopCharge, State], ...]
    free: tuple[int, ...]
    since: int
    next_group: State | None = None


class LoopCharges:
    """Loops on one problem and machine: `free` and `of` whatever constraints say, `steps` as far as they allow."""

    def __init__(self, hierarchy: Hierarchy, limits: SearchLimits | None = None) -> None:
        self.hierarchy = hierarchy
        self.limits = SearchLimits(hierarchy, Constraints()) if limits is None else limits
        self.tensors = hierarchy.problem.tensors
        self.dims = hierarchy.problem.dim_names
        self.every_dim = range(len(self.dims))
        loop_moves = hierarchy.arch.loop_moves  # with `reuse: at_node` every loop charges what waits
        self.moving = [frozenset(i for i, d in enumerate(self.dims) if loop_moves(d, t)) for t in self.tensors]
        self._found: dict[tuple[MemoryBoundary, ...], tuple[LoopCharge, ...]] = {}
        self._steps: dict[State, NextSteps] = {}

    def steps(self, state: State) -> NextSteps:
        """All that may come next."""
        if state not in self._steps:
            self._steps[state] = self._steps_from(state)
        return self._steps[state]

    def _steps_from(self, state: State) -> NextSteps:
        hierarchy, waiting = self.hierarchy, state.waiting
        inside = (f for boundary in waiting for f, memories in enumerate(hierarchy.inside) if memories > boundary.inner)
        since = min((state.passed, *inside))
        if hierarchy.at_fanout(state):
            return NextSteps(hierarchy.passing(state), (), (), (), since)
        ends = tuple(
            End(
                node_group,
                None if hierarchy.is_last(node_group) else hierarchy.place(state, node_group, waiting),
                hierarchy.held_beside(state, node_group),
            )
            for node_group in hierarchy.next_node_groups(state)
        )
        dims = {d for d in self.every_dim if self.limits.may_loop(state, d)}
        charges = (move._replace(dims=tuple(filter(dims.__contains__, move.dims))) for move in self.of(waiting))
        moves = tuple((move, state.charging(move.moved)) for move in charges if move.dims)
        free = tuple(filter(dims.__contains__, self.free(waiting)))
        next_group = state.at_next_group() if self.limits.has_next_group(state) else None
        return NextSteps(None, ends, moves, free, since, next_group)

    def free(self, waiting: tuple[MemoryBoundary, ...]) -> tuple[int, ...]:
        """Dimensions that move none of the waiting tensors."""
        return tuple(d for d in self.every_dim if not any(d in self.moving[c.tensor] for c in waiting))

    def of(self, waiting: tuple[MemoryBoundary, ...]) -> tuple[LoopCharge, ...]:
        """Return every set of waiting boundaries that a single loop can charge, with the dimensions of such loops."""
        if waiting not in self._found:
            found: dict[object, LoopCharge] = {}
            for d in self.every_dim:
                moved = tuple(c for c in waiting if d in self.moving[c.tensor])
                sliding = tuple(c for c in moved if d in self.hierarchy.sliding(c))
                if moved:
                    key = (moved, d if sliding else None)
                    dims = found[key].dims if key in found else ()
                    found[key] = LoopCharge((*dims, d), moved, sliding)
            self._found[waiting] = tuple(found.values())
        return self._found[waiting]
