"""The two exact searches side by side: values, proofs and seconds of the processor.

    python benchmarks/lattice.py
    python benchmarks/lattice.py --halo exact --seconds 20 --layers "resnet50:layer3.x.conv2" --archs eyeriss,simba

Prints a line for every question, and at the end how many answers are equal, how many are proven by each search, and the
geometric mean of the quotient of their seconds, of those that both prove. Times below 0.02 s count as 0.02 s. Searches
run one after the other, in one process, with perfect tilings.
"""

from __future__ import annotations

import argparse
import statistics
import time

import tilewright as tw
from tilewright.arch import Architecture, Memory
from tilewright.ir import Problem
from tilewright.mapper.certificate import Certificate
from tilewright.mapper.kernel.tolerance import is_better

LAYERS = (
    *(f"resnet50:{name}" for name in ("conv1", "layer1.0.conv2", "layer2.0.conv2", "layer3.x.conv2", "layer4.0.conv3")),
    *("mobilenet_v2:b3.dw", "bert_base:ff1", "bert_base:qk"),
)
ARCHS = ("three_level", "eyeriss", "tpu_v1", "nvdla_small", "gemmini", "simba", "diannao", "cpu")
LEAST_SECONDS = 0.02


def main() -> None:
    options = parsed()
    equal, proven, quotients, asked = 0, [0, 0], [], 0
    for layer in options.layers.split(","):
        for name in options.archs.split(","):
            problem, arch = tw.load_layer(layer), with_halo(tw.load_arch(name), options.halo)
            for objective in options.objectives.split(","):
                (old, before), (new, after) = (
                    searched(problem, arch, objective, strategy, options.seconds) for strategy in ("exact", "lattice")
                )
                asked += 1
                equal += not is_better(old.value, new.value) and not is_better(new.value, old.value)
                proven = [proven[0] + old.proven, proven[1] + new.proven]
                if old.proven and new.proven:
                    quotients.append(max(after, LEAST_SECONDS) / max(before, LEAST_SECONDS))
                print(f"{layer:24} {name:12} {objective:8} {told(old, before)}  {told(new, after)}", flush=True)
    print(f"{asked} questions: {equal} equal; proven by exact {proven[0]}, by lattice {proven[1]}")
    if quotients:
        mean, most = statistics.geometric_mean(quotients), max(quotients)
        print(f"seconds of lattice / exact: {mean:.2f} in the geometric mean, {most:.1f} at most")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", default=",".join(LAYERS))
    parser.add_argument("--archs", default=",".join(ARCHS))
    parser.add_argument("--objectives", default="energy,latency,edp")
    parser.add_argument("--halo", choices=("none", "innermost", "exact"), help="of all memories; else their own")
    parser.add_argument("--seconds", type=float, default=None, help="for every search")
    return parser.parse_args()


def with_halo(arch: Architecture, halo: str | None) -> Architecture:
    """The machine with that halo in all memories."""
    if halo is None:
        return arch
    levels = (v.model_copy(update={"halo": halo}) if isinstance(v, Memory) else v for v in arch.levels)
    return arch.model_copy(update={"levels": tuple(levels)})


def searched(
    problem: Problem, arch: Architecture, objective: str, strategy: str, seconds: float | None
) -> tuple[Certificate, float]:
    """What a search proves, and the seconds of the processor that it takes."""
    started = time.process_time()
    found = tw.search(problem, arch, objective, tiling="perfect", strategy=strategy, time_limit=seconds)
    return found.certificate, time.process_time() - started


def told(proof: Certificate, seconds: float) -> str:
    return f"{proof.value:12.6g} {'proven' if proof.proven else f'{proof.gap:.1%} open':>11} {seconds:6.2f} s"


if __name__ == "__main__":
    main()
