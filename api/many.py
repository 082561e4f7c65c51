"""Many layers on one architecture, each searched once, by many processes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeAlias, Unpack

from .arguments import (
    ArchitectureLike,
    ConstraintsLike,
    as_architecture,
    as_problem,
    limits_of,
    question_of,
    tiling_or_default,
)
from .batches import NetworkLike, Running
from .cost_models import ObjectiveLike, parse_objective
from .inputs import checks
from .ir import Problem, ProblemError, SearchCancelledError, TilewrightError
from .mapper.answer import Answer
from .mapper.question import NestQuestion
from .mapper.space import Space
from .mapper.tilings import Tiling
from .options import ManyKeywords, takes
from .results import ManyResult, SearchResult
from .run.batch.job import Failure, Outcome
from .run.batch.run import BatchResult
from .workloads import Network, NetworkLayer, load_network
from .workloads.networks import is_onnx

LayersLike: TypeAlias = Iterable[Problem | NetworkLayer | str] | NetworkLike


@takes(ManyKeywords)
def search_many(
    layers: LayersLike,
    arch: ArchitectureLike,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: ConstraintsLike = None,
    **options: Unpack[ManyKeywords],
) -> list[ManyResult | SearchCancelledError]:
    """As `search`, of many layers at once, in processes of their own; equal layers are searched once.

    layers      problems, rows of a network, or layers by name; or a network, by its name or path too
    arch, objective, tiling, space, constraints, time_limit, memory_limit  as of `search`, for every layer
    workers     processes; None: one for each core
    scheduler   address of a Dask cluster that runs the searches instead, such as tcp://host:8786
    store       path of the result store; None: `TILEWRIGHT_STORE`, or the cache folder of the user
    cache       whether results are taken from the store, and kept there; with a RuntimeWarning they are not, where the
                cache folder cannot be written
    watch       called with the progress, several times a second
    each        called with the number of a layer, counted from 0, and its result, once for each layer, as soon as it is
                known; in the thread of the caller, like `watch`
    cancel      asked twice a second, such as the `is_set` of a `threading.Event`; once it says True, searches that run
                are given up within a second or so
    progress    whether a bar shows how far it is, in a notebook or on a terminal; None: in a notebook

    The results are in the order of the layers. Where there is no mapping, the InfeasibleError that says why stands in
    its place, and a SearchCancelledError where a search was cancelled. Several threads and processes may call this at
    once; nothing is printed. An exception that a callback raises ends the searches and is passed on.

    Raises TilewrightError as `search` does; StoreError for a store that cannot be used; TilewrightError for a cluster
    that cannot be reached, and, after all other layers, for a search that could not be run to its end, because its
    process was killed. What was found by then is in the store.
    """
    each, cancel = options["each"], options["cancel"]
    if each is not None:
        checks.function(each, "each")
    checks.function(cancel, "cancel")
    limits, kind = limits_of(options["time_limit"], options["memory_limit"]), tiling_or_default(tiling)
    machine = as_architecture(arch)
    wanted = parse_objective(objective, machine.clock_hz)
    problems = [problem for _, _, problem in rows_of(layers)[1]]
    questions = [question_of(layer, machine, wanted, kind, space, constraints, limits) for layer in problems]
    places: dict[str, list[int]] = {}
    for number, question in enumerate(questions):
        places.setdefault(question.key, []).append(number)

    def tell(question: NestQuestion, outcome: Outcome) -> None:
        if each is not None and not isinstance(outcome, Failure):
            for number in places[question.key]:
                each(number, _result(questions[number], outcome))

    found = Running.of(options).run(questions, tell, cancel)
    return [_result_or_cancelled(question, found) for question in questions]


def rows_of(layers: LayersLike) -> tuple[str, list[tuple[str, int, Problem]]]:
    """The layers of a list, of a network, or of the network or layer that a name says: names, occurrences, problems;
    and what they are called together."""
    if isinstance(layers, str | os.PathLike) and (is_onnx(layers) or ":" not in os.fspath(layers)):
        layers = load_network(layers)
    if isinstance(layers, Network):
        return layers.name, [(row.name, row.repeat, row.problem) for row in layers.layers]
    listed = [os.fspath(layers)] if isinstance(layers, str | os.PathLike) else layers
    given = checks.items(listed, "layers", 'a network, or a list such as ["resnet50:conv1"]', ProblemError)
    found = [(as_problem(one), one.repeat if isinstance(one, NetworkLayer) else 1) for one in given]
    title = found[0][0].name if len(found) == 1 else f"{len(found)} layers"
    return title, [(problem.name, repeat, problem) for problem, repeat in found]


def _result_or_cancelled(question: NestQuestion, found: BatchResult) -> ManyResult | SearchCancelledError:
    if question.key not in found.outcomes:
        return SearchCancelledError("cancelled before it was done", where=str(question))
    return _result(question, found.outcomes[question.key])


def _result(question: NestQuestion, outcome: Outcome) -> ManyResult:
    if isinstance(outcome, Failure):
        raise TilewrightError(outcome.message, where=str(question), hint="run it again: the other results are stored")
    found = outcome.of(question.problem)
    return SearchResult.of(question, found) if isinstance(found, Answer) else found.error
