"""What calls of many searches have in common: networks and machines as commands name them, and where searches run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

from .arch import Architecture
from .arguments import ArchitectureLike, StoreLike, as_architecture, as_store, check_choice, tiling_or_default
from .cost_models import ObjectiveLike, parse_objective
from .inputs import checks
from .ir import ProblemError, TilewrightError
from .mapper.question import Limits, NestQuestion
from .mapper.space import SPACES, Space
from .mapper.tilings import Tiling
from .options import BatchKeywords
from .report.parts.progress import signs_of_life
from .run.batch.calls import run_calls
from .run.batch.job import Failure
from .run.batch.plan import Machine, Settings, Workload
from .run.batch.processes import Processes
from .run.batch.run import BatchResult, Each, Progress, Watch, Workers, run_batch, unnoticed, unwatched
from .run.store import Store
from .run.store.opening import opened_for_many
from .searches import warn
from .workloads import Network
from .workloads.network import NO_SIZES, PHASE, Sizes, Widths
from .workloads.networks import check_widths, dims_by_network, is_onnx, network_at

A = TypeVar("A")
T = TypeVar("T")
NetworkLike: TypeAlias = Network | str | os.PathLike[str]


@dataclass(frozen=True)
class Running:
    """Where and how the searches of a batch run.

    workers    processes; None: one for each core
    scheduler  address of a Dask cluster that runs them instead, such as tcp://host:8786
    store      path of the result store; None: `TILEWRIGHT_STORE`, or the cache folder of the user
    cache      whether searches are answered from the store, and kept there
    watch      called with the progress, several times a second
    progress   whether a bar shows it as well; None: in a notebook
    """

    workers: int | None = None
    scheduler: str | None = None
    store: StoreLike | None = None
    cache: bool = True
    watch: Watch = unwatched
    progress: bool | None = None

    @classmethod
    def of(cls, options: BatchKeywords) -> Running:
        """As the options of a call say."""
        watch, progress = options["watch"], options["progress"]
        return cls(options["workers"], options["scheduler"], options["store"], options["cache"], watch, progress)

    def __post_init__(self) -> None:
        if not checks.flag(self.cache, "cache") and self.store is not None:
            hint = "leave out one of the two"
            raise TilewrightError("a store is given, and without cache none is used", where="store", hint=hint)
        as_store(self.store)
        if self.progress is not None:
            checks.flag(self.progress, "progress")
        checks.function(self.watch, "watch")

    def run(
        self,
        questions: Iterable[NestQuestion],
        each: Each = unnoticed,
        cancel: Callable[[], bool] = lambda: False,
    ) -> BatchResult:
        """Answer the questions, as `run_batch` does."""
        with self._watching() as watch, self.opened() as store:
            return run_batch(questions, store, self._workers(), watch, each, cancel)

    def call(self, work: Callable[[A], T], arguments: Sequence[A]) -> list[T | Failure]:
        """Have workers call a function, as `run_calls` does; what is found the function keeps itself."""
        with self._watching() as watch:
            return run_calls(work, arguments, self._workers(), watch)

    def opened(self) -> AbstractContextManager[Store | None]:
        """The store; None where nothing is kept. Raises StoreError for one that cannot be used."""
        return opened_for_many(as_store(self.store), warn) if self.cache else nullcontext()

    @contextmanager
    def _watching(self) -> Iterator[Watch]:
        """What to call with the progress: the bar, if there is one, and whoever watches."""
        with signs_of_life(wanted=self.progress) as signs:

            def watch(progress: Progress) -> None:
                signs.of_batch(progress)
                self.watch(progress)

            yield watch

    def _workers(self) -> Callable[[], Workers]:
        if self.workers is not None:
            checks.whole(self.workers, "the number of workers")
        if self.scheduler is None:
            return partial(Processes, self.workers)
        from .run.batch.cluster import Cluster

        return partial(Cluster, checks.text(self.scheduler, "the scheduler", "an address such as tcp://host:8786"))


def settings_of(objective: ObjectiveLike, tiling: Tiling | None, space: Space, limits: Limits) -> Settings:
    """What the searches of a batch have in common; all of it checked."""
    check_choice("space", space, SPACES)
    return Settings(parse_objective(objective), tiling_or_default(tiling), space, limits)


def dataflow_names(dataflows: Sequence[str]) -> list[str]:
    """The dataflows of a list, as a command names them."""
    given = checks.items(dataflows, "dataflows", 'a list such as ["free", "weight-stationary"]')
    return [checks.path(one, "a dataflow", "the name of one, or the path of a constraints file") for one in given]


def workloads_of(networks: Sequence[NetworkLike], dims: Sizes = NO_SIZES, widths: Widths = "file") -> list[Workload]:
    """Networks, and how a command names each of them.

    Raises ProblemError for a network that cannot be loaded, and for sizes of symbols that none of them has.
    """
    expected = "a network's name or the path of its file"
    named = [checks.path(n, "the network", expected, ProblemError) for n in networks if not isinstance(n, Network)]
    if dims and not named:
        hint = "give them to load_network"
        raise ProblemError(f"{next(iter(dims))} is given, and all networks have their sizes", where="dims", hint=hint)
    check_widths(widths)
    if widths != "file" and not any(map(is_onnx, named)):
        raise ProblemError("only ONNX files have widths of their own, and no network is one", where="widths")
    # One network says itself what is wrong with its sizes; of several, each takes those that it knows.
    sizes = dims_by_network(named, dims) if len(named) > 1 else dict.fromkeys(named, dims)
    return [_workload(network, sizes, widths) for network in networks]


def _workload(network: NetworkLike, sizes: Mapping[str, Sizes], widths: Widths) -> Workload:
    if isinstance(network, Network):
        return Workload(network, network.name)
    dims = sizes[os.fspath(network)]
    named = (
        ("--phase", str(size)) if symbol == PHASE else ("--dim", f"{symbol}={size}") for symbol, size in dims.items()
    )
    options = [word for option in named for word in option]
    apart = widths if is_onnx(network) else "file"
    options += ["--widths", apart] if apart != "file" else []
    return Workload(network_at(network, dims, apart), os.fspath(network), tuple(options))


def workload_options(workloads: Iterable[Workload]) -> tuple[str, ...]:
    """The options of a command that takes some workloads: those of its ONNX files, each once."""
    pairs = [pair for workload in workloads for pair in zip(workload.options[::2], workload.options[1::2], strict=True)]
    return tuple(word for pair in dict.fromkeys(pairs) for word in pair)


def machine_of(arch: ArchitectureLike) -> Machine:
    """An architecture, and how a command names it."""
    if isinstance(arch, Architecture):
        return Machine(arch, arch_options(arch.name, arch.settings))
    return Machine(as_architecture(arch), arch_options(os.fspath(arch), {}))


def arch_options(name: str, settings: Mapping[str, str]) -> tuple[str, ...]:
    """The options by which a command takes an architecture with some of its fields set."""
    return ("--arch", name, *(word for path, value in settings.items() for word in ("--set", f"{path}={value}")))
