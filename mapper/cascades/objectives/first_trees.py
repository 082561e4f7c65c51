"""Good trees that are found soon: they leave less to look at, and are there when time runs out."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

from ....ir import MappingError
from ...kernel.tolerance import cutoff_of
from ...question import Fuse
from ..branches.oracle import ExactBranches
from ..tables.tables import TableBranches
from ..terms.parts import FoundPart
from ..tree_search import TreeSearch
from ..tree_searches import Aside, TreeSearches

FIRST_SECONDS = 3.0
"""At most, for a first tree."""

MANY_OPERATIONS, BEAM = 6, 4
"""With more operations than these, and where shared loops may be ragged, first trees are looked for among so many
choices of nodes and loops of a part."""


@dataclass(frozen=True)
class _Beside:
    """Trees beside which a first one is looked for.

    search  of all of them
    floor   what none of them weighs less than
    flat    whether the first one is to have one split alone
    before_all  whether all of them are searched next
    """

    search: TreeSearch
    floor: float = 0.0
    flat: bool = False
    before_all: bool = False


@dataclass
class FirstTrees(TreeSearches):
    """The first incumbents of one question, found among fewer trees before the proof begins."""

    _quick: dict[bool, ExactBranches] = field(default_factory=dict, init=False)

    def _first_tree(
        self,
        search: TreeSearch,
        cutoff: float,
        floor: float = 0.0,
        flat: bool = False,
        before_all: bool = False,
    ) -> FoundPart | None:
        """Return a good tree below the cutoff, if there is one, by the same search among fewer trees.

        Where time may run out, mappings that need no search stand for branches. Else, where branches are soon proven,
        they are, and these answers are known to all; or the first mappings that come to hand stand for them, with
        perfect tiles: what is learned of branches then stays aside. With tables, which are soon done, there is no such
        tree but where it pays.

        flat        whether it is to have one split alone
        before_all  whether all trees are searched next: then no first search is as long as that one
        """
        beside = _Beside(search, floor, flat, before_all)
        if isinstance(self.solver, TableBranches):
            pays = self._beam is not None or self._pays_with_tables(search)
            best = self._found_with(beside, self.solver, self._beam, cutoff)[0] if pays else None
        else:
            best = self._found_by_searches(beside, self.solver, cutoff)
        return best if best is not None and self._is_valid(best) else None

    def _is_valid(self, best: FoundPart) -> bool:
        """Whether a tree is one by the cost model: sums may have no room, and what was written down without a search
        may not cover visits that are uneven."""
        if self._are_narrow and not self.means.limits_time:
            return True
        with contextlib.suppress(MappingError):
            return self.evaluated(best) is not None
        return False

    def _found_by_searches(self, beside: _Beside, solver: ExactBranches, cutoff: float) -> FoundPart | None:
        """A good tree, where branches are searched; where time may run out, of branches that are written down."""
        if self.means.limits_time:
            best = self._found_with(beside, self._unproven(greedy=True), self._beam, cutoff)[0]
            if best is not None:
                return best
        if self.question.tiling == "perfect":
            beam = self._beam or (None if self._proves_at_once else BEAM)
            best, is_done = self._found_with(beside, solver, beam, cutoff)
            if best is not None or is_done:
                return best
        beam = self._beam or (BEAM if beside.search.ragged else None)
        return self._found_with(beside, self._unproven(greedy=False), beam, cutoff)[0]

    def _found_with(
        self, beside: _Beside, solver: TableBranches | ExactBranches, beam: int | None, cutoff: float
    ) -> tuple[FoundPart | None, bool]:
        """Return a good tree, and whether means were enough to look for it."""
        search, means = beside.search, self.means.share()
        aside = Aside(solver, means.at_most(FIRST_SECONDS), beam)
        best: FoundPart | None = None
        # A proof may take longer than a first tree, since it is needed in any case.
        own = means if solver is self.solver else aside.means
        with solver.within(own) if isinstance(solver, ExactBranches) else contextlib.nullcontext():
            for fuse, is_flat in self._kinds(beside, solver is self.solver and beam is None):
                first: TreeSearch = self.tree_search(
                    search.weights, search.sums, fuse, aside=aside, flat=is_flat, ragged=search.ragged
                )
                found, done = self.in_all_orders(first, cutoff_of(cutoff), beside.floor)
                best = found or best
                if done is not None:
                    return best, False
                cutoff = cutoff if best is None else search.weights.of(best.energy_pj, best.latency_cycles)
        return best, True

    def _kinds(self, beside: _Beside, is_whole: bool) -> list[tuple[Fuse, bool]]:
        """Trees to look at, kind by kind, as `fuse` and `flat` of `TreeSearch`: first those with one split alone, and
        no shared loops along windows, since there are fewer of them.

        is_whole  whether all of a kind are looked at
        """
        has_nested, fuse = len(self.question.cascade.operations) > 2, beside.search.fuse
        is_all = beside.before_all and is_whole
        kinds: list[tuple[Fuse, bool]] = [("plain", True)] if self._has_windows and fuse == "all" else []
        kinds += [(fuse, True)] if has_nested or not is_all else []
        return kinds + ([(fuse, False)] if has_nested and not (beside.flat or is_all) else [])

    def _pays_with_tables(self, search: TreeSearch) -> bool:
        """Whether a first tree saves more than it takes where tables answer for branches: for energy, where splits may
        stand in splits."""
        is_nested = len(self.question.cascade.operations) > 2
        return search.weights.energy_only and is_nested and not search.sums.finished  # which tables do not know

    @property
    def _proves_at_once(self) -> bool:
        """Whether the best mapping of a branch takes not much longer than the first one that comes to hand: without
        arrays. Not where time may run out: what is found by then is to be a tree."""
        return not (self.question.arch.fanouts or self.means.limits_time)

    @property
    def _beam(self) -> int | None:
        """Choices that a first tree is looked for among, where there are very many."""
        return BEAM if len(self.question.cascade.operations) > MANY_OPERATIONS else None

    def _unproven(self, greedy: bool) -> ExactBranches:
        """The first mappings that come to hand, for branches of first trees.

        greedy  of those that need no search
        """
        if greedy not in self._quick:
            question = self.question
            proving = self._exact if question.tiling == "perfect" else None
            self._quick[greedy] = ExactBranches(
                question.cascade, question.arch, question.space, "perfect", self.means, False, proving, greedy
            )
        return self._quick[greedy]
