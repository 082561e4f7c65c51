"""Which weights are best to keep on chip, where not all of them have room.

Weights take room from all groups, those that read them too. *Relaxed*, the weights that a way keeps take no more bits
than there are, and groups have the room that is left beside the least that such weights may take: no plan costs less
than the cheapest such way (`lagrangian_path.py`), since less room makes no group cheaper. What it keeps is then
searched as any network with these weights on chip is (`group_search.py`), with the room that is left beside all of
them: that is a plan. Where it costs more than the bound, choices that take fewer bits than it, and those that take as
many or more, are bounded by themselves. The least bound of all that is open holds for the whole.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...ir import InfeasibleError, UndecidedError
from ..cascades.terms.upper_memories import UNBOUNDED, UpperMemories
from ..kernel.best_first import BestFirst
from ..kernel.incumbents import BestAnswers
from ..kernel.states import Closed, OpenState
from ..kernel.tolerance import or_value
from ..means import Means
from .group_edges import GroupEdge
from .group_search import GroupSearch
from .kinds import GroupKind
from .question import LeftOutWeight, NetworkAnswer, NetworkQuestion
from .resident_weights import ResidentWeight, WeightsIn
from .searching import GroupSolvers
from .steps import KindKey, NetworkSteps


@dataclass
class WeightChoice:
    """One search.

    kinds  of groups, with what is known of them
    best   plan that is known
    """

    question: NetworkQuestion
    solvers: GroupSolvers
    kinds: dict[KindKey, GroupKind] = field(default_factory=dict)
    best: BestAnswers[NetworkAnswer] = field(default_factory=BestAnswers)
    searched: int = 0
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.started = time.perf_counter()
        self.means = Means.from_now(self.question.total_s, self.question.limits.memory_bytes)
        (self.asked,) = self.question.weights_in
        self._tried: set[frozenset[str]] = set()
        self._weights: Sequence[ResidentWeight] = ()
        self._told = False, False
        self._refused: InfeasibleError | UndecidedError | None = None

    def run(self) -> NetworkAnswer:
        """The best segmentation with the best weights on chip, and what is proven of it.

        Raises InfeasibleError where an operation fits in no group, UndecidedError where that is not known in time.
        """
        search = BestFirst(self.best, [_BitsOfWeights(0.0, self, 0, self._room)])
        search.run(lambda: self._is_over)
        best = next(iter(self.best), None)
        if best is None:
            raise self._refused or UndecidedError("no plan was found in time", where=self.question.graph.network)
        return self._answer(best, min(search.bound, self.best.value))

    @property
    def _is_over(self) -> bool:
        """Whether there is no time for another search: without a plan there is."""
        return self.interrupted or (len(self.best) > 0 and self.means.expired)

    def parted(self, bound: float, low: int, high: int) -> Iterator[_BitsOfWeights | Closed[NetworkAnswer]]:
        """Weights that take so many bits at least, and at most: by what the cheapest way keeps, into those that take as
        many or more, and fewer."""
        relaxed, kept, bits = self._relaxed(low, high)
        bound = max(bound, relaxed)
        if kept is None or bound >= self.best.cutoff:
            yield Closed(bound)
            return
        yield from self._try(kept)
        if bits > low:
            yield _BitsOfWeights(bound, self, bits, high)
            yield _BitsOfWeights(bound, self, low, bits - 8)
        else:  # what the way costs is what it costs beside its own weights
            yield Closed(bound)

    @property
    def _room(self) -> int:
        """Bits of the memory."""
        size = UpperMemories(self.question.arch).of(self.asked.memory).size_bits
        return UNBOUNDED if size is None else size

    def _relaxed(self, low: int, high: int) -> tuple[float, frozenset[str] | None, int]:
        """Return a lower bound on plans whose resident weights take a number of bits within a range, with the
        operations whose weights are kept in the cheapest relaxed path, and their bits; None where there is no path."""
        steps = NetworkSteps(self.question, self.means, self.kinds, (low, high))
        search = GroupSearch(self._with_time(self.question), self.solvers, steps)
        way = search.find()
        self._weights = steps.weights.every
        self._told = self._told[0] or steps.in_order, self._told[1] or steps.all_pass
        self.searched += search.costs.searched
        self.interrupted = self.interrupted or search.costs.interrupted
        kept = [one for edge in way.edges if isinstance(edge, GroupEdge) for one in edge.weights.values()]
        if not way.edges:
            return way.bound, None, 0
        return way.bound, frozenset(one.operation for one in kept), sum(one.bits for one in kept)

    def _try(self, kept: frozenset[str]) -> Iterator[Closed[NetworkAnswer]]:
        """Search the network with the weights of some operations on chip."""
        if kept in self._tried:
            return
        self._tried.add(kept)
        names = tuple(one.name for one in self.question.graph if one.name in kept)
        question = replace(self.question, weights_in=(WeightsIn(self.asked.memory, names),) if names else ())
        steps = NetworkSteps(question, self.means, self.kinds if names else None)
        try:
            found = GroupSearch(self._with_time(question), self.solvers, steps).run()
        except (InfeasibleError, UndecidedError) as error:
            self._refused = error
            return
        self.searched += found.searched
        self.interrupted = self.interrupted or found.certificate.interrupted
        yield Closed(found.certificate.value, found)

    def _with_time(self, question: NetworkQuestion) -> NetworkQuestion:
        share = self.means.share()
        return replace(question, total_s=share.seconds_left if share.limits_time else None)

    def _answer(self, best: NetworkAnswer, bound: float) -> NetworkAnswer:
        """The best plan as the answer to the question which weights are best."""
        in_order, all_pass = best.in_order or self._told[0], best.all_pass or self._told[1]
        proof = best.certificate
        groups, *others = proof.constraints
        told = [str(self.asked), *(line for line in others if line not in map(str, best.question.weights_in))]
        return replace(
            best,
            question=self.question,
            certificate=replace(
                proof,
                lower_bound=or_value(bound, proof.value),
                constraints=tuple(dict.fromkeys([groups, *told])),
                evaluated=self.searched,
                seconds=time.perf_counter() - self.started,
                interrupted=self.interrupted,
                parts=(),
            ),
            searched=self.searched,
            in_order=in_order,
            all_pass=all_pass,
            left_out=self._left_out(best),
        )

    def _left_out(self, best: NetworkAnswer) -> tuple[LeftOutWeight, ...]:
        """The weights that are not kept, and why."""
        kept = {one.name: one.bits for one in best.staying if one.is_weight}
        free = self._room - sum(kept.values())
        found = []
        for weight in self._weights:
            if weight.name not in kept:
                why = f"larger than {self.asked.memory}" if weight.bits > self._room else "no room beside the others"
                why = "the room is worth more to groups" if weight.bits <= free else why
                found.append(LeftOutWeight(weight.name, weight.bits, why))
        return tuple(found)


@dataclass
class _BitsOfWeights(OpenState[NetworkAnswer]):
    """Plans whose weights take so many bits at least, and at most."""

    bound: float
    choice: WeightChoice
    low: int
    high: int

    def advance(self) -> Iterator[_BitsOfWeights | Closed[NetworkAnswer]]:
        return self.choice.parted(self.bound, self.low, self.high)


def least_of_sum(question: NetworkQuestion, solvers: GroupSolvers, steps: NetworkSteps | None = None) -> NetworkAnswer:
    """The segmentation of the least weighted sum, with the best weights on chip where these are to be chosen.

    steps  of the network, where these have been looked at before
    """
    if any(one.are_chosen for one in question.weights_in):
        return WeightChoice(question, solvers).run()
    return GroupSearch(question, solvers, steps).run()
