"""The best tree for a cascade: branch and bound over parts (`terms/parts.py`), each mapped from the outside in.

A part of several operations has loops, nodes of tensors that come from outside, and a split. Everything inside it costs
the same in the mean for every one of its visits, whatever stands outside: that is what docs/cascades.md counts. So
parts are searched on their own, and each is known once for all trees that it occurs in.

The space: splits stand outside all arrays; a split has at most one shared loop over a dimension of an operation; one
inside another split has shared loops; tiles of shared loops, and all below them, divide, or (`ragged`) only what
stands below a loop divides its tile (`terms/ragged_loops.py`); intermediates pass at nodes directly above the split at
which writer and reader part, or through the outermost memory; other tensors stay at any depth among the shared loops;
branches have all mappings of the space and tiling asked for. Shared loops along what readers see through windows:
`terms/windowed.py`.

1. `_best_of`: which dimensions are shared, in which order and tiles (`space/shared_loops.py`), and where tensors from
   outside stay above these loops (`space/node_choices.py`);
2. `with_nodes`: what is below both (`space/above_splits.py`);
3. `_split`: from left to right, which operations are a branch, and which memory exchanges each intermediate
   (`space/splits.py`, `terms/exchanges.py`). It is live from the branch that writes it to the last that reads it;
4. a branch of one operation is answered by a `BranchSolver` (`space/leaves.py`); one of several is again a part, that
   has loops.

What has the lowest bound (`relaxations/part_bounds.py`) is looked at next (`mapper/kernel/`), until none lies below the
best part found.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...ir import Cascade
from ..constraints.trees import ANY_TREE, TreeConstraints
from ..effort import TREE_EFFORT
from ..kernel.best_first import BestFirst
from ..kernel.incumbents import BestAnswers
from ..kernel.states import Closed, OpenState
from ..kernel.tolerance import cutoff_of, is_equal
from ..means import Means, OutOfMeans
from ..pareto.weights import Weights
from ..question import Fuse
from ..space import Space
from ..tilings import Tiling
from .branches.oracle import ExactBranches
from .relaxations.operation_bounds import Nearest
from .relaxations.part_bounds import PartBounds
from .relaxations.room_bounds import RoomBounds
from .space.above_splits import AboveSplits
from .space.fewer_steps import Chances, FewerSteps
from .space.leaves import Leaves
from .space.node_choices import NodeChoice, NodeChoices
from .space.shared_loops import Loops, OpenLoops, SharedLoops
from .space.splits import Split, Splits
from .tables.tables import TableBranches
from .terms.branch import BranchSolver
from .terms.exchanges import Exchange, Exchanges
from .terms.generations import Generations
from .terms.parts import FoundPart, Outcome, VisitedPart, less_room, some_of
from .terms.placing import Placing
from .terms.ragged_loops import RaggedLoops
from .terms.sums import NARROW, Sums, sums_of_stays
from .terms.upper_memories import UpperMemories
from .terms.window_passing import WindowPassing


@dataclass
class TreeSearch:
    """The best-first search over the trees of one cascade on one machine, by one weighted sum.

    fuse      `all`: whatever the space has; `plain`: but for shared loops along which readers see windows; `whole`: no
              shared loops; `none`: every intermediate through the outermost memory
    sums      what is taken for granted of partial sums
    flat      look at trees with one split alone, of which each operation is a branch; and one inside it, where not all
              operations can make the steps of an iteration together
    beam      look at no more than so many choices of nodes, and of loops with them, of a part, and pass intermediates
              in the nearest memory with room alone: a good tree soon, and no proof; None: look at all
    ragged    shared loops may have a last step that is shorter (`terms/ragged_loops.py`), and below them only the
              tiles along their dimensions divide; else all tiles below shared loops divide, and tiles of these
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
    incumbent: FoundPart | None = None
    open_bound: float = 0.0
    pruned: Counter[str] = field(default_factory=Counter)
    constraints: TreeConstraints = ANY_TREE
    stays: tuple[tuple[str, str], ...] = ()
    nearest: Nearest = field(default_factory=dict)
    floor: float = 0.0
    _known: dict[VisitedPart, Outcome] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        leaves_alone = self.flat and not any(operation.iterates for operation in self.cascade)
        self._comparing = Chances()
        self.placing = Placing(self.cascade, self.memories, self.space, leaves_alone)
        given = self.placing, self.means, self.pruned, self.sums, self.constraints
        how = self.fuse, self.flat, self.beam, self.ragged
        searched = self.fuse == "all" and isinstance(self.solver, ExactBranches)  # tables know no windows
        is_greedy = isinstance(self.solver, ExactBranches) and self.solver.greedy  # then bounds lead, and prove nothing
        bounds_all = searched and not is_greedy
        self.windows = windows = WindowPassing(*given, *how, searched)
        self.bounds = bounds = PartBounds(
            self.cascade, self.memories, self.space, self.weights, self.solver, self.placing, bounds_all, self.nearest
        )
        self.generations = steps = Generations(*given, *how)
        self.exchanges = exchanges = Exchanges(*given, *how)
        self.nodes = NodeChoices(*given, *how, bounds, windows, steps)
        self.above = AboveSplits(*given, *how, bounds, windows, self.nodes, exchanges)
        self.splits = Splits(*given, *how, bounds, exchanges, steps)
        ragged, rooms = RaggedLoops(self.cascade, self.memories.arch, self.ragged), None
        if isinstance(self.solver, TableBranches):
            rooms = RoomBounds(self.memories, self.placing, bounds.alone, self.solver)
        self.loops = SharedLoops(*given, *how, bounds, windows, steps, ragged, rooms)
        self.leaves = Leaves(self.solver, self.weights, bounds)

    def whole(self, names: Sequence[str], cutoff: float = math.inf, floor: float = 0.0) -> Outcome:
        """The whole cascade, its operations done in an order.

        floor  what no such tree weighs less than
        """
        part, self.floor = self._root(names), floor
        self.open_bound = floor
        if part is None or floor >= cutoff:
            return Outcome(math.inf if part is None else floor)
        return self._several(part, cutoff, is_root=True) if len(names) > 1 else self._only(part, cutoff)

    def _only(self, part: VisitedPart, cutoff: float) -> Outcome:
        """Search a cascade of one operation: its branch is the whole tree, and the branch's incumbent is an answer when
        means run out."""
        try:
            return self.leaves.least_of_way(part, part.questions(self.bounds.timed)[0], cutoff)
        except OutOfMeans:
            if isinstance(self.solver, ExactBranches) and self.solver.unfinished is not None:
                bound, mapping = self.solver.unfinished
                self.open_bound = (self.weights.energy or self.weights.latency) * bound
                self.incumbent = self.leaves.leaf(part, mapping)
            raise

    def bound_of_whole(self, names: Sequence[str]) -> float:
        """Return a lower bound on the whole cascade with its operations in one order, by relaxations alone."""
        part = self._root(names)
        return math.inf if part is None else self.bounds.of(part)

    def bound_without_loops(self, names: Sequence[str], cutoff: float = math.inf) -> float:
        """Return a lower bound, at most the cutoff, on trees without shared loops at the root, from the bounds of their
        branches; 0 for many operations."""
        part, least = self._root(names), cutoff
        if len(names) > TREE_EFFORT.few or part is None:
            return 0.0
        for nodes in self.above.choices(part, (), cutoff):
            fixed = self.weights.energy * nodes.energy_pj
            split = self.splits.least(self.above.inside(part, (), nodes), 0, (), least - fixed)
            least = min(least, max(nodes.bound, fixed + split))
        return least

    def apart(self, names: Sequence[str]) -> FoundPart | None:
        """The best tree in which nothing is fused, whatever constraints say; None where an operation does not fit."""
        part = self._root(names)
        return None if part is None else self.leaves.apart(part)

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
        whole = VisitedPart(
            tuple(names),
            tuple(op.problem.dims for op in operations),
            tuple(sorted((homes | dict(self.stays)).items())),
            (1,) * len(names),
            found,
            ((),) * len(names),
            steps=False,
            sums=tuple(
                sums_of_stays(self.cascade, self.memories, sorted(self.sums.wide.intersection(self.stays)), names)
            ),
        )
        return self.splits.finishing(whole)

    def least(self, part: VisitedPart, cutoff: float) -> Outcome:
        """The best mapping of a part; or, if it does not weigh less than the cutoff, that."""
        known = self._known.get(part)
        if known is not None and (known.found is not None or known.bound >= cutoff):
            return known
        self.means.check()
        is_leaf = len(part.names) == 1
        outcome = self.leaves.least(part, cutoff) if is_leaf else self._several(part, cutoff, is_root=False)
        self._known[part] = outcome
        return outcome

    # ---- loops and nodes above a split -----------------------------------------------------------------------------

    def _several(self, part: VisitedPart, cutoff: float, is_root: bool) -> Outcome:
        least = self.bounds.of(part)
        if least >= cutoff:
            return Outcome(least)
        if not is_root and self.solver.knows_all:  # others would ask for searches
            least = self.bounds.close(part)
            if least >= cutoff:
                return Outcome(least)
        must_step = self.flat and not is_root  # there are branches in branches for that alone
        every = list(self.loops.open_choices(part, cutoff, must_step)) if self.loops.shares_loops else []
        if not is_root:
            return self._best_of(part, every, Outcome(cutoff))
        if self.flat:
            return self._best_of(part, itertools.chain([OpenLoops(least, ())], every), Outcome(cutoff), least)
        # Without loops at the top, most of all trees are open still: a good one helps to leave them aside.
        close = self.open_bound = max(least, self.bounds.close(part), self.floor)
        close = max(close, self.bound_without_loops(part.names, cutoff))
        best = self._best_of(part, every, Outcome(cutoff), close)
        return self._best_of(part, [OpenLoops(close, ())], best, close)

    def _is_least(self, weight: float) -> bool:
        """Whether nothing can be better than what is found of the whole; not where it weighs less than it can: then it
        is a bound, and the cost model says more."""
        return weight < math.inf and is_equal(weight, self.floor)

    def _best_of(
        self, part: VisitedPart, choices: Iterable[OpenLoops], best: Outcome, at_root: float | None = None
    ) -> Outcome:
        """The best of a part with some loops, if it is better than what is known: always what has the lowest bound is
        looked at next, be it loops, nodes with them, or these with a closer bound.

        at_root  of the whole cascade: what no choice left for later weighs less than
        """
        every, cutoff = sorted(choices, key=lambda one: one.bound), _below(best)
        if not every or every[0].bound >= cutoff:
            self.pruned["loops"] += len(every)
            return best
        found = BestAnswers[FoundPart](ceiling=math.inf if best.found else best.bound)
        if best.found is not None:
            found.offer(Closed(best.bound, best.found))
        # Of whole trees, too many weigh little enough if there is endless room.
        compares = at_root is None and len(part.names) == 2 and self._compares_steps
        above = _AboveSplit(self, part, found, FewerSteps.of(one.loops for one in every) if compares else None)
        search = BestFirst(found, [_OpenChoices(above, every)], self.means, pruned=self.pruned)
        try:
            search.run(lambda: self._is_enough(found, above.looked, at_root is not None))
        finally:
            if at_root is not None:
                self.open_bound = max(min(search.bound, at_root), self.floor)
                self.incumbent = next(iter(found), self.incumbent)
        return Outcome(found.value, next(iter(found))) if len(found) else best

    @property
    def _compares_steps(self) -> bool:
        """Whether loops may be ruled out by others with fewer steps: not where users say which there may be."""
        proves = isinstance(self.solver, ExactBranches) and self.solver.proves and self.beam is None
        return proves and self.constraints == ANY_TREE

    def are_too_many(self, part: VisitedPart, loops: Loops, fewer: FewerSteps, cutoff: float) -> bool:
        """Whether a part weighs too much with some loops since it does with fewer steps, whatever room there is."""
        if fewer.are_ruled_out(loops):
            return True
        if not (fewer.stand_for_others(loops) and self._comparing.is_taken()):
            return False
        roomy = replace(part, room=(self.memories.endless_room,) * len(part.names))
        for nodes in self.above.choices(roomy, loops, cutoff):
            is_open = self.above.close(roomy, loops, nodes) < cutoff
            if is_open and self.with_nodes(roomy, loops, nodes, cutoff) is not None:
                self._comparing.note(in_vain=True)
                return False
        self._comparing.note(in_vain=False)
        fewer.rule_out(loops)
        return True

    def _is_enough(self, found: BestAnswers[FoundPart], looked: int, is_root: bool) -> bool:
        """Whether no more choices of a part are looked at."""
        if self.beam is not None and looked >= self.beam * (1 if len(found) else TREE_EFFORT.few):
            return True
        return is_root and self._is_least(found.value)

    # ---- the split -----------------------------------------------------------------------------------------

    def with_nodes(self, part: VisitedPart, loops: Loops, nodes: NodeChoice, cutoff: float) -> FoundPart | None:
        """The best of a part with some loops and nodes above its split, if it weighs less than the cutoff."""
        inside, visits = self.above.inside(part, loops, nodes), part.visits(loops)
        fixed = self.weights.energy * nodes.energy_pj
        split = self._split(inside, 0, (), (cutoff - fixed) / visits)
        if split is None or fixed + visits * split.weight >= cutoff:
            return None
        return self.above.found(part, loops, nodes, split)

    def _split(self, inside: VisitedPart, start: int, live: Exchange, cutoff: float) -> Split | None:
        """Return the best branches from one operation on, if together they lie below the cutoff.

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
            if not self.splits.may_be_branch(inside, start, end):
                continue
            for exchange in self.exchanges.choices(inside, start, end, live):
                limit = cutoff if best is None else cutoff_of(best.weight)
                found = self._first_and_rest(inside, start, end, exchange, limit, rest_of[end - start])
                if found is not None and found.weight < limit:
                    best = found
        return best

    def _first_and_rest(
        self, inside: VisitedPart, start: int, end: int, exchange: Exchange, limit: float, rest_bound: float
    ) -> Split | None:
        """Return a branch and the best of those after it. Given what they exchange, neither depends on the other, so
        the cheaper to search comes first: it may prune the other."""
        if rest_bound >= limit:  # also where nothing fits, and there is no limit: their difference would be no number
            return None
        after, still = self.splits.after(inside, end, exchange)
        count = len(inside.names)
        if not self.solver.knows_all and count <= TREE_EFFORT.few:
            rest_bound = max(rest_bound, self.splits.least(after, end, still, limit))
            if rest_bound >= limit:
                return None
        part = self.splits.branch_part(inside, start, end, exchange)
        outcome = None if part is None else self.least(part, limit - rest_bound)
        if outcome is None or outcome.found is None:
            return None
        rest = self._split(after, end, still, limit - outcome.bound) if end < count else Split(0.0, 0.0, 0.0)
        return None if rest is None else self.splits.joined(outcome.found, rest, exchange)


@dataclass
class _AboveSplit:
    """What stands above the split of one part, while it is searched.

    fewer   which loops others rule out
    looked  choices of loops and nodes that have been searched
    """

    trees: TreeSearch
    part: VisitedPart
    best: BestAnswers[FoundPart]
    fewer: FewerSteps | None
    looked: int = 0

    def nodes(self, chosen: OpenLoops, bound: float) -> Iterator[_OpenNodes]:
        """The nodes that may stand above the split with some loops."""
        trees, loops = self.trees, chosen.loops
        if self.fewer is not None and trees.are_too_many(self.part, loops, self.fewer, self.best.cutoff):
            trees.pruned["loops"] += 1
            return
        for one in trees.above.choices(self.part, loops, self.best.cutoff):
            yield _OpenNodes(max(bound, one.bound), self, loops, one)


@dataclass
class _OpenChoices(OpenState[FoundPart]):
    """Loops of a part, the lowest first, of which none has been looked at. The first ones alone are looked at without
    closer bounds of others: often there is nothing better."""

    above: _AboveSplit
    loops: list[OpenLoops]
    first: int = 0
    depth: float = 1.0
    rule: str = "loops"

    def __post_init__(self) -> None:
        self.bound = self.loops[0].bound

    def advance(self) -> Iterator[OpenState[FoundPart]]:
        start, trees = self.first, self.above.trees
        closely = start > 0 and trees.loops.rooms is not None
        self.first += 32 if closely else 1
        chosen = self.loops[start : self.first]
        if self.first < len(self.loops):
            self.bound = self.loops[self.first].bound
            yield self
        if closely:
            for one in trees.loops.closely(chosen, self.above.best.cutoff):
                yield _CloseLoops(one.bound, self.above, one)
        else:
            yield from self.above.nodes(chosen[0], chosen[0].bound)

    def count_below(self, value: float) -> int:
        return sum(one.bound < value for one in self.loops[self.first :])


@dataclass
class _CloseLoops(OpenState[FoundPart]):
    """Loops of a part, bounded in the room that is left."""

    bound: float
    above: _AboveSplit
    loops: OpenLoops
    rule: str = "loops"

    def advance(self) -> Iterator[OpenState[FoundPart]]:
        return self.above.nodes(self.loops, self.bound)


@dataclass
class _OpenNodes(OpenState[FoundPart]):
    """Loops of a part, and nodes with them.

    is_close  whether the bound is that of what operations would be asked
    """

    bound: float
    above: _AboveSplit
    loops: Loops
    nodes: NodeChoice
    depth: float = 2.0
    is_close: bool = False

    def advance(self) -> Iterator[OpenState[FoundPart] | Closed[FoundPart]]:
        trees, part = self.above.trees, self.above.part
        if not self.is_close:
            self.bound = max(self.bound, trees.above.close(part, self.loops, self.nodes))
            self.is_close, self.depth = True, 3.0
            yield self
            return
        self.above.looked += 1
        found = trees.with_nodes(part, self.loops, self.nodes, self.above.best.cutoff)
        if found is not None:
            yield Closed(trees.weights.of(found.energy_pj, found.latency_cycles), found)


def _below(best: Outcome) -> float:
    """What a bound has to stay below to be of interest."""
    return best.bound if best.found is None else cutoff_of(best.bound)
