"""The machine from the inside out, and how far a mapping that grows outwards has come.

A mapping grows from the MAC to the outermost memory. Each step either places storage nodes (a *node group*: one memory,
the tensors whose tiles end there together) or passes a fanout. Memories are numbered from the inside out, innermost 0,
and so are fanouts. The memories between two fanouts form a *region*: its nodes all stand above the spatial loops of the
fanout inside it, and below those of the fanout outside it.

In the even space a memory's nodes are one node group, and memories follow each other in hierarchy order. In the uneven
space every node is a node group of its own, and the node groups of a region may follow each other in any order that
takes the memories of one tensor from the inside out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ....arch import Architecture, Fanout, Keep, Memory
from ....ir import Problem
from ...space import Space
from ..tiles.halos import KeptHalo
from ..tiles.visits import UnevenVisits

MAC = -1
"""The holder inside memory 0: the MAC, which holds nothing."""

NOWHERE = -2
"""The memory of a node that does not exist."""

Placement = tuple[tuple[int, ...], ...]
"""One placement: per tensor, the memories that keep it, inside out; the outermost memory is always the last."""


class MemoryBoundary(NamedTuple):
    """A tensor passes a boundary between two memories that keep it, or between a memory and the MACs.

    tensor  index into the problem's tensors
    inner   memory that is filled (MAC: the MAC)
    outer   memory that is read
    """

    tensor: int
    inner: int
    outer: int


class NodeGroup(NamedTuple):
    """A node group is the storage nodes that stand together: the tiles of some tensors end here, in one memory."""

    memory: int
    tensors: tuple[int, ...]


class State(NamedTuple):
    """A state says what a growing mapping has still to do: its future costs depend on the state and on its tile alone.

    passed   fanouts passed
    ahead    per tensor, the memories that are still to keep it, inside out
    waiting  boundaries that no temporal loop has charged yet
    groups_behind  of the groups in which constraints order the loops that come next, how many are behind: at least
    """

    passed: int
    ahead: Placement
    waiting: tuple[MemoryBoundary, ...]
    groups_behind: int = 0

    @property
    def loops_at(self) -> int:
        """Return the memory whose temporal loops come next: the innermost memory that is still to keep a tensor."""
        return min(ahead[0] for ahead in self.ahead if ahead)

    def at_next_group(self) -> State:
        """Return the state in which loops come from the next group, further out, whose order constraints state."""
        return self._replace(groups_behind=self.groups_behind + 1)

    def charging(self, moved: Sequence[MemoryBoundary]) -> State:
        """Return the state after some of the waiting boundaries have been charged."""
        return self._replace(waiting=tuple(c for c in self.waiting if c not in moved))


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A hierarchy is a problem on a machine whose memories and fanouts are numbered from the inside out.

    homes  per tensor, the memory that it comes from and goes to, outside all fanouts; none: the outermost one
    visit  per dimension, elements of the tile that mappings end with: of one visit; none: the whole problem
    uneven  per dimension, visits that are not alike, where there are such; none: along no dimension
    follows_halos  whether what memories with `halo: exact` keep is followed from loop to loop (`tiles/halos.py`)
    """

    problem: Problem
    arch: Architecture
    space: Space = "even"
    homes: tuple[int, ...] = ()
    visit: tuple[int, ...] = ()
    uneven: tuple[UnevenVisits | None, ...] = ()
    follows_halos: bool = False

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        return self.arch.memories[::-1]

    @cached_property
    def fanouts(self) -> tuple[Fanout, ...]:
        return self.arch.fanouts[::-1]

    @cached_property
    def inside(self) -> tuple[int, ...]:
        """Count, for each fanout, the memories inside it."""
        counts, memories = [], 0
        for level in reversed(self.arch.levels):
            if isinstance(level, Fanout):
                counts.append(memories)
            else:
                memories += 1
        return tuple(counts)

    @property
    def outermost(self) -> int:
        return len(self.memories) - 1

    def home(self, tensor: int) -> int:
        """Return the outermost memory that keeps a tensor: its node stands above all loops, and takes no room."""
        return self.homes[tensor] if self.homes else self.outermost

    def between(self, fanout: int, boundary: MemoryBoundary) -> bool:
        """Whether a fanout lies between the two holders."""
        return boundary.inner < self.inside[fanout] <= boundary.outer

    def joins(self, fanout: int, boundary: MemoryBoundary) -> bool:
        """Whether instances of a fanout between the holders share words that are alike."""
        output = self.problem.tensors[boundary.tensor].is_output
        level = self.fanouts[fanout]
        return self.between(fanout, boundary) and (level.spatial_reduction if output else level.multicast)

    def keeps_overlaps(self, boundary: MemoryBoundary, ragged: bool) -> bool:
        """Whether the inner memory has an exact halo, and keeps words of an operand by it that loops do not tell.

        Perfect tiles along ranks of one dimension are either the same or apart; and where loops that move none of them
        charge nothing, each charge brings one that is not the one before: all its words come in.
        """
        tensor = self.problem.tensors[boundary.tensor]
        if tensor.is_output or self.memories[boundary.inner].halo != "exact":
            return False
        return ragged or self.arch.reuse == "at_node" or any(len(rank) > 1 for rank in tensor.ranks)

    def sliding(self, boundary: MemoryBoundary) -> frozenset[int]:
        """Dimensions along which the inner memory reuses overlaps of a sliding tile."""
        tensor, names = self.problem.tensors[boundary.tensor], self.problem.dim_names
        halo = self.memories[boundary.inner].halo
        if tensor.is_output or not (halo == "innermost" or (halo == "exact" and self.follows_halos)):
            return frozenset()
        return frozenset(names.index(dim) for rank in tensor.ranks if len(rank) > 1 for dim, _ in rank)

    def kept_halo(self, tensor: int) -> KeptHalo:
        """Return what is known of the overlaps of an operand's tiles along windows."""
        if tensor not in self._halos:
            self._halos[tensor] = KeptHalo(self.problem, self.problem.tensors[tensor], self.arch.footprint)
        return self._halos[tensor]

    @cached_property
    def _halos(self) -> dict[int, KeptHalo]:
        return {}

    def placements(self) -> Iterator[Placement]:
        """Yield every choice of memories for every tensor that the architecture allows."""
        per_tensor = []
        for t in range(len(self.problem.tensors)):
            options = [
                {"must": (True,), "may": (True, False), "never": (False,)}[self.keeps(m, t)]
                for m in range(len(self.memories))
            ]
            per_tensor.append(
                [tuple(m for m, kept in enumerate(flags) if kept) for flags in itertools.product(*options)]
            )
        yield from itertools.product(*per_tensor)

    @property
    def fullest_placement(self) -> Placement:
        """Place every tensor in all memories that may keep it."""
        return tuple(
            tuple(m for m in range(len(self.memories)) if self.keeps(m, t) != "never")
            for t in range(len(self.problem.tensors))
        )

    def keeps(self, memory: int, tensor: int) -> Keep:
        """Tell whether a memory must, may or never keep a tensor: its home must, and no memory outside it does."""
        if memory >= self.home(tensor):
            return "must" if memory == self.home(tensor) else "never"
        return self.memories[memory].keeps[self.problem.tensors[tensor].role]

    # ---- steps outwards ------------------------------------------------------------------------------------

    def start(self, placement: Placement) -> State:
        """Return the state next to the MACs, in which nothing is placed."""
        return State(0, placement, ())

    def next_node_groups(self, state: State) -> tuple[NodeGroup, ...]:
        """Return the node groups that may come next; none if a fanout comes first, or if the mapping is complete."""
        edge = self.inside[state.passed] if state.passed < len(self.inside) else len(self.memories)
        heads = {t: ahead[0] for t, ahead in enumerate(state.ahead) if ahead and ahead[0] < edge}
        inner = {t: m for t, m in heads.items() if m != self.home(t)}
        if not inner:
            return (NodeGroup(self.outermost, tuple(heads)),) if heads else ()
        if self.space == "uneven":
            return tuple(NodeGroup(m, (t,)) for t, m in inner.items())
        nearest = min(inner.values())
        return (NodeGroup(nearest, tuple(t for t, m in inner.items() if m == nearest)),)

    def at_fanout(self, state: State) -> bool:
        """Whether the next step is to pass a fanout."""
        return state.passed < len(self.inside) and not self.next_node_groups(state)

    def is_last(self, node_group: NodeGroup) -> bool:
        """Whether a node group ends the mapping: the outermost memory's nodes stand above all loops."""
        return node_group.memory == self.outermost

    def place(self, state: State, node_group: NodeGroup, still: tuple[MemoryBoundary, ...]) -> State:
        """Return the state above a node group, in which the boundaries `still` go on waiting."""
        ahead = tuple(a[1:] if t in node_group.tensors else a for t, a in enumerate(state.ahead))
        new = [MemoryBoundary(t, node_group.memory, ahead[t][0]) for t in node_group.tensors if ahead[t]]
        above = State(state.passed, ahead, tuple(sorted((*still, *new))))
        if state.groups_behind and any(ahead) and above.loops_at == state.loops_at:  # loops go on, and so does order
            above = above._replace(groups_behind=state.groups_behind)
        return above

    def node_memory(self, node_group: NodeGroup, tensor: int) -> int:
        """Return the memory of a tensor's node in a node group, or NOWHERE if the group has no node of the tensor. The
        nodes above all loops are one group, each in the home of its tensor."""
        if tensor not in node_group.tensors:
            return NOWHERE
        return self.home(tensor) if self.is_last(node_group) else node_group.memory

    def passing(self, state: State) -> State:
        """Return the state above the next fanout."""
        return state._replace(passed=state.passed + 1)

    def residents(self, state: State, node_group: NodeGroup) -> tuple[int, ...]:
        """Return the tensors of which the node group's memory holds at least the node group's tile: those placed here,
        and those that it is still to keep."""
        memory = node_group.memory
        later = (t for t, ahead in enumerate(state.ahead) if memory in ahead and memory != self.home(t))
        return tuple(sorted({*node_group.tensors, *later}))

    def held_beside(self, state: State, node_group: NodeGroup) -> tuple[int, ...]:
        """Return the residents, and the waiting tensors that the same memory holds since further inside: no loop has
        moved these, so their tiles there are those of the node group's tile."""
        waiting = (c.tensor for c in state.waiting if c.inner == node_group.memory)
        return tuple(sorted({*self.residents(state, node_group), *waiting}))


@dataclass(frozen=True)
class Path:
    """A path lists the steps that a growing mapping has taken.

    node_groups  from the inside out
    bands        per fanout passed, how many node groups lie inside it
    """

    hierarchy: Hierarchy
    placement: Placement
    node_groups: tuple[NodeGroup, ...] = ()
    bands: tuple[int, ...] = ()

    def placing(self, node_group: NodeGroup) -> Path:
        return Path(self.hierarchy, self.placement, (*self.node_groups, node_group), self.bands)

    def passing(self) -> Path:
        return Path(self.hierarchy, self.placement, self.node_groups, (*self.bands, len(self.node_groups)))

    @property
    def band(self) -> int:
        """Return the number of the open band: `band k` lies between node group k-1 and node group k."""
        return len(self.node_groups)

    def memory_at(self, band: int) -> int:
        """Return the memory whose temporal loops stand in a band: the innermost memory that has a node above them."""
        below = {(self.hierarchy.node_memory(b, t), t) for b in self.node_groups[:band] for t in b.tensors}
        return min(m for t, held in enumerate(self.placement) for m in held if (m, t) not in below)

    def node_group_of(self, memory: int, tensor: int) -> int:
        """Return the number of the node group that has a storage node; MAC for the MAC."""
        if memory == MAC:
            return MAC
        return next(k for k, b in enumerate(self.node_groups) if self.hierarchy.node_memory(b, tensor) == memory)
