"""Ways to search: the exact ones, an independent exact model, and heuristics to compare with.

A strategy is a frozen dataclass: its fields are its options, its class says what it knows. `STRATEGIES` is the table of
all of them; to add one, add a class and its line there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Protocol

from ..cost_models.least_cost import least_cost
from ..cost_models.padding import refuse_free_padding
from ..ir import TilewrightError, did_you_mean
from .answer import Answer
from .certificate import Certificate
from .means import GRACE, Means, OutOfMeans
from .question import NestQuestion
from .several import best_of, search_in_turn
from .tilings import TILINGS, Tiling


class Strategy(Protocol):
    """A way to search.

    name     by which it is asked for
    tilings  that it knows
    """

    name: ClassVar[str]
    tilings: ClassVar[tuple[Tiling, ...]]

    def search(self, question: NestQuestion) -> Answer:
        """The best mapping that it finds, with what is proven of it.

        Raises TilewrightError for what the strategy cannot do, InfeasibleError when nothing fits.
        """
        ...


@dataclass(frozen=True)
class Exact:
    """Best first over partial mappings, to a proof (`exact/from_scratch.py`)."""

    name: ClassVar[str] = "exact"
    tilings: ClassVar[tuple[Tiling, ...]] = TILINGS

    def search(self, question: NestQuestion) -> Answer:
        if question.objective.is_lexicographic:
            return search_in_turn(question, best_of)
        return best_of(question)


@dataclass(frozen=True)
class ConstraintModel:
    """The same space as a model for CP-SAT that shares no code with the search (`cpsat/`)."""

    name: ClassVar[str] = "cpsat"
    tilings: ClassVar[tuple[Tiling, ...]] = ("perfect",)

    def search(self, question: NestQuestion) -> Answer:
        from .cpsat import search_cpsat

        started = time.perf_counter()
        _check_plain(self.name, question)
        _refuse_what_cpsat_lacks(question, f"strategy {self.name}")
        asked = (question.problem, question.arch, question.objective, question.tiling)
        mapping, cost, bound = search_cpsat(*asked, question.limits.time_s, question.limits.memory_bytes)
        value = cost.objective(question.objective)
        proof = _nothing_searched(question, self.name, value)
        proof = replace(proof, lower_bound=max(proof.lower_bound, bound))
        return Answer(mapping, cost, replace(proof, seconds=time.perf_counter() - started))


@dataclass(frozen=True)
class _Heuristic:
    """What the heuristics have in common (`heuristics/`): they prove nothing.

    seed  with the same one, and no time limit, they find the same on every run
    """

    seed: int = 0
    name: ClassVar[str]
    tilings: ClassVar[tuple[Tiling, ...]] = TILINGS

    def search(self, question: NestQuestion) -> Answer:
        from .heuristics.search import search_heuristic

        started = time.perf_counter()
        _check_plain(self.name, question)
        found = search_heuristic(question, self.name, self.seed)
        value = found.cost.objective(question.objective)
        proof = replace(_nothing_searched(question, self.name, value), evaluated=found.evaluated)
        return Answer(found.mapping, found.cost, replace(proof, seconds=time.perf_counter() - started))


@dataclass(frozen=True)
class RandomSampling(_Heuristic):
    """Independent draws."""

    name: ClassVar[str] = "random"


@dataclass(frozen=True)
class Annealing(_Heuristic):
    """Simulated annealing."""

    name: ClassVar[str] = "anneal"


@dataclass(frozen=True)
class Genetic(_Heuristic):
    """A population, crossover by dimension, elitism."""

    name: ClassVar[str] = "genetic"


STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy for strategy in (Exact, ConstraintModel, RandomSampling, Annealing, Genetic)
}
"""Name -> strategy. exact and cpsat prove their answer; the others are how users of other tools search."""


def strategy_named(name: str, **options: object) -> Strategy:
    """The strategy of that name; options that are None are left at their defaults.

    Raises TilewrightError, with the nearest known name, for an unknown strategy, and for an option that it has not.
    """
    if isinstance(name, str) and name == "lattice":
        hint = 'take "exact", which answers all questions that it did'
        raise TilewrightError("the strategy lattice was removed in 0.5.0", where="strategy", hint=hint)
    if not isinstance(name, str) or name not in STRATEGIES:
        raise TilewrightError(f"unknown strategy {name!r}", hint=did_you_mean(name, STRATEGIES))
    chosen = STRATEGIES[name]
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        having = [other for other, strategy in STRATEGIES.items() if option in _options(strategy)]
        if name not in having:
            message = f"{option} is no option of the strategy {name}, but of {', '.join(having)}"
            raise TilewrightError(message, where=option)
    return chosen(**given)


def _options(strategy: type[Strategy]) -> set[str]:
    return {field.name for field in fields(strategy)}  # type: ignore[arg-type]


def _check_plain(name: str, question: NestQuestion) -> None:
    """TilewrightError for the parts of a question that only the exact search knows."""
    from .exact.tiles.lattice import check_searchable

    where, hint = f"strategy {name}", 'take strategy "exact"'
    check_searchable(question.problem, question.tiling)
    if question.problem.has_zeros:
        raise TilewrightError("it knows no densities", where=where, hint=hint)
    if question.space != "even":
        raise TilewrightError("it searches the even space only", where=where, hint=hint)
    if not question.constraints.is_free:
        raise TilewrightError("it knows no constraints", where=where, hint=hint)


def _refuse_what_cpsat_lacks(question: NestQuestion, where: str) -> None:
    arch = question.arch
    lacking = {
        "leakage": arch.total_leakage_pj_per_cycle > 0,
        "block": any(memory.block_bits for memory in arch.memories),
        "line": any(memory.line_bits for memory in arch.memories),
        "hop": any(fanout.hop_pj_per_bit for fanout in arch.fanouts),
        "latency: with_fill": arch.latency == "with_fill",
        "overlaps: false inside arrays that take time to fill": arch.refills,
    }
    refuse_free_padding(question.problem, arch, where)
    for key, asked in lacking.items():
        if asked:
            raise TilewrightError(f"it does not know {key}, which {arch.name} has", where=where, hint='take "exact"')


def _nothing_searched(question: NestQuestion, name: str, value: float) -> Certificate:
    """The certificate of a mapping of that value, of which nothing is known but what every mapping costs at least."""
    from .space.regions import placements
    from .space.size import count_mappings

    problem, arch = question.problem, question.arch
    means = Means.from_now(None if question.limits.time_s is None else GRACE)
    try:
        size = count_mappings(problem, arch, question.tiling, means=means)
    except OutOfMeans:
        size = None
    return Certificate(
        objective=question.objective.name,
        tiling=question.tiling,
        value=value,
        lower_bound=min(value, least_cost(problem, arch).value(question.objective)),
        space_size=size,
        placements=placements(problem, arch),
        evaluated=0,
        pruned={},
        seconds=0.0,
        strategy=name,
    )
