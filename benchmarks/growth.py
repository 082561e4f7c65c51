"""How search time and peak memory grow with the problem and with the machine.

    python benchmarks/growth.py                                   # all series, perfect tiling, EDP; prints tables
    python benchmarks/growth.py --series gemm,array --tiling ragged --time-limit 60 --out results/growth

Series: `gemm` (n x n x n, n from 64 to 16384), `batch` (a 3x3 convolution in 7 dimensions, batch 1 to 256), `levels` (2
to 5 memories, GEMM of 512) and `array` (8x8 to 256x256 instances, GEMM of 1024), all on machines made from
`three_level`. Every search runs in a process of its own: seconds are CPU seconds of the search alone, the median of
several runs, and memory is the largest resident set of the whole process, imports included. Exponents are least
squares on logarithms over the points that were proven within the time limit. --out writes growth.md and growth.png
(which needs matplotlib: the extra `plots`).
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tilewright as tw
from tilewright.arch import ArrayAxis, Fanout, Memory
from tilewright.report.parts.figures import figure_style, save_figure
from tilewright.report.parts.palette import BLUE, VERMILION

KIB = 8 * 1024


@dataclass(frozen=True)
class Series:
    """Points to search, and what each of them is."""

    title: str
    unit: str
    points: tuple[int, ...]
    make: Callable[[int], tuple[tw.Problem, tw.Architecture]]


@dataclass(frozen=True)
class Point:
    """One point, measured: the median of the runs, and the most memory of them."""

    x: int
    cpu_s: float
    peak_mib: float
    proven: bool
    space: float


def _levels(count: int) -> tw.Architecture:
    """three_level with more buffers between the DRAM and the GLB, or without registers."""
    arch = tw.load_arch("three_level")
    dram, glb, array, registers = arch.levels
    assert isinstance(glb, Memory)
    more = [
        glb.model_copy(update={"name": name, "size_bits": size, "read_energy_pj": energy, "write_energy_pj": energy})
        for name, size, energy in (("L3", 32 * 1024 * KIB, 60.0), ("L2", 2 * 1024 * KIB, 20.0))
    ]
    levels = [dram, *more[5 - count :], glb, array, registers] if count > 2 else [dram, glb, array]
    return arch.model_copy(update={"name": f"{count} memories", "levels": tuple(levels)})


def _array(side: int) -> tw.Architecture:
    """three_level with an array of another size."""
    arch = tw.load_arch("three_level")
    axes = (ArrayAxis(size=side), ArrayAxis(size=side))
    levels = (lv.model_copy(update={"axes": axes}) if isinstance(lv, Fanout) else lv for lv in arch.levels)
    return arch.model_copy(update={"name": f"{side}x{side}", "levels": tuple(levels)})


SERIES = {
    "gemm": Series(
        "GEMM n x n x n",
        "n",
        tuple(2**i for i in range(6, 15)),
        lambda n: (tw.gemm(n, n, n), tw.load_arch("three_level")),
    ),
    "batch": Series(
        "conv 3x3, 64 to 64 channels, 56x56",
        "batch",
        tuple(2**i for i in range(9)),
        lambda n: (tw.conv2d(K=64, C=64, P=56, Q=56, R=3, S=3, N=n), tw.load_arch("three_level")),
    ),
    "levels": Series(
        "GEMM of 512, memory levels", "memories", (2, 3, 4, 5), lambda n: (tw.gemm(512, 512, 512), _levels(n))
    ),
    "array": Series(
        "GEMM of 1024, array instances",
        "instances",
        tuple(4**i for i in range(3, 9)),
        lambda n: (tw.gemm(1024, 1024, 1024), _array(math.isqrt(n))),
    ),
}


def run_here(series: str, x: int, tiling: str, space: str, objective: str, time_limit: float) -> dict[str, object]:
    """Search one point in this process."""
    problem, arch = SERIES[series].make(x)
    options: dict[str, object] = {"tiling": tiling, "time_limit": time_limit}
    if "space" in inspect.signature(tw.search).parameters:
        options["space"] = space
    elif space != "even":
        raise SystemExit("this version searches the even space only")
    started = time.process_time()
    certificate = tw.search(problem, arch, objective, **options).certificate  # type: ignore[arg-type]
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return {"cpu_s": seconds, "peak_mib": peak, "proven": certificate.proven, "space": float(certificate.space_size)}


def measure(series: str, x: int, options: argparse.Namespace) -> Point:
    """Run one point in fresh processes: once if it is not proven in time."""
    wanted = [series, x, options.tiling, options.space, options.objective, options.time_limit]
    runs = []
    for _ in range(options.repeats):
        command = [sys.executable, __file__, "--here", json.dumps(wanted)]
        found = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        runs.append(json.loads(found.stdout))
        if not runs[-1]["proven"]:
            runs = runs[-1:]
            break
    return Point(
        x=x,
        cpu_s=statistics.median(run["cpu_s"] for run in runs),
        peak_mib=max(run["peak_mib"] for run in runs),
        proven=runs[0]["proven"],
        space=runs[0]["space"],
    )


def exponent(points: Iterable[Point], value: Callable[[Point], float]) -> float:
    """The power of x that a value grows with; not a number with fewer than two proven points."""
    proven = [p for p in points if p.proven]
    if len(proven) < 2:
        return math.nan
    slope, _ = np.polyfit(np.log([p.x for p in proven]), np.log([value(p) for p in proven]), 1)
    return float(slope)


def table(series: Series, points: list[Point]) -> str:
    """A series as a Markdown table, with its exponents below."""
    lines = [
        f"### {series.title}",
        "",
        f"| {series.unit} | CPU s | peak MiB | mappings | proven |",
        "|--:|--:|--:|--:|:-:|",
    ]
    for p in points:
        proven = "yes" if p.proven else "NO"
        lines.append(f"| {p.x} | {p.cpu_s:.3f} | {p.peak_mib:.0f} | {p.space:.2e} | {proven} |")
    cpu, peak = exponent(points, lambda p: p.cpu_s), exponent(points, lambda p: p.peak_mib)
    growth = f"CPU time grows as {series.unit}^{cpu:.2f}, peak memory as {series.unit}^{peak:.2f}."
    if math.isnan(cpu):
        growth = "Fewer than two points were proven in time: no exponent."
    return "\n".join([*lines, "", growth, ""])


def plot(found: dict[str, list[Point]], path: Path) -> None:
    """CPU seconds (left) and peak memory (right) of every series, on logarithmic axes, those upwards the same."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    plain = FuncFormatter(lambda value, _: f"{value:g}")
    with figure_style():
        figure = Figure(figsize=(6.4, 0.6 + 2.3 * len(found)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(len(found), 2, squeeze=False, sharey="col")
        for row, (name, points) in enumerate(found.items()):
            columns = (("CPU s", [p.cpu_s for p in points]), ("peak MiB", [p.peak_mib for p in points]))
            for here, (label, values) in zip(axes[row], columns, strict=True):
                here.loglog([p.x for p in points], values, "o-", color=BLUE, markersize=4, label="median of the runs")
                cut = [(p.x, value) for p, value in zip(points, values, strict=True) if not p.proven]
                unproven = [[x for x, _ in cut], [value for _, value in cut]]
                here.loglog(*unproven, "x", color=VERMILION, label="not proven in time")
                here.set(xlabel=SERIES[name].unit, ylabel=label)
                here.set_title(SERIES[name].title, loc="left", fontsize="small")
                # A tick under every other point; the series are short.
                here.set_xticks([p.x for p in points][:: 1 if len(points) < 6 else 2])
                here.xaxis.set_minor_locator(NullLocator())
                here.xaxis.set_major_formatter(plain)
                here.yaxis.set_major_formatter(plain)
                here.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                here.yaxis.set_minor_formatter(NullFormatter())
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2, fontsize="small")
    save_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", default=",".join(SERIES), help="comma-separated: %(default)s")
    parser.add_argument("--objective", default="edp")
    parser.add_argument("--tiling", default="perfect")
    parser.add_argument("--space", default="even")
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds for each search")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each point, each in its own process")
    parser.add_argument("--most", type=int, default=None, help="leave out points beyond this many per series")
    parser.add_argument("--out", type=Path, default=None, help="folder for growth.md and growth.png")
    parser.add_argument("--here", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(run_here(*json.loads(options.here))))
        return
    found: dict[str, list[Point]] = {}
    texts = []
    for name in options.series.split(","):
        found[name] = [measure(name, x, options) for x in SERIES[name].points[: options.most]]
        texts.append(table(SERIES[name], found[name]))
        print(texts[-1], flush=True)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        command = f"python benchmarks/growth.py --tiling {options.tiling} --space {options.space}"
        head = f"# How searches grow\n\n    {command} --objective {options.objective} --out FOLDER\n\n"
        (options.out / "growth.md").write_text(head + "\n".join(texts))
        plot(found, options.out / "growth.png")


if __name__ == "__main__":
    main()
