"""How long the best trees of cascades take to find and to prove.

    python benchmarks/cascades.py goldens                 # AccelForge's listed CPU seconds over ours
    python benchmarks/cascades.py blocks                  # blocks of networks, as a user types them
    python benchmarks/cascades.py blocks --archs eyeriss --tiling perfect --objective energy
    python benchmarks/cascades.py gpt3 --time-limit 60    # a GPT-3 6.7B block, 32 and 128 MiB
    python benchmarks/cascades.py products                # chains of products of 64 on F3

Seconds are CPU seconds of the search alone, after import; each search runs in a process of its own, whose largest
resident set is shown. AccelForge's seconds stand in tests/golden/fused/accelforge.jsonl: taken on another machine, some
of them up to 1.5 times high under load (tests/golden/README.md).
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tilewright as tw
from tilewright.arch import Architecture, parse_arch
from tilewright.cost_models import parse_objective
from tilewright.ir import Cascade, UndecidedError
from tilewright.mapper.cascades import search_cascade, search_cascade_front
from tilewright.mapper.question import Limits, Question, TreeQuestion
from tilewright.workloads import cascade
from tilewright.workloads.network_cascades import cascade_of

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from accelforge_trees import cascade_of as golden_cascade
from accelforge_trees import fused_cases, machine_of

FUSE = {"unfused": "none", "whole": "whole", "fused": "all"}
EXPANSIONS = ("b2", "b3", "b7", "b8", "b14", "b15")
BOTTLENECKS = ("layer1.0", "layer2.1", "layer4.1")
BLOCKS = [f"mobilenet_v2:{b}.expand+{b}.dw+{b}.project" for b in EXPANSIONS]
BLOCKS += [f"resnet50:{b}.conv1+{b}.conv2+{b}.conv3" for b in BOTTLENECKS]
GPT3 = [
    *(f"{t}[m,h,e] += X[m,d] * W{t}[d,h,e]" for t in "QKV"),
    "S[h,m,n] += Q[m,h,e] * K[n,h,e]",
    "P[h,m,n] = exp(S[h,m,n])",
    "A[m,h,e] += P[h,m,n] * V[n,h,e]",
    "Z[m,c] += A[m,h,e] * WZ[h,e,c]",
    "F[m,g] += Z[m,c] * WF[c,g]",
    "O[m,o] += F[m,g] * WO[g,o]",
]
GPT3_SIZES = {"m": 2048, "n": 2048, "d": 4096, "h": 32, "e": 128, "c": 4096, "g": 16384, "o": 4096}


@dataclass(frozen=True)
class Measured:
    """A search, as it went."""

    cpu_s: float
    peak_mib: float
    value: float
    gap: float


def measured(question: TreeQuestion, front: bool = False, times: int = 1) -> Measured:
    """A search in a process of its own: the median of its seconds."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(measured_here, (question, front, times))


def measured_here(question: TreeQuestion, front: bool, times: int) -> Measured:
    """The same in this process."""
    seconds = []
    for _ in range(times):
        started = time.process_time()
        value, gap = _searched(question, front)
        seconds.append(time.process_time() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(statistics.median(seconds), peak, value, gap)


def _searched(question: TreeQuestion, front: bool) -> tuple[float, float]:
    """The value, of a front the least EDP, and the gap."""
    try:
        if not front:
            certificate = search_cascade(question).certificate
            return certificate.value, certificate.gap
        answers = search_cascade_front(question)
    except UndecidedError:
        return math.inf, math.inf
    costs = [answer.cost for answer in answers]
    value = min(float(question.objective.value(cost.energy_pj, cost.latency_cycles)) for cost in costs)
    return value, max(answer.certificate.gap for answer in answers)


def report(name: str, found: Measured, more: str = "") -> None:
    """One line of a table."""
    proven = "proven" if not found.gap else f"{100 * found.gap:.1f} %"
    print(f"{name:60} {found.cpu_s:8.3f} {found.peak_mib:6.0f} {proven:>8} {found.value:14.6g} {more}", flush=True)


def goldens(chosen: argparse.Namespace) -> None:
    """Listed CPU seconds over ours, for all `fused` lines; chosen by a part of their names."""
    ratios: dict[str, list[float]] = {}
    for case in fused_cases():
        name = f"{case['case']} {case['machine']} {case['glb_words']} {case['objective']}"
        if not any(part in name for part in chosen.only):
            continue
        kind, question = case["objective"], golden_question(case)
        found = measured(*question, chosen.times)
        ratios.setdefault("energy" if kind == "energy" else "EDP and fronts", []).append(case["cpu_s"] / found.cpu_s)
        report(name, found, f"{case['cpu_s'] / found.cpu_s:6.0f} times")
    for kind, each in ratios.items():
        print(f"{kind}: {statistics.geometric_mean(each):.0f} times in geometric mean, {min(each):.0f} at least")


def golden_question(case: dict[str, Any]) -> tuple[TreeQuestion, bool]:
    """What AccelForge was asked in a case, and whether it was for the whole front."""
    is_front = case["objective"] == "front"
    objective = parse_objective("edp" if is_front else case["objective"])
    return Question(golden_cascade(case), machine_of(case), objective, "perfect", "uneven"), is_front


def blocks(chosen: argparse.Namespace) -> None:
    """Blocks of networks on machines of the library, fused and not."""
    seconds = []
    for arch in chosen.archs:
        for layers in (block for block in BLOCKS if any(part in block for part in chosen.only)):
            network, names = layers.split(":")
            found = measured(_question(cascade_of(network, names), tw.load_arch(arch), chosen))
            seconds.append(found.cpu_s)
            report(f"{layers} on {arch}", found)
    print(f"{statistics.median(seconds):.2f} s in the median, {max(seconds):.2f} s at most")


def _question(whole: Cascade, arch: Architecture, chosen: argparse.Namespace) -> TreeQuestion:
    limits = Limits(time_s=chosen.time_limit)
    objective = parse_objective(chosen.objective)
    return Question(whole, arch, objective, chosen.tiling, chosen.space, fuse=chosen.fuse, limits=limits)


def gpt3(chosen: argparse.Namespace) -> None:
    """A GPT-3 6.7B block: bytes that DRAM passes."""
    whole = cascade(GPT3, GPT3_SIZES, name="gpt3")
    for mib in (128, 32):
        arch = parse_arch(
            f"""
name: dram
clock: 1 GHz
word: 16 bit
reuse: at_node
levels:
  - {{memory: DRAM, access: 8 bit, read: 1 pJ, write: 1 pJ, bandwidth: unbounded}}
  - {{memory: GLB, size: {mib} MiB, access: 8 bit, read: 0 pJ, write: 0 pJ, bandwidth: unbounded}}
mac: {{energy: 0 pJ}}
""",
            "dram",
        )
        limits = Limits(time_s=chosen.time_limit)
        energy = parse_objective("energy")
        found = measured(Question(whole, arch, energy, "perfect", "uneven", limits=limits))
        report(f"GPT-3 6.7B block, {mib} MiB", found)


def products(chosen: argparse.Namespace) -> None:
    """Chains of products of 64 on F3."""
    arch = machine_of({"machine": "F3", "glb_words": 8192})
    for count in (2, 3, 4, 6):
        names = "abcdefgh"[: count + 2]
        texts = [
            f"T{i + 1}[m,{names[i + 1]}] += T{i}[m,{names[i]}] * W{i}[{names[i]},{names[i + 1]}]" for i in range(count)
        ]
        whole = cascade(texts, dict.fromkeys(("m", *names[: count + 1]), 64), name="products")
        for objective in ("energy", "edp") if count < 3 else ("energy",):
            limits = Limits(time_s=chosen.time_limit)
            question = Question(whole, arch, parse_objective(objective), "perfect", "uneven", limits=limits)
            report(f"{count} products of 64 on F3, {objective}", measured(question))


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "goldens": goldens,
    "blocks": blocks,
    "gpt3": gpt3,
    "products": products,
}


def main(given: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of names")
    parser.add_argument("--archs", nargs="*", default=["eyeriss", "three_level", "tpu_v4i"])
    parser.add_argument("--objective", default="edp", help="of blocks")
    parser.add_argument("--tiling", default="ragged", help="of blocks")
    parser.add_argument("--space", default="even", help="of blocks")
    parser.add_argument("--fuse", default="all", help="of blocks")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each")
    parser.add_argument("--cpu", action="store_true", help="the limit is in CPU seconds, instead of those of the clock")
    parser.add_argument("--times", type=int, default=3, help="runs of each golden")
    chosen = parser.parse_args(given)
    if chosen.cpu:
        time.perf_counter = time.process_time
    print(f"{'':60} {'CPU s':>8} {'MiB':>6} {'gap':>8} {'value':>14}")
    PARTS[chosen.part](chosen)


if __name__ == "__main__":
    main()
