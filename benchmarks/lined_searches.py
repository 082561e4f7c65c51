"""How long searches take on machines with lines: with open layouts, and row-major, against the same without lines.

python benchmarks/lined_searches.py [--time-limit 40]
"""

from __future__ import annotations

import argparse
import time

import tilewright as tw

CASES = [
    ("resnet50:layer1.0.conv2", "eyeriss", "64 B"),
    ("resnet50:layer1.0.conv2", "three_level", "64 B"),
    ("resnet50:layer1.0.conv2", "tpu_v1", "64 B"),
    ("resnet50:conv1", "eyeriss", "64 B"),
    ("mobilenet_v2:b3.dw", "eyeriss", "64 B"),
    ("mobilenet_v2:b3.expand", "three_level", "64 B"),
    ("gpt2_small:qk", "three_level", "64 B"),
    ("bert_base:qk", "tpu_v4i", "128 B"),
]


def row(layer: str, arch: str, line: str, time_limit: float) -> str:
    """A row of the table: CPU seconds, and the EDP over that without lines."""
    plain = tw.load_arch(arch)
    lined = tw.load_arch(arch, {f"{plain.memories[0].name}.line": line})
    cells, least = [], 0.0
    for machine, layout in ((plain, None), (lined, "any"), (lined, "row-major")):
        started = time.process_time()
        found = tw.search(layer, machine, layout=layout, time_limit=time_limit).certificate
        took, least = time.process_time() - started, least or found.value
        gap = "" if found.proven else f", gap {1 - found.lower_bound / found.value:.2%}"
        cells.append(f"{took:.1f} s" + ("" if layout is None else f", {found.value / least:.4g}") + gap)
    return " | ".join([f"| `{layer}`", f"`{arch}`", *cells]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=40.0, help="seconds per search")
    limit = parser.parse_args().time_limit
    print("| layer | machine | without lines | `any` | row-major |\n|---|---|---|---|---|")
    for case in CASES:
        print(row(*case, limit), flush=True)


if __name__ == "__main__":
    main()
