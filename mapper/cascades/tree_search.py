"""The best tree for a cascade: branch and bound over parts (`parts.py`), each mapped from the outside in.

A part of several operations has loops, nodes of tensors that come from outside, and a split. Everything inside it costs
the same in the mean for every one of its visits, whatever stands outside: that is the barrier of DESIGN section 7. So
parts are searched on their own, and each is known once for all trees that it occurs in.

The space: splits stand outside all arrays; a split has at most one shared loop over a dimension of an operation, whose
tiles divide it, and below shared loops all tiles divide, also where the tiling is ragged; a split inside another one
has shared loops; intermediates pass at nodes directly above the split at which writer and reader part, or through the
outermost memory; other tensors stay at any depth among the shared loops; branches have all mappings of the space and
tiling asked for. Shared loops do not step over dimensions that readers see through windows.

1. `_with_loops`: which dimensions are shared, in which order and tiles;
2. `_with_nodes`: where tensors from outside stay above these loops;
3. `_split`: from left to right, which operations are a branch, and which memory exchanges each intermediate. It is live
   from the branch that writes it to the last that reads it;
4. a branch of one operation is answered by a `BranchSolver`; one of several is again a part, that has loops.

Bounds: an operation costs at least what it costs if all its tensors came from the innermost memory outside the arrays
and that had endless room, as often as its visits make it whole; and each word of a tile comes at least once a visit
from its home (`UpperMemories.further_pj`). Choices are made in the order of their bounds, and left aside from the first
one on that does not lie below the best part found.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from ...cost_models.cascades import reads_all, words_exchanged
from ...cost_models.cost import tensor_tile_words
from ...ir import Cascade, Loop, Node, Operation, SharedLoop, Tree
from ..certificate import RELATIVE_TOLERANCE
from ..means import Means
from ..space import Space
from ..tilings import Tiling, factors
from .branch import BranchSolver, Room
from .loop_bounds import LoopBounds, grid
from .parts import Busy, FoundPart, Outcome, Sizes, VisitedPart, less_rooms, with_busy
from .placing import Placing
from .sharing import LoopAbove, SharedDim, shared_dims
from .upper_memories import Floats, UpperMemories
from .upper_nodes import Chain, UpperNodes
from .weights import ENERGY_ALONE, LATENCY_ALONE, Weights

Loops = tuple[LoopAbove, ...]

Exchange = tuple[tuple[str, str, tuple[Room, ...]], ...]
"""Intermediates that are live: tensor, memory, and bits that they take."""

Fuse = Literal["all", "whole", "none"]


@dataclass(frozen=True)
class _Nodes:
    """Choices for the nodes of tensors that come from outside a part.

    chains  by tensor
    energy_pj  of the words that pass there, for one visit of the part
    least_pj   that, and what the tensors take more inside at least, since their homes are further out
    cycles     (operations, ports) that both take at least
    taken      by operation, bits of memories while it works
    busy       by operation, bits that pass at memories for one visit of the part
    bound      what the part weighs at least
    """

    chains: tuple[tuple[str, Chain], ...]
    energy_pj: float
    least_pj: float
    cycles: Floats
    taken: tuple[Room, ...] = ()
    busy: tuple[tuple[str, Busy], ...] = ()
    bound: float = 0.0

    def __add__(self, other: _Nodes) -> _Nodes:
        return _Nodes(
            (*self.chains, *other.chains),
            self.energy_pj + other.energy_pj,
            self.least_pj + other.least_pj,
            self.cycles + other.cycles,
            tuple((*one, *more) for one, more in zip(self.taken, other.taken, strict=False)),
            (*self.busy, *other.busy),
        )


@dataclass
class TreeSearch:
    """Trees of one cascade on one machine, by one weight.

    fuse      `all`: whatever the space has; `whole`: no shared loops; `none`: every intermediate through the outermost
              memory
    wide_sums whether intermediates take the room of partial sums while they are written, as they do where unfinished
              sums reach the node that exchanges them; else that of finished words, as they do at least
    branches  branches that were asked for
    incumbent, open_bound  where means run out: the best whole tree so far, and what no other one weighs less than
    pruned    choices that were left aside, by rule
    """

    cascade: Cascade
    memories: UpperMemories
    space: Space
    tiling: Tiling
    weights: Weights
    solver: BranchSolver
    means: Means
    fuse: Fuse = "all"
    wide_sums: bool = False
    branches: int = 0
    incumbent: FoundPart | None = None
    open_bound: float = 0.0
    pruned: Counter[str] = field(default_factory=Counter)
    _known: dict[VisitedPart, Outcome] = field(default_factory=dict)
    _least: dict[str, tuple[float, float]] = field(default_factory=dict)
    _further: dict[tuple[str, str, Sizes, str], tuple[float, Floats]] = field(default_factory=dict)
    _nodes: dict[tuple[object, ...], list[list[_Nodes]]] = field(default_factory=dict)
    _seconds: dict[str, float] = field(default_factory=dict)
    _asked: set[tuple[str, tuple[tuple[str, str], ...], bool]] = field(default_factory=set)
    _shared: dict[tuple[str, ...], tuple[SharedDim, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.placing = Placing(self.cascade, self.memories, self.space)
        self.upper = UpperNodes(self.cascade, self.memories.arch)
        self._timed = self.memories.arch.total_leakage_pj_per_cycle > 0 or not self.weights.energy_only

    def whole(self, names: Sequence[str], cutoff: float = math.inf) -> Outcome:
        """The whole cascade, its operations done in an order."""
        part = self._root(names)
        return self._several(part, cutoff, is_root=True) if len(names) > 1 else self.least(part, cutoff)

    def bound_of_whole(self) -> float:
        """What the whole cascade weighs at least, as far as can be seen without a search."""
        return self.bound(self._root([operation.name for operation in self.cascade]))

    def _root(self, names: Sequence[str]) -> VisitedPart:
        operations = [self.cascade.operation(name) for name in names]
        inside, outermost = self.cascade.intermediates, self.memories.outermost
        homes = {t.name: outermost for op in operations for t in op.problem.tensors if t.name not in inside}
        return VisitedPart(
            tuple(names),
            tuple(op.problem.dims for op in operations),
            tuple(sorted(homes.items())),
            (1,) * len(names),
            (self.memories.room,) * len(names),
            ((),) * len(names),
            steps=False,
        )

    def least(self, part: VisitedPart, cutoff: float) -> Outcome:
        """The best mapping of a part; or, if it does not weigh less than the cutoff, that."""
        known = self._known.get(part)
        if known is not None and (known.found is not None or known.bound >= cutoff):
            return known
        self.means.check()
        outcome = self._single(part, cutoff) if len(part.names) == 1 else self._several(part, cutoff, is_root=False)
        self._known[part] = outcome
        return outcome

    # ---- one operation -------------------------------------------------------------------------------------

    def _single(self, part: VisitedPart, cutoff: float) -> Outcome:
        bound = self.close_bound(part)
        if bound >= cutoff:
            return Outcome(bound)
        self.branches += 1
        started = time.perf_counter()
        answer = self.solver.least(part.question(), self.weights, cutoff)
        taken = time.perf_counter() - started
        self._seconds[part.names[0]] = max(taken, 0.5 * self._seconds.get(part.names[0], 0.0))
        mapping = answer.mapping
        if mapping is None:
            return Outcome(answer.bound)
        found = FoundPart(mapping.energy_pj, mapping.latency_cycles, Tree(mapping.items, (), part.names[0]))
        return Outcome(self._weight(found), found)

    def _weight(self, found: FoundPart) -> float:
        return self.weights.of(found.energy_pj, found.latency_cycles)

    # ---- bounds --------------------------------------------------------------------------------------------

    def bound(self, part: VisitedPart) -> float:
        """What a part weighs at least."""
        return sum(self._bound_of_one(part, place) for place in range(len(part.names)))

    def _bound_of_one(self, part: VisitedPart, place: int) -> float:
        """What one operation of a part weighs at least.

        Of a tensor that several of them use, a node above their split may come between that and its home: then the
        first of them alone fills it."""
        name, sizes, homes = part.names[place], part.sizes[place], dict(part.homes)
        operation = self.cascade.operation(name)
        energy, latency = self._least_of(name, sizes)
        cycles = self.memories.port_cycles(part.busy[place])
        for tensor in operation.problem.tensors:
            if tensor.name in homes and self.placing.users(part, tensor.name)[0] is operation:
                more, later = self._far(operation, tensor.name, sizes, homes[tensor.name])
                energy, cycles = energy + more, cycles + later
        return self.weights.of(energy, max(latency, cycles.max(initial=0.0)) if self._timed else 0.0)

    def close_bound(self, part: VisitedPart) -> float:
        """What a part weighs at least, by what its operations weigh as a whole from where their tensors come."""
        return sum(
            max(self._bound_of_one(part, place), self._bound_by_whole(part, place)) for place in range(len(part.names))
        )

    def _bound_by_whole(self, part: VisitedPart, place: int) -> float:
        """What one operation of a part weighs at least, by what it weighs as a whole."""
        name, known = part.names[place], dict(part.homes)
        if len(part.names) > 1 and self.space == "even":  # nodes above splits stand at depths of their own
            return 0.0
        nearest, homes = self.memories.upper[-1], {}
        for tensor in self.cascade.operation(name).problem.tensors:
            if tensor.name in known and self.placing.users(part, tensor.name)[0].name == name:
                homes[tensor.name] = known[tensor.name]
            elif nearest.keeps[tensor.role] == "must":
                homes[tensor.name] = nearest.name
            else:
                return 0.0
        own = tuple(sorted(homes.items()))
        self._as_a_whole(name, own, part.steps)
        return self.solver.bound(replace(_some(part, place, place + 1), homes=own).question(), self.weights)

    def _as_a_whole(self, name: str, homes: tuple[tuple[str, str], ...], steps: bool) -> None:
        """Ask once for a whole operation with all the room that there is: a bound for all its visits."""
        if (name, homes, steps) not in self._asked:
            self._asked.add((name, homes, steps))
            whole = self.cascade.operation(name).problem.dims
            part = VisitedPart((name,), (whole,), homes, (1,), (self.memories.room,), ((),), steps)
            self.solver.least(part.question(), self.weights)

    def _least_of(self, name: str, sizes: Sizes) -> tuple[float, float]:
        """Energy and latency of one operation's tile at least, with all tensors near and endless room."""
        energy, latency = self._nearest(name)
        part = math.prod(size for _, size in sizes) / self.cascade.operation(name).problem.macs
        return part * energy, part * latency

    def _nearest(self, name: str) -> tuple[float, float]:
        """The least energy and the least latency of a whole operation with endless room, and with all tensors near;
        those that may pass the nearest memory by also further out, where ports may be wider."""
        if name not in self._least:
            answers = [self._with_homes(name, homes) for homes in self._near_homes(self.cascade.operation(name))]
            self._least[name] = min(energy for energy, _ in answers), min(latency for _, latency in answers)
        return self._least[name]

    def _near_homes(self, operation: Operation) -> Iterator[tuple[tuple[str, str], ...]]:
        near, tensors = self.memories.upper[-1], sorted(operation.problem.tensors, key=lambda t: t.name)
        all_homes = [memory.name for memory in reversed(self.memories.upper)]
        options = [all_homes[:1] if near.keeps[t.role] == "must" else all_homes for t in tensors]
        for chosen in itertools.product(*options):
            yield tuple((t.name, home) for t, home in zip(tensors, chosen, strict=True))

    def _with_homes(self, name: str, homes: tuple[tuple[str, str], ...]) -> tuple[float, float]:
        """The least energy, and the least latency, of a whole operation with endless room, and tensors from homes."""
        dims = self.cascade.operation(name).problem.dims
        whole = VisitedPart((name,), (dims,), homes, (1,), (self.memories.endless_room,), ((),), steps=False)
        energy, latency = 0.0, 0.0
        if self.weights.energy:
            mapping = self.solver.least(whole.question(), ENERGY_ALONE).mapping
            energy = mapping.energy_pj if mapping else math.inf
        if self._timed:
            mapping = self.solver.least(whole.question(), LATENCY_ALONE).mapping
            latency = mapping.latency_cycles if mapping else math.inf
        return energy, latency

    def _far(self, operation: Operation, tensor: str, sizes: Sizes, home: str) -> tuple[float, Floats]:
        """pJ, and cycles of every port, that a tile of a tensor takes more at least, since its home is further out."""
        key = operation.name, tensor, sizes, home
        if key not in self._further:
            one = operation.problem.tensor(tensor)
            words = tensor_tile_words(one, dict(sizes))
            cycles = self.memories.port_cycles(self.memories.further_bits(one, words, home))
            self._further[key] = words * self.memories.further_pj(one, home), cycles
        return self._further[key]

    # ---- several operations: loops -------------------------------------------------------------------------

    def _several(self, part: VisitedPart, cutoff: float, is_root: bool) -> Outcome:
        if self.bound(part) >= cutoff:
            return Outcome(self.bound(part))
        choices = sorted(self._loops(part, cutoff), key=lambda choice: choice[0])
        if is_root:  # without loops at the top, most of all trees are open still: a good one helps to leave them aside
            choices.append((self.bound(part), ()))
        best = Outcome(cutoff)
        for bound, loops in choices:
            if bound >= _below(best):
                self.pruned["loops"] += 1
                continue
            if is_root:
                self.open_bound = min(bound, choices[-1][0])
            best = self._with_loops(part, loops, best)
            if is_root and best.found is not None:
                self.incumbent = best.found
        return best

    def _loops(self, part: VisitedPart, cutoff: float) -> Iterator[tuple[float, Loops]]:
        """All choices of shared loops whose bound lies below the cutoff, with their bounds: no dimension twice, each
        with more than one trip."""
        if self.fuse != "all":
            return
        if part.names not in self._shared:
            self._shared[part.names] = shared_dims(self.cascade, part.names)
        shared = self._shared[part.names]
        sizes = {name: dict(own) for name, own in zip(part.names, part.sizes, strict=True)}
        trips = {dim: self._trips({sizes[name][own] for name, own in dim.dims}) for dim in shared}
        own = self._own(part)
        for count in range(1, len(shared) + 1):
            for dims in itertools.permutations(shared, count):
                if _apart(dims) and all(trips[dim] for dim in dims):
                    self.means.check()
                    yield from self._loops_of(part, dims, grid([trips[dim] for dim in dims]), own, cutoff)

    def _loops_of(
        self,
        part: VisitedPart,
        dims: tuple[SharedDim, ...],
        trips: Floats,
        own: tuple[float, Floats, Floats],
        cutoff: float,
    ) -> Iterator[tuple[float, Loops]]:
        """All trips of loops in one order whose bound lies below the cutoff, with their bounds."""
        least = LoopBounds(self.cascade, self.memories, self.placing, part, dims, trips).least()
        energy, latency = own[0] + least.energy, np.zeros(trips.shape[1])
        if self._timed:
            ports = (own[2][:, :, None] + least.cycles).max(axis=1, initial=0.0)
            latency = np.maximum(own[1][:, None], ports).sum(axis=0)
        bounds = self.weights.energy * energy + self.weights.latency * latency
        open_ones = np.flatnonzero(bounds < cutoff)
        self.pruned["loops"] += trips.shape[1] - len(open_ones)
        for i in open_ones.tolist():
            chosen = trips[:, i].astype(int).tolist()
            yield float(bounds[i]), tuple(LoopAbove(dim, n) for dim, n in zip(dims, chosen, strict=True))

    def _trips(self, sizes: set[int]) -> list[int]:
        """Trips of a shared loop over dimensions of one size; none where operations disagree."""
        if len(sizes) != 1:
            return []
        (size,) = sizes
        return [trips for trips in factors(size, "perfect", True) if trips > 1]

    # ---- nodes above the split -----------------------------------------------------------------------------

    def _choices_of_nodes(self, part: VisitedPart, loops: Loops) -> list[list[_Nodes]]:
        """Per tensor that comes from outside, where its nodes may stand above the split."""
        key = part.names, part.sizes, part.homes, part.again, part.steps, loops
        if key not in self._nodes:
            inner = dict(zip(part.names, self._inner_sizes(part, loops), strict=True))
            dims = tuple(loop.dim for loop in loops)
            found = []
            for tensor, home in part.homes:
                chains = self.placing.chains(part, dims, tensor, home) if self.fuse != "none" else [()]
                found.append([self._nodes_of(part, loops, inner, tensor, home, chain) for chain in chains])
            self._nodes[key] = sorted(found, key=len)
        return self._nodes[key]

    def _nodes_of(
        self, part: VisitedPart, loops: Loops, inner: dict[str, Sizes], tensor: str, home: str, chain: Chain
    ) -> _Nodes:
        users = self.placing.users(part, tensor)
        cycles = np.zeros((len(part.names), self.memories.ports))
        energy = 0.0
        taken: tuple[Room, ...] = ((),) * len(part.names)
        busy: tuple[tuple[str, Busy], ...] = ()
        if chain:
            payer = next((user for user in users if user.output.name == tensor), users[0])
            place = part.names.index(payer.name)
            own = tuple((loop.dim.of(payer.name), loop.trips) for loop in loops)
            cost = self.upper.cost(payer.name, tensor, part.sizes[place], own, home, chain, part.again[place])
            energy, busy = cost.energy_pj, ((payer.name, cost.busy),)
            cycles[place] = self.memories.port_cycles(cost.busy)
            is_partial = payer.output.name == tensor
            width = self._width(payer, tensor, is_partial)
            held = [
                (memory, self._copies(memory, part.steps or not stays) * words * width)
                for (memory, _), words, stays in zip(chain, cost.words, cost.stays, strict=True)
            ]
            taken = tuple(
                tuple((memory, self._part_for(name, users, tensor, memory), bits) for memory, bits in held)
                for name in part.names
            )
        home = chain[-1][0] if chain else home
        visits = math.prod(loop.trips for loop in loops)
        least = energy
        for user in self.placing.payers(part, tensor):
            more, later = self._far(user, tensor, inner[user.name], home)
            least += visits * more
            cycles[part.names.index(user.name)] += visits * later
        return _Nodes(((tensor, chain),), energy, least, cycles, taken, busy)

    def _width(self, user: Operation, tensor: str, is_partial: bool) -> int:
        arch, one = self.memories.arch, user.problem.tensor(tensor)
        return arch.partial_width_bits(one) if is_partial else arch.width_bits(one)

    def _copies(self, memory: str, moves: bool) -> int:
        return 2 if self.memories.of(memory).double_buffered and moves else 1

    def _part_for(self, name: str, users: Sequence[Operation], tensor: str, memory: str) -> str:
        """The part of a memory in which a tensor lies while an operation works: that of the role that it has there; of
        the roles that others see it in, the one with more room, where this one does not use it."""
        roles = {user.name: user.problem.tensor(tensor).role for user in users}
        role = roles.get(name) or self.memories.roomiest(memory, roles.values())
        return self.memories.part_of(self.memories.of(memory), role)

    def _inner_sizes(self, part: VisitedPart, loops: Loops) -> list[Sizes]:
        found = []
        for name, sizes in zip(part.names, part.sizes, strict=True):
            trips = {loop.dim.of(name): loop.trips for loop in loops}
            found.append(tuple((dim, size // trips.get(dim, 1)) for dim, size in sizes))
        return found

    def _own(self, part: VisitedPart) -> tuple[float, Floats, Floats]:
        """Of all operations of a part at least: energy, (operations,) cycles, and (operations, ports) of these what
        nodes further out need."""
        least = [self._least_of(name, sizes) for name, sizes in zip(part.names, part.sizes, strict=True)]
        busy = np.array([self.memories.port_cycles(one) for one in part.busy])
        return sum(energy for energy, _ in least), np.array([latency for _, latency in least]), busy

    def _bound_of(self, own: tuple[float, Floats, Floats], nodes: _Nodes) -> float:
        """What a part weighs at least with some nodes above its split."""
        if not self._timed:
            return self.weights.energy * (own[0] + nodes.least_pj)
        slowest = np.maximum(own[1], (own[2] + nodes.cycles).max(axis=1, initial=0.0))
        return self.weights.of(own[0] + nodes.least_pj, float(slowest.sum()))

    def _best_of(self, part: VisitedPart, nodes: list[list[_Nodes]]) -> _Nodes:
        """What the nodes of all tensors take at least, each at its best in everything."""
        best = _Nodes((), 0.0, 0.0, np.zeros((len(part.names), self.memories.ports)))
        for options in nodes:
            cycles = np.min([each.cycles for each in options], axis=0) if self._timed else best.cycles
            best += _Nodes((), 0.0, min(each.least_pj for each in options), cycles)
        return best

    def _with_loops(self, part: VisitedPart, loops: Loops, best: Outcome) -> Outcome:
        """The best of a part with some loops, if it is better than what is known."""
        self.means.check()
        nodes = self._choices_of_nodes(part, loops)
        for chosen in sorted(self._combined(part, nodes, _below(best)), key=lambda each: each.bound):
            if chosen.bound >= _below(best):
                break
            best = self._with_nodes(part, loops, chosen, best)
        return best

    def _combined(self, part: VisitedPart, nodes: list[list[_Nodes]], cutoff: float) -> list[_Nodes]:
        """All choices for all tensors that fit, and whose bound lies below the cutoff."""
        own = self._own(part)
        found = [_Nodes((), 0.0, 0.0, np.zeros((len(part.names), self.memories.ports)), ((),) * len(part.names))]
        alone = sum(len(options) == 1 for options in nodes)  # these come first, and leave nothing to choose
        for options in nodes[:alone]:
            found = [found[0] + options[0]]
        if alone == len(nodes):
            return [replace(found[0], bound=self._bound_of(own, found[0]))]
        for i, options in enumerate(nodes[alone:], alone):
            later = self._best_of(part, nodes[i + 1 :])
            grown = []
            for each, option in itertools.product(found, options):
                both = each + option
                bound = self._bound_of(own, both + later)
                if bound >= cutoff:
                    self.pruned["nodes"] += 1
                elif less_rooms(part.room, both.taken) is None:
                    self.pruned["capacity"] += 1
                else:
                    grown.append(replace(both, bound=bound))
            found = grown
        return found

    # ---- the split -----------------------------------------------------------------------------------------

    def _with_nodes(self, part: VisitedPart, loops: Loops, nodes: _Nodes, best: Outcome) -> Outcome:
        """The best of a part with some loops and nodes above its split, if it is better than what is known."""
        room = less_rooms(part.room, nodes.taken)
        assert room is not None
        visits = math.prod(loop.trips for loop in loops)
        homes = dict(part.homes) | {tensor: chain[-1][0] for tensor, chain in nodes.chains if chain}
        again = []
        for name, before in zip(part.names, part.again, strict=True):
            output = self.cascade.operation(name).output
            adding = (loop.trips for loop in loops if loop.dim.of(name) not in output.dims)
            again.append(before * math.prod(adding))
        busy = []
        for name, outside in zip(part.names, part.busy, strict=True):
            above = tuple(one for owner, needed in nodes.busy for one in needed if owner == name)
            busy.append(with_busy(outside, above, visits) if self._timed else ())
        inside = VisitedPart(
            part.names,
            tuple(self._inner_sizes(part, loops)),
            tuple(sorted(homes.items())),
            tuple(again),
            room,
            tuple(busy),
            steps=part.steps or bool(loops),
        )
        fixed = self.weights.energy * nodes.energy_pj
        split = self._split(inside, 0, (), (_below(best) - fixed) / visits)
        if split is None or fixed + visits * split.weight >= _below(best):
            return best
        found = FoundPart(
            nodes.energy_pj + visits * split.energy_pj,
            visits * split.latency_cycles,
            self._tree(part, loops, nodes, split),
            split.stored,
        )
        return Outcome(self._weight(found), found)

    def _split(self, inside: VisitedPart, start: int, live: Exchange, cutoff: float) -> _Split | None:
        """The best branches from one operation on, that weigh less than the cutoff together.

        live  intermediates that are live: tensor, memory, and bits that they take
        """
        count = len(inside.names)
        if start == count:
            return _Split(0.0, 0.0, 0.0)
        best: _Split | None = None
        rest_of = [self.bound(_some(inside, end, count)) for end in range(start, count + 1)]
        if rest_of[0] >= cutoff:
            return None
        rest_of = [self.close_bound(_some(inside, end, count)) for end in range(start, count + 1)]
        if rest_of[0] >= cutoff:
            return None
        for end in range(start + 1, count + 1):
            if end - start == count or (end - start > 1 and self.fuse != "all"):
                continue
            for exchange in self._exchanges(inside, start, end, live):
                limit = cutoff if best is None else best.weight * (1 - RELATIVE_TOLERANCE)
                found = self._first_and_rest(inside, start, end, exchange, limit, rest_of[end - start])
                if found is not None and found.weight < limit:
                    best = found
        return best

    def _first_and_rest(
        self, inside: VisitedPart, start: int, end: int, exchange: Exchange, limit: float, rest_bound: float
    ) -> _Split | None:
        """A branch, and the best of those after it: one does not depend on the other, once it is known what they
        exchange. So what is known sooner comes first: it may show that the other need not be looked at."""
        homes = dict(inside.homes) | {tensor: memory for tensor, memory, _ in exchange}
        after = replace(inside, homes=tuple(sorted(homes.items())))
        needed = {t.name for name in inside.names[end:] for t in self.cascade.operation(name).problem.operands}
        still = tuple(each for each in exchange if each[0] in needed)
        count = len(inside.names)
        rest: _Split | None = None
        if self._takes_long(inside.names[start:end]) > self._takes_long(inside.names[end:]):
            first = self.close_bound(_some(after, start, end))
            rest = self._split(after, end, still, limit - first)
            if rest is None:
                return None
            rest_bound = rest.weight
        outcome = self._branch(inside, start, end, exchange, limit - rest_bound)
        if outcome is None or outcome.found is None:
            return None
        rest = rest or (self._split(after, end, still, limit - outcome.bound) if end < count else _Split(0.0, 0.0, 0.0))
        if rest is None:
            return None
        outermost = self.memories.outermost
        return _Split(
            outcome.bound + rest.weight,
            outcome.found.energy_pj + rest.energy_pj,
            outcome.found.latency_cycles + rest.latency_cycles,
            (outcome.found.tree, *rest.branches),
            outcome.found.stored | rest.stored | {t for t, memory, _ in exchange if memory == outermost},
            rest.exchanged | {(t, memory) for t, memory, _ in exchange if memory != outermost},
        )

    def _takes_long(self, names: Sequence[str]) -> float:
        """Seconds that looking at some operations may take: of single ones, what it took until now."""
        if len(names) > 1:
            return math.inf
        return sum(self._seconds.get(name, 0.0) for name in names)

    def _branch(self, inside: VisitedPart, start: int, end: int, exchange: Exchange, cutoff: float) -> Outcome | None:
        """One branch of a split; None where it has no room."""
        taken = tuple(tuple(bits for _, _, held in exchange for bits in held[i]) for i in range(start, end))
        room = less_rooms(inside.room[start:end], taken)
        if room is None:
            return None
        homes = dict(inside.homes) | {tensor: memory for tensor, memory, _ in exchange}
        branch = _some(inside, start, end)
        used = {t.name for name in branch.names for t in self.cascade.operation(name).problem.tensors}
        return self.least(
            replace(branch, room=room, homes=tuple(sorted((t, m) for t, m in homes.items() if t in used))), cutoff
        )

    def _exchanges(self, inside: VisitedPart, start: int, end: int, live: Exchange) -> Iterator[Exchange]:
        """Choices of memories for the intermediates that a branch writes for others: with what is live already."""
        homes = dict(inside.homes)
        names = inside.names[start:end]
        options = []
        for place, name in enumerate(names, start):
            operation = self.cascade.operation(name)
            tensor = operation.output.name
            readers = {consumer.name for consumer in self.cascade.consumers[tensor]} & set(inside.names[end:])
            if tensor in homes or not readers:
                continue
            options.append(
                [
                    (tensor, memory.name, self._room_of(inside, place, operation, memory.name))
                    for memory in self.memories.upper
                    if self._may_exchange(memory.name, operation, readers)
                ]
            )
        for chosen in itertools.product(*options):
            yield (*live, *chosen)

    def _may_exchange(self, memory: str, operation: Operation, readers: set[str]) -> bool:
        if memory == self.memories.outermost:
            return True
        tensor, users = operation.output.name, [self.cascade.operation(name) for name in readers]
        roles = {operation.output.role, *(user.problem.tensor(tensor).role for user in users)}
        extents = self.cascade.extents(tensor)
        is_whole = any(reads_all(user, tensor, extents) for user in users)  # what is read in part is not counted yet
        return self.fuse != "none" and is_whole and self.placing.may_exchange(memory, roles)

    def _room_of(self, inside: VisitedPart, place: int, operation: Operation, memory: str) -> tuple[Room, ...]:
        """By operation, the bits that an intermediate takes while it works, where a memory exchanges it: only in the
        branch that writes it they may be those of partial sums."""
        if memory == self.memories.outermost:
            return ((),) * len(inside.names)
        tensor = operation.output.name
        readers = [user for user in self.placing.users(inside, tensor) if user is not operation]
        tile, footprint = dict(inside.sizes[place]), self.memories.arch.footprint
        words = words_exchanged(operation, readers, tile, frozenset(), footprint)
        words *= self._copies(memory, inside.steps and self.memories.arch.overlap == "across_operations")
        users, found = self.placing.users(inside, tensor), []
        for name in inside.names:
            width = self._width(operation, tensor, self.wide_sums and name == operation.name)
            found.append(((memory, self._part_for(name, users, tensor, memory), words * width),))
        return tuple(found)

    def _tree(self, part: VisitedPart, loops: Loops, nodes: _Nodes, split: _Split) -> Tree:
        items: list[Loop | Node] = []
        order = self.memories.depth
        for depth in range(len(loops) + 1):
            here = [(memory, tensor) for tensor, chain in nodes.chains for memory, at in chain if at == depth]
            if depth == len(loops):
                here += [(memory, tensor) for tensor, memory in split.exchanged]
            items += [Node(memory, tensor) for memory, tensor in sorted(here, key=lambda at: (order[at[0]], at[1]))]
            if depth < len(loops):
                items.append(_loop_of(loops[depth], part.names))
        return Tree(tuple(items), split.branches)


@dataclass(frozen=True)
class _Split:
    """Branches of a split, one after the other, for one visit.

    exchanged  intermediates that nodes directly above the split hold, with their memories
    """

    weight: float
    energy_pj: float
    latency_cycles: float
    branches: tuple[Tree, ...] = ()
    stored: frozenset[str] = frozenset()
    exchanged: frozenset[tuple[str, str]] = frozenset()


def _below(best: Outcome) -> float:
    """What a bound has to stay below to be of interest."""
    return best.bound if best.found is None else best.bound * (1 - RELATIVE_TOLERANCE)


def _apart(dims: Sequence[SharedDim]) -> bool:
    """Whether no operation has the same dimension in two of them."""
    return all(not set(one.dims) & set(other.dims) for one, other in itertools.combinations(dims, 2))


def _some(part: VisitedPart, start: int, end: int) -> VisitedPart:
    """Some operations of a part, one after the other."""
    used = slice(start, end)
    return replace(
        part,
        names=part.names[used],
        sizes=part.sizes[used],
        again=part.again[used],
        room=part.room[used],
        busy=part.busy[used],
    )


def _loop_of(loop: LoopAbove, names: Sequence[str]) -> Loop:
    first = loop.dim.of(names[0])
    renamed = tuple((name, loop.dim.of(name)) for name in names if loop.dim.of(name) != first)
    return SharedLoop(first, loop.trips, renamed=renamed) if renamed else Loop(first, loop.trips)
