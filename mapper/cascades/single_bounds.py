"""What a cascade weighs at least by what each of its operations weighs on its own: a bound that no search over trees is
needed for.

What a tree does for one operation, with the nodes and loops on the way to its branch, is a mapping of that operation
alone, in which every memory and tensor has its own boundary, as in the uneven space, and nodes that last take the room
of one copy (`with_single_copies`). So the operation costs there no less than at its best, with the whole machine to
itself and with each tensor from the memory that it comes from:

- one from outside from the outermost memory, or from where it stays; but where an operation before it uses the same
  tensor, both may share a node that this one has filled, and then it comes from any memory that may keep it;
- an intermediate from one of the memories that may exchange it, or the outermost one.

Whole trees are either one split without loops, whose branches of several operations have shared loops, or have such
loops at the top. So the operations, in their order, fall into runs, and those of a run of several make the steps of one
loop at least. Between runs a tensor is shared, or exchanged, only where a memory has room for all of it; inside them
loops have to cut it (`relaxations/run_exchanges.py`). And the steps of a loop are visits: of each of them an operation
costs what so much smaller a tile does, unless a node above the loop spares it what comes again with every step
(`relaxations/shared_steps.py`).

Inside its branch the mapping of an operation is one of the space that is asked for (`relaxations/single_branches.py`),
which says more where that is the even one.

Where shared loops may step along what readers see through windows, visits are uneven: such an operation weighs at least
what `PartBounds` says of it. Where there is one such operation, or one that reads through a window that slides, one
loop alone is looked at. Windows side by side, as heads of an attention, leave visits even, and do not slide.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...cost_models.cost import capacity_parts, tensor_tile_words
from ...cost_models.sets import tiles_overlap
from ...ir import Cascade, Operation, Role, Tensor
from ..tilings import prime_exponents
from .question import CascadeQuestion
from .relaxations.part_bounds import PartBounds
from .relaxations.run_exchanges import CutRun, RunExchanges
from .relaxations.shared_steps import Homes, LyingTensors, Passes, SharedSteps, Steps, visits_of
from .relaxations.single_branches import SingleBranches
from .terms.apart_ranks import slides
from .terms.branch import BranchQuestion, BranchSolver, Room
from .terms.equal import form_of
from .terms.operation_orders import MOST_ORDERS, orders
from .terms.parts import less_room
from .terms.sharing import SharedDim, shared_dims
from .terms.upper_memories import UpperMemories
from .terms.weights import Weights
from .terms.windowed import windowed_dims
from .tree_search import Fuse

SingleLeast = dict[object, float]
"""By weights, form of an operation, homes, room and step: what it weighs at least on its own."""

Options = tuple[tuple[str, ...], ...]
"""By tensor of an operation, memories of which one is its home."""

Users = set[tuple[str, Role]]
"""Tensors that some operations use, and in which roles."""


def is_bounded_by_singles(question: CascadeQuestion, memories: UpperMemories, weights: Weights) -> bool:
    """Whether bounds are as quick as they should be: of energy alone, where one choice of homes is best."""
    timed = not weights.energy_only or question.arch.total_leakage_pj_per_cycle > 0
    return not timed and memories.nearer_is_cheaper and question.tiling == "perfect"


@dataclass
class SingleBounds:
    """Bounds of one cascade on one machine, by weights of energy alone on a machine that does not leak.

    solver  of operations in the uneven space, on the machine with single copies
    branches  what branches weigh at least
    near    what operations weigh at least with all tensors near
    fuse    of the trees that are bounded, as of `TreeSearch`
    stays   (tensor, memory) of tensors from outside that lie there whole
    known   what is known of single operations; more is noted there
    """

    cascade: Cascade
    memories: UpperMemories
    solver: BranchSolver
    branches: SingleBranches
    near: PartBounds
    weights: Weights
    fuse: Fuse
    stays: dict[str, str]
    known: SingleLeast = field(default_factory=dict)
    _runs: dict[object, float] = field(default_factory=dict)
    _forms: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        near, energy = self.near.alone, self.weights.energy
        self.steps = SharedSteps(self.memories, self.cascade.intermediates, near, energy, self._weigh)
        self.exchanges = RunExchanges(self.cascade, self.memories, self.stays, self._shared)

    def of_all(self, above: float = 0.0) -> float:
        """What the whole cascade weighs at least, in any order; 0 where there are too many, or where that is seen to be
        no more than `above`: one way to do all in one run is enough for it, and few single operations."""
        found = list(itertools.islice(orders(self.cascade), MOST_ORDERS + 1))
        if len(found) > MOST_ORDERS or (above and any(self._may_weigh(names, above) for names in found)):
            return 0.0
        return min(map(self.of, found))

    def _may_weigh(self, names: Sequence[str], weight: float) -> bool:
        """Whether all operations in one run are bounded by no more than so much."""
        several = len(names) > 1 and not any(operation.iterates or operation.generations for operation in self.cascade)
        return several and self._run(tuple(names), ()) <= weight

    def of(self, names: Sequence[str]) -> float:
        """What the whole cascade weighs at least, its operations done in an order."""
        if any(operation.iterates or operation.generations for operation in self.cascade):
            return 0.0
        least = [0.0, *(math.inf for _ in names)]
        for end in range(1, len(names) + 1):
            for start in range(end):
                least[end] = min(least[end], least[start] + self._run(tuple(names[start:end]), tuple(names[:start])))
        return least[-1]

    # ---- runs ----------------------------------------------------------------------------------------------

    def _run(self, names: tuple[str, ...], before: tuple[str, ...]) -> float:
        """What some operations one after the other weigh at least that are one branch, or all.

        before  those that are done before them
        """
        used = _users(self.cascade.operation(name) for name in before)
        key = names, frozenset(used)
        if key not in self._runs:
            self._runs[key] = self._new_run(names, used)
        return self._runs[key]

    def _new_run(self, names: tuple[str, ...], used: Users) -> float:
        if len(names) > 1:
            return self._several(names, used)
        operation = self.cascade.operation(names[0])
        least = self._least(operation, self._options(operation, (), names, used))
        return max(least, self._alone(operation, used)) if self.is_plain else least

    @cached_property
    def is_plain(self) -> bool:
        """Whether all visits of all operations are even, and none reads through windows that slide. Else bounds are not
        as close as they might be: these cascades are many in a network, and their searches short."""
        sliding = (
            slides(rank, operation.problem.sizes)
            for operation in self.cascade
            for tensor in operation.problem.tensors
            for rank in tensor.ranks
        )
        return not any(sliding) and all(map(self._is_even, self.cascade))

    def _several(self, names: tuple[str, ...], used: Users) -> float:
        """What several operations weigh at least that make the steps of one loop, by where they exchange what they
        make; infinite where there is no such loop."""
        shared = self._shared(names)
        operations = [self.cascade.operation(name) for name in names]
        options = [self._options(operation, operations[:i], names, used) for i, operation in enumerate(operations)]
        if not self.is_plain:
            return min(self._by_one_loop(operations, options, shared), default=math.inf)
        if not shared:
            return math.inf
        least = math.inf
        for exchange in self.exchanges.choices(names):
            homes = [
                tuple(
                    self.exchanges.home(exchange, operation, tensor) or each[-1]
                    for tensor, each in zip(operation.problem.tensors, own, strict=True)
                )
                for operation, own in zip(operations, options, strict=True)
            ]
            least = min(least, self._exchanging(operations, homes, exchange.memories, shared, least))
        return least

    def _exchanging(
        self,
        operations: Sequence[Operation],
        homes: Sequence[tuple[str, ...]],
        exchanged: Mapping[str, str],
        shared: Sequence[SharedDim],
        cutoff: float,
    ) -> float:
        """What operations of a run weigh at least, or the cutoff if that is less, that exchange what they make in some
        memories: some loop has several trips; and each intermediate without room as a whole is cut by loops."""
        room = self.memories.room
        plain = [self._weigh(op, own, (), (1,) * len(own), room) for op, own in zip(operations, homes, strict=True)]
        least, passed_on = sum(plain), frozenset(set(self.cascade.intermediates) - exchanged.keys())
        if least >= cutoff:
            return cutoff
        least = max(
            least, self.steps.least(operations, homes, shared, 2, LyingTensors(passed_on), at_once=len(operations) == 2)
        )
        if least < cutoff:
            more = CutRun(operations, homes, plain, exchanged, passed_on, self.exchanges, self.steps, self._shared)
            least = max(least, sum(plain) + more.of(0, len(operations)))
        return min(least, cutoff)

    def _by_one_loop(
        self, operations: Sequence[Operation], options: Sequence[Options], shared: Sequence[SharedDim]
    ) -> Iterator[float]:
        """What operations weigh at least, for each loop that they may make the steps of. Fewer steps never cost more,
        so loops of prime trips stand for all."""
        for dim in shared:
            beside = [other for other in shared if other is not dim]
            size = next(op.problem.sizes[dim.of(op.name)] for op in operations if op.name not in dim.uneven)
            for trips in prime_exponents(size):
                total = 0.0
                for operation, own in zip(operations, options, strict=True):
                    total += self._least(operation, own, self._step(operation, dim, beside, trips, own))
                yield total

    def _step(
        self, operation: Operation, dim: SharedDim, beside: Sequence[SharedDim], trips: int, options: Options
    ) -> Steps:
        """A shared loop, where each of its steps costs an operation as much as a tile of its own; nothing where a node
        above the loop may spare it some of that, or steps are uneven."""
        own, arch = dim.of(operation.name), self.memories.arch
        if operation.name in dim.uneven and not self._is_even(operation):
            return ()
        overlapping = {t.name for t in operation.problem.tensors if tiles_overlap(t, own, arch.footprint)}
        if overlapping and any(memory.halo != "none" for memory in arch.memories):
            return ()  # what two steps have in common may remain in a node
        smallest = dict(operation.problem.dims) | {other.of(operation.name): 1 for other in beside}
        smallest[own] = operation.problem.sizes[own]
        for tensor, homes in zip(operation.problem.tensors, options, strict=True):
            passes_on = own in tensor.dims and tensor.name not in overlapping
            if not passes_on and self._keeping(tensor, homes[-1], smallest):
                return ()
        return ((own, trips),)

    def _shared(self, names: tuple[str, ...]) -> list[SharedDim]:
        """Dimensions of which operations may share loops."""
        if self.fuse in ("none", "whole"):
            return []
        return [dim for dim in shared_dims(self.cascade, names) if not dim.uneven or self.fuse == "all"]

    def _weigh(self, operation: Operation, homes: Homes, steps: Steps, passes: Passes, room: Room) -> float:
        """What an operation of a run of several weighs at least, with its homes, steps of loops, how often tensors come
        there, and the room that is left."""
        return self._in_run(operation, tuple((home,) for home in homes), steps, passes, room)

    # ---- homes ---------------------------------------------------------------------------------------------

    def _options(
        self, operation: Operation, before: Sequence[Operation], names: tuple[str, ...], used: Users
    ) -> Options:
        """By tensor of an operation of a run, memories that may be its home.

        before  operations of the run that are done before
        used    what operations before the run use
        """
        near = _users(before)
        return tuple(self._homes(operation, tensor, names, near, used) for tensor in operation.problem.tensors)

    def _homes(
        self,
        operation: Operation,
        tensor: Tensor,
        names: tuple[str, ...],
        near: Users,
        used: Users,
        every: bool = False,
    ) -> tuple[str, ...]:
        """Memories that a tensor may come from or go to, of which one is cheapest; the innermost alone, where nearer
        ones are cheaper, unless every one is wanted."""
        name, whole = tensor.name, operation.problem.sizes
        home = self.stays.get(name, self.memories.outermost)
        found = {home}
        if self.fuse != "none":
            if name in self.cascade.intermediates:
                users = {self.cascade.producers[name].name, *(user.name for user in self.cascade.consumers[name])}
                written = self.cascade.producers[name]
                inside = set() if users <= set(names) else set(self._with_room(written.output, written.problem.sizes))
                exchanging = self.memories.exchanging(self.cascade, name)
                found |= {memory for memory in exchanging if users <= set(names) or memory in inside}
            found |= {m for other, role in near if other == name for m in self._keeping(tensor, home, None, role)}
            found |= {m for other, role in used if other == name for m in self._keeping(tensor, home, whole, role)}
        ordered = tuple(sorted(found, key=self.memories.depth.__getitem__))
        return ordered[-1:] if self.memories.nearer_is_cheaper and not every else ordered

    def _keeping(
        self, tensor: Tensor, home: str, sizes: Mapping[str, int] | None, role: Role | None = None
    ) -> list[str]:
        """Memories further in than a home that may keep a tile of a tensor, and have room for it; None: of any size.

        role  that it has for another operation that uses the same node
        """
        room = None if sizes is None else set(self._with_room(tensor, sizes))
        inner = self.memories.upper[self.memories.depth[home] + 1 :]
        roles = {tensor.role, role or tensor.role}
        kept = [memory.name for memory in inner if all(memory.keeps[one] != "never" for one in roles)]
        return [memory for memory in kept if room is None or memory in room]

    def _with_room(self, tensor: Tensor, sizes: Mapping[str, int]) -> Iterator[str]:
        """Memories with room for a tile of a tensor, in any part of them."""
        arch = self.memories.arch
        bits = tensor_tile_words(tensor, sizes, arch.footprint) * arch.width_bits(tensor)
        for memory in self.memories.upper:
            if bits <= max((part.bits for part in capacity_parts(memory)), default=bits):
                yield memory.name

    # ---- branches ------------------------------------------------------------------------------------------

    def _alone(self, operation: Operation, used: Users) -> float:
        """What an operation weighs at least that is a branch below no loops.

        used  what operations before it use
        """
        stays = self.memories.bits_of_stays(self.cascade, self.stays.items())[operation.name]
        room = less_room(self.memories.room, stays)
        if room is None:
            return math.inf
        names, outside = (operation.name,), set(self.cascade.tensors) - set(self.cascade.intermediates)
        free = [self._homes(operation, t, names, set(), used, every=True) for t in operation.problem.tensors]
        passes = [int(tensor.name in outside and self.fuse != "none") for tensor in operation.problem.tensors]
        options = self.branches.options(operation, free, passes)
        key = "alone", self.weights, self._form(operation), options, room
        if key not in self.known:
            self.known[key] = self.branches.alone(operation, options, room, self.stays, outside)
        return self.known[key]

    def _in_run(self, operation: Operation, options: Options, steps: Steps, passes: Passes, room: Room) -> float:
        """What an operation of a run of several weighs at least.

        steps   of loops, each of which is a visit
        passes  by tensor, how often its words come from its home
        room    bits that what is exchanged leaves
        """
        paid = self.branches.options(operation, options, passes)
        key = "in run", self.weights, self._form(operation), paid, _numbered(operation, steps), room
        if key not in self.known:
            self.known[key] = self.branches.in_run(operation, paid, steps, room)
        return self.known[key] if steps else max(self._least(operation, options), self.known[key])

    def _is_even(self, operation: Operation) -> bool:
        """Whether all visits of an operation are alike, and their tiles divide it, whatever loops are shared."""
        if self.fuse != "all":
            return True
        sizes = operation.problem.sizes
        windows = windowed_dims(self.cascade, operation)
        return all(not one.extra and all(sizes[one.dim] % step == 0 for step in one.steps) for one in windows)

    # ---- single operations ---------------------------------------------------------------------------------

    def _least(self, operation: Operation, options: Options, steps: Steps = ()) -> float:
        """What one operation weighs at least, as a mapping of the uneven space.

        steps  of loops, each of which is a visit
        """
        if not self._is_even(operation):
            return self._uneven(operation, options)
        key = self.weights, self._form(operation), options, self.memories.room, _numbered(operation, steps)
        if key not in self.known:
            self.known[key] = self._least_of_new(operation, options, steps)
        return self.known[key]

    def _form(self, operation: Operation) -> object:
        """What equal operations have in common."""
        if operation.name not in self._forms:
            self._forms[operation.name] = form_of(Cascade(operation.name, (operation,)), self.memories.arch)
        return self._forms[operation.name]

    def _uneven(self, operation: Operation, options: Options) -> float:
        """What an operation weighs at least, even if its visits are uneven: with all tensors near, and each word from
        its home once."""
        tensors, sizes = (tensor.name for tensor in operation.problem.tensors), operation.problem.dims
        further = (
            min(self.near.alone.far(operation, tensor, sizes, home)[0] for home in homes)
            for tensor, homes in zip(tensors, options, strict=True)
        )
        return self.weights.energy * (self.near.alone.nearest_pj(operation.name) + sum(further))

    def _least_of_new(self, operation: Operation, options: Options, steps: Steps) -> float:
        least = math.inf
        tile, visits, again = visits_of(operation, steps)
        every = frozenset(operation.problem.dim_names)
        for chosen in itertools.product(*options):
            homes = tuple(sorted(zip((t.name for t in operation.problem.tensors), chosen, strict=True)))
            asked = BranchQuestion(operation.name, tile, homes, self.memories.room, again, cut=every)
            least = min(least, visits * self.solver.lower(asked, self.weights, least / visits))
        return max(least, self._uneven(operation, options))  # where time was too short for a search


def _numbered(operation: Operation, steps: Steps) -> tuple[tuple[int, int], ...]:
    """Steps with the numbers of their dimensions: the same for equal operations."""
    return tuple(sorted((operation.problem.dim_names.index(dim), trips) for dim, trips in steps))


def _users(operations: Iterable[Operation]) -> Users:
    """What operations use, and in which roles."""
    return {(tensor.name, tensor.role) for operation in operations for tensor in operation.problem.tensors}
