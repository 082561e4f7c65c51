"""The best tree for a cascade: branch and bound over parts (`parts.py`), each mapped from the outside in.

A part of several operations has loops, nodes of tensors that come from outside, and a split. Everything inside it costs
the same in the mean for every one of its visits, whatever stands outside: that is what docs/cascades.md counts. So
parts are searched on their own, and each is known once for all trees that it occurs in.

The space: splits stand outside all arrays; a split has at most one shared loop over a dimension of an operation; one
inside another split has shared loops; tiles of shared loops, and all below them, divide, or (`ragged`) only what
stands below a loop divides its tile (`ragged_loops.py`); intermediates pass at nodes directly above the split at which
writer and reader part, or through the outermost memory; other tensors stay at any depth among the shared loops;
branches have all mappings of the space and tiling asked for. Shared loops along what readers see through windows:
`windowed.py`.

1. `_best_of`: which dimensions are shared, in which order and tiles (`shared_loops.py`), and where tensors from outside
   stay above these loops (`node_choices.py`);
2. `_with_nodes`: what is below both;
3. `_split`: from left to right, which operations are a branch, and which memory exchanges each intermediate
   (`exchanges.py`). It is live from the branch that writes it to the last that reads it;
4. a branch of one operation is answered by a `BranchSolver`; one of several is again a part, that has loops.

What has the lowest bound (`part_bounds.py`) is looked at next, until none lies below the best part found.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from ...ir import Cascade, Loop, Node, Renews, Tree
from ..certificate import RELATIVE_TOLERANCE
from ..means import Means, OutOfMeans
from ..space import Space
from ..tilings import Tiling
from .branch import BranchAnswer, BranchMapping, BranchQuestion, BranchSolver
from .exchanges import Exchange, Exchanges
from .generations import Generations, homes_of
from .node_choices import NodeChoice, NodeChoices
from .oracle import ExactBranches
from .part_bounds import Nearest, PartBounds
from .parts import FoundPart, Outcome, VisitedPart, less_room, less_rooms, some_of, with_busy
from .placing import Placing
from .ragged_loops import Overs, RaggedLoops, below_loops
from .shared_loops import Loops, SharedLoops, loop_item
from .sums import NARROW, Sums
from .tree_constraints import ANY_TREE, TreeConstraints
from .upper_memories import Floats, UpperMemories
from .weights import Weights, Yardstick
from .window_passing import WindowPassing
from .windowed import covering

Fuse = Literal["all", "plain", "whole", "none"]

MOST_IN_VAIN = 4
"""Times as many choices that are looked at where a beam has found nothing yet."""

MOST_BRANCHES = 4
"""Operations of which all ways to part them are bounded before any is searched."""


@dataclass
class TreeSearch:
    """Trees of one cascade on one machine, by one weight.

    fuse      `all`: whatever the space has; `plain`: but for shared loops along which readers see windows; `whole`: no
              shared loops; `none`: every intermediate through the outermost memory
    sums      what is taken for granted of partial sums
    branches  branches that were asked for
    flat      look at trees with one split alone, of which each operation is a branch; and one inside it, where not all
              operations can make the steps of an iteration together
    beam      look at no more than so many choices of nodes, and of loops with them, of a part, and pass intermediates
              in the nearest memory with room alone: a good tree soon, and no proof; None: look at all
    ragged    shared loops may have a last step that is shorter (`ragged_loops.py`), and below them only the tiles along
              their dimensions divide; else all tiles below shared loops divide, and tiles of these
    incumbent, open_bound  where means run out: the best whole tree so far, and what no other one weighs less than
    pruned    choices that were left aside, by rule
    constraints  that trees have to satisfy
    stays     (tensor, memory) of tensors from outside that lie there whole
    nearest   what single operations cost at least, as far as that is known
    floor     what no whole tree weighs less than: one that weighs as much ends the search
    """

    cascade: Cascade
    memories: UpperMemories
    space: Space
    tiling: Tiling
    weights: Weights
    solver: BranchSolver
    means: Means
    fuse: Fuse = "all"
    sums: Sums = NARROW
    flat: bool = False
    beam: int | None = None
    ragged: bool = False
    branches: int = 0
    incumbent: FoundPart | None = None
    open_bound: float = 0.0
    pruned: Counter[str] = field(default_factory=Counter)
    constraints: TreeConstraints = ANY_TREE
    stays: tuple[tuple[str, str], ...] = ()
    nearest: Nearest = field(default_factory=dict)
    floor: float = 0.0
    _known: dict[VisitedPart, Outcome] = field(init=False, default_factory=dict)
    _seconds: dict[str, float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        leaves_alone = self.flat and not any(operation.iterates for operation in self.cascade)
        self.placing, fuses = Placing(self.cascade, self.memories, self.space, leaves_alone), self.fuse != "none"
        placing = self.placing
        searched = self.fuse == "all" and isinstance(self.solver, ExactBranches)  # tables know no windows
        self.windows = WindowPassing(self.cascade, self.memories, placing, searched, self.sums.wide, self.constraints)
        self.bounds = PartBounds(
            self.cascade, self.memories, self.space, self.weights, self.solver, placing, searched, self.nearest
        )
        steps = self.generations = Generations(self.cascade, self.memories, placing, self.sums.wide, self.constraints)
        ragged = RaggedLoops(self.cascade, self.memories.arch, self.ragged)
        self.loops = SharedLoops(self.bounds, self.means, self.pruned, self.constraints, self.windows, steps, ragged)
        self.nodes = NodeChoices(self.bounds, self.windows, fuses, steps, self.pruned, self.beam)
        self.exchanges = Exchanges(
            self.cascade, self.memories, placing, fuses, self.sums.wide, self.constraints, self.beam is not None
        )

    @property
    def shares_loops(self) -> bool:
        """Whether trees have shared loops."""
        return self.fuse in ("all", "plain")

    def whole(self, names: Sequence[str], cutoff: float = math.inf, floor: float = 0.0) -> Outcome:
        """The whole cascade, its operations done in an order.

        floor  what no such tree weighs less than
        """
        part, self.floor = self._root(names), floor
        if part is None or floor >= cutoff:
            return Outcome(math.inf if part is None else floor)
        return self._several(part, cutoff, is_root=True) if len(names) > 1 else self._only(part, cutoff)

    def _only(self, part: VisitedPart, cutoff: float) -> Outcome:
        """A cascade of one operation: its branch is all there is, and what it has come to when means run out is an
        answer to the whole."""
        try:
            return self._least_of_way(part, part.questions(self.bounds.timed)[0], cutoff)
        except OutOfMeans:
            if isinstance(self.solver, ExactBranches) and self.solver.unfinished is not None:
                bound, mapping = self.solver.unfinished
                self.open_bound = (self.weights.energy or self.weights.latency) * bound
                self.incumbent = self.leaf(part, mapping)
            raise

    def bound_of_whole(self, names: Sequence[str]) -> float:
        """What the whole cascade weighs at least, its operations done in an order, as far as can be seen without a
        search."""
        part = self._root(names)
        return math.inf if part is None else self.bounds.of(part)

    def bound_without_loops(self, names: Sequence[str], cutoff: float = math.inf) -> float:
        """What trees of the whole cascade without loops at the top weigh at least, or the cutoff if that is less, by
        what their branches do; 0 for many operations."""
        part, least = self._root(names), cutoff
        if len(names) > MOST_BRANCHES or part is None:
            return 0.0
        for nodes in self._nodes_with(part, (), cutoff):
            fixed = self.weights.energy * nodes.energy_pj
            split = self._least_split(self._inside(part, (), nodes), 0, (), least - fixed)
            least = min(least, max(nodes.bound, fixed + split))
        return least

    def _root(self, names: Sequence[str]) -> VisitedPart | None:
        """All of it; None where what stays on chip has no room."""
        operations = [self.cascade.operation(name) for name in names]
        inside, outermost = self.cascade.intermediates, self.memories.outermost
        homes = {t.name: outermost for op in operations for t in op.problem.tensors if t.name not in inside}
        taken = self.memories.bits_of_stays(self.cascade, self.stays, self.sums.wide)
        rooms = [less_room(self.memories.room, taken[name]) for name in names]
        found = tuple(room for room in rooms if room is not None)
        if len(found) < len(names):
            return None
        return VisitedPart(
            tuple(names),
            tuple(op.problem.dims for op in operations),
            tuple(sorted((homes | dict(self.stays)).items())),
            (1,) * len(names),
            found,
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
        bound = self.bounds.close(part)
        if bound >= cutoff:
            return Outcome(bound)
        first: Tree | None = None
        heaviest = Outcome(0.0)
        for way in part.questions(self.bounds.timed):
            outcome = self._least_of_way(part, way, cutoff)
            if outcome.found is None:
                return outcome
            first = outcome.found.tree if first is None else first
            if outcome.bound >= heaviest.bound:
                heaviest = Outcome(outcome.bound, replace(outcome.found, tree=first))
        return heaviest

    def _least_of_way(self, part: VisitedPart, way: Sequence[tuple[float, BranchQuestion]], cutoff: float) -> Outcome:
        """What a branch weighs at least, by tiles that stand for its visits."""
        least = [share * self.solver.bound(question, self.weights) for share, question in way]
        found = FoundPart(0.0, 0.0, Tree(()))
        for i, (share, question) in enumerate(way):
            others = self._weight(found) + sum(least[i + 1 :])
            answer = self._asked(question, (cutoff - others) / share if share else math.inf)
            if answer.mapping is None:
                return Outcome(others + share * answer.bound)
            found = FoundPart(
                found.energy_pj + share * answer.mapping.energy_pj,
                found.latency_cycles + share * answer.mapping.latency_cycles,
                found.tree if i else self.leaf(part, answer.mapping).tree,
            )
        return Outcome(self._weight(found), found)

    def _asked(self, question: BranchQuestion, cutoff: float) -> BranchAnswer:
        """A branch's best mapping, if it weighs less than the cutoff."""
        self.branches += 1
        started = time.perf_counter()
        answer = self.solver.least(question, self.weights, cutoff)
        taken, name = time.perf_counter() - started, question.operation
        self._seconds[name] = max(taken, 0.5 * self._seconds.get(name, 0.0))
        return answer

    def leaf(self, part: VisitedPart, mapping: BranchMapping) -> FoundPart:
        """A branch of one operation. Where its visits are uneven, energy and latency are bounds; the cost model has the
        last word on the whole tree."""
        least, uneven = part.part_of(0), part.uneven[0] if part.uneven else ()
        tree = Tree(covering(mapping.items, uneven), (), part.names[0])
        return FoundPart(least * mapping.energy_pj, least * mapping.latency_cycles, tree)

    def _weight(self, found: FoundPart) -> float:
        return self.weights.of(found.energy_pj, found.latency_cycles)

    # ---- loops and nodes above a split -----------------------------------------------------------------------------

    def _several(self, part: VisitedPart, cutoff: float, is_root: bool) -> Outcome:
        least = self.bounds.of(part)
        if least >= cutoff:
            return Outcome(least)
        must_step = self.flat and not is_root  # there are branches in branches for that alone
        every = self.loops.choices(part, cutoff, must_step) if self.shares_loops else ()
        if not is_root:
            return self._best_of(part, every, Outcome(cutoff))
        if self.flat:
            return self._best_of(part, itertools.chain(((least, ()),), every), Outcome(cutoff), least)
        # Without loops at the top, most of all trees are open still: a good one helps to leave them aside.
        close = self.open_bound = max(least, self.bounds.close(part), self.floor)
        close = max(close, self.bound_without_loops(part.names, cutoff))
        best = self._best_of(part, every, Outcome(cutoff), close)
        return self._best_of(part, [(close, ())], best, close)

    def _is_least(self, best: Outcome) -> bool:
        """Whether nothing can be better than what is found of the whole; not where it weighs less than it can: then it
        is a bound, and the cost model says more."""
        return best.found is not None and math.isclose(best.bound, self.floor, rel_tol=RELATIVE_TOLERANCE)

    def _least_split(self, inside: VisitedPart, start: int, live: Exchange, cutoff: float) -> float:
        """What branches from one operation on weigh at least together, or the cutoff if that is less."""
        self.means.check()
        count, least = len(inside.names), cutoff
        if start == count:
            return min(0.0, cutoff)
        for end in (end for end in range(start + 1, count + 1) if self._may_be_branch(inside, start, end)):
            for exchange in self.exchanges.choices(inside, start, end, live):
                branch = self._branch_part(inside, start, end, exchange)
                first = math.inf if branch is None else self.bounds.close(branch)
                if first < least:
                    after, still = self._after(inside, end, exchange)
                    least = min(least, first + self._least_split(after, end, still, least - first))
        return least

    def _best_of(
        self, part: VisitedPart, choices: Iterable[tuple[float, Loops]], best: Outcome, at_root: float | None = None
    ) -> Outcome:
        """The best of a part with some loops, if it is better than what is known: always what has the lowest bound is
        looked at next, be it loops, nodes with them, or these with a closer bound.

        at_root  of the whole cascade: what no choice left for later weighs less than
        """
        waiting: list[_Waiting] = [_Waiting(bound, 0, i, loops) for i, (bound, loops) in enumerate(choices)]
        heapq.heapify(waiting)
        number, looked = itertools.count(len(waiting)), 0
        while waiting and waiting[0].bound < _below(best):
            if self.beam is not None and looked >= self.beam * (1 if best.found else MOST_IN_VAIN):
                break
            self.means.check()
            if at_root is not None:
                self.open_bound = max(min(waiting[0].bound, at_root), self.floor)
                if self._is_least(best):
                    break
            bound, _, _, loops, nodes, is_close = heapq.heappop(waiting)
            if nodes is None:
                for chosen in self._nodes_with(part, loops, _below(best)):
                    heapq.heappush(waiting, _Waiting(max(bound, chosen.bound), -1, next(number), loops, chosen))
            elif not is_close:
                close = max(bound, self._close(part, loops, nodes))
                heapq.heappush(waiting, _Waiting(close, -2, next(number), loops, nodes, True))
            else:
                looked += 1
                best = self._with_nodes(part, loops, nodes, best)
                if at_root is not None and best.found is not None:
                    self.incumbent = best.found
        self.pruned["loops"] += sum(left.nodes is None for left in waiting)
        return best

    def _nodes_with(
        self, part: VisitedPart, loops: Loops, cutoff: float, measure: Yardstick | None = None
    ) -> list[NodeChoice]:
        """All nodes above a split with some loops that fit, with what passes through windows, below a cutoff.

        measure  what has to be below it, instead of what the part weighs
        """
        measure = measure or self.weights
        taken = self.windows.rooms(part, loops)
        room = None if taken is None else less_rooms(part.room, taken)
        if taken is None or room is None:
            self.pruned["capacity"] += 1
            return []
        left = replace(part, room=room)
        found = self.nodes.combined(left, self.nodes.by_tensor(left, loops), cutoff, measure)
        if not any(taken):
            return list(self._with_exchanges(part, loops, found, cutoff, measure))
        both = [tuple((*own, *more) for own, more in zip(one.taken, taken, strict=True)) for one in found]
        return [replace(one, taken=rooms) for one, rooms in zip(found, both, strict=True)]

    def _with_exchanges(
        self, part: VisitedPart, loops: Loops, found: Sequence[NodeChoice], cutoff: float, measure: Yardstick
    ) -> Iterator[NodeChoice]:
        """Nodes above a split, with what intermediates take besides, where it is known that they pass there: in the
        memories that have room for them."""
        if not self.placing.all_part_here(part) or any(loop.dim.uneven for loop in loops):
            yield from found
            return
        own = self.bounds.own(part)
        for nodes in found:
            inside = self._inside(part, loops, nodes)
            least = min(
                (
                    self.bounds.with_more(own, *self._taking(nodes, inside, loops, exchange), measure)
                    for exchange in self.exchanges.together(inside)
                ),
                default=math.inf,
            )
            if least < cutoff:
                yield replace(nodes, bound=max(nodes.bound, least))
            else:
                self.pruned["capacity"] += 1

    def _taking(self, nodes: NodeChoice, inside: VisitedPart, loops: Loops, exchange: Exchange) -> tuple[float, Floats]:
        """pJ, and (operations, ports) cycles, that some nodes above a split, and intermediates in some memories, take
        at least."""
        energy, cycles, visits = nodes.least_pj, nodes.cycles.copy(), math.prod(loop.trips for loop in loops)
        for tensor, memory, _ in exchange:
            for user in self.placing.users(inside, tensor):
                place = inside.names.index(user.name)
                more, later = self.bounds.far(user, tensor, inside.sizes[place], memory)
                times = visits * inside.full_share(place)
                energy, cycles[place] = energy + times * more, cycles[place] + times * later
        return energy, cycles

    def _close(self, part: VisitedPart, loops: Loops, nodes: NodeChoice) -> float:
        """What a part weighs at least with some loops and nodes, by what its operations would be asked below them."""
        visits = part.visits(loops)
        return self.weights.energy * nodes.energy_pj + visits * self.bounds.close(self._inside(part, loops, nodes))

    # ---- the split -----------------------------------------------------------------------------------------

    def _with_nodes(self, part: VisitedPart, loops: Loops, nodes: NodeChoice, best: Outcome) -> Outcome:
        """The best of a part with some loops and nodes above its split, if it is better than what is known."""
        inside, visits = self._inside(part, loops, nodes), part.visits(loops)
        fixed = self.weights.energy * nodes.energy_pj
        split = self._split(inside, 0, (), (_below(best) - fixed) / visits)
        if split is None or fixed + visits * split.weight >= _below(best):
            return best
        found = FoundPart(
            nodes.energy_pj + visits * split.energy_pj,
            visits * split.latency_cycles,
            self._tree(part, loops, nodes, split),
            self._stored(loops, split),
        )
        return Outcome(self._weight(found), found)

    def _stored(self, loops: Loops, split: Split) -> frozenset[str]:
        """Intermediates that pass through the outermost memory."""
        passing = [(one.tensor, one.memory) for loop in loops for one in loop.passes]
        passing += homes_of(loops).items()
        return split.stored | {tensor for tensor, memory in passing if memory == self.memories.outermost}

    def _inside(self, part: VisitedPart, loops: Loops, nodes: NodeChoice) -> VisitedPart:
        """What is below the loops and nodes of a part."""
        room = less_rooms(part.room, nodes.taken)
        assert room is not None
        visits = part.visits(loops)
        homes = dict(part.homes) | homes_of(loops)
        homes |= {tensor: chain[-1][0] for tensor, chain in nodes.chains if chain}
        homes |= {one.tensor: one.memory for loop in loops for one in loop.passes}
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
            apart=part.apart | self.placing.apart(part, [loop.dim for loop in loops]),
        )

    def _cut(self, part: VisitedPart, loops: Loops) -> tuple[frozenset[str], ...]:
        """By operation, dimensions along which tiles divide that of a visit below some loops."""
        every = (frozenset(self.cascade.operation(name).problem.dim_names) for name in part.names)
        if not self.ragged:
            return tuple(dims if part.steps or loops else frozenset() for dims in every)
        before = part.cut or (frozenset[str](),) * len(part.names)
        return tuple(own | {loop.dim.of(name) for loop in loops} for name, own in zip(part.names, before, strict=True))

    def _over(self, part: VisitedPart, loops: Loops) -> tuple[Overs, ...]:
        """By operation, dimensions along which the last visit below some loops is shorter."""
        return tuple(
            below_loops(self.cascade.operation(name), part.sizes[place], part.over_of(place), loops)
            for place, name in enumerate(part.names)
        )

    def _split(self, inside: VisitedPart, start: int, live: Exchange, cutoff: float) -> Split | None:
        """The best branches from one operation on, that weigh less than the cutoff together.

        live  intermediates that are live: tensor, memory, and bits that they take
        """
        count = len(inside.names)
        if start == count:
            return Split(0.0, 0.0, 0.0)
        best: Split | None = None
        if self.bounds.of(some_of(inside, start, count)) >= cutoff:
            return None
        rest_of = [self.bounds.close(some_of(inside, end, count)) for end in range(start, count + 1)]
        if rest_of[0] >= cutoff:
            return None
        for end in range(start + 1, count + 1):
            if not self._may_be_branch(inside, start, end):
                continue
            for exchange in self.exchanges.choices(inside, start, end, live):
                limit = cutoff if best is None else best.weight * (1 - RELATIVE_TOLERANCE)
                found = self._first_and_rest(inside, start, end, exchange, limit, rest_of[end - start])
                if found is not None and found.weight < limit:
                    best = found
        return best

    def _may_be_branch(self, inside: VisitedPart, start: int, end: int) -> bool:
        """Whether some operations may be one branch of a split: those that are uneven, or read what is, are alone."""
        if not self.generations.may_be_branch(inside, start, end):
            return False
        if end - start == 1:
            return True
        nests = not self.flat or self.generations.steps_together(inside, start, end)
        nests &= self.shares_loops and end - start < len(inside.names)
        return nests and not inside.alone & set(inside.names[start:end])

    def _first_and_rest(
        self, inside: VisitedPart, start: int, end: int, exchange: Exchange, limit: float, rest_bound: float
    ) -> Split | None:
        """A branch, and the best of those after it: one does not depend on the other, once it is known what they
        exchange. So what is known sooner comes first: it may show that the other need not be looked at."""
        after, still = self._after(inside, end, exchange)
        count = len(inside.names)
        rest: Split | None = None
        if self._takes_long(inside.names[start:end]) > self._takes_long(inside.names[end:]):
            first = self.bounds.close(some_of(after, start, end))
            rest = self._split(after, end, still, limit - first)
            if rest is None:
                return None
            rest_bound = rest.weight
        outcome = self._branch(inside, start, end, exchange, limit - rest_bound)
        if outcome is None or outcome.found is None:
            return None
        rest = rest or (self._split(after, end, still, limit - outcome.bound) if end < count else Split(0.0, 0.0, 0.0))
        return None if rest is None else self._joined(outcome.found, rest, exchange)

    def _after(self, inside: VisitedPart, end: int, exchange: Exchange) -> tuple[VisitedPart, Exchange]:
        """What branches from one operation on find, and which intermediates are live for them."""
        homes = dict(inside.homes) | {tensor: memory for tensor, memory, _ in exchange}
        return replace(inside, homes=tuple(sorted(homes.items()))), self.exchanges.live_after(inside, end, exchange)

    def _joined(self, first: FoundPart, rest: Split, exchange: Exchange) -> Split:
        """A branch with those after it."""
        outermost = self.memories.outermost
        return Split(
            self._weight(first) + rest.weight,
            first.energy_pj + rest.energy_pj,
            first.latency_cycles + rest.latency_cycles,
            (first.tree, *rest.branches),
            first.stored | rest.stored | {t for t, memory, _ in exchange if memory == outermost},
            rest.exchanged | {(t, memory) for t, memory, _ in exchange if memory != outermost},
        )

    def _takes_long(self, names: Sequence[str]) -> float:
        """Seconds that looking at some operations may take: of single ones, what it took until now."""
        if len(names) > 1:
            return math.inf
        return sum(self._seconds.get(name, 0.0) for name in names)

    def _branch(self, inside: VisitedPart, start: int, end: int, exchange: Exchange, cutoff: float) -> Outcome | None:
        """One branch of a split; None where it has no room."""
        part = self._branch_part(inside, start, end, exchange)
        return None if part is None else self.least(part, cutoff)

    def _branch_part(self, inside: VisitedPart, start: int, end: int, exchange: Exchange) -> VisitedPart | None:
        """What one branch of a split finds; None where it has no room."""
        taken = tuple(tuple(bits for _, _, held in exchange for bits in held[i]) for i in range(start, end))
        room = less_rooms(inside.room[start:end], taken)
        if room is None:
            return None
        homes = dict(inside.homes) | {tensor: memory for tensor, memory, _ in exchange}
        branch = some_of(inside, start, end)
        used = {t.name for name in branch.names for t in self.cascade.operation(name).problem.tensors}
        return replace(
            branch,
            room=room,
            homes=tuple(sorted((t, m) for t, m in homes.items() if t in used)),
            finished=self._comes_finished(branch, exchange),
        )

    def _comes_finished(self, branch: VisitedPart, exchange: Exchange) -> bool:
        """Whether it is taken for granted that an operation's output comes to a node at the split finished."""
        if len(branch.names) > 1 or branch.again[0] > 1:
            return False
        output = self.cascade.operation(branch.names[0]).output.name
        passes_here = any(tensor == output and memory != self.memories.outermost for tensor, memory, _ in exchange)
        return passes_here and output in self.sums.finished

    def _tree(self, part: VisitedPart, loops: Loops, nodes: NodeChoice, split: Split) -> Tree:
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


@dataclass(frozen=True)
class Split:
    """Branches of a split, one after the other, for one visit.

    exchanged  intermediates that nodes directly above the split hold, with their memories
    """

    weight: float
    energy_pj: float
    latency_cycles: float
    branches: tuple[Tree, ...] = ()
    stored: frozenset[str] = frozenset()
    exchanged: frozenset[tuple[str, str]] = frozenset()


class _Waiting(NamedTuple):
    """A choice that has not been looked at: the lowest bound is next, and of equal ones what is decided further.

    is_close  whether the bound is that of what operations would be asked
    """

    bound: float
    later: int
    number: int
    loops: Loops
    nodes: NodeChoice | None = None
    is_close: bool = False


def _below(best: Outcome) -> float:
    """What a bound has to stay below to be of interest."""
    return best.bound if best.found is None else best.bound * (1 - RELATIVE_TOLERANCE)
