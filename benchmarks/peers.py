"""Cases of other mappers that are kept in tests/golden: what they searched, what they found, and how long it took."""

from __future__ import annotations

import argparse
import inspect
import json
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

import tilewright as tw
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.exact.tiles.instances import array_vectors

MIN_USAGE = ("eyerissN", "simbaN")
"""Machines that AccelForge searched with `min_usage 1`."""

GOLDEN = Path(__file__).parent.parent / "tests" / "golden"


@dataclass(frozen=True)
class PeerCase:
    """One search of another tool, on an architecture with that tool's counting rules as far as ours can be set to them.

    energy_pj, latency_cycles  of the mapping that it found, by its own count
    mapping                    that mapping
    cpu_s                      CPU seconds of its search; None where they were not recorded
    constraints                what the other tool asked of every mapping
    """

    name: str
    problem: tw.Problem
    arch: tw.Architecture
    objective: str
    energy_pj: float
    latency_cycles: float
    mapping: tw.Mapping
    cpu_s: float | None
    constraints: Constraints = Constraints()

    @property
    def value(self) -> float:
        """What the other tool minimized, by its own count."""
        return {"energy": self.energy_pj, "latency": self.latency_cycles}.get(
            self.objective, self.energy_pj * self.latency_cycles
        )


def accelforge_cases() -> list[PeerCase]:
    """Optima that AccelForge proved."""
    return _cases("accelforge")


def timeloop_cases() -> list[PeerCase]:
    """The best mappings of Timeloop's mapper within its budget."""
    return _cases("timeloop_searches")


def _cases(tool: str) -> list[PeerCase]:
    document = json.loads((GOLDEN / f"{tool}.json").read_text())
    archs = {path.stem: tw.load_arch(path) for path in (GOLDEN / tool).glob("*.yaml")}
    return [_case(case, archs[case["arch"]]) for case in document["cases"]]


def _case(case: dict[str, Any], arch: tw.Architecture) -> PeerCase:
    ((kind, sizes),) = case["layer"].items()
    problem = {"gemm": tw.gemm, "conv2d": tw.conv2d}[kind](**sizes, name=case["name"])
    algorithm = f" {case['algorithm']}" if "algorithm" in case else ""
    constraints = fullest_arrays(problem, arch) if arch.name in MIN_USAGE else Constraints()
    return PeerCase(
        name=f"{arch.name} {case['name']}{algorithm}",
        problem=problem,
        arch=arch,
        objective=case["objective"],
        energy_pj=case["energy_pj"],
        latency_cycles=case["latency_cycles"],
        mapping=tw.Mapping(problem, tw.LoopNest.parse("\n".join(case["nest"]))),
        cpu_s=case["cpu_s"],
        constraints=constraints,
    )


def fullest_arrays(problem: tw.Problem, arch: tw.Architecture) -> Constraints:
    """Only mappings that use as many instances of every array as perfect factors can: AccelForge's `min_usage 1`."""
    even = (False,) * len(problem.dims)
    most = {
        fanout.name: int(array_vectors(problem, fanout, "perfect", even).prod(axis=1).max()) / fanout.instances
        for fanout in arch.fanouts
    }
    return Constraints("largest use of every array", utilization=most)


@dataclass(frozen=True)
class Comparison:
    """A case searched by us.

    recounted  the other tool's mapping by our count
    ours       what our search found
    cpu_s      CPU seconds of each search, the first one first: that loads modules, and gets memory from the system
    """

    case: PeerCase
    recounted: float
    ours: float
    proven: bool
    cpu_s: list[float]


def compare(case: PeerCase, space: str, time_limit: float | None, searches: int) -> Comparison:
    """Search a case some times, with divisors only, in a space if this version has a choice of spaces."""
    options: dict[str, Any] = {"tiling": "perfect", "time_limit": time_limit, "constraints": case.constraints}
    if "space" in inspect.signature(tw.search).parameters:
        options["space"] = space
    seconds = []
    for _ in range(searches):
        started = time.process_time()
        certificate = tw.search(case.problem, case.arch, case.objective, **options).certificate
        seconds.append(time.process_time() - started)
    recounted = tw.evaluate(case.mapping, case.arch).objective(case.objective)  # type: ignore[arg-type]
    return Comparison(case, recounted, certificate.value, certificate.proven, seconds)


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def report(cases: list[PeerCase], tool: str, summary: str, notes: str) -> None:
    """The command line of a comparison: search all cases, or some of them, and print a table."""
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--space", default="uneven", help="if this version has a choice: %(default)s")
    parser.add_argument("--time-limit", type=float, default=None, help="seconds for each search")
    parser.add_argument("--only", default="", help="cases whose name or objective contains this")
    parser.add_argument("--searches", type=int, default=3, help="of each case, for their times: %(default)s")
    options = parser.parse_args()
    chosen = "space" in inspect.signature(tw.search).parameters
    print(f"{options.space if chosen else 'even'} space, perfect tiling; values in pJ, cycles, pJ x cycles\n{notes}")
    print(
        f"\n{'case':44} {'for':8} {tool:>13} {'recounted':>13} {'ours':>13} {'ours/recounted':>14} {'proven':>6} "
        f"{'CPU s':>8} {'their CPU s':>11}"
    )
    found = []
    for case in cases:
        if options.only not in f"{case.name} {case.objective}":
            continue
        found.append(row := compare(case, options.space, options.time_limit, options.searches))
        theirs = "-" if case.cpu_s is None else f"{case.cpu_s:.2f}"
        print(
            f"{case.name:44} {case.objective:8} {case.value:13.6e} {row.recounted:13.6e} {row.ours:13.6e} "
            f"{row.ours / row.recounted:14.6f} {'yes' if row.proven else 'NO':>6} {median(row.cpu_s):8.2f} "
            f"{theirs:>11}",
            flush=True,
        )
    values = geometric_mean(row.ours / row.case.value for row in found)
    recounts = geometric_mean(row.ours / row.recounted for row in found)
    timed = [(row.cpu_s, row.case.cpu_s) for row in found if row.case.cpu_s is not None]
    first, middle = (geometric_mean(of(ours) / theirs for ours, theirs in timed) for of in (itemgetter(0), median))
    print(f"\ngeometric means over {len(found)} cases: ours/{tool} {values:.6f}, ours/recounted {recounts:.6f}")
    print(f"CPU seconds ours/theirs over {len(timed)} cases: median search {middle:.4f}, first search {first:.4f}")
