"""Nodes of tensors from outside, above a split: which there may be, what they cost, and which fit together."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ....cost_models.cascades import words_exchanged
from ....ir import Operation, ceil_div
from ...kernel.remembered import remembered_by
from ..relaxations.loop_weights import LoopWeights
from ..relaxations.part_bounds import PartBounds
from ..terms.branch import Busy, Room, Sizes
from ..terms.generations import Generations
from ..terms.parts import Brief, HeldSums, VisitedPart, less_rooms
from ..terms.ragged_loops import below_loops, full_share
from ..terms.tree_rules import TreeRules
from ..terms.upper_memories import Floats
from ..terms.upper_nodes import Around, Chain, LoopOver, UpperCost, UpperNodes
from ..terms.window_passing import WindowPassing
from .shared_loops import Loops


@dataclass(frozen=True)
class NodeChoice:
    """Choices for the nodes of tensors that come from outside a part.

    chains  by tensor
    energy_pj  of the words that pass there, for one visit of the part
    least_pj   that, and what the tensors take more inside at least, since their homes are further out
    cycles     (operations, ports) that both take at least
    taken      by operation, bits of memories while it works
    busy       by operation, bits that pass at memories for one visit of the part
    bound      what the part weighs at least
    brief      nodes directly above the split that take room in some branches alone
    further    (tensor, reader) of intermediates that pass at nodes that are counted without zeros for a reader: to this
               one they pass further in
    sums       that they hold
    """

    chains: tuple[tuple[str, Chain], ...]
    energy_pj: float
    least_pj: float
    cycles: Floats
    taken: tuple[Room, ...] = ()
    busy: tuple[tuple[str, Busy], ...] = ()
    bound: float = 0.0
    further: frozenset[tuple[str, str]] = frozenset()
    brief: tuple[Brief, ...] = ()
    sums: tuple[HeldSums, ...] = ()

    def __add__(self, other: NodeChoice) -> NodeChoice:
        return self.beside(other, 0.0)

    def beside(self, other: NodeChoice, bound: float) -> NodeChoice:
        """Both, with what the part weighs at least."""
        return NodeChoice(
            (*self.chains, *other.chains),
            self.energy_pj + other.energy_pj,
            self.least_pj + other.least_pj,
            self.cycles + other.cycles,
            tuple((*one, *more) for one, more in zip(self.taken, other.taken, strict=False)),
            (*self.busy, *other.busy),
            bound,
            further=self.further | other.further,
            brief=(*self.brief, *other.brief),
            sums=(*self.sums, *other.sums),
        )


class _AtNodes(NamedTuple):
    """What the nodes of one tensor take by themselves, whatever is below them.

    payer  the operation that words there belong to
    """

    payer: str
    cost: UpperCost
    taken: tuple[Room, ...]
    brief: tuple[Brief, ...]
    sums: tuple[HeldSums, ...]


class TensorNodes(NamedTuple):
    """Choices for the nodes of one tensor, and what those of tensors after it take at least.

    least_pj, cycles  (n,) and (operations, ports, n) of each choice
    later_pj, later_cycles  pJ and (operations, ports) of the others, each at its best in everything
    """

    options: list[NodeChoice]
    least_pj: Floats
    cycles: Floats
    later_pj: float
    later_cycles: Floats


class _HeldWords(NamedTuple):
    """What a node above a split holds.

    lasts     places of the operations during which it takes room
    wide      names of those during which that is the room of partial sums
    """

    memory: str
    words: int
    lasts: range
    wide: frozenset[str]


@dataclass(frozen=True, eq=False)
class NodeChoices(TreeRules):
    """Choices of nodes above the splits of one cascade on one machine.

    bounds   of what parts weigh
    windows  between operations
    generations  of what is iterated
    """

    bounds: PartBounds
    windows: WindowPassing
    generations: Generations

    @cached_property
    def upper(self) -> UpperNodes:
        """What nodes above splits cost."""
        return UpperNodes(self.cascade, self.memories.arch)

    @remembered_by(
        lambda _, part, loops: (
            *(part.names, part.sizes, part.homes, part.again, part.steps, part.over, part.further, part.apart),
            loops,
        )
    )
    def by_tensor(self, part: VisitedPart, loops: Loops) -> list[TensorNodes] | None:
        """Per tensor that comes from outside, where its nodes may stand above the split; None where there is no way for
        one."""
        inner = dict(zip(part.names, self.windows.sizes_below(part, loops), strict=True))
        dims = tuple(loop.dim for loop in loops)
        found = []
        stepped = [(tensor, home, i + 1) for i, loop in enumerate(loops) for tensor, home in loop.generations]
        for tensor, home, first in (*((tensor, home, 0) for tensor, home in part.homes), *stepped):
            chains = self.placing.chains(part, dims, tensor, home, first) if self.fuses else [()]
            found.append(
                [
                    self._of_chain(part, loops, inner, tensor, home, chain, further)
                    for chain in chains
                    if self._may_finish(part, loops, tensor, home, chain)
                    for further in self._further(part, tensor, chain)
                ]
            )
            if first:
                found[-1] = [self._with_home(part, loops, first - 1, one) for one in found[-1]]
        nothing = np.zeros((len(part.names), len(self.memories.ports)))
        return _tensor_nodes(found, nothing) if all(found) else None

    def _may_finish(self, part: VisitedPart, loops: Loops, tensor: str, home: str, chain: Chain) -> bool:
        """Whether finished words alone may come to a tensor's home, if that is taken for granted: what comes there from
        the first of its nodes, or from branches, does so once. No loop that makes it come goes round in one over what
        is summed, nor is itself one."""
        writer = self.cascade.producers.get(tensor)
        if (
            (tensor, home) not in self.sums.finished
            or writer is None
            or writer.name not in part.names
            or writer.iterates
        ):
            return True
        arch = self.memories.arch
        above = [loop.dim.of(writer.name) for loop in loops[: chain[0][1] if chain else None] if loop.trips > 1]
        serving = [i for i, dim in enumerate(above) if not chain or arch.loop_moves(dim, writer.output)]
        return not any(dim in writer.reduced_dims for dim in above[: max(serving, default=-1) + 1])

    def _with_home(self, part: VisitedPart, loops: Loops, depth: int, nodes: NodeChoice) -> NodeChoice:
        """Nodes of generations, with what these take directly above the loop that steps over them."""
        ((tensor, chain),) = nodes.chains
        is_wide = self.generations.are_wide(part, loops, tensor, dict(loops[depth].generations)[tensor], chain, 0)
        held = self.generations.held(part, loops, tensor, depth, is_wide)
        return replace(nodes, taken=tuple((*own, *more) for own, more in zip(nodes.taken, held, strict=True)))

    def _of_chain(
        self,
        part: VisitedPart,
        loops: Loops,
        inner: dict[str, Sizes],
        tensor: str,
        home: str,
        chain: Chain,
        further: frozenset[str],
    ) -> NodeChoice:
        """Some nodes of a tensor.

        further  readers of an intermediate that find it further in
        """
        self.means.check()
        cycles = np.zeros((len(part.names), len(self.memories.ports)))
        energy = 0.0
        taken: tuple[Room, ...] = ((),) * len(part.names)
        brief: tuple[Brief, ...] = ()
        sums: tuple[HeldSums, ...] = ()
        busy: tuple[tuple[str, Busy], ...] = ()
        if chain:
            own = self._at_nodes(part, loops, tensor, home, chain, further)
            energy, busy, taken, brief = own.cost.energy_pj, ((own.payer, own.cost.busy),), own.taken, own.brief
            sums = own.sums
            cycles[part.names.index(own.payer)] = self.memories.port_cycles(own.cost.busy)
        home = chain[-1][0] if chain else home
        visits = part.visits(loops)
        least = energy
        for user in self.placing.payers(part, tensor):
            more, later = self.bounds.alone.far(user.name, tensor, inner[user.name], home)
            at_least = visits * self._even_part(part, loops, user)
            least += at_least * more
            cycles[part.names.index(user.name)] += at_least * later
        above = frozenset((tensor, reader) for reader in further)
        return NodeChoice(((tensor, chain),), energy, least, cycles, taken, busy, further=above, brief=brief, sums=sums)

    def _around_nodes(
        self, part: VisitedPart, loops: Loops, tensor: str, home: str, chain: Chain, further: frozenset[str]
    ) -> Hashable:
        """What the nodes of a tensor depend on: of loops below them it matters only that there are some, but for those
        along windows and those over generations."""
        matter, below = loops[: chain[-1][1]], len(loops) - chain[-1][1]
        if any(loop.dim.uneven or self.generations.is_stepped(loop.dim) for loop in loops[len(matter) :]):
            matter, below = loops, 0
        of_part = part.names, part.sizes, part.again, part.steps, part.over, part.apart
        return *of_part, matter, below > 0, self.sums_go_on(part, loops, tensor), tensor, home, chain, further

    @remembered_by(_around_nodes)
    def _at_nodes(
        self, part: VisitedPart, loops: Loops, tensor: str, home: str, chain: Chain, further: frozenset[str]
    ) -> _AtNodes:
        """What nodes of a tensor take by themselves."""
        users = self.placing.users(part, tensor)
        payer = next((user for user in users if user.output.name == tensor), users[0])
        place = part.names.index(payer.name)
        cost = self._cost_of(part, loops, tensor, home, chain)
        is_exchanged = payer.output.name == tensor and tensor in self.cascade.intermediates
        moves = [part.steps or not stays for stays in cost.stays]
        copies = [
            self.memories.copies(memory, moving and (self._overlaps or not is_exchanged))
            for (memory, _), moving in zip(chain, moves, strict=True)
        ]
        numbers = list(cost.words)
        if is_exchanged and len(users) > 1 and not any(user.generations for user in users):
            numbers[-1] = self._exchanged_words(
                part, loops[: chain[-1][1]], payer, [user for user in users[1:] if user.name not in further]
            )
        words = [n * number for n, number in zip(copies, numbers, strict=True)]
        every = range(len(part.names))
        finding = [part.names.index(user.name) for user in users if user.name not in further]
        lasts = range(place, place + 1), range(min(finding), max(finding) + 1)  # of those further out, the last
        carries = self.generations.are_stepped(payer, self.windows.sizes_below(part, loops)[place])
        held = [
            _HeldWords(
                memory,
                n,
                lasts[i == len(chain)] if is_exchanged and depth == len(loops) and not carries else every,
                self._wide(part, loops, payer, chain, i) if payer.output.name == tensor else frozenset(),
            )
            for i, ((memory, depth), n) in enumerate(zip(chain, words, strict=True), 1)
        ]
        # Loops further in may go on with sums that have room only while they are written.
        may_go_on = is_exchanged and payer.iterates is None
        wide = [one for one in held if may_go_on and one.wide == {payer.name}]
        more = (self.memories.wider_by(payer, users, part.names, one.memory, one.words) for one in wide)
        sums = tuple(HeldSums(payer.name, tensor, own) for own in more)
        return _AtNodes(payer.name, cost, *self._taken(part, payer, tensor, held), sums)

    def _wide(self, part: VisitedPart, loops: Loops, writer: Operation, chain: Chain, number: int) -> frozenset[str]:
        """The operations of a part during which a node holds partial sums of what one of them writes: of what goes
        outside, all; of an intermediate, the one that writes it, if at all, and where loops go on with its sums, all.

        number  of the node in its chain, from 1
        """
        tensor = writer.output.name
        if tensor not in self.cascade.intermediates:
            return frozenset(part.names)
        is_wide = self.generations.are_wide(part, loops, tensor, chain[number - 1][0], chain, number)
        goes_on = self.sums_go_on(part, loops, tensor)
        is_wide = is_wide or (number == len(chain) and goes_on)
        return frozenset((part.names if goes_on else [writer.name]) if is_wide else [])

    def sums_go_on(self, part: VisitedPart, loops: Loops, tensor: str) -> bool:
        """Whether loops above the split of a part, or further out, go on with sums of an intermediate that one of its
        branches adds to. Nothing below the split keeps them from visit to visit, so they come more than once to the
        node above it."""
        writer = self.cascade.producers.get(tensor)
        if writer is None or writer.name not in part.names or writer.iterates is not None:
            return False
        place = part.names.index(writer.name)
        own = [
            *(loop.dim.of(writer.name) for loop in loops if loop.trips > 1),
            *(one.dim for one in part.over_of(place)),
        ]
        return part.again[place] > 1 or any(dim in writer.reduced_dims for dim in own)

    def _further(self, part: VisitedPart, tensor: str, chain: Chain) -> Iterator[frozenset[str]]:
        """All choices of readers of an intermediate, that the part writes, that find it further in than at some nodes;
        without nodes, those who find it further in than at its home."""
        if not chain:
            yield frozenset(reader for one, reader in part.further if one == tensor)
            return
        writer, *readers = self.placing.users(part, tensor)
        is_written = writer.output.name == tensor and not any(user.generations for user in (writer, *readers))
        if not is_written or chain[-1][0] == self.memories.nearest or self.placing.all_part_here(part):
            yield frozenset()
            return
        yield from self.placing.further_readers(writer, readers)

    def _cost_of(self, part: VisitedPart, loops: Loops, tensor: str, home: str, chain: Chain) -> UpperCost:
        """What nodes of a tensor cost, by the operation that asks them for most."""
        users, above = self.placing.users(part, tensor), tuple(loop.dim for loop in loops[: chain[-1][1]])
        user = self.placing.widest(part, above, users, tensor) or users[0]
        place = part.names.index(user.name)
        own = tuple(LoopOver(loop.dim.of(user.name), loop.trips, loop.tile) for loop in loops)
        sizes = self._sizes(user, part.sizes[place], tensor, loops)
        around = Around(home, part.again[place], tuple((one.dim, one.whole) for one in part.over_of(place)))
        return self.upper.cost(user.name, tensor, sizes, own, chain, around)

    def _exchanged_words(self, part: VisitedPart, above: Loops, writer: Operation, readers: list[Operation]) -> int:
        """Words of a node at which operations of a part pass a tensor to each other, with zeros around it."""
        tile = dict(part.sizes[part.names.index(writer.name)])
        for loop in above:
            own = loop.dim.of(writer.name)
            tile[own] = ceil_div(tile[own], loop.trips) if loop.tile is None else loop.tile
        return words_exchanged(writer, readers, tile, frozenset(), self.memories.arch.footprint)

    @property
    def _overlaps(self) -> bool:
        return self.memories.arch.overlap == "across_operations"

    def _taken(
        self, part: VisitedPart, payer: Operation, tensor: str, held: list[_HeldWords]
    ) -> tuple[tuple[Room, ...], tuple[Brief, ...]]:
        """By operation, the bits that the nodes of a tensor take while it works; and those that do so in some branches
        alone."""
        users = self.placing.users(part, tensor)
        found: list[Room] = [() for _ in part.names]
        brief: list[Brief] = []
        for one in held:
            others: list[tuple[str, Room]] = []
            for place, name in enumerate(part.names):
                bits = one.words * self.memories.width(payer, tensor, name in one.wide)
                room = ((one.memory, self.memories.part_for(name, users, tensor, one.memory), bits),)
                if place in one.lasts:
                    found[place] += room
                else:
                    others.append((name, room))
            if others:
                brief.append(Brief(frozenset(part.names[place] for place in one.lasts), tuple(others)))
        return tuple(found), tuple(brief)

    def _even_part(self, part: VisitedPart, loops: Loops, user: Operation) -> float:
        """What uneven visits cost at least, and shorter ones among the others, as a part of what even ones would."""
        place = part.names.index(user.name)
        over = below_loops(user, part.sizes[place], part.over_of(place), loops)
        share = full_share(self.windows.sizes_below(part, loops)[place], over) if over else 1.0
        return share * math.prod(one.part for one in self.windows.uneven_below(part, loops)[place])

    def _sizes(self, payer: Operation, sizes: Sizes, tensor: str, loops: Loops) -> Sizes:
        """An operation's tile as nodes of a tensor see it: of dimensions along which it is uneven, and that do not move
        the tensor, only the visits matter."""
        trips = {loop.dim.of(payer.name): loop.trips for loop in loops if payer.name in loop.dim.uneven}
        still = set(trips) - payer.problem.tensor(tensor).dims
        return tuple((dim, trips[dim] if dim in still else size) for dim, size in sizes)

    def combined(
        self, part: VisitedPart, nodes: list[TensorNodes], cutoff: float, weigh: LoopWeights
    ) -> list[NodeChoice]:
        """All choices for all tensors that fit, and that weigh less than the cutoff."""
        nothing = np.zeros((len(part.names), len(self.memories.ports)))
        found = [NodeChoice((), 0.0, 0.0, nothing, ((),) * len(part.names))]
        alone = sum(len(each.options) == 1 for each in nodes)  # these come first, and leave nothing to choose
        for each in nodes[:alone]:
            found = [found[0] + each.options[0]]
        if less_rooms(part.room, found[0].taken) is None:
            self.pruned["capacity"] += 1
            return []
        if alone == len(nodes):
            bound = weigh.of(np.array([found[0].least_pj]), found[0].cycles[..., None])
            return [replace(found[0], bound=float(bound[0]))]
        for each in nodes[alone:]:
            grown = list(self._grown(part, found, each, cutoff, weigh)) if found else []
            found = grown if self.beam is None else sorted(grown, key=lambda one: one.bound)[: self.beam]
        return found

    def _grown(
        self, part: VisitedPart, found: list[NodeChoice], nodes: TensorNodes, cutoff: float, weigh: LoopWeights
    ) -> Iterator[NodeChoice]:
        """Some choices with those of one more tensor."""
        self.means.check_numbers(len(found) * len(nodes.options))
        before = np.array([one.least_pj for one in found]), np.stack([one.cycles for one in found], axis=-1)
        energy = np.add.outer(before[0], nodes.least_pj).ravel() + nodes.later_pj
        cycles = before[1][..., None] + nodes.cycles[..., None, :] + nodes.later_cycles[..., None, None]
        bounds = weigh.of(energy, cycles.reshape(*nodes.later_cycles.shape, len(energy)))
        some = np.flatnonzero(bounds < cutoff).tolist()
        self.pruned["nodes"] += len(bounds) - len(some)
        for n in some:
            both = found[n // len(nodes.options)].beside(nodes.options[n % len(nodes.options)], float(bounds[n]))
            if less_rooms(part.room, both.taken) is None:
                self.pruned["capacity"] += 1
            else:
                yield both


def _tensor_nodes(every: list[list[NodeChoice]], nothing: Floats) -> list[TensorNodes]:
    """Choices by tensor, those that leave nothing to choose first, with what those after each take at least.

    nothing  (operations, ports) zeros
    """
    found: list[TensorNodes] = []
    later_pj, later, in_order = 0.0, nothing, sorted(every, key=len)
    for options in reversed(in_order):
        least, cycles = np.array([one.least_pj for one in options]), np.stack([one.cycles for one in options], axis=-1)
        found.append(TensorNodes(options, least, cycles, later_pj, later))
        later_pj, later = later_pj + float(least.min()), later + cycles.min(axis=-1)
    return found[::-1]
