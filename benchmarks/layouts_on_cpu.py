"""What layouts are worth on this processor: programs in several layouts, their lines and their time.

    python benchmarks/layouts_on_cpu.py > results/cpu/layouts.md

Lines of 64 bytes pass between DRAM, L3 and L2; what L1 hands to registers are vectors, whose words may lie in any line.
So L1 has none here. One mapping, the best one of the library's `cpu` for latency without lines, is compiled with the
caller's arrays in several layouts; and so is the best mapping with lines and open layouts. The programs of a layer take
turns, and each time is the fastest of several runs (CPU seconds).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from reality import build, timed
from reality_page import FLAGS, compiler, machine

import tilewright as tw
from tilewright.arch import Architecture
from tilewright.cost_models import evaluate_open
from tilewright.cost_models.layouts.choices import with_layouts
from tilewright.ir import Mapping

LINES = {f"{memory}.line": "64 B" for memory in ("DRAM", "L3", "L2")}
LAYERS = ["resnet50:layer2.1.conv2", "resnet50:layer4.1.conv1", "mobilenet_v2:b13.expand"]
LAYOUTS = [
    {"all": "row-major"},
    {"all": "row-major", "I": "NHWC", "O": "NHWC"},
    {"all": "column-major"},
    {"all": "any"},
]
HEAD = """\
# What layouts are worth on a processor

    python benchmarks/layouts_on_cpu.py > results/cpu/layouts.md

{doc}
Run on: {machine}; {compiler}, `{flags}`;
the fastest of {rounds} rounds. Predicted and measured times are over those of the first row of each layer, row-major
arrays.

| layer | mapping | I, W, O in DRAM | lines, DRAM | lines, L2 | predicted | measured | ms |
|---|---|---|---|---|---|---|---|"""


def programs(layer: str, time_limit: float) -> list[tuple[str, Mapping, Architecture]]:
    """What the mapping is the best of, the mapping, and its machine with layouts."""
    words = tw.search(layer, "cpu", "latency", tiling="perfect", time_limit=time_limit)
    found = []
    for layouts in LAYOUTS:
        lined = with_layouts(tw.load_arch("cpu", LINES), words.problem, layouts)
        found.append(("of words", words.mapping, evaluate_open(words.mapping, lined, "latency")[1]))
    lined = tw.load_arch("cpu", LINES)
    best = tw.search(layer, lined, "latency", tiling="perfect", layout="any", time_limit=time_limit)
    return [*found, ("of lines", best.mapping, best.arch)]


def rows(layer: str, rounds: int, time_limit: float) -> list[str]:
    """The rows of one layer."""
    tried = programs(layer, time_limit)
    with tempfile.TemporaryDirectory() as folder:
        built = [build(Path(folder), i, mapping, arch) for i, (_, mapping, arch) in enumerate(tried)]
        seconds = [float("inf")] * len(built)
        for _ in range(rounds):
            for i, program in enumerate(built):
                seconds[i] = min(seconds[i], timed(program, 1)[0])
    costs = [tw.evaluate(mapping, arch) for _, mapping, arch in tried]
    found = []
    for (kind, mapping, arch), cost, took in zip(tried, costs, seconds, strict=True):
        lines = {
            memory: sum(sum(vars(t.lines).values()) for t in cost.traffic if t.memory == memory and t.lines)
            for memory in ("DRAM", "L2")
        }
        texts = ", ".join(arch.memories[0].layouts[t.name] for t in mapping.problem.tensors)
        ratios = f"{cost.latency_cycles / costs[0].latency_cycles:.2f} | {took / seconds[0]:.2f} | {took * 1e3:.3g}"
        found.append(f"| `{layer}` | {kind} | {texts} | {lines['DRAM']:,} | {lines['L2']:,} | {ratios} |")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds per search")
    given = parser.parse_args()
    doc = (__doc__ or "").split("\n\n", 2)[2]
    print(HEAD.format(doc=doc, machine=machine(), compiler=compiler(), flags=FLAGS, rounds=given.rounds))
    for layer in LAYERS:
        print("\n".join(rows(layer, given.rounds, given.time_limit)), flush=True)


if __name__ == "__main__":
    main()
