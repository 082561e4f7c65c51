"""AccelForge's search and ours on the same machine, turn by turn, each in a process of its own.

    python benchmarks/accelforge_beside.py PYTHON              # PYTHON: an interpreter that has AccelForge 1.0.467
    python benchmarks/accelforge_beside.py PYTHON --only H3 --rounds 3

CPU seconds of the first search of a process, on one thread, the least of all rounds. `same` says whether AccelForge
found the optimum that is kept in tests/golden, and `found` the optimum of ours relative to its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
from pathlib import Path

from peers import PeerCase, accelforge_cases, compare, geometric_mean

ITSELF = Path(__file__).with_name("accelforge_itself.py")


def theirs(python: str, number: int) -> tuple[float, float]:
    """CPU seconds and the optimum."""
    printed = subprocess.run([python, "-P", str(ITSELF), str(number)], capture_output=True, text=True, check=True)
    found = json.loads(printed.stdout.splitlines()[-1])
    return found["cpu_s"], found["value"]


def search(number: int) -> tuple[float, float]:
    """The same of our search."""
    found = compare(accelforge_cases()[number], "uneven", None, searches=1)
    assert found.proven
    return found.cpu_s[0], found.ours


def ours(number: int) -> tuple[float, float]:
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        return pool.apply(search, (number,))


def row(python: str, number: int, case: PeerCase, rounds: int) -> float:
    """Print what a case took both; their CPU seconds over ours."""
    turns = [(theirs(python, number), ours(number)) for _ in range(rounds)]
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
    options = parser.parse_args()
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    print(f"{'case':44} {'for':8} {'same':>4} {'found':>9} {'their CPU s':>11} {'ours':>8} {'their/our':>9}")
    cases = [
        (number, case)
        for number, case in enumerate(accelforge_cases())
        if case.cpu_s is not None and options.only in f"{case.name} {case.objective}"
    ]
    factors = [row(options.python, number, case, options.rounds) for number, case in cases]
    mean = geometric_mean(factors)
    print(f"geometric mean over {len(factors)} cases: AccelForge takes {mean:.0f} times our CPU seconds")


if __name__ == "__main__":
    main()
