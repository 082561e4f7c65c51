"""The setup of a search over the trees of one question: the solver of branches, the orders of operations, and the
recount of trees by the cost model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

from ...arch import Architecture
from ...cost_models import Cost, evaluate
from ...ir import Cascade, Mapping, MappingError, Node, Tree
from ..canonical import form_of
from ..constraints.trees import ANY_TREE
from ..effort import TREE_EFFORT
from ..kernel.tolerance import cutoff_of
from ..means import Means, OutOfMeans
from ..pareto.front import Point
from ..pareto.weights import ENERGY_ALONE, Weights, weights_of
from ..question import Fuse, TreeQuestion
from ..space import Space
from .branches.oracle import ExactBranches
from .relaxations.operation_bounds import Nearest
from .tables.tables import TableBranches, supports
from .terms.operation_orders import orders
from .terms.parts import FoundPart
from .terms.sums import NARROW, Sums
from .terms.upper_memories import UpperMemories, with_single_copies
from .terms.windowed import windowed_dims
from .tree_search import TreeSearch

Kind = TypeVar("Kind", bound=TreeSearch)


@dataclass(frozen=True)
class Corner:
    """A mapping, and what it costs; whether it was found among all trees, or those with perfect tiles below shared
    loops."""

    energy: float
    latency: float
    mapping: Mapping
    cost: Cost
    ragged: bool = False


def point_of(corner: Corner) -> Point:
    """Energy and latency of one."""
    return corner.energy, corner.latency


class Aside(NamedTuple):
    """What a search has that is no part of a proof.

    solver, means  of its branches
    beam           as of `TreeSearch`
    """

    solver: TableBranches | ExactBranches
    means: Means
    beam: int | None = None


@dataclass
class TreeSearches:
    """The searches over trees of one question.

    corners  mappings that are found
    nearest  what single operations cost at least, by their form: the same for all cascades on a machine
    """

    question: TreeQuestion
    means: Means
    corners: list[Corner] = field(default_factory=list)
    nearest: Nearest = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.memories = UpperMemories(self.question.arch)
        self.solver = self._solver(self.question.space, self.question.arch)

    def _solver(self, space: Space, arch: Architecture) -> TableBranches | ExactBranches:
        """Tables where they are exact, else a search for every question."""
        question = self.question
        if supports(question.cascade, arch, space, question.tiling) is None:
            weights = weights_of(question.objective)
            return TableBranches(question.cascade, arch, weights is None or not weights.energy_only)
        return ExactBranches(question.cascade, arch, space, question.tiling, self.means)

    @cached_property
    def _alone(self) -> TableBranches | ExactBranches:
        """What answers for single operations in the uneven space, on the machine with single copies: all that trees do
        for them is a mapping there."""
        return self._solver("uneven", with_single_copies(self.question.arch))

    def use(self, means: Means) -> None:
        """Go on with other means."""
        self.means = means
        if isinstance(self.solver, ExactBranches):
            self.solver.means = means

    @contextmanager
    def within(self, means: Means) -> Iterator[None]:
        """Go on with other means for a while."""
        whole = self.means
        self.use(means)
        try:
            yield
        finally:
            self.use(whole)

    def best_by(self, weights: Weights) -> Corner | None:
        """The best known mapping by a weighted sum."""
        return min(self.corners, key=lambda corner: weights.of(corner.energy, corner.latency), default=None)

    @property
    def counted_on(self) -> Architecture:
        """The machine on which the cost model counts what is found."""
        return self.question.arch

    def least_of(self, weights: Weights) -> float:
        """Return a lower bound on a weighted sum over all trees by relaxations alone."""
        return self._least_in(self.orders(), self.tree_search(weights))

    def least_energies(self) -> dict[str, float]:
        """By operation the least energy, without what leaks, that it takes in any tree at the nearest of the memories
        outside the arrays, and inside; none where that memory is the outermost, or may cost more than others."""
        search: TreeSearch = self.tree_search(ENERGY_ALONE)
        if len(search.memories.upper) == 1 or not search.memories.nearer_is_cheaper:
            return {}
        try:
            return {one.name: search.bounds.alone.nearest_of(one.name)[0] for one in self.question.cascade}
        except OutOfMeans:
            return {}

    def _least_in(self, orders: Iterable[tuple[str, ...]], search: TreeSearch) -> float:
        """What no tree with its operations in some orders weighs less than: the bound of one order is none of another,
        since it matters which operation fills a shared input."""
        try:
            return min(map(search.bound_of_whole, orders), default=math.inf)
        except OutOfMeans:
            return 0.0

    @property
    def has_ragged_loops(self) -> bool:
        """Whether trees are asked for in which tiles of shared loops, or below them, need not divide."""
        question = self.question
        shared = question.fuse in ("all", "plain") and len(question.cascade.operations) > 1
        return shared and question.tiling == "ragged" and isinstance(self.solver, ExactBranches)

    @cached_property
    def _has_windows(self) -> bool:
        """Whether trees are asked for in which shared loops step along what readers see through windows."""
        cascade = self.question.cascade
        return self._fuse == "all" and any(any(windowed_dims(cascade, op)) for op in cascade)

    @cached_property
    def _fuse(self) -> Fuse:
        """What may be fused: what uneven visits share with other operations is not counted yet, where it stays too."""
        cascade, fuse = self.question.cascade, self.question.fuse
        users = {
            tensor: sum(tensor in {t.name for t in op.problem.tensors} for op in cascade)
            for tensor, _ in self.question.stays
        }
        return "plain" if fuse == "all" and max(users.values(), default=0) > 1 else fuse

    def tree_search(
        self,
        weights: Weights,
        sums: Sums = NARROW,
        fuse: Fuse | None = None,
        kind: type[Kind] = TreeSearch,  # type: ignore[assignment]
        aside: Aside | None = None,
        flat: bool = False,
        ragged: bool = False,
    ) -> Kind:
        """A search.

        aside  what answers for branches in its place: nothing that it comes to know is known to others
        """
        question = self.question
        return kind(
            question.cascade,
            self.memories,
            question.space,
            question.tiling,
            weights,
            self._solver_of(sums) if aside is None else aside.solver,
            self.means if aside is None else aside.means,
            fuse or self._fuse,
            sums,
            constraints=question.constraints,
            stays=question.stays,
            nearest=self.nearest if aside is None or self._shares_bounds(aside.solver) else {},
            flat=flat,
            beam=None if aside is None else aside.beam,
            ragged=ragged,
        )

    def _shares_bounds(self, solver: TableBranches | ExactBranches) -> bool:
        """Whether what a solver says that operations take at least is proven for all trees asked for, and close."""
        is_close = isinstance(solver, ExactBranches) and solver.proving is not None and not solver.greedy
        return solver is self.solver or is_close

    def _solver_of(self, sums: Sums) -> TableBranches | ExactBranches:
        """What answers for branches: tables do not know where sums are finished."""
        return self._exact if sums.finished else self.solver

    @cached_property
    def _exact(self) -> ExactBranches:
        question = self.question
        if isinstance(self.solver, ExactBranches):
            return self.solver
        return ExactBranches(question.cascade, question.arch, question.space, question.tiling, self.means)

    def orders(self) -> Iterator[tuple[str, ...]]:
        """Yield all orders in which the operations can be done, the cascade's own first; of isomorphic orders only
        one."""
        found, are_all = self._orders
        yield from found
        if not are_all:
            raise OutOfMeans

    @cached_property
    def _orders(self) -> tuple[list[tuple[str, ...]], bool]:
        """Orders, and whether these are all."""
        question = self.question
        found = list(itertools.islice(orders(question.cascade), TREE_EFFORT.many + 1))
        are_all, found = len(found) <= TREE_EFFORT.many, found[: TREE_EFFORT.many]
        if len(found) == 1 or question.constraints != ANY_TREE or question.stays:  # these know names
            return found, are_all
        forms: dict[object, tuple[str, ...]] = {}
        for names in found:
            ordered = Cascade(question.cascade.name, tuple(map(question.cascade.operation, names)))
            forms.setdefault(form_of(ordered, question.arch), names)
        return list(forms.values()), are_all

    def in_all_orders(
        self, search: TreeSearch, cutoff: float, floor: float = 0.0
    ) -> tuple[FoundPart | None, int | None]:
        """The best tree that weighs less than the cutoff, whichever order its operations are done in; and after how
        many orders means ran out, None where they did not.

        floor  what no tree weighs less than
        """
        best, done = None, 0
        try:
            for names in self.orders():
                found = search.whole(names, cutoff, floor).found
                if found is not None:
                    best, cutoff = found, cutoff_of(search.weights.of(found.energy_pj, found.latency_cycles))
                done += 1
        except OutOfMeans:
            return search.incumbent or best, done
        return best, None

    def evaluated(self, found: FoundPart) -> Corner | None:
        """Return the cost of a tree by the cost model; None where sums are wider than the bound assumed."""
        cascade = self.question.cascade
        outermost = self.memories.outermost
        stored = [t for t in cascade.tensors if t not in cascade.intermediates or t in found.stored]
        above = [*(Node(outermost, t) for t in stored), *(Node(memory, t) for t, memory in self.question.stays)]
        tree = Tree((*above, *found.tree.items), found.tree.branches, found.tree.operation)
        mapping = Mapping(cascade, tree)
        try:
            cost = evaluate(mapping, self.counted_on, [tensor for tensor, _ in self.question.stays])
        except MappingError:
            if self._are_narrow:
                raise
            return None
        return Corner(cost.energy_pj, cost.latency_cycles, mapping, cost)

    @cached_property
    def _are_narrow(self) -> bool:
        """Whether no partial sums are wider than words."""
        return all(self._is_narrow(operation.name) for operation in self.question.cascade)

    def _is_narrow(self, operation: str) -> bool:
        output, arch = self.question.cascade.operation(operation).output, self.question.arch
        return arch.partial_width_bits(output) == arch.width_bits(output)
