"""The one loop of all exact searches, which knows nothing of what it searches.

Take the state with the lowest bound. Advance it: its bound gets closer, or it is divided into states that are decided
further, or answers come of it. Push what comes of it, unless the incumbent prunes it. When no open bound is below the
cutoff, the incumbent is proven: whatever was pruned had a bound at or above the cutoff of its time, and cutoffs only
fall.

The order in which states advance decides how long that takes, never what is proven. A search that ends earlier,
because its means run out or at an interrupt, leaves everything as it stands: the incumbents, and the bound on what is
open.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Generic

from ..means import UNLIMITED, Means
from .frontier import Frontier
from .incumbents import Incumbents
from .states import AnswerT, Closed, OpenState


class BestFirst(Generic[AnswerT]):
    """One search.

    best    judges what is found
    means   are looked at before every step; where they run out OutOfMeans is raised
    most    bytes that open states may take
    pruned  where states are counted that the incumbent prunes, by rule
    """

    def __init__(
        self,
        best: Incumbents[AnswerT],
        roots: Iterable[OpenState[AnswerT]] = (),
        means: Means = UNLIMITED,
        most: float = math.inf,
        pruned: Counter[str] | None = None,
    ) -> None:
        self.best, self.means = best, means
        self.pruned: Counter[str] = Counter() if pruned is None else pruned
        self.frontier = Frontier(best, most)
        self.add(roots)

    def add(self, states: Iterable[OpenState[AnswerT] | Closed[AnswerT]]) -> None:
        """Queue states, offer answers, and note what stays open."""
        for state in states:
            if isinstance(state, Closed):
                if state.answer is not None:
                    self.best.offer(state)
                elif state.bound < self.best.cutoff:
                    self.frontier.leave_open(state.bound)
            elif not self.frontier.push(state):
                self._prune(state)

    def _prune(self, state: OpenState[AnswerT]) -> None:
        if state.rule:
            self.pruned[state.rule] += state.count_below(math.inf)

    def step(self) -> None:
        """Advance the state with the lowest bound."""
        self.means.check()
        state = self.frontier.take()
        self.add(state.advance())
        self.frontier.done()

    def run(self, is_enough: Callable[[], bool] | None = None) -> None:
        """Go on until nothing open may be better than what is found, or it is enough."""
        while self.frontier.is_open:
            if is_enough is not None and is_enough():
                return
            self.step()
        for state in self.frontier.states:
            self._prune(state)

    @property
    def bound(self) -> float:
        """The lowest bound of all that is open; what was found may be below it."""
        return self.frontier.bound
