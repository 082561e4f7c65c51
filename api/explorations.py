"""Design-space exploration as a user calls it: one network at every point of a space of architectures."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias, Unpack

from .arch import Architecture
from .arch.sweeps import Sweep, parse_sweep, swept
from .arguments import limits_of
from .batches import (
    NetworkLike,
    Running,
    arch_options,
    dataflow_names,
    settings_of,
    workload_options,
    workloads_of,
)
from .comparisons import Fusing, compared, compared_fused, is_fused
from .cost_models import ObjectiveLike
from .inputs import checks
from .ir import TilewrightError
from .mapper.space import Space
from .mapper.tilings import Tiling
from .options import NetworkKeywords, takes
from .report.comparisons.comparison import Comparison
from .report.comparisons.fused import FusedComparison
from .report.explorations.exploration import Exploration, exploration_of
from .report.explorations.measures import Budget, front_measures, on_chip_bytes, parse_limit
from .report.explorations.points import Beyond
from .run.batch.plan import Machine
from .workloads.network import sizes_asked

Place: TypeAlias = tuple[dict[str, str], Architecture]
"""Values of the swept fields, and the architecture with them."""


@takes(NetworkKeywords)
def explore(
    network: NetworkLike,
    arch: str | os.PathLike[str],
    sweeps: Sequence[Sweep | str],
    objective: ObjectiveLike = "edp",
    dataflow: str = "free",
    tiling: Tiling | None = None,
    space: Space = "even",
    *,
    fuse: bool = False,
    settings: Mapping[str, str] | None = None,
    limits: Sequence[str] = (),
    front: Sequence[str] | None = None,
    **options: Unpack[NetworkKeywords],
) -> Exploration:
    """A network on every combination of values of some fields of an architecture: the best mapping of every layer at
    every point, with proof, and the Pareto front of the points; or the best of the whole network with fusing.

    network   a name, the path of a network file, or a network
    arch      an architecture of the library by name, or the path of an architecture file
    sweeps    such as "GLB.size=32KiB:1MiB:x2"; "array=8x8,16x16 with clock=1GHz,500MHz" for fields that change
              together; or the path of a file of points (`arch/sweeps.py`)
    dataflow  the name of one, or the path of a constraints file
    fuse, most, total_limit  as of `compare`: points are judged by what the network can reach with groups of operations
              mapped as one
    settings  fields that are set at every point, such as {"clock": "500 MHz"}
    limits    such as "area <= 4 mm2", of energy, latency, area, on_chip and macs; points whose chips are beyond one are
              not searched
    front     what it is over, two or more of these; None: energy, latency, and area, or on_chip where a part of an
              architecture states no area

    The other arguments are those of `compare`, and so are the errors.
    """
    asked = settings_of(objective, tiling, space, limits_of(options["time_limit"], options["memory_limit"]))
    parsed, dataflows = _sweeps(sweeps), dataflow_names([dataflow])
    given = {} if settings is None else settings
    fixed = dict(checks.mapping(given, "settings", 'a dict such as {"clock": "500 MHz"}'))
    lines = checks.items(limits, "limits", 'a list such as ["area <= 4 mm2"]')
    budgets = tuple(parse_limit(checks.text(line, "a limit", "one such as area <= 4 mm2")) for line in lines)
    if front is not None:
        named = checks.items(front, "front", 'a list such as ["energy", "area"]')
        front = [checks.text(one, "a measure of front", "one such as energy") for one in named]
    places, beyond = _within(swept(arch, fixed, parsed), budgets)
    measures = front_measures(front, (machine for _, machine in places))
    machines = [
        Machine(
            machine.model_copy(update={"name": _point_name(machine.name, values)}),
            arch_options(os.fspath(arch), fixed | values),
        )
        for values, machine in places
    ]
    sizes = sizes_asked(options["dims"], options["phase"], options["batch"])
    workloads = workloads_of([network], sizes, options["widths"])
    words = ["tilewright", "explore", "--network", workloads[0].reference, *arch_options(os.fspath(arch), fixed)]
    words += [word for sweep in parsed for word in ("--sweep", sweep.text)]
    words += [word for limit in budgets for word in ("--limit", limit.text)]
    words += ["--front", ",".join(front)] if front is not None else []
    words += workload_options(workloads)
    running, fusing = Running.of(options), Fusing(options["most"], options["total_limit"])
    comparison: Comparison | FusedComparison
    if is_fused(fuse, fusing, options["scheduler"], {"dataflow": dataflows != ["free"]}):
        comparison = compared_fused(workloads, machines, asked, fusing, running, words)
    else:
        comparison = compared(workloads, machines, dataflows, asked, running, [*words, "--dataflow", *dataflows])
    fields = iter(places[0][0])  # with the names of levels as the architecture spells them
    axes = [list(itertools.islice(fields, len(sweep.paths))) for sweep in parsed]
    return exploration_of(comparison, axes, [values for values, _ in places], measures, budgets, beyond)


def _within(places: Sequence[Place], limits: Sequence[Budget]) -> tuple[list[Place], list[Beyond]]:
    """The points whose chips keep all limits, and those that do not; TilewrightError when none does."""
    within: list[Place] = []
    beyond: list[Beyond] = []
    for values, machine in places:
        broken = next((limit for limit in limits if not _keeps(machine, limit)), None)
        if broken is None:
            within.append((values, machine))
        else:
            beyond.append(Beyond(values, machine, broken))
    if not within:
        raise TilewrightError(
            f"no point is within the limits: {_nearest(beyond)}", where=f"limit {beyond[0].limit.text}"
        )
    return within, beyond


def _keeps(machine: Architecture, limit: Budget) -> bool:
    """Whether a chip keeps a limit; those of the network are for later."""
    return limit.measure.of_chip is None or limit.allows(limit.measure.of_chip(machine))


def _nearest(beyond: Sequence[Beyond]) -> str:
    """The point that is least beyond the limit that the first one breaks."""
    limit = beyond[0].limit
    of_chip = limit.measure.of_chip or on_chip_bytes  # limits of the network break nothing here
    figure, values = min(
        ((of_chip(point.machine), point.values) for point in beyond if point.limit == limit), key=lambda pair: pair[0]
    )
    place = ", ".join(f"{path}={value}" for path, value in values.items())
    return f"the least {limit.measure.words} is {limit.measure.show(figure)}, with {place}"


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
