"""Design-space exploration as a user calls it: one network at every point of a space of architectures."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from .arch.sweeps import Sweep, parse_sweep, swept
from .arguments import SizeLike, StoreLike, limits_of
from .comparisons import (
    NetworkLike,
    Running,
    arch_options,
    compared,
    dataflow_names,
    settings_of,
    workload_options,
    workloads_of,
)
from .cost_models import ObjectiveLike
from .inputs import checks
from .ir import TilewrightError
from .mapper.means import DEFAULT_MEMORY_LIMIT
from .mapper.space import Space
from .mapper.tilings import Tiling
from .report.batch.plan import Machine
from .report.batch.run import Watch, unwatched
from .report.exploration import Exploration, exploration_of
from .workloads.network import Widths


def explore(
    network: NetworkLike,
    arch: str | os.PathLike[str],
    sweeps: Sequence[Sweep | str],
    objective: ObjectiveLike = "edp",
    dataflow: str = "free",
    tiling: Tiling | None = None,
    space: Space = "even",
    *,
    settings: Mapping[str, str] | None = None,
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
) -> Exploration:
    """A network on every combination of values of some fields of an architecture: the best mapping of every layer at
    every point, with proof, and the Pareto front of the points.

    network   a name, the path of a network file, or a network
    arch      an architecture of the library by name, or the path of an architecture file
    sweeps    such as "GLB.size=32KiB:1MiB:x2" and "array=8x8,12x14" (`arch/sweeps.py`)
    dataflow  the name of one, or the path of a constraints file
    settings  fields that are set at every point, such as {"clock": "500 MHz"}

    The other arguments are those of `compare`, and so are the errors.
    """
    asked = settings_of(objective, tiling, space, limits_of(time_limit, memory_limit))
    parsed, dataflows = _sweeps(sweeps), dataflow_names([dataflow])
    fixed = dict(checks.mapping(settings or {}, "settings", 'a dict such as {"clock": "500 MHz"}'))
    places = swept(arch, fixed, parsed)
    machines = [
        Machine(
            machine.model_copy(update={"name": _point_name(machine.name, values)}),
            arch_options(os.fspath(arch), fixed | values),
        )
        for values, machine in places
    ]
    workloads = workloads_of([network], dims, widths)
    words = ["tilewright", "explore", "--network", workloads[0].reference, *arch_options(os.fspath(arch), fixed)]
    for sweep in parsed:
        words += ["--sweep", f"{sweep.path}={','.join(sweep.values)}"]
    words += ["--dataflow", *dataflows, *workload_options(workloads), *asked.options]
    running = Running(workers, scheduler, store, cache, watch, progress)
    comparison = compared(workloads, machines, dataflows, asked, running, shlex.join(words))
    return exploration_of(comparison, [values for values, _ in places])


def _sweeps(sweeps: Sequence[Sweep | str]) -> list[Sweep]:
    given = checks.items(sweeps, "sweeps", 'a list such as ["array=8x8,16x16"]')
    if not given:
        raise TilewrightError("nothing is swept, expected one field or more", hint="write array=8x8,16x16")
    return [
        sweep if isinstance(sweep, Sweep) else parse_sweep(checks.text(sweep, "a sweep", "one such as array=8x8,16x16"))
        for sweep in given
    ]


def _point_name(name: str, values: Mapping[str, str]) -> str:
    return f"{name} with {', '.join(f'{path}={value}' for path, value in values.items())}"
