"""Comparisons of networks on machines: their layers under dataflows, or whole networks with and without fusing."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Unpack, overload

from .arguments import ArchitectureLike, as_store, limits_of
from .batches import NetworkLike, Running, dataflow_names, machine_of, settings_of, workload_options, workloads_of
from .compiled import GROUP_SECONDS, compiled, network_question, with_choices
from .cost_models import ObjectiveLike
from .inputs import checks
from .ir import InfeasibleError, TilewrightError, UndecidedError
from .mapper.question import Limits
from .mapper.segmentation import MOST, NetworkAnswer, NetworkQuestion
from .mapper.space import Space
from .mapper.tilings import Tiling
from .options import NetworkKeywords, takes
from .report.comparisons.comparison import Comparison, comparison_of
from .report.comparisons.fused import FusedComparison, fused_comparison_of
from .run.batch.plan import (
    Machine,
    Settings,
    Workload,
    check_distinct,
    distinct_questions,
    plan_comparison,
    read_dataflows,
)
from .run.documents.mappings import written_by
from .run.store import NoMapping
from .workloads.network import sizes_asked

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
    dims, phase, batch, widths  as of `load_network`, for those networks that have them
    workers     processes; None: one for each core
    scheduler   address of a Dask cluster that runs the searches instead, such as tcp://host:8786
    store       path of the result store; None: `TILEWRIGHT_STORE`, or the cache folder of the user
    cache       whether results are taken from the store, and kept there; with a RuntimeWarning they are not, where the
                cache folder cannot be written
    watch       called with the progress, several times a second
    progress    whether a bar shows it, in a notebook or on a terminal; None: in a notebook

    A layer without a mapping is a row with the reason. Raises TilewrightError for what cannot be understood, for a
    store that cannot be used and for a cluster that cannot be reached; what was found by then is in the store.
    """
    settings = settings_of(objective, tiling, space, limits_of(options["time_limit"], options["memory_limit"]))
    listed = checks.items(networks, "networks", 'a list such as ["resnet50"]')
    workloads = workloads_of(
        listed, sizes_asked(options["dims"], options["phase"], options["batch"]), options["widths"]
    )
    machines = [machine_of(arch) for arch in checks.items(archs, "archs", 'a list such as ["eyeriss"]')]
    running, fusing = Running.of(options), Fusing(options["most"], options["total_limit"])
    dataflows, words = dataflow_names(dataflows), _compare_words(workloads, machines)
    if is_fused(fuse, fusing, options["scheduler"], {"dataflows": dataflows != list(DATAFLOWS)}):
        return compared_fused(workloads, machines, settings, fusing, running, words)
    words += ["--dataflows", ",".join(dataflows)]
    return compared(workloads, machines, dataflows, settings, running, words)


@dataclass(frozen=True)
class Fusing:
    """How far fusing goes.

    most     operations of a group, at most
    total_s  seconds for all searches of a network together; None: as long as they take
    """

    most: int = MOST
    total_s: float | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """As words of a command."""
        total = () if self.total_s is None else ("--total-limit", f"{self.total_s:g}")
        return ("--group", str(self.most), *total)


@dataclass(frozen=True)
class NetworkJob:
    """A network on a machine, for a worker.

    question  what to find out
    store     path of the store that keeps the results of groups; None: `TILEWRIGHT_STORE`, or the user's cache
    cached    whether a store is asked at all
    """

    question: NetworkQuestion
    store: str | None
    cached: bool

    def __str__(self) -> str:
        return f"{self.question.graph.network} on {self.question.arch.name}"


def run_network(job: NetworkJob) -> NetworkAnswer | NoMapping:
    """The best groups of a network; every group's result is in the store as soon as it is known."""
    try:
        return compiled(job.question, job.store, _unsaid, cached=job.cached, workers=1)
    except (InfeasibleError, UndecidedError) as error:
        return NoMapping(job.question.graph.network, error.message, error.where, error.hint)


def compared(
    workloads: Sequence[Workload],
    machines: Sequence[Machine],
    dataflows: Sequence[str],
    settings: Settings,
    running: Running,
    command: Sequence[str],
) -> Comparison:
    """The comparison of the layers of everything given with everything else.

    command  the words of a command that makes the same, but for those that all such commands have
    """
    cells = plan_comparison(workloads, machines, read_dataflows(dataflows), settings)
    again = shlex.join([*command, *settings.options])
    return comparison_of(cells, running.run(distinct_questions(cells)), settings, again, written_by())


def compared_fused(
    workloads: Sequence[Workload],
    machines: Sequence[Machine],
    settings: Settings,
    fusing: Fusing,
    running: Running,
    command: Sequence[str],
) -> FusedComparison:
    """Every network on every machine with fusing, and without.

    settings  of every search; with no time limit, `GROUP_SECONDS` for each group
    fusing    how large groups are, and how long all searches of a network take
    command   the words of a command that makes the same, but for those that all such commands have

    Raises TilewrightError for a network whose edges are not known, an objective that whole networks do not have, and
    for what `compare` refuses.
    """
    check_distinct("networks", [workload.network.name for workload in workloads])
    check_distinct("architectures", [machine.arch.name for machine in machines])
    limits = settings.limits
    settings = replace(settings, limits=Limits(limits.time_s or GROUP_SECONDS, limits.memory_bytes))
    places = list(itertools.product(workloads, machines))
    with running.opened() as store:  # one that cannot be used is told here, once
        cached = store is not None
    chosen = as_store(running.store)
    path = None if chosen is None else os.fspath(chosen)
    jobs = [NetworkJob(_question(*place, settings, fusing), path, cached) for place in places]
    outcomes = running.call(run_network, jobs)
    words = (*fusing.options, *settings.options)
    rows = [
        (
            workload.network.name,
            machine.arch,
            shlex.join(["tilewright", "compile", workload.reference, *workload.options, *machine.options, *words]),
        )
        for workload, machine in places
    ]
    again = shlex.join([*command, "--fuse", *words])
    return fused_comparison_of(rows, outcomes, settings, fusing.most, again, written_by())


def is_fused(fuse: bool, fusing: Fusing, scheduler: str | None, flows: Mapping[str, bool]) -> bool:
    """`fuse`, checked with what does or does not go together with it.

    flows  the argument for dataflows, and whether any was asked for

    Raises TilewrightError that names the argument.
    """
    if not isinstance(fuse, bool):
        raise TilewrightError(f"found {fuse!r}, expected True or False", where="fuse")
    if not fuse:
        if checks.whole(fusing.most, "most") != MOST:
            raise TilewrightError("says how many operations are mapped as one: give fuse=True with it", where="most")
        if fusing.total_s is not None:
            raise TilewrightError("is for whole networks: give fuse=True with it", where="total_limit")
        return False
    for name, is_given in flows.items():
        if is_given:
            why = "constrain single layers, and groups of several operations are mapped with fuse"
            raise TilewrightError(f"dataflows {why}", where=name, hint="leave out one of the two")
    if scheduler is not None:
        why = "whole networks are searched by processes on this machine, not by a cluster"
        raise TilewrightError(why, where="scheduler", hint="leave out the scheduler, or fuse")
    return True


def _compare_words(workloads: Sequence[Workload], machines: Sequence[Machine]) -> list[str]:
    """Of a command that compares these; without what is asked of them."""
    words = ["tilewright", "compare", "--networks", ",".join(workload.reference for workload in workloads)]
    words += ["--archs", ",".join(machine.options[1] for machine in machines)]
    return [*words, *workload_options(workloads)]


def _question(workload: Workload, machine: Machine, settings: Settings, fusing: Fusing) -> NetworkQuestion:
    s, network = settings, workload.network
    asked = network_question(network, machine.arch, s.objective, s.tiling, s.space, "all", fusing.most, s.limits)
    return with_choices(asked, stays=True, total_limit=fusing.total_s)


def _unsaid(_: str) -> None:
    """What is worth knowing of the store has been said by then."""
