"""Nodes above a split with some loops: all choices that fit with what passes at the split, what operations find below
them, and the tree that both make with branches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....ir import Loop, Node, Renews, Tree
from ...kernel.remembered import remembered_by
from ...pareto.weights import Yardstick
from ..relaxations.loop_weights import LoopWeights, loop_weights
from ..relaxations.part_bounds import PartBounds
from ..terms.branch import Room
from ..terms.exchanges import Exchange, Exchanges
from ..terms.generations import homes_of
from ..terms.parts import FoundPart, VisitedPart, less_rooms, with_busy
from ..terms.ragged_loops import Overs, below_loops
from ..terms.tree_rules import TreeRules
from ..terms.upper_memories import Floats
from ..terms.window_passing import WindowPassing
from .node_choices import NodeChoice, NodeChoices
from .shared_loops import Loops, loop_item
from .splits import Split


@dataclass(frozen=True, eq=False)
class AboveSplits(TreeRules):
    """What stands above the splits of one cascade on one machine."""

    bounds: PartBounds
    windows: WindowPassing
    nodes: NodeChoices
    exchanges: Exchanges

    def choices(
        self, part: VisitedPart, loops: Loops, cutoff: float, measure: Yardstick | None = None
    ) -> list[NodeChoice]:
        """All nodes above a split with some loops that fit, with what passes through windows, below a cutoff.

        measure  what has to be below it, instead of what the part weighs
        """
        weigh = loop_weights(self.bounds, part, measure or self.bounds.weights)  # each node has its own home
        taken = self._taken_besides(part, loops)
        room = None if taken is None else less_rooms(part.room, taken)
        if taken is None or room is None:
            self.pruned["capacity"] += 1
            return []
        left = replace(part, room=room)
        every = self.nodes.by_tensor(left, loops)
        if every is None:
            return []
        found = self.nodes.combined(left, every, cutoff, weigh)
        if not any(taken):
            return list(self._with_exchanges(part, loops, found, cutoff, weigh))
        both = [tuple((*own, *more) for own, more in zip(one.taken, taken, strict=True)) for one in found]
        return [replace(one, taken=rooms) for one, rooms in zip(found, both, strict=True)]

    def _taken_besides(self, part: VisitedPart, loops: Loops) -> tuple[Room, ...] | None:
        """By operation, the bits that are taken besides by what nodes above a split take: of intermediates that pass
        through windows, and of sums in nodes further out, where loops go on with them; None where constraints leave
        them less."""
        taken = self.windows.rooms(part, loops)
        if taken is None or not part.sums:
            return taken
        held = [one.more for one in part.sums if self.nodes.sums_go_on(part, loops, one.tensor)]
        return tuple(tuple(itertools.chain(*rooms)) for rooms in zip(taken, *held, strict=True))

    def _with_exchanges(
        self, part: VisitedPart, loops: Loops, found: Sequence[NodeChoice], cutoff: float, weigh: LoopWeights
    ) -> Iterator[NodeChoice]:
        """Nodes above a split, with what intermediates take besides, where it is known that they pass there: in the
        memories that have room for them."""
        if not self.placing.all_part_here(part) or any(loop.dim.uneven for loop in loops):
            yield from found
            return
        for nodes in found:
            self.means.check()
            least = float(weigh.of(*self._takings(part, loops, nodes)).min(initial=math.inf))
            if least < cutoff:
                yield replace(nodes, bound=max(nodes.bound, least))
            else:
                self.pruned["capacity"] += 1

    @remembered_by(lambda _, part, loops, nodes: (part, loops, nodes.chains, nodes.further))
    def _takings(self, part: VisitedPart, loops: Loops, nodes: NodeChoice) -> tuple[Floats, Floats]:
        """(choices,) pJ, and (operations, ports, choices) cycles, that some nodes above a split take at least, with
        intermediates in each choice of memories that have room."""
        inside = self.inside(part, loops, nodes)
        found = [self._taking(nodes, inside, loops, exchange) for exchange in self.exchanges.together(inside)]
        cycles = np.array([cycles for _, cycles in found]).reshape(len(found), *nodes.cycles.shape)
        return np.array([energy for energy, _ in found]), np.moveaxis(cycles, 0, -1)

    def _taking(self, nodes: NodeChoice, inside: VisitedPart, loops: Loops, exchange: Exchange) -> tuple[float, Floats]:
        """pJ, and (operations, ports) cycles, that some nodes above a split, and intermediates in some memories, take
        at least."""
        energy, cycles, visits = nodes.least_pj, nodes.cycles.copy(), math.prod(loop.trips for loop in loops)
        for passed in exchange:
            for user in self.placing.users(inside, passed.tensor):
                place = inside.names.index(user.name)
                more, later = self.bounds.alone.far(user.name, passed.tensor, inside.sizes[place], passed.memory)
                times = visits * inside.full_share(place)
                energy, cycles[place] = energy + times * more, cycles[place] + times * later
        return energy, cycles

    def close(self, part: VisitedPart, loops: Loops, nodes: NodeChoice) -> float:
        """What a part weighs at least with some loops and nodes, by what its operations would be asked below them."""
        visits = part.visits(loops)
        fixed = self.bounds.weights.energy * nodes.energy_pj
        return fixed + visits * self.bounds.close(self.inside(part, loops, nodes))

    @remembered_by(lambda _, part, loops, nodes: (part, loops, nodes.chains, nodes.further))
    def inside(self, part: VisitedPart, loops: Loops, nodes: NodeChoice) -> VisitedPart:
        """What is below the loops and nodes of a part."""
        room = less_rooms(part.room, nodes.taken)
        assert room is not None
        visits = part.visits(loops)
        passing = {one.tensor: one.memory for loop in loops for one in loop.passes}
        stepped = homes_of(loops)
        homes = dict(part.homes) | stepped
        homes |= {tensor: chain[-1][0] for tensor, chain in nodes.chains if chain}
        homes |= passing
        again = []
        over = self._over(part, loops)
        for name, before, overs in zip(part.names, part.again, over, strict=True):
            # Visits of which one is shorter are counted together.
            apart = self.cascade.operation(name).output.dims | {one.dim for one in overs}
            adding = (loop.trips for loop in loops if loop.dim.of(name) not in apart)
            again.append(before * math.prod(adding))
        busy = []
        for name, outside in zip(part.names, part.busy, strict=True):
            above = tuple(one for owner, needed in nodes.busy for one in needed if owner == name)
            busy.append(with_busy(outside, above, visits) if self.bounds.timed else ())
        return VisitedPart(
            part.names,
            tuple(self.windows.sizes_below(part, loops)),
            tuple(sorted(homes.items())),
            tuple(again),
            room,
            tuple(busy),
            steps=part.steps or bool(loops),
            uneven=self.windows.uneven_below(part, loops),
            alone=self.windows.ties(part.names, loops),
            cut=self._cut(part, loops),
            over=over,
            brief=nodes.brief,
            further=frozenset(pair for pair in nodes.further if pair[0] not in stepped | passing),
            apart=part.apart | self.placing.apart(part, tuple(loop.dim for loop in loops)),
            sums=nodes.sums + tuple(one for one in part.sums if not self.nodes.sums_go_on(part, loops, one.tensor)),
        )

    def _cut(self, part: VisitedPart, loops: Loops) -> tuple[frozenset[str], ...]:
        """By operation, dimensions along which tiles divide that of a visit below some loops."""
        every = (frozenset(self.cascade.operation(name).problem.dim_names) for name in part.names)
        if not self.is_ragged:
            return tuple(dims if part.steps or loops else frozenset() for dims in every)
        before = part.cut or (frozenset[str](),) * len(part.names)
        return tuple(own | {loop.dim.of(name) for loop in loops} for name, own in zip(part.names, before, strict=True))

    def _over(self, part: VisitedPart, loops: Loops) -> tuple[Overs, ...]:
        """By operation, dimensions along which the last visit below some loops is shorter."""
        return tuple(
            below_loops(self.cascade.operation(name), part.sizes[place], part.over_of(place), loops)
            for place, name in enumerate(part.names)
        )

    def found(self, part: VisitedPart, loops: Loops, nodes: NodeChoice, split: Split) -> FoundPart:
        """A part with some loops and nodes above its split."""
        visits = part.visits(loops)
        energy, latency = nodes.energy_pj + visits * split.energy_pj, visits * split.latency_cycles
        return FoundPart(energy, latency, self.tree(part, loops, nodes, split), self.stored(loops, split))

    def stored(self, loops: Loops, split: Split) -> frozenset[str]:
        """Intermediates that pass through the outermost memory."""
        passing = [(one.tensor, one.memory) for loop in loops for one in loop.passes]
        passing += homes_of(loops).items()
        return split.stored | {tensor for tensor, memory in passing if memory == self.memories.outermost}

    def tree(self, part: VisitedPart, loops: Loops, nodes: NodeChoice, split: Split) -> Tree:
        """A part with some loops and nodes above its split."""
        items: list[Loop | Node] = []
        order = self.memories.depth
        for depth in range(len(loops) + 1):
            here = [(memory, tensor) for tensor, chain in nodes.chains for memory, at in chain if at == depth]
            if depth < len(loops):
                stepped = loops[depth].generations
                here += [(memory, tensor) for tensor, memory in stepped if memory != self.memories.outermost]
            else:
                here += [(memory, tensor) for tensor, memory in split.exchanged]
                here += [(one.memory, one.tensor) for one in self.windows.held(loops)]
            renewed = {one.tensor for one in self.windows.held(loops) if one.kept == "none" and depth == len(loops)}
            for memory, tensor in sorted(here, key=lambda at: (order[at[0]], at[1])):
                items.append(Renews(memory, tensor) if tensor in renewed else Node(memory, tensor))
            if depth < len(loops):
                items.append(loop_item(loops[depth], part.names))
        return Tree(tuple(items), split.branches)
