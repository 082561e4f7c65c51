"""Many searches at once, as a user calls them: comparisons of dataflows, and lists of layers on one architecture."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, Unpack, overload

from .arguments import (
    ArchitectureLike,
    ConstraintsLike,
    as_architecture,
    limits_of,
    question_of,
    tiling_or_default,
)
from .batches import (
    NetworkLike,
    Running,
    dataflow_names,
    machine_of,
    settings_of,
    workload_options,
    workloads_of,
)
from .cost_models import ObjectiveLike, parse_objective
from .fused_comparisons import Fusing, compared_fused, is_fused
from .inputs import checks
from .ir import Problem, ProblemError, SearchCancelledError, TilewrightError
from .mapper.answer import Answer
from .mapper.question import NestQuestion
from .mapper.space import Space
from .mapper.tilings import Tiling
from .options import ManyKeywords, NetworkKeywords, takes
from .report.comparisons.comparison import Comparison, comparison_of
from .report.fused import FusedComparison
from .results import ManyResult, SearchResult
from .run.batch.job import Failure, Outcome
from .run.batch.plan import Machine, Settings, Workload, distinct_questions, plan_comparison, read_dataflows
from .run.batch.run import BatchResult
from .run.documents.mappings import written_by
from .workloads import Network, load_network
from .workloads.networks import is_onnx

LayersLike: TypeAlias = Iterable[Problem | str] | NetworkLike
DATAFLOWS = ("free", "weight-stationary", "output-stationary", "input-stationary", "row-stationary")
"""What is compared when nothing else is asked for."""


@overload
def compare(
    networks: Sequence[NetworkLike],
    archs: Sequence[ArchitectureLike],
    dataflows: Sequence[str] = DATAFLOWS,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    *,
    fuse: Literal[False] = False,
    **options: Unpack[NetworkKeywords],
) -> Comparison: ...
@overload
def compare(
    networks: Sequence[NetworkLike],
    archs: Sequence[ArchitectureLike],
    dataflows: Sequence[str] = DATAFLOWS,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    *,
    fuse: Literal[True],
    **options: Unpack[NetworkKeywords],
) -> FusedComparison: ...
@takes(NetworkKeywords)
def compare(
    networks: Sequence[NetworkLike],
    archs: Sequence[ArchitectureLike],
    dataflows: Sequence[str] = DATAFLOWS,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    *,
    fuse: bool = False,
    **options: Unpack[NetworkKeywords],
) -> Comparison | FusedComparison:
    """Every layer of some networks on some architectures under some dataflows: the best mapping of each, with proof; or
    whole networks, the best with fusing beside the best without.

    networks    names of shipped networks, paths of network files, or networks
    archs       names of the library, paths of architecture files, or architectures
    dataflows   names of dataflows, or paths of constraints files; "free" is the whole space
    fuse        whole networks: groups of operations that are best mapped as one, as `compile` finds them, beside the
                best with nothing fused; dataflows and clusters are not for these
    most        operations that such a group has at most
    total_limit  with `fuse`, seconds for all searches of a network together; None: no limit
    objective, tiling, space, time_limit, memory_limit  as of `search`, for every layer; with `fuse` as of `compile`,
                for every group, and no time limit means 10 s for each
    dims, widths  as of `load_network`, for the paths of ONNX files among the networks
    workers     processes; None: one for each core
    scheduler   address of a Dask cluster that runs the searches instead, such as tcp://host:8786
    store       path of the result store; None: `TILEWRIGHT_STORE`, or the cache folder of the user
    cache       whether results are taken from the store, and kept there; with a RuntimeWarning they are not, where the
                cache folder cannot be written
    watch       called with the progress, several times a second
    progress    whether a bar shows it, in a notebook or on a terminal

    A layer without a mapping is a row with the reason. Raises TilewrightError for what cannot be understood, for a
    store that cannot be used and for a cluster that cannot be reached; what was found by then is in the store.
    """
    settings = settings_of(objective, tiling, space, limits_of(options["time_limit"], options["memory_limit"]))
    listed = checks.items(networks, "networks", 'a list such as ["resnet50"]')
    workloads = workloads_of(listed, options["dims"], options["widths"])
    machines = [machine_of(arch) for arch in checks.items(archs, "archs", 'a list such as ["eyeriss"]')]
    running, fusing = Running.of(options), Fusing(options["most"], options["total_limit"])
    dataflows, words = dataflow_names(dataflows), _compare_words(workloads, machines)
    if is_fused(fuse, fusing, options["scheduler"], {"dataflows": dataflows != list(DATAFLOWS)}):
        return compared_fused(workloads, machines, settings, fusing, running, words)
    words += ["--dataflows", ",".join(dataflows), *settings.options]
    return compared(workloads, machines, dataflows, settings, running, shlex.join(words))


def compared(
    workloads: Sequence[Workload],
    machines: Sequence[Machine],
    dataflows: Sequence[str],
    settings: Settings,
    running: Running,
    command: str,
) -> Comparison:
    """The comparison of everything given with everything else; `command` is what it says of how to repeat it."""
    cells = plan_comparison(workloads, machines, read_dataflows(dataflows), settings)
    return comparison_of(cells, running.run(distinct_questions(cells)), settings, command, written_by())


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

    layers      problems, or layers by name; or a network, by its name or path too
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
    progress    whether a bar shows how far it is, in a notebook or on a terminal

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
    machine, wanted = as_architecture(arch), parse_objective(objective)
    questions = [question_of(layer, machine, wanted, kind, space, constraints, limits) for layer in _layers_of(layers)]
    places: dict[str, list[int]] = {}
    for number, question in enumerate(questions):
        places.setdefault(question.key, []).append(number)

    def tell(question: NestQuestion, outcome: Outcome) -> None:
        if each is not None and not isinstance(outcome, Failure):
            for number in places[question.key]:
                each(number, _result(questions[number], outcome))

    found = Running.of(options).run(questions, tell, cancel)
    return [_result_or_cancelled(question, found) for question in questions]


def _layers_of(layers: LayersLike) -> list[Problem | str]:
    """The layers of a list, of a network, or of the network or layer that a name says."""
    if isinstance(layers, str | os.PathLike) and (is_onnx(layers) or ":" not in os.fspath(layers)):
        layers = load_network(layers)
    if isinstance(layers, Network):
        return [row.problem for row in layers.layers]
    if isinstance(layers, str | os.PathLike):
        return [os.fspath(layers)]
    return checks.items(layers, "layers", 'a network, or a list such as ["resnet50:conv1"]', ProblemError)


def _result_or_cancelled(question: NestQuestion, found: BatchResult) -> ManyResult | SearchCancelledError:
    if question.key not in found.outcomes:
        return SearchCancelledError("cancelled before it was done", where=str(question))
    return _result(question, found.outcomes[question.key])


def _result(question: NestQuestion, outcome: Outcome) -> ManyResult:
    if isinstance(outcome, Failure):
        raise TilewrightError(outcome.message, where=str(question), hint="run it again: the other results are stored")
    found = outcome.of(question.problem)
    return SearchResult.of(question, found) if isinstance(found, Answer) else found.error


def _compare_words(workloads: Sequence[Workload], machines: Sequence[Machine]) -> list[str]:
    """Of a command that compares these; without what is asked of them."""
    words = ["tilewright", "compare", "--networks", ",".join(workload.reference for workload in workloads)]
    words += ["--archs", ",".join(machine.options[1] for machine in machines)]
    return [*words, *workload_options(workloads)]
