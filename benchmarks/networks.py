"""Whole networks on machines: what the best groups cost, what is proven, and how long that takes.

    python benchmarks/networks.py --out build/networks.jsonl                  # all, a minute each
    python benchmarks/networks.py --out build/networks.jsonl --table          # what is there so far, as a table

A network on a machine is a process of its own and a line of the file; lines that are there are not made again, so that
after an interrupt the same command goes on. Nothing is taken from a store. `--time-limit` and `--total-limit` are in
seconds on the wall: where other work takes the processors, so much less is searched in them. With `--clock processor`
they count seconds of the process itself, which is what a machine that does nothing else would give it; then groups are
searched one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NETWORKS = ("resnet50", "mobilenet_v2", "bert_base", "gpt3_6_7b_block")
MACHINES = ("eyeriss", "three_level", "tpu_v4i", "gemmini")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a file of JSON lines")
    parser.add_argument("--networks", nargs="*", default=NETWORKS)
    parser.add_argument("--archs", nargs="*", default=MACHINES)
    parser.add_argument("--objective", default="energy")
    parser.add_argument("--tiling", default="perfect")
    parser.add_argument("--time-limit", type=float, default=5.0, help="seconds for each group")
    parser.add_argument("--total-limit", type=float, default=60.0, help="seconds for each network")
    parser.add_argument("--workers", type=int, help="groups that are searched at once; one for each core unless given")
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall", help="what limits count")
    parser.add_argument("--table", action="store_true", help="only print what is there")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(searched(chosen.networks[0], chosen.archs[0], chosen)))
        return
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    for network in () if chosen.table else chosen.networks:
        for arch in chosen.archs:
            if not any((row["network"], row["arch"]) == (network, arch) for row in rows_of(chosen.out)):
                line = in_a_process(network, arch)
                with chosen.out.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
                print(line, flush=True)
    print(table(rows_of(chosen.out)))


def in_a_process(network: str, arch: str) -> str:
    """The line of a network on a machine."""
    words = [sys.executable, __file__, "--one", *sys.argv[1:], "--networks", network, "--archs", arch]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        message = done.stderr.strip().splitlines()[-1:]
        return json.dumps({"network": network, "arch": arch, "failed": message[0] if message else "?"})
    return done.stdout.strip()


def searched(network: str, arch: str, chosen: argparse.Namespace) -> dict[str, Any]:
    """One network on one machine."""
    import tilewright as tw

    wall = time.monotonic()
    if chosen.clock == "processor":
        time.perf_counter = time.process_time  # the clock of all limits
    result = tw.compile(
        network,
        arch,
        chosen.objective,
        chosen.tiling,
        time_limit=chosen.time_limit,
        total_limit=chosen.total_limit,
        workers=1 if chosen.clock == "processor" else chosen.workers,
    )
    answer, proof = result.answer, result.certificate
    return {
        "network": network,
        "arch": arch,
        "objective": chosen.objective,
        "tiling": chosen.tiling,
        "operations": sum(len(one.names) for one in answer.segments if one.answer is not None),
        "groups": len(answer.answers),
        "value": proof.value,
        "lower_bound": proof.lower_bound,
        "nothing_stays": None if answer.passing is None else answer.passing.value,
        "nothing_fused": None if answer.apart is None else answer.apart.value,
        "staying": len(answer.staying),
        "outer_words": answer.outer_words,
        "outer_words_apart": None if answer.apart is None else answer.apart.outer_words,
        "searches": answer.searched,
        "cpu_s": sum(os.times()[:4]),
        "wall_s": time.monotonic() - wall,
        "clock": chosen.clock,
        "peak_mib": max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        / 1024,
    }


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def table(rows: list[dict[str, Any]]) -> str:
    """The rows in Markdown."""
    lines = [
        "| network | machine | operations in groups | stay | best, mJ | nothing fused, mJ | saves | gap | searches |"
        " processor s | wall s | MiB |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "failed" in row:
            lines.append(f"| {row['network']} | {row['arch']} | {row['failed']} |")
            continue
        apart, value = row["nothing_fused"], row["value"]
        gap = 1 - row["lower_bound"] / value
        cells = [
            row["network"],
            row["arch"],
            f"{row['operations']} in {row['groups']}",
            str(row["staying"]),
            f"{value / 1e9:,.4g}",
            "" if apart is None else f"{apart / 1e9:,.4g}",
            "" if apart is None else f"{100 * (1 - value / apart):.1f} %",
            "proven" if gap < 1e-9 else f"{100 * gap:.1f} %",
            str(row["searches"]),
            f"{row['cpu_s']:.0f}",
            f"{row['wall_s']:.0f}",
            f"{row['peak_mib']:.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
