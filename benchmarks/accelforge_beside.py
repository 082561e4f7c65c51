"""AccelForge's search and ours on the same machine, turn by turn, each in a process of its own.

    python benchmarks/accelforge_beside.py PYTHON              # PYTHON: an interpreter that has AccelForge 1.0.467
    python benchmarks/accelforge_beside.py PYTHON --only H3 --rounds 3
    python benchmarks/accelforge_beside.py PYTHON --fused --searches 3     # cascades

CPU seconds of the first search of a process, on one thread, or the median of several one after the other; of these the
least of all rounds. `same` says whether AccelForge found the optimum that is kept in tests/golden, and `found` the
optimum of ours relative to its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cascades import golden_question, measured_here

from accelforge_trees import fused_cases
from peers import accelforge_cases, compare, geometric_mean

ITSELF = Path(__file__).with_name("accelforge_itself.py")


@dataclass(frozen=True)
class Beside:
    """What both search.

    number  which case it is of those that `accelforge_itself.py` knows
    value   the optimum that AccelForge found when the case was recorded
    """

    number: int
    name: str
    objective: str
    value: float
    fused: bool = False


def single_operations() -> list[Beside]:
    return [
        Beside(number, case.name, case.objective, case.value)
        for number, case in enumerate(accelforge_cases())
        if case.cpu_s is not None
    ]


def fused_cascades() -> list[Beside]:
    found = []
    for number, case in enumerate(fused_cases()):
        name, objective = f"{case['machine']} {case['case']} {case['glb_words']}", case["objective"]
        value = case["optimum"]["edp" if objective == "front" else objective]
        found.append(Beside(number, name, objective, value, fused=True))
    return found


def theirs(python: str, case: Beside, searches: int) -> tuple[float, float]:
    """CPU seconds and the optimum."""
    words = [python, "-P", str(ITSELF), str(case.number), "--searches", str(searches), *["--fused"] * case.fused]
    printed = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(printed.stdout.splitlines()[-1])
    return found["cpu_s"], found["value"]


def search(number: int, searches: int) -> tuple[float, float]:
    """The same of our search."""
    found = compare(accelforge_cases()[number], "uneven", None, searches)
    assert found.proven
    return statistics.median(found.cpu_s), found.ours


def search_fused(number: int, searches: int) -> tuple[float, float]:
    found = measured_here(*golden_question(fused_cases()[number]), times=searches)
    assert not found.gap
    return found.cpu_s, found.value


def ours(case: Beside, searches: int) -> tuple[float, float]:
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        return pool.apply(search_fused if case.fused else search, (case.number, searches))


def row(python: str, case: Beside, rounds: int, searches: int) -> float:
    """Print what a case took both; their CPU seconds over ours."""
    turns = [(theirs(python, case, searches), ours(case, searches)) for _ in range(rounds)]
    their_cpu, our_cpu = (min(turn[i][0] for turn in turns) for i in (0, 1))
    (_, their_value), (_, our_value) = turns[0]
    same = "yes" if abs(their_value / case.value - 1) < 1e-6 else "NO"
    print(
        f"{case.name:44} {case.objective:8} {same:>4} {our_value / case.value:9.6f} {their_cpu:11.2f} {our_cpu:8.3f} "
        f"{their_cpu / our_cpu:8.0f}",
        flush=True,
    )
    return their_cpu / our_cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", help="an interpreter that has AccelForge")
    parser.add_argument("--only", default="", help="cases whose name or objective contains this")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--fused", action="store_true", help="cascades, instead of single operations")
    parser.add_argument("--searches", type=int, default=1, help="in each process, of which the median counts")
    options = parser.parse_args()
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    print(f"{'case':44} {'for':8} {'same':>4} {'found':>9} {'their CPU s':>11} {'ours':>8} {'their/our':>9}")
    cases = fused_cascades() if options.fused else single_operations()
    factors: dict[str, list[float]] = {}
    for case in cases:
        if options.only in f"{case.name} {case.objective}":
            kind = "energy" if case.objective == "energy" or not case.fused else "EDP and fronts"
            factors.setdefault(kind, []).append(row(options.python, case, options.rounds, options.searches))
    for kind, each in factors.items():
        mean, of = geometric_mean(each), f"{len(each)} cases" + f" for {kind}" * options.fused
        print(f"geometric mean over {of}: AccelForge takes {mean:.0f} times our CPU seconds, {min(each):.0f} at least")


if __name__ == "__main__":
    main()
