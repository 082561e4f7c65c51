"""Heuristic searches beside the exact one: the best mapping so far, against time.

    python benchmarks/strategies.py --out strategies.svg
    python benchmarks/strategies.py --layers bert_base:q_proj --archs eyeriss --seeds 5 --seconds 10

Prints, for every layer and machine, how long the exact search took to its proof, and for each heuristic how far the
best mapping after 1, 10, 60 seconds was from the optimum (value / optimum: median over the seeds, and the worst).
Searches run one after the other, in one process. A heuristic's seconds are mostly those of the cost model, here in
Python; to read them at another pace, `--pace 2000` counts a second for every 2,000 mappings evaluated, which is about
what Timeloop's random search does in one.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tilewright as tw
from tilewright.cost_models import parse_objective
from tilewright.mapper.heuristics import PROPOSALS, HeuristicResult, search_heuristic
from tilewright.mapper.question import Limits, Question
from tilewright.report.parts.figures import figure_style, new_panels, save_figure
from tilewright.report.parts.palette import BLUE, GREEN, GREY, VERMILION

MARKS = (1.0, 10.0, 60.0)
COLORS = {"random": GREY, "anneal": VERMILION, "genetic": GREEN, "exact": BLUE}


@dataclass(frozen=True)
class Race:
    """One layer on one machine.

    optimum        proven value, found after `exact_seconds`
    runs           per strategy, a result for each seed
    """

    name: str
    optimum: float
    exact_seconds: float
    runs: dict[str, list[HeuristicResult]]


def main() -> None:
    options = parsed()
    races = [run(layer, arch, options) for layer in options.layers.split(",") for arch in options.archs.split(",")]
    if options.out:
        plot(races, options)
        print(f"wrote {options.out}")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", default="resnet50:layer1.0.conv2,gpt3_6_7b_block:qk")
    parser.add_argument("--archs", default="three_level,eyeriss")
    parser.add_argument("--objective", default="edp")
    parser.add_argument("--tiling", default="perfect")
    parser.add_argument("--strategies", default=",".join(PROPOSALS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="for every heuristic search")
    parser.add_argument("--pace", type=float, default=None, help="mappings per second to count instead of the clock")
    parser.add_argument("--out", default=None, help="SVG file to write")
    return parser.parse_args()


def run(layer: str, arch_name: str, options: argparse.Namespace) -> Race:
    """All searches of one layer on one machine, printed as they end."""
    problem, arch = tw.load_layer(layer), tw.load_arch(arch_name)
    started = time.perf_counter()
    certificate = tw.search(problem, arch, options.objective, tiling=options.tiling).certificate
    seconds = time.perf_counter() - started
    assert certificate.proven
    race = Race(f"{layer} on {arch_name}", certificate.value, seconds, {})
    print(f"\n{race.name}: {options.objective} {race.optimum:.6e} proven optimal after {seconds:.2f} s", flush=True)
    marks = [mark for mark in MARKS if mark <= options.seconds]
    heads = "".join(f"{f'{mark:g} s':>18}" for mark in marks)
    print(f"  {'strategy':10}{heads}{'end':>18} {'mappings/s':>11} {'misfits':>8}")
    for strategy in options.strategies.split(","):
        limits, evaluations = Limits(options.seconds), None
        if options.pace:
            limits, evaluations = Limits(), round(options.seconds * options.pace)
        question = Question(problem, arch, parse_objective(options.objective), options.tiling, limits=limits)
        runs, taken = [], time.perf_counter()
        for seed in range(options.seeds):
            runs.append(search_heuristic(question, strategy, seed, evaluations))
        taken = time.perf_counter() - taken
        race.runs[strategy] = runs
        cells = [f"{summary(runs, mark, race.optimum, options.pace):>18}" for mark in [*marks, math.inf]]
        evaluated, rejected = sum(r.evaluated for r in runs), sum(r.rejected for r in runs)
        misfits = rejected / (evaluated + rejected)
        print(f"  {strategy:10}{''.join(cells)} {evaluated / taken:11,.0f} {misfits:8.1%}", flush=True)
    return race


def summary(runs: list[HeuristicResult], mark: float, optimum: float, pace: float | None) -> str:
    """`1.234 (1.345)`: median and worst value over optimum; `-` where a run had nothing yet."""
    ratios = [value_at(run, mark, pace) / optimum for run in runs]
    return "-" if math.isinf(max(ratios)) else f"{statistics.median(ratios):.3f} ({max(ratios):.3f})"


def value_at(run: HeuristicResult, seconds: float, pace: float | None) -> float:
    """The best value so far; infinite before the first mapping."""
    values = [value for at, value in steps(run, pace) if at <= seconds]
    return values[-1] if values else math.inf


def steps(run: HeuristicResult, pace: float | None) -> list[tuple[float, float]]:
    """(seconds, value) of every improvement."""
    return [(step.evaluations / pace if pace else step.seconds, step.value) for step in run.trajectory]


def plot(races: list[Race], options: argparse.Namespace) -> None:
    """One panel per race: medians as lines, all seeds as a band, the end of the exact search as a vertical line."""
    with figure_style():
        figure, panels = new_panels(6.4, 3.2 * len(races), len(races))
        for panel, race in zip(panels, races, strict=True):
            plot_race(panel, race, options)
    save_figure(figure, Path(options.out))


def plot_race(panel: Any, race: Race, options: argparse.Namespace) -> None:
    for strategy, runs in race.runs.items():
        times = sorted({at for run in runs for at, _ in steps(run, options.pace)} | {options.seconds})
        ratios = [[value_at(run, at, options.pace) / race.optimum for run in runs] for at in times]
        color = COLORS.get(strategy)
        medians = [statistics.median(row) for row in ratios]
        panel.step(times, medians, where="post", color=color, label=f"{strategy} (median of {len(runs)})")
        finite = [(at, min(row), max(row)) for at, row in zip(times, ratios, strict=True) if max(row) < math.inf]
        panel.fill_between(*zip(*finite, strict=True), step="post", color=color, alpha=0.2, linewidth=0)
    label = f"exact: proven after {race.exact_seconds:.2g} s"
    panel.axvline(race.exact_seconds, color=COLORS["exact"], linestyle="--", label=label)
    panel.plot([race.exact_seconds], [1.0], marker="o", color=COLORS["exact"])
    panel.set(xscale="log", yscale="log", title=race.name, ylabel=f"{options.objective} / optimum")
    unit = "s" if not options.pace else f"s at {options.pace:,.0f} mappings/s"
    panel.set_xlabel(f"time ({unit})")
    panel.title.set_fontsize(9)
    panel.legend(fontsize=7)


if __name__ == "__main__":
    main()
