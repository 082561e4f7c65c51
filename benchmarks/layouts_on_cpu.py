"""What layouts are worth on this processor: one mapping, its arrays in several layouts, lines and time.

    python benchmarks/layouts_on_cpu.py [--runs 5]

The mapping is the best one of the library's `cpu` without lines. For each layout of the caller's arrays the model says
how many lines of 64 bytes pass DRAM and L1, and the program is timed (CPU seconds, the fastest of several runs).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from reality import build, timed

import tilewright as tw
from tilewright.cost_models.layouts.choices import with_layouts
from tilewright.cost_models.open_choices import evaluate_open

LINES = {f"{memory}.line": "64 B" for memory in ("DRAM", "L3", "L2", "L1")}
LAYERS = ["resnet50:layer2.1.conv2", "resnet50:layer4.1.conv1", "mobilenet_v2:b13.expand"]
LAYOUTS = [
    {"all": "row-major"},
    {"all": "row-major", "I": "NHWC", "O": "NHWC"},
    {"all": "column-major"},
    {"all": "any"},
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    print("| layer | I, W, O in DRAM | lines at DRAM | lines at L1 | modelled cycles | measured |")
    print("|---|---|---|---|---|---|")
    for layer in LAYERS:
        found = tw.search(layer, "cpu", "latency", tiling="perfect", time_limit=20)
        for layouts in LAYOUTS:
            lined = with_layouts(tw.load_arch("cpu", LINES), found.mapping.problem, layouts)
            cost, closed = evaluate_open(found.mapping, lined, "latency")
            lines = {
                memory: sum(sum(vars(t.lines).values()) for t in cost.traffic if t.memory == memory and t.lines)
                for memory in ("DRAM", "L1")
            }
            texts = ", ".join(closed.memories[0].layouts[t.name] for t in found.mapping.problem.tensors)
            with tempfile.TemporaryDirectory() as folder:
                seconds, _ = timed(build(Path(folder), 0, found.mapping, closed), runs)
            print(
                f"| `{layer}` | {texts} | {lines['DRAM']:,} | {lines['L1']:,} | {cost.latency_cycles:,.0f} "
                f"| {seconds * 1e3:.3g} ms |",
                flush=True,
            )


if __name__ == "__main__":
    main()
