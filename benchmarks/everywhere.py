"""Every shipped machine on every distinct layer of four networks, in all four spaces: what is proven, how fast, in how
much memory.

    python benchmarks/everywhere.py --out build/everywhere.jsonl              # everything; goes on where it stopped
    python benchmarks/everywhere.py --out build/everywhere.jsonl --part 3/40  # every 40th search, from the third on
    python benchmarks/everywhere.py --out build/everywhere.jsonl --table      # what is there so far, by machine

Every search runs in a process of its own, forked from one with everything imported, so that peak memory is its own.
One line per search in the file: what was asked, and what was found. EDP, as everywhere in `benchmarks/`, unless another
objective is asked for. With `--cpu` limits are CPU seconds, so that other work on the machine does not decide what is
proven.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import signal
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from layers import distinct_layers

import tilewright as tw

NETWORKS = ["resnet50", "bert_base", "mobilenet_v2", "gpt3_6_7b_block"]
SPACES = tuple(itertools.product(("even", "uneven"), ("perfect", "ragged")))
GIVE_UP = 12
"""A search that takes so many times its limit is killed, and listed as such."""


@dataclass(frozen=True)
class Row:
    """One search. `error` is empty where it ended with a certificate, and `why` where that is complete: else it says
    where the lowest open bound stands."""

    arch: str
    layer: str
    space: str
    tiling: str
    proven: bool = False
    gap: float = float("inf")
    value: float = float("inf")
    cpu_s: float = 0.0
    wall_s: float = 0.0
    mib: float = 0.0
    error: str = ""
    why: str = ""
    objective: str = "edp"

    @property
    def key(self) -> tuple[str, ...]:
        return self.arch, self.layer, self.space, self.tiling, self.objective


def searched(row: Row, problem: tw.Problem, arch: tw.Architecture, limit: float) -> Row:
    """One search in this process."""
    started, before = time.perf_counter(), time.process_time()
    try:
        found = tw.search(problem, arch, row.objective, row.tiling, row.space, time_limit=limit)
        certificate = found.certificate
        what = {"proven": certificate.proven, "gap": certificate.gap, "value": certificate.value}
        what["why"] = str(certificate.open_part or "")
    except (tw.TilewrightError, MemoryError) as error:
        what = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = {"cpu_s": time.process_time() - before, "wall_s": time.perf_counter() - started, "mib": peak}
    return Row(**{**asdict(row), **what, **took})


def forked(row: Row, problem: tw.Problem, arch: tw.Architecture, limit: float) -> Row:
    """One search in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        if time.perf_counter is not time.process_time:
            signal.alarm(int(limit * GIVE_UP))
        os.write(writing, json.dumps(asdict(searched(row, problem, arch, limit))).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    _, status, usage = os.wait4(child, 0)
    if answer:
        return Row(**json.loads(answer))
    took = {"cpu_s": usage.ru_utime + usage.ru_stime, "mib": usage.ru_maxrss / 1024, "error": f"killed ({status})"}
    return Row(**{**asdict(row), **took})


def known(path: Path) -> list[Row]:
    return [Row(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def asked(
    archs: list[str], layers: list[tw.Problem], spaces: list[str], objective: str
) -> Iterator[tuple[Row, tw.Problem]]:
    """Every search, spaces outermost."""
    for (space, tiling), arch, problem in itertools.product(SPACES, archs, layers):
        if f"{space},{tiling}" in spaces:
            yield Row(arch, problem.name, space, tiling, objective=objective), problem


def table(rows: list[Row]) -> str:
    """A Markdown table by space and machine."""
    lines = [
        "| space | machine | searches | proven | worst gap | CPU s: median | 90 % | worst | MiB: most |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for space, tiling in SPACES:
        inside = [row for row in rows if (row.space, row.tiling) == (space, tiling)]
        for arch in [*sorted({row.arch for row in inside}), "**all**"] if inside else []:
            own = [row for row in inside if arch in (row.arch, "**all**")]
            cpu = sorted(row.cpu_s for row in own)
            gaps = [row.gap for row in own if not row.proven]
            proven = sum(row.proven for row in own)
            cells = (f"{statistics.median(cpu):.2f}", f"{cpu[int(0.9 * (len(cpu) - 1))]:.2f}", f"{cpu[-1]:.1f}")
            most = f"{max(row.mib for row in own):,.0f}"
            gap = f"{max(gaps):.2%}" if gaps else "-"
            lines.append(
                " | ".join((f"| {space}, {tiling}", arch, str(len(own)), str(proven), gap, *cells, most)) + " |"
            )
    return "\n".join(lines)


def unproven(rows: list[Row]) -> str:
    """Case by case: what is not proven, or failed."""
    lines = ["| space | machine | layer | gap | CPU s | MiB | why |", "|---|---|---|--:|--:|--:|---|"]
    for row in sorted((row for row in rows if not row.proven), key=lambda row: -row.gap):
        figures = f"{row.gap:.3%} | {row.cpu_s:.1f} | {row.mib:,.0f} | {row.error or row.why}"
        lines.append(f"| {row.space}, {row.tiling} | {row.arch} | {row.layer} | {figures} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a line per search; searches it has are not run again")
    parser.add_argument("--archs", help="names, separated by commas; all shipped ones unless given")
    parser.add_argument("--spaces", default=" ".join(map(",".join, SPACES)), help='such as "even,ragged uneven,ragged"')
    parser.add_argument("--objective", default="edp", help="edp, energy, latency, ..; a file for each")
    parser.add_argument("--part", default="1/1", help="I/N: every Nth search, from the Ith on")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each search")
    parser.add_argument("--cpu", action="store_true", help="the limit is in CPU seconds, instead of those of the clock")
    parser.add_argument("--table", action="store_true", help="print what is there, and run nothing")
    options = parser.parse_args()
    if options.cpu:
        time.perf_counter = time.process_time
    if not options.table:
        done = {row.key for row in known(options.out)}
        first, step = map(int, options.part.split("/"))
        tw.search(tw.gemm(4, 4, 4), tw.load_arch("three_level"))  # imports what searches need, before any is measured
        archs = {name: tw.load_arch(name) for name in (options.archs or ",".join(tw.list_archs())).split(",")}
        every = asked(list(archs), distinct_layers(NETWORKS), options.spaces.split(), options.objective)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        for row, problem in itertools.islice(every, first - 1, None, step):
            if row.key not in done:
                found = forked(row, problem, archs[row.arch], options.time_limit)
                with options.out.open("a") as file:
                    file.write(json.dumps(asdict(found)) + "\n")
    rows = known(options.out)
    print(table(rows), "\n\nNot proven:\n", unproven(rows), sep="\n")


if __name__ == "__main__":
    main()
