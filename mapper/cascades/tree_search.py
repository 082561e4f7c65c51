"""The best tree for a cascade: branch and bound over parts (`parts.py`), each mapped from the outside in.

A part of several operations has loops, nodes of tensors that come from outside, and a split. Everything inside it costs
the same in the mean for every one of its visits, whatever stands outside: that is the barrier of DESIGN section 7. So
parts are searched on their own, and each is known once for all trees that it occurs in.

1. `_with_loops`: which dimensions are shared, in which order and tiles;
2. `_with_nodes`: where tensors from outside stay above these loops;
3. `_split`: from left to right, which operations are a branch, and which memory exchanges each intermediate. It is live
   from the branch that writes it to the last that reads it;
4. a branch of one operation is answered by a `BranchSolver`; one of several is again a part, that has loops.

Bounds: an operation costs at least what it costs if all its tensors came from the innermost memory outside the arrays
and that had endless room, as often as its visits make it whole; and each word of a tile comes at least once a visit
from its home (`Machine.further_pj`). Choices are made in the order of their bounds, and left aside from the first one
on that does not lie below the best part found.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...cost_models.cost import tensor_tile_words
from ...ir import Cascade, Loop, Node, Operation, SharedLoop, Tree
from ..means import Means, OutOfMeans
from ..space import Space
from ..tilings import Tiling, factors
from .branch import BranchSolver, Room
from .machine import Machine
from .parts import Busy, FoundPart, Outcome, Part, Sizes, less_room, with_busy
from .placing import LoopAbove, Loops, Placing
from .sharing import SharedDim, shared_dims
from .upper import Chain, UpperNodes
from .weights import Weights

Homes = tuple[tuple[str, str], ...]
"""Memory by tensor."""

NOTHING_FITS = Outcome(math.inf)


@dataclass(frozen=True)
class _Nodes:
    """Choices for the nodes of tensors that come from outside a part.

    chains  by tensor
    """

    chains: tuple[tuple[str, Chain], ...] = ()
    energy_pj: float = 0.0
    bound: float = 0.0
    taken: Room = ()
    busy: tuple[tuple[str, Busy], ...] = ()


@dataclass
class TreeSearch:
    """Trees of one cascade on one machine, by one weight.

    fuse      `all`: whatever the space has; `whole`: no shared loops; `none`: every intermediate through the outermost
              memory
    branches  complete branches that were asked for
    pruned    choices that were left aside, by rule
    """

    cascade: Cascade
    machine: Machine
    space: Space
    tiling: Tiling
    weights: Weights
    solver: BranchSolver
    means: Means
    fuse: str = "all"
    branches: int = 0
    pruned: dict[str, int] = field(default_factory=dict)
    _known: dict[Part, Outcome] = field(default_factory=dict)
    _least: dict[str, tuple[float, float]] = field(default_factory=dict)
    _shared: dict[tuple[str, ...], tuple[SharedDim, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.placing = Placing(self.cascade, self.machine, self.space)
        self.upper = UpperNodes(self.cascade, self.machine.arch)
        leaks = self.machine.arch.total_leakage_pj_per_cycle > 0
        self._timed = leaks or not self.weights.energy_only

    def whole(self, names: Sequence[str], cutoff: float = math.inf) -> Outcome:
        """The whole cascade, its operations done in an order."""
        operations = [self.cascade.operation(name) for name in names]
        inside = self.cascade.intermediates
        outermost = self.machine.outermost
        homes = {t.name: outermost for op in operations for t in op.problem.tensors if t.name not in inside}
        count = len(names)
        part = Part(
            tuple(names),
            tuple(op.problem.dims for op in operations),
            tuple(sorted(homes.items())),
            (1,) * count,
            self.machine.room,
            ((),) * count,
            steps=False,
        )
        if count == 1:
            return self.least(part, cutoff)
        return self._several(part, cutoff, is_root=True)

    def least(self, part: Part, cutoff: float) -> Outcome:
        """The best mapping of a part; or, if it does not weigh less than the cutoff, that."""
        known = self._known.get(part)
        if known is not None and (known.found is not None or known.bound >= cutoff):
            return known
        self.means.check()
        outcome = self._single(part, cutoff) if len(part.names) == 1 else self._several(part, cutoff, is_root=False)
        self._known[part] = outcome
        return outcome

    # ---- one operation -------------------------------------------------------------------------------------

    def _single(self, part: Part, cutoff: float) -> Outcome:
        bound = self.bound(part)
        if bound >= cutoff:
            return Outcome(bound)
        self.branches += 1
        mapping = self.solver.least(part.question(), self.weights)
        if mapping is None:
            return NOTHING_FITS
        found = FoundPart(mapping.energy_pj, mapping.latency_cycles, Tree(mapping.items, (), part.names[0]))
        return Outcome(self._weight(found), found)

    def _weight(self, found: FoundPart) -> float:
        return self.weights.of(found.energy_pj, found.latency_cycles)

    # ---- bounds --------------------------------------------------------------------------------------------

    def bound(self, part: Part) -> float:
        """What a part weighs at least."""
        homes = dict(part.homes)
        total = 0.0
        for name, sizes in zip(part.names, part.sizes, strict=True):
            total += self._least_of(name, sizes)
            if self.weights.energy:
                total += self.weights.energy * sum(
                    self._further(self.cascade.operation(name), tensor.name, sizes, homes[tensor.name])
                    for tensor in self.cascade.operation(name).problem.tensors
                    if tensor.name in homes
                )
        return total

    def _least_of(self, name: str, sizes: Sizes) -> float:
        """Of one operation's tile, with all tensors near and endless room."""
        energy, latency = self._nearest(name)
        points = math.prod(size for _, size in sizes) / self.cascade.operation(name).problem.macs
        return points * self.weights.of(energy, latency)

    def _nearest(self, name: str) -> tuple[float, float]:
        """The least energy and the least latency of a whole operation, with all tensors near and endless room."""
        if name not in self._least:
            operation = self.cascade.operation(name)
            homes = tuple(sorted((t.name, self.machine.nearest) for t in operation.problem.tensors))
            part = Part(
                (name,), (operation.problem.dims,), homes, (1,), self.machine.endless_room, ((),), steps=False
            )
            least = []
            for weights in (Weights(1.0, 0.0), Weights(0.0, 1.0)):
                needed = weights.energy * self.weights.energy + weights.latency * self.weights.latency
                mapping = self.solver.least(part.question(), weights) if needed else None
                least.append(0.0 if mapping is None else weights.of(mapping.energy_pj, mapping.latency_cycles))
            self._least[name] = least[0], least[1]
        return self._least[name]

    def _further(self, operation: Operation, tensor: str, sizes: Sizes, home: str) -> float:
        """pJ at least, by which a tile of a tensor costs more since its home is further out."""
        one = operation.problem.tensor(tensor)
        return tensor_tile_words(one, dict(sizes)) * self.machine.further_pj(one, home)

    # ---- several operations: loops -------------------------------------------------------------------------

    def _several(self, part: Part, cutoff: float, is_root: bool) -> Outcome:
        if self.bound(part) >= cutoff:
            return Outcome(self.bound(part))
        choices = []
        for loops in self._loops(part, is_root):
            nodes = self._choices_of_nodes(part, loops)
            bound = self._bound_with(part, loops, nodes)
            if bound < cutoff:
                choices.append((bound, len(choices), loops, nodes))
        choices.sort(key=lambda choice: choice[:2])
        best = Outcome(cutoff)
        for bound, _, loops, nodes in choices:
            if bound >= best.bound:
                break
            best = self._with_loops(part, loops, nodes, best)
        return best

    def _loops(self, part: Part, is_root: bool) -> Iterator[Loops]:
        """All choices of shared loops: no dimension twice, each with more than one trip."""
        if is_root:
            yield ()
        if self.fuse != "all":
            return
        if part.names not in self._shared:
            self._shared[part.names] = shared_dims(self.cascade, part.names)
        shared = self._shared[part.names]
        sizes = {name: dict(own) for name, own in zip(part.names, part.sizes, strict=True)}
        trips = {dim: self._trips({sizes[name][own] for name, own in dim.dims}) for dim in shared}
        for count in range(1, len(shared) + 1):
            for dims in itertools.permutations(shared, count):
                if _apart(dims):
                    for chosen in itertools.product(*(trips[dim] for dim in dims)):
                        yield tuple(LoopAbove(dim, n) for dim, n in zip(dims, chosen, strict=True))

    def _trips(self, sizes: set[int]) -> list[int]:
        """Trips of a shared loop over dimensions of one size; none where operations disagree."""
        if len(sizes) != 1:
            return []
        (size,) = sizes
        return [trips for trips in factors(size, "perfect", True) if trips > 1]

    # ---- nodes above the split -----------------------------------------------------------------------------

    def _choices_of_nodes(self, part: Part, loops: Loops) -> list[list[_Nodes]]:
        """Per tensor that comes from outside, where its nodes may stand above the split, best bound first."""
        found = []
        for tensor, home in part.homes:
            options = [self._nodes_of(part, loops, tensor, home, chain) for chain in self._chains(part, loops, tensor, home)]
            found.append(sorted(options, key=lambda nodes: nodes.bound))
        return sorted(found, key=len)

    def _chains(self, part: Part, loops: Loops, tensor: str, home: str) -> list[Chain]:
        if self.fuse == "none":
            return [()]
        return self.placing.chains(part, loops, tensor, home)

    def _nodes_of(self, part: Part, loops: Loops, tensor: str, home: str, chain: Chain) -> _Nodes:
        users = self.placing.users(part, tensor)
        payer = next((user for user in users if user.output.name == tensor), users[0])
        energy, taken, busy = 0.0, (), ()
        if chain:
            place = part.names.index(payer.name)
            own = tuple((loop.dim.of(payer.name), loop.trips) for loop in loops)
            cost = self.upper.cost(payer.name, tensor, part.sizes[place], own, home, chain, part.again[place])
            energy, busy = cost.energy_pj, ((payer.name, cost.busy),)
            taken = tuple(
                self._taken(payer, tensor, memory, words, part.steps or not stays, is_partial=payer.output.name == tensor)
                for (memory, _), words, stays in zip(chain, cost.words, cost.stays, strict=True)
            )
        home = chain[-1][0] if chain else home
        visits = math.prod(loop.trips for loop in loops)
        inner = {name: sizes for name, sizes in zip(part.names, self._inner_sizes(part, loops), strict=True)}
        later = sum(self._further(user, tensor, inner[user.name], home) for user in users)
        bound = self.weights.energy * (energy + visits * later)
        return _Nodes(((tensor, chain),), energy, bound, taken, busy)

    def _taken(
        self, user: Operation, tensor: str, memory: str, words: int, moves: bool, is_partial: bool
    ) -> tuple[str, str, int]:
        level = self.machine.upper[self.machine.depth[memory]]
        one = user.problem.tensor(tensor)
        arch = self.machine.arch
        width = arch.partial_width_bits(one) if is_partial else arch.width_bits(one)
        copies = 2 if level.double_buffered and moves else 1
        return memory, self.machine.part_of(level, one.role), copies * words * width

    def _inner_sizes(self, part: Part, loops: Loops) -> list[Sizes]:
        found = []
        for name, sizes in zip(part.names, part.sizes, strict=True):
            trips = {loop.dim.of(name): loop.trips for loop in loops}
            found.append(tuple((dim, size // trips.get(dim, 1)) for dim, size in sizes))
        return found

    def _bound_with(self, part: Part, loops: Loops, nodes: list[list[_Nodes]]) -> float:
        """What a part weighs at least with these loops."""
        own = sum(self._least_of(name, sizes) for name, sizes in zip(part.names, part.sizes, strict=True))
        return own + sum(options[0].bound for options in nodes)

    def _with_loops(self, part: Part, loops: Loops, nodes: list[list[_Nodes]], best: Outcome) -> Outcome:
        """The best of a part with some loops, if it is better than what is known."""
        least = self._bound_with(part, loops, nodes)
        found = sorted(self._combined(part, nodes, least, best.bound), key=lambda each: each.bound)
        for chosen in found:
            if chosen.bound >= best.bound:
                break
            best = self._with_nodes(part, loops, chosen, best)
        return best

    def _combined(self, part: Part, nodes: list[list[_Nodes]], least: float, cutoff: float) -> list[_Nodes]:
        """All choices for all tensors that fit, and whose bound lies below the cutoff."""
        found = [_Nodes(bound=least)]
        for options in nodes:
            grown = []
            for each in found:
                for option in options:
                    bound = each.bound - options[0].bound + option.bound
                    if bound >= cutoff:
                        break
                    taken = (*each.taken, *option.taken)
                    if less_room(part.room, taken) is not None:
                        grown.append(
                            _Nodes(
                                (*each.chains, *option.chains),
                                each.energy_pj + option.energy_pj,
                                bound,
                                taken,
                                (*each.busy, *option.busy),
                            )
                        )
            found = grown
        return found

    # ---- the split -----------------------------------------------------------------------------------------

    def _with_nodes(self, part: Part, loops: Loops, nodes: _Nodes, best: Outcome) -> Outcome:
        """The best of a part with some loops and nodes above its split, if it is better than what is known."""
        room = less_room(part.room, nodes.taken)
        assert room is not None
        visits = math.prod(loop.trips for loop in loops)
        homes = dict(part.homes) | {tensor: chain[-1][0] for tensor, chain in nodes.chains if chain}
        again = []
        for name, before in zip(part.names, part.again, strict=True):
            output = self.cascade.operation(name).output
            adding = (loop.trips for loop in loops if loop.dim.of(name) not in output.dims)
            again.append(before * math.prod(adding))
        busy = []
        for name, before in zip(part.names, part.busy, strict=True):
            above = tuple(one for owner, needed in nodes.busy for one in needed if owner == name)
            busy.append(with_busy(before, above, visits) if self._timed else ())
        inside = Part(
            part.names,
            tuple(self._inner_sizes(part, loops)),
            tuple(sorted(homes.items())),
            tuple(again),
            room,
            tuple(busy),
            steps=part.steps or bool(loops),
        )
        fixed = self.weights.energy * nodes.energy_pj
        split = self._split(inside, 0, (), (best.bound - fixed) / visits)
        if split is None or fixed + visits * split.weight >= best.bound:
            return best
        found = FoundPart(
            nodes.energy_pj + visits * split.energy_pj,
            visits * split.latency_cycles,
            self._tree(part, loops, nodes, split),
            split.stored,
        )
        return Outcome(self._weight(found), found)

    def _split(self, inside: Part, start: int, live: tuple[tuple[str, str, Room], ...], cutoff: float) -> _Split | None:
        """The best branches from one operation on, that weigh less than the cutoff together.

        live  intermediates that are live: tensor, memory, and bits that they take
        """
        count = len(inside.names)
        if start == count:
            return _Split(0.0, 0.0, 0.0)
        best: _Split | None = None
        rest_of = [self.bound(_some(inside, end, count)) for end in range(start, count + 1)]
        for end in range(start + 1, count + 1):
            if end - start == count or (end - start > 1 and self.fuse != "all"):
                continue
            for exchange in self._exchanges(inside, start, end, live):
                limit = cutoff if best is None else best.weight
                outcome = self._branch(inside, start, end, exchange, limit - rest_of[end - start])
                if outcome is None or outcome.found is None:
                    continue
                found = outcome.found
                homes = dict(inside.homes) | {tensor: memory for tensor, memory, _ in exchange}
                after = replace(inside, homes=tuple(sorted(homes.items())))
                needed = {t.name for name in inside.names[end:] for t in self.cascade.operation(name).problem.operands}
                still = tuple(each for each in exchange if each[0] in needed)
                rest = self._split(after, end, still, limit - outcome.bound)
                if rest is None:
                    continue
                weight = outcome.bound + rest.weight
                if weight < limit:
                    stored = frozenset(t for t, memory, _ in exchange if memory == self.machine.outermost)
                    best = _Split(
                        weight,
                        found.energy_pj + rest.energy_pj,
                        found.latency_cycles + rest.latency_cycles,
                        (found.tree, *rest.branches),
                        found.stored | rest.stored | stored,
                        rest.exchanged | {(t, m) for t, m, _ in exchange if m != self.machine.outermost},
                    )
        return best

    def _branch(
        self, inside: Part, start: int, end: int, exchange: tuple[tuple[str, str, Room], ...], cutoff: float
    ) -> Outcome | None:
        """One branch of a split; None where it has no room."""
        room = less_room(inside.room, tuple(bits for _, _, taken in exchange for bits in taken))
        if room is None:
            return None
        homes = dict(inside.homes) | {tensor: memory for tensor, memory, _ in exchange}
        branch = _some(inside, start, end)
        used = {t.name for name in branch.names for t in self.cascade.operation(name).problem.tensors}
        return self.least(
            replace(branch, room=room, homes=tuple(sorted((t, m) for t, m in homes.items() if t in used))), cutoff
        )

    def _exchanges(
        self, inside: Part, start: int, end: int, live: tuple[tuple[str, str, Room], ...]
    ) -> Iterator[tuple[tuple[str, str, Room], ...]]:
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
                    (tensor, memory.name, self._room_of(inside, place, operation, memory.name, readers))
                    for memory in self.machine.upper
                    if self._may_exchange(memory.name, operation, readers)
                ]
            )
        for chosen in itertools.product(*options):
            yield (*live, *chosen)

    def _may_exchange(self, memory: str, operation: Operation, readers: set[str]) -> bool:
        if memory == self.machine.outermost:
            return True
        level, tensor = self.machine.upper[self.machine.depth[memory]], operation.output.name
        roles = {"output"} | {self.cascade.operation(name).problem.tensor(tensor).role for name in readers}
        return self.fuse != "none" and all(level.keeps[role] != "never" for role in roles)

    def _room_of(self, inside: Part, place: int, operation: Operation, memory: str, readers: set[str]) -> Room:
        if memory == self.machine.outermost:
            return ()
        words = tensor_tile_words(operation.output, dict(inside.sizes[place]), self.machine.arch.footprint)
        moves = inside.steps and self.machine.arch.overlap == "across_operations"
        return (self._taken(operation, operation.output.name, memory, words, moves, is_partial=False),)

    def _tree(self, part: Part, loops: Loops, nodes: _Nodes, split: _Split) -> Tree:
        items: list[Loop | Node] = []
        order = self.machine.depth
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


def _apart(dims: Sequence[SharedDim]) -> bool:
    """Whether no operation has the same dimension in two of them."""
    return all(not set(one.dims) & set(other.dims) for one, other in itertools.combinations(dims, 2))


def _some(part: Part, start: int, end: int) -> Part:
    """Some operations of a part, one after the other."""
    used = slice(start, end)
    return replace(
        part, names=part.names[used], sizes=part.sizes[used], again=part.again[used], busy=part.busy[used]
    )


def _loop_of(loop: LoopAbove, names: Sequence[str]) -> Loop:
    first = loop.dim.of(names[0])
    renamed = tuple((name, loop.dim.of(name)) for name in names if loop.dim.of(name) != first)
    return SharedLoop(first, loop.trips, renamed=renamed) if renamed else Loop(first, loop.trips)
