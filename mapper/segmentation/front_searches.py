"""Searches of groups for their least energy within limits on latency."""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ...arch import Architecture
from ...cost_models import ENERGY
from ...ir import InfeasibleError, NoPlanError, UndecidedError
from ..cascades import NothingBelow
from ..effort import PLAN_EFFORT
from ..means import Means
from ..progress import SearchProgress, tell
from ..question import TreeQuestion
from .arenas import check_addresses
from .group_fronts import Fact, GroupFront, known_tree
from .kinds import used_by
from .question import NetworkQuestion
from .residency import Residency, Taken
from .searching import GroupOutcome, GroupSolvers


class Open(NamedTuple):
    """Trees of a group that are not known: those that take no longer than so many cycles, where other tensors take so
    many bits."""

    front: GroupFront
    taken: Taken
    latency: float


@dataclass
class FrontSearches:
    """Who finds open trees out.

    searched  how many searches there were
    running   searches that are not over
    """

    question: NetworkQuestion
    solvers: GroupSolvers
    residency: Residency
    means: Means
    searched: int = 0
    running: dict[Future[GroupOutcome], Open] = field(default_factory=dict)

    def find_out(self, wanted: Iterable[Open]) -> bool:
        """Start as many searches as may run at once and wait for one of them; return whether there was any."""
        for one in dict.fromkeys(wanted):
            if len(self.running) >= self.solvers.at_once():
                break
            if (one.taken, one.latency) not in one.front.over and one not in self.running.values():
                self.running[self.solvers.begin(self._asked(one))] = one
        if not self.running:
            return False
        for future in wait(self.running, return_when=FIRST_COMPLETED).done:
            self._take(self.running.pop(future), future.result())
        return True

    def drop(self) -> None:
        """Give up searches that are still running."""
        if self.running:
            self.solvers.drop()

    def _asked(self, one: Open) -> TreeQuestion:
        kind, limits = one.front.kinds[0], self.question.limits
        seconds = min(math.inf if limits.time_s is None else limits.time_s, self.means.seconds_left)
        limits = replace(limits, time_s=seconds if seconds < math.inf else None)
        machine: Architecture = self.residency.less(self.question.arch, one.taken)
        asked = replace(self.question.of_group(kind.cascade), arch=machine, stays=kind.stays, limits=limits)
        return replace(asked, objective=ENERGY.capped(latency=one.latency))

    def _take(self, one: Open, outcome: GroupOutcome) -> None:
        """Note what a search has found. Where it has left something open, it would again."""
        one.front.over.add((one.taken, one.latency))
        self.searched += 1
        doing = "plans between two others"
        tell(SearchProgress(self.searched, len(self.running), doing, self.question.objective.name))
        if isinstance(outcome, InfeasibleError):
            one.front.facts.append(Fact(one.taken, one.latency, math.inf))
        if isinstance(outcome, InfeasibleError | UndecidedError):
            return
        assert not isinstance(outcome, NothingBelow), "anything within the limit was of interest"
        one.front.facts.append(Fact(one.taken, one.latency, outcome.certificate.lower_bound))
        try:
            check_addresses(outcome.cost, self.question.arch, self.means.at_most(PLAN_EFFORT.plan))
        except NoPlanError:  # what it costs remains a bound
            return
        one.front.trees.append(known_tree(outcome, used_by(outcome.cost, self.residency)))
