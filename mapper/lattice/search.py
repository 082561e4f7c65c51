"""The search over the lattice of tiles: best first over rows of partial mappings, until no bound is below the best
mapping.

Tiles of perfect tilings are numbers (`lattice.py`). A mapping grows from the MAC outwards, memory by memory, many rows
at once (`batch.py`). What is inside is counted exactly (`counting.py`, `halo.py`, `exact_halo.py`), what is outside is
bounded by tables over all tiles (`bounds.py`). Of the orders of a band only those are tried that differ in what stays
and what slides (`orders.py`), and a row is left aside if another stands for it (`standing.py`).

Where a memory has `halo: exact`, the best mapping as if that were `innermost` is found first: most often it is the best
one, and only the proof is left.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from ...arch import Architecture, Memory
from ...cost_models import Objective, evaluate
from ...cost_models.least_cost import least_cost
from ...ir import Mapping, Problem, TilewrightError, UndecidedError
from ..diagnosis import shortage_error
from ..kernel.best_first import BestFirst
from ..kernel.incumbents import BestAnswers
from ..kernel.states import Closed, OpenState
from ..kernel.tolerance import or_value
from ..means import Means, OutOfMeans
from ..simplest import unsearched_mappings
from .answers import Found
from .batch import root
from .placement import placements
from .plain_question import PlainQuestion
from .space import Space

FRONTIER_SHARE = 0.25
"""Of the memory limit, for what is open."""


@dataclass
class LatticeSearch:
    """One search.

    best         the best mapping
    bound        no mapping that has not been looked at has a lower value
    pruned       partial mappings left aside, by rule
    evaluated    complete mappings whose cost was computed
    interrupted  whether it was interrupted (Ctrl-C)
    """

    problem: Problem
    arch: Architecture
    objective: Objective
    means: Means
    best: BestAnswers[Found] = field(default_factory=BestAnswers)
    bound: float = field(default=0.0, init=False)
    pruned: Counter[str] = field(default_factory=Counter, init=False)
    evaluated: int = field(default=0, init=False)
    interrupted: bool = field(default=False, init=False)

    def run(self) -> Found:
        """The best mapping.

        Raises InfeasibleError, with a diagnosis, when nothing fits; UndecidedError when means run out before anything
        is found.
        """
        too_small = shortage_error(self.problem, self.arch)
        if too_small is not None:
            raise too_small
        self.bound = least_cost(self.problem, self.arch).value(self.objective)
        try:
            self._solve()
        except OutOfMeans:
            pass
        except KeyboardInterrupt:
            self.interrupted = True
        if not len(self.best):
            self._fall_back()
        found = next(iter(self.best), None)
        if found is None and self.interrupted:
            raise KeyboardInterrupt
        if found is None:
            raise UndecidedError(
                "no mapping was found, and none was ruled out, before time or memory ran out",
                where=self.problem.name,
                hint="raise the time limit or the memory limit",
            )
        self.bound = or_value(self.bound, found.value)
        return found

    def _solve(self) -> None:
        question = PlainQuestion(self.problem, self.arch, self.objective)
        if _counts_every_loop(question):
            self._start_from(_less_exact(self.arch))
        space = Space(question, self.means, self.best, self.pruned)
        roots = []
        for placement in placements(question):
            self.means.check()
            roots.append(root(space, placement))
        loop = BestFirst(self.best, roots, self.means, FRONTIER_SHARE * self.means.memory_limit, self.pruned)
        try:
            dive(loop)
            loop.run(lambda: self.means.expired and len(self.best) > 0)
        finally:
            self.bound = max(self.bound, loop.bound)
            self.evaluated += space.evaluated

    def _start_from(self, arch: Architecture) -> None:
        """Start with the best mapping of another machine, that fits this one."""
        first = LatticeSearch(self.problem, arch, self.objective, self.means.share(0.5))
        mapping = first.run().mapping
        self._offer(mapping)
        self.pruned.update(first.pruned)
        self.evaluated += first.evaluated
        if first.interrupted:
            raise KeyboardInterrupt

    def _offer(self, mapping: Mapping) -> None:
        cost = evaluate(mapping, self.arch)
        found = Found(cost.objective(self.objective), mapping, cost)
        self.evaluated += 1
        self.best.offer(Closed(found.value, found))

    def _fall_back(self) -> None:
        """Take a mapping that needs no search: better than none."""
        for mapping in unsearched_mappings(self.problem, self.arch):
            with suppress(TilewrightError):
                self._offer(mapping)


def dive(loop: BestFirst[Found]) -> None:
    """Find a first mapping: always on with the best of what comes of a state. Meanwhile all that it may lead to counts
    as open, with the bound that it had."""
    if not loop.frontier.is_open:
        return
    state: OpenState[Found] | None = loop.frontier.take()
    while state is not None and state.bound < loop.best.cutoff:
        loop.means.check()
        children = list(state.advance())
        deeper = [each for each in children if isinstance(each, OpenState) and each.depth > state.depth]
        best = min(deeper, key=lambda child: child.bound, default=None)
        loop.add(child for child in children if child is not best)
        state = best
    loop.add([] if state is None else [state])
    loop.frontier.done()


def _counts_every_loop(question: PlainQuestion) -> bool:
    """Whether a memory keeps overlaps of windows at every move."""
    return any(m.halo == "exact" for m in question.memories[1:]) and any(
        t.windows and not t.output for t in question.tensors
    )


def _less_exact(arch: Architecture) -> Architecture:
    """The machine with halo `innermost` where it is `exact`."""
    levels = (
        each.model_copy(update={"halo": "innermost"}) if isinstance(each, Memory) and each.halo == "exact" else each
        for each in arch.levels
    )
    return arch.model_copy(update={"levels": tuple(levels)})
