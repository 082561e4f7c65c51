"""What the next loop does to the crossings that wait: which dimensions are free, and which charge what. And with it all
steps outwards from a state, found once."""

from __future__ import annotations

from typing import NamedTuple

from ..hierarchy import Block, Crossing, Hierarchy, State


class Move(NamedTuple):
    """What a loop can charge at once.

    dims     dimensions whose loop does just that; where something slides, one
    moved    the waiting crossings that it moves
    sliding  those of them whose tile slides along it
    """

    dims: tuple[int, ...]
    moved: tuple[Crossing, ...]
    sliding: tuple[Crossing, ...]

    @property
    def fixed(self) -> tuple[Crossing, ...]:
        """The moved ones that do not slide: what they cost is known, however long the loop is."""
        return tuple(c for c in self.moved if c not in self.sliding)


class End(NamedTuple):
    """A block that may come next, while all that waits goes on waiting.

    above    the state above it; None above the last one
    tenants  tensors whose tiles its memory holds, or will hold, at least as large as the block's
    """

    block: Block
    above: State | None
    tenants: tuple[int, ...]


class Steps(NamedTuple):
    """The steps outwards from a state.

    passing    the state above the fanout that comes next; None: loops and blocks come next
    ends       those blocks
    moves      what a loop can charge, and the state after that
    free       dimensions that move nothing that waits
    same       whether arrays do not matter any more: all fanouts are passed, and nothing waits since inside one
    """

    passing: State | None
    ends: tuple[End, ...]
    moves: tuple[tuple[Move, State], ...]
    free: tuple[int, ...]
    same: bool


class Moves:
    """Loops on one problem and machine."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.tensors = hierarchy.problem.tensors
        self.dims = hierarchy.problem.dim_names
        self.every_dim = range(len(self.dims))
        loop_moves = hierarchy.arch.loop_moves  # with `reuse: at_node` every loop charges what waits
        self.moving = [frozenset(i for i, d in enumerate(self.dims) if loop_moves(d, t)) for t in self.tensors]
        self._found: dict[tuple[Crossing, ...], tuple[Move, ...]] = {}
        self._steps: dict[State, Steps] = {}

    def steps(self, state: State) -> Steps:
        """All that may come next."""
        if state not in self._steps:
            self._steps[state] = self._steps_from(state)
        return self._steps[state]

    def _steps_from(self, state: State) -> Steps:
        hierarchy, waiting = self.hierarchy, state.waiting
        fanouts = range(len(hierarchy.fanouts))
        inside = any(hierarchy.between(fanout, crossing) for crossing in waiting for fanout in fanouts)
        same = state.passed == len(fanouts) and not inside
        if hierarchy.at_fanout(state):
            return Steps(hierarchy.passing(state), (), (), (), same)
        ends = tuple(
            End(
                block,
                None if hierarchy.is_last(block) else hierarchy.place(state, block, waiting),
                hierarchy.tenants(state, block),
            )
            for block in hierarchy.next_blocks(state)
        )
        moves = tuple((move, state.charging(move.moved)) for move in self.of(waiting))
        return Steps(None, ends, moves, self.free(waiting), same)

    def free(self, waiting: tuple[Crossing, ...]) -> tuple[int, ...]:
        """Dimensions that move none of the waiting tensors."""
        return tuple(d for d in self.every_dim if not any(d in self.moving[c.tensor] for c in waiting))

    def of(self, waiting: tuple[Crossing, ...]) -> tuple[Move, ...]:
        """All that a single loop can charge."""
        if waiting not in self._found:
            found: dict[object, Move] = {}
            for d in self.every_dim:
                moved = tuple(c for c in waiting if d in self.moving[c.tensor])
                sliding = tuple(c for c in moved if d in self.sliding(c))
                if moved:
                    key = (moved, d if sliding else None)
                    dims = found[key].dims if key in found else ()
                    found[key] = Move((*dims, d), moved, sliding)
            self._found[waiting] = tuple(found.values())
        return self._found[waiting]

    def sliding(self, crossing: Crossing) -> frozenset[int]:
        """Dimensions along which the inner memory reuses overlaps of a sliding tile."""
        tensor = self.tensors[crossing.tensor]
        if tensor.is_output or self.hierarchy.memories[crossing.inner].halo != "innermost":
            return frozenset()
        return frozenset(self.dims.index(dim) for rank in tensor.ranks if len(rank) > 1 for dim, _ in rank)
