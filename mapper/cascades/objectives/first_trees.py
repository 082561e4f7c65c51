"""Good trees that are found soon: they leave less to look at, and are there when time runs out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from ....ir import MappingError
from ...effort import TREE_EFFORT
from ...kernel.remembered import remembered
from ...kernel.tolerance import cutoff_of
from ...question import Fuse
from ..branches.oracle import ExactBranches
from ..tables.tables import TableBranches
from ..terms.parts import FoundPart
from ..tree_search import TreeSearch
from ..tree_searches import Aside, TreeSearches


@dataclass
class FirstTrees(TreeSearches):
    """The first incumbents of one question, found among fewer trees before the proof begins."""

    def _first_tree(
        self,
        search: TreeSearch,
        cutoff: float,
        floor: float = 0.0,
        flat: bool = False,
        before_all: bool = False,
    ) -> FoundPart | None:
        """Return a good tree below the cutoff, if there is one, by the same search among fewer trees.

        Where time is short, mappings that need no search stand for branches. Else, where branches are soon proven,
        they are, and these answers are known to all; or the first mappings that come to hand stand for them, with
        perfect tiles: what is learned of branches then stays aside. With tables, which are soon done, there is such a
        tree only where it saves more than it takes: for energy, where splits may stand in splits, and of sums that may
        be unfinished, as tables know no others.

        flat        whether it is to have one split alone
        before_all  whether all trees are searched next: then no first search is as long as that one
        """
        is_nested = len(self.question.cascade.operations) > 2

        def found_with(solver: TableBranches | ExactBranches, beam: int | None) -> tuple[FoundPart | None, bool]:
            """A good tree, and whether means were enough to look for it: first among those with one split alone, and no
            shared loops along windows, since there are fewer of them."""
            are_all = before_all and solver is self.solver and beam is None  # of a kind are looked at, and again next
            kinds: list[tuple[Fuse, bool]] = [("plain", True)] if self._has_windows and search.fuse == "all" else []
            kinds += [(search.fuse, True)] if is_nested or not are_all else []
            kinds += [(search.fuse, False)] if is_nested and not (flat or are_all) else []
            return self._found_among(kinds, search, solver, beam, cutoff, floor)

        if isinstance(self.solver, TableBranches):
            pays = self._beam is not None or (search.weights.energy_only and is_nested and not search.sums.finished)
            best = found_with(self.solver, self._beam)[0] if pays else None
        else:
            best, is_done = None, False
            if self._is_short:
                best, _ = found_with(self._unproven(True), TREE_EFFORT.few)
                is_done = self.means.expired
            if best is None and not is_done and self.question.tiling == "perfect":
                best, is_done = found_with(
                    self.solver, self._beam or (None if self._proves_at_once else TREE_EFFORT.few)
                )
            if best is None and not is_done:
                best, _ = found_with(self._unproven(False), self._beam or (TREE_EFFORT.few if search.ragged else None))
        return best if best is not None and self._is_valid(best) else None

    def _is_valid(self, best: FoundPart) -> bool:
        """Whether a tree is one by the cost model: sums may have no room, and what was written down without a search
        may not cover visits that are uneven."""
        if self._are_narrow and not self.means.limits_time:
            return True
        with contextlib.suppress(MappingError):
            return self.evaluated(best) is not None
        return False

    def _found_among(
        self,
        kinds: Iterable[tuple[Fuse, bool]],
        search: TreeSearch,
        solver: TableBranches | ExactBranches,
        beam: int | None,
        cutoff: float,
        floor: float,
    ) -> tuple[FoundPart | None, bool]:
        """A good tree of some kinds, as `fuse` and `flat` of `TreeSearch`, and whether means were enough."""
        means = self.means.share()
        aside = Aside(solver, means.at_most(TREE_EFFORT.moment), beam)
        best: FoundPart | None = None
        # A proof may take longer than a first tree, since it is needed in any case.
        own = means if solver is self.solver else aside.means
        with solver.within(own) if isinstance(solver, ExactBranches) else contextlib.nullcontext():
            for fuse, is_flat in kinds:
                first: TreeSearch = self.tree_search(
                    search.weights, search.sums, fuse, aside=aside, flat=is_flat, ragged=search.ragged
                )
                found, done = self.in_all_orders(first, cutoff_of(cutoff), floor)
                best = found or best
                if done is not None:
                    return best, False
                cutoff = cutoff if best is None else search.weights.of(best.energy_pj, best.latency_cycles)
        return best, True

    @property
    def _is_short(self) -> bool:
        """Whether so little time is left that it may end before a first tree of searched branches is found."""
        return self.means.seconds_left < TREE_EFFORT.moment

    @property
    def _proves_at_once(self) -> bool:
        """Whether the best mapping of a branch takes not much longer than the first one that comes to hand: without
        arrays. Not where time may run out: what is found by then is to be a tree."""
        return not (self.question.arch.fanouts or self.means.limits_time)

    @property
    def _beam(self) -> int | None:
        """Choices that a first tree is looked for among, where there are very many."""
        return TREE_EFFORT.few if len(self.question.cascade.operations) > TREE_EFFORT.few else None

    @remembered
    def _unproven(self, greedy: bool) -> ExactBranches:
        """The first mappings that come to hand, for branches of first trees.

        greedy  of those that need no search
        """
        question, proving = self.question, self._exact if self.question.tiling == "perfect" else None
        return ExactBranches(
            question.cascade, question.arch, question.space, "perfect", self.means, False, proving, greedy
        )
