"""Many searches at once, as a user calls them: comparisons of dataflows, and lists of layers on one architecture."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from .arch import Architecture
from .arguments import (
    ArchitectureLike,
    ConstraintsLike,
    SizeLike,
    StoreLike,
    as_architecture,
    as_store,
    check_choice,
    limits_of,
    question_of,
    tiling_or_default,
)
from .cost_models import ObjectiveLike, parse_objective
from .inputs import checks
from .ir import InfeasibleError, Problem, ProblemError, SearchCancelledError, TilewrightError
from .mapper.means import DEFAULT_MEMORY_LIMIT
from .mapper.question import Answer, Limits, Question
from .mapper.space import SPACES, Space
from .mapper.tilings import Tiling
from .report.batch.display import moving_display
from .report.batch.job import Failure, Outcome
from .report.batch.plan import Machine, Settings, Workload, distinct_questions, plan_comparison, read_dataflows
from .report.batch.processes import Processes
from .report.batch.run import BatchResult, Each, Progress, Watch, Workers, run_batch, unnoticed, unwatched
from .report.comparison import Comparison, comparison_of
from .report.documents import written_by
from .report.store.opening import opened_for_many
from .results import SearchResult
from .searches import warn
from .workloads import Network, load_network
from .workloads.network import Widths
from .workloads.networks import dims_by_file, is_onnx

NetworkLike: TypeAlias = Network | str | os.PathLike[str]
LayersLike: TypeAlias = Iterable[Problem | str] | NetworkLike
ManyResult: TypeAlias = SearchResult | InfeasibleError
"""What a layer of many comes to."""
DATAFLOWS = ("free", "weight-stationary", "output-stationary", "input-stationary", "row-stationary")
"""What is compared when nothing else is asked for."""


@dataclass(frozen=True)
class Running:
    """Where and how the searches of a batch run.

    workers    processes; None: one for each core
    scheduler  address of a Dask cluster that runs them instead, such as tcp://host:8786
    store      path of the result store; None: `TILEWRIGHT_STORE`, or the cache folder of the user
    cache      whether searches are answered from the store, and kept there
    watch      called with the progress, several times a second
    progress   whether a bar shows it as well
    """

    workers: int | None = None
    scheduler: str | None = None
    store: StoreLike | None = None
    cache: bool = True
    watch: Watch = unwatched
    progress: bool = False

    def run(
        self,
        questions: Iterable[Question],
        each: Each = unnoticed,
        cancel: Callable[[], bool] = lambda: False,
    ) -> BatchResult:
        """Answer the questions, as `run_batch` does."""
        if self.workers is not None:
            checks.whole(self.workers, "the number of workers")
        shown = moving_display() if self.progress else nullcontext(unwatched)
        store = opened_for_many(as_store(self.store), warn) if self.cache else nullcontext()
        with shown as show, store as opened:

            def watch(progress: Progress) -> None:
                show(progress)
                self.watch(progress)

            return run_batch(questions, opened, self._workers(), watch, each, cancel)

    def _workers(self) -> Callable[[], Workers]:
        if self.scheduler is None:
            return partial(Processes, self.workers)
        from .report.batch.cluster import Cluster

        return partial(Cluster, checks.text(self.scheduler, "the scheduler", "an address such as tcp://host:8786"))


def compare(
    networks: Sequence[NetworkLike],
    archs: Sequence[ArchitectureLike],
    dataflows: Sequence[str] = DATAFLOWS,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    *,
    dims: Mapping[str, int] | None = None,
    widths: Widths = "file",
    time_limit: float | None = None,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
    workers: int | None = None,
    scheduler: str | None = None,
    store: StoreLike | None = None,
    cache: bool = True,
    watch: Watch = unwatched,
    progress: bool = False,
) -> Comparison:
    """Every layer of some networks on some architectures under some dataflows: the best mapping of each, with proof.

    networks    names of shipped networks, paths of network files, or networks
    archs       names of the library, paths of architecture files, or architectures
    dataflows   names of dataflows, or paths of constraints files; "free" is the whole space
    objective, tiling, space, time_limit, memory_limit  as of `search`, for every layer
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
    settings = settings_of(objective, tiling, space, limits_of(time_limit, memory_limit))
    workloads = workloads_of(checks.items(networks, "networks", 'a list such as ["resnet50"]'), dims, widths)
    machines = [_machine(arch) for arch in checks.items(archs, "archs", 'a list such as ["eyeriss"]')]
    dataflows = dataflow_names(dataflows)
    running = Running(workers, scheduler, store, cache, watch, progress)
    command = _compare_command(workloads, machines, dataflows, settings)
    return compared(workloads, machines, dataflows, settings, running, command)


def settings_of(objective: ObjectiveLike, tiling: Tiling | None, space: Space, limits: Limits) -> Settings:
    """What the searches of a batch have in common; all of it checked."""
    check_choice("space", space, SPACES)
    return Settings(parse_objective(objective), tiling_or_default(tiling), space, limits)


def dataflow_names(dataflows: Sequence[str]) -> list[str]:
    """The dataflows of a list, as a command names them."""
    given = checks.items(dataflows, "dataflows", 'a list such as ["free", "weight-stationary"]')
    return [checks.path(one, "a dataflow", "the name of one, or the path of a constraints file") for one in given]


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


def search_many(
    layers: LayersLike,
    arch: ArchitectureLike,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: ConstraintsLike = None,
    *,
    time_limit: float | None = None,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
    workers: int | None = None,
    scheduler: str | None = None,
    store: StoreLike | None = None,
    cache: bool = True,
    watch: Watch = unwatched,
    each: Callable[[int, ManyResult], None] | None = None,
    cancel: Callable[[], bool] = lambda: False,
    progress: bool = False,
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
    limits, kind = limits_of(time_limit, memory_limit), tiling_or_default(tiling)
    machine, wanted = as_architecture(arch), parse_objective(objective)
    questions = [question_of(layer, machine, wanted, kind, space, constraints, limits) for layer in _layers_of(layers)]
    places: dict[str, list[int]] = {}
    for number, question in enumerate(questions):
        places.setdefault(question.key, []).append(number)

    def tell(question: Question, outcome: Outcome) -> None:
        if each is not None and not isinstance(outcome, Failure):
            for number in places[question.key]:
                each(number, _result(questions[number], outcome))

    found = Running(workers, scheduler, store, cache, watch, progress).run(questions, tell, cancel)
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


def _result_or_cancelled(question: Question, found: BatchResult) -> ManyResult | SearchCancelledError:
    if question.key not in found.outcomes:
        return SearchCancelledError("cancelled before it was done", where=str(question))
    return _result(question, found.outcomes[question.key])


def _result(question: Question, outcome: Outcome) -> ManyResult:
    if isinstance(outcome, Failure):
        raise TilewrightError(outcome.message, where=str(question), hint="run it again: the other results are stored")
    found = outcome.of(question.problem)
    return SearchResult.of(question, found) if isinstance(found, Answer) else found.error


def workloads_of(
    networks: Sequence[NetworkLike], dims: Mapping[str, int] | None = None, widths: Widths = "file"
) -> list[Workload]:
    """Networks, and how a command names each of them.

    Raises ProblemError for a network that cannot be loaded, and for sizes of symbols where no network is an ONNX file.
    """
    files = [network for network in networks if not isinstance(network, Network) and is_onnx(network)]
    if dims and not files:
        hint = "sizes of symbols belong to ONNX files, which are given by their paths"
        raise ProblemError(f"{next(iter(dims))} is given, and no network is an ONNX file", where="dims", hint=hint)
    # One file says itself what is wrong with its sizes; of several, each takes those that it knows.
    sizes = dims_by_file(files, dims or {}) if len(files) > 1 else {os.fspath(file): dims or {} for file in files}
    return [_workload(network, sizes, widths) for network in networks]


def _workload(network: NetworkLike, sizes: Mapping[str, Mapping[str, int]], widths: Widths) -> Workload:
    if isinstance(network, Network):
        return Workload(network, network.name)
    if not is_onnx(network):
        return Workload(load_network(network), os.fspath(network))
    dims = sizes[os.fspath(network)]
    options = [word for symbol, size in dims.items() for word in ("--dim", f"{symbol}={size}")]
    options += ["--widths", widths] if widths != "file" else []
    return Workload(load_network(network, dims, widths), os.fspath(network), tuple(options))


def workload_options(workloads: Iterable[Workload]) -> tuple[str, ...]:
    """The options of a command that takes some workloads: those of its ONNX files, each once."""
    pairs = [pair for workload in workloads for pair in zip(workload.options[::2], workload.options[1::2], strict=True)]
    return tuple(word for pair in dict.fromkeys(pairs) for word in pair)


def _machine(arch: ArchitectureLike) -> Machine:
    if isinstance(arch, Architecture):
        return Machine(arch, arch_options(arch.name, arch.settings))
    return Machine(as_architecture(arch), arch_options(os.fspath(arch), {}))


def arch_options(name: str, settings: Mapping[str, str]) -> tuple[str, ...]:
    """The options by which a command takes an architecture with some of its fields set."""
    return ("--arch", name, *(word for path, value in settings.items() for word in ("--set", f"{path}={value}")))


def _compare_command(
    workloads: Sequence[Workload], machines: Sequence[Machine], dataflows: Sequence[str], settings: Settings
) -> str:
    words = ["tilewright", "compare", "--networks", ",".join(workload.reference for workload in workloads)]
    words += ["--archs", ",".join(machine.options[1] for machine in machines)]
    words += ["--dataflows", ",".join(dataflows), *workload_options(workloads), *settings.options]
    return shlex.join(words)
