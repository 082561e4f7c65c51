"""How far the closed-form latencies are from the event-driven clock, and what fill times add on real layers.

    python benchmarks/clock.py --out results/clock/README.md                 # a minute on one core
    python benchmarks/clock.py --mappings 1000 --networks resnet50,bert_base # more of it, on the terminal

Random mappings are those of the tests (`tests/generators.py`); the searched ones are optima for EDP.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import tilewright as tw
from tilewright.arch import Architecture
from tilewright.cost_models import evaluate
from tilewright.ir import Mapping

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from event_clock import clocked_cycles

MACHINES = ("eyeriss", "tpu_v1", "three_level")
SMALL = (tw.gemm(16, 16, 16), tw.gemm(32, 24, 16), tw.conv2d(K=8, C=8, P=8, Q=8, R=3, S=3))
QUANTILES = {"least": 0.0, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "most": 1.0}


def random_mappings(count: int) -> Iterator[tuple[Mapping, Architecture]]:
    """Mappings of small problems on random machines; every other machine has ports for each direction as well."""
    from generators import random_architecture, random_mapping, random_problem, with_extras

    for seed in range(count):
        rng = random.Random(seed)
        problem, arch = random_problem(rng), with_extras(rng, random_architecture(rng), *["ports"] * (seed % 2))
        yield random_mapping(rng, problem, arch, ragged=rng.random() < 0.5), arch


def latency(mapping: Mapping, arch: Architecture, how: str) -> float:
    return evaluate(mapping, arch.model_copy(update={"latency": how})).latency_cycles


def distribution(name: str, ratios: Sequence[float]) -> str:
    """A row of the table of quantiles, and the mean distance from 1."""
    ordered = sorted(ratios)
    cells = [f"{ordered[round(share * (len(ordered) - 1))]:.3f}" for share in QUANTILES.values()]
    away = statistics.mean(abs(ratio - 1) for ratio in ratios)
    return f"| {name} | {' | '.join(cells)} | {100 * away:.1f} % |"


def random_section(count: int) -> Iterator[str]:
    steady, filling, held = [], [], []
    for mapping, arch in random_mappings(count):
        clock, cost = clocked_cycles(mapping, arch), evaluate(mapping, arch)
        steady.append(cost.latency_cycles / clock)
        filling.append(latency(mapping, arch, "with_fill") / clock)
        held.append(cost.limited_by == "compute")
    yield f"## {count:,} random mappings: closed form / clock\n"
    yield f"| latency | {' | '.join(QUANTILES)} | mean distance |"
    yield "|---" * (len(QUANTILES) + 2) + "|"
    yield distribution("steady", steady)
    yield distribution("with_fill", filling)
    for what, wanted in (("compute", True), ("a port", False)):
        for name, ratios in (("steady", steady), ("with_fill", filling)):
            chosen = [ratio for ratio, by in zip(ratios, held, strict=True) if by == wanted]
            yield distribution(f"{name}, bound by {what} ({len(chosen)})", chosen)


def searched_section() -> Iterator[str]:
    yield "\n## Optimal mappings of small layers, in cycles\n"
    yield "| machine | layer | steady | with_fill | clock | with_fill / clock |"
    yield "|---|---|---|---|---|---|"
    for name in MACHINES:
        arch = tw.load_arch(name)
        for problem in SMALL:
            mapping = tw.search(problem, arch, tiling="perfect").mapping
            clock, filling = clocked_cycles(mapping, arch), latency(mapping, arch, "with_fill")
            sizes = " ".join(f"{dim}={size}" for dim, size in problem.dims if size > 1)
            steady = latency(mapping, arch, "steady")
            yield (
                f"| {name} | {problem.name} {sizes} | {steady:,.1f} | {filling:,.1f} | {clock:,.1f} "
                f"| {filling / clock:.3f} |"
            )


def layers_section(networks: Sequence[str]) -> Iterator[str]:
    """What fill and drain add to optimal mappings of whole layers, and what it takes to search with them."""
    yield f"\n## Layers of {', '.join(networks)}: what fill and drain add to the optimum for EDP\n"
    yield (
        "| machine | layers | added to `steady`: median | most | EDP saved by a search that knows: median | most "
        "| CPU s, steady | CPU s, with_fill |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name in MACHINES:
        arch = tw.load_arch(name)
        knowing = arch.model_copy(update={"latency": "with_fill"})
        added, saved, taken = [], [], [0.0, 0.0]
        problems = {(x.problem.dims, x.problem.tensors): x.problem for n in networks for x in tw.load_network(n).layers}
        for problem in problems.values():
            plain, taken[0] = timed_search(problem, arch, taken[0])
            best, taken[1] = timed_search(problem, knowing, taken[1])
            filled = evaluate(plain.mapping, knowing)
            added.append(filled.latency_cycles / plain.cost.latency_cycles - 1)
            saved.append(1 - best.cost.edp / filled.edp)
        yield (
            f"| {name} | {len(added)} | {percent(statistics.median(added))} | {percent(max(added))} "
            f"| {percent(statistics.median(saved))} | {percent(max(saved))} | {taken[0]:.1f} | {taken[1]:.1f} |"
        )


def timed_search(problem: tw.Problem, arch: Architecture, so_far: float) -> tuple[tw.SearchResult, float]:
    started = time.process_time()
    found = tw.search(problem, arch, tiling="perfect")
    return found, so_far + time.process_time() - started


def percent(share: float) -> str:
    return f"{100 * share:.2f} %"


HEAD = """# Latency by formula and by the clock

    python benchmarks/clock.py --out results/clock/README.md

makes this page. The clock (`tests/event_clock.py`) runs every transfer of a small mapping on the ports that it needs,
with double buffers, and uses none of the formulas of [the cost model](../../docs/cost-model.md). `steady` is the time
of the busiest resource alone, `with_fill` adds what it waits for before and after.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mappings", type=int, default=300)
    parser.add_argument("--networks", default="alexnet")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    lines = [HEAD]
    for section in (random_section(options.mappings), searched_section(), layers_section(options.networks.split(","))):
        for line in section:
            lines.append(line)
            print(line, flush=True)
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
