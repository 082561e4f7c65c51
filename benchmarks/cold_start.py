"""How long whole commands take from an empty process to the page: imports, files, the search, the print.

    python benchmarks/cold_start.py                      # a dozen layers on eyeriss, and the commands that only show
    python benchmarks/cold_start.py --runs 11 --arch three_level

Every command runs a few times in a process of its own, in turns; the store is not used. Printed are medians of
processor time (user and system) and of wall time. PYTHONDONTWRITEBYTECODE is left out of the environment: an installed
package has its bytecode beside it, and one that is used from its sources writes it in the first, unmeasured run.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time

PROGRAM = [sys.executable, "-c", "from tilewright.cli import main; main()"]

SHOWN = ["--help", "search --help", "list archs", "list layers", "show eyeriss", "show resnet50:conv1", "show resnet50"]

LAYERS = [
    *("resnet50:conv1", "resnet50:layer1.0.conv2", "resnet50:layer2.0.conv3", "resnet50:layer3.0.conv2"),
    *("resnet50:layer4.0.downsample", "resnet50:fc", "mobilenet_v2:b2.dw", "alexnet:conv2"),
    *("bert_base:q_proj", "bert_base:qk", "vgg16:conv1_2", "gpt3_6_7b_block:q_proj"),
]


def seconds(command: list[str]) -> tuple[float, float]:
    """Processor and wall time of one run."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*PROGRAM, *command], stdout=subprocess.DEVNULL, check=True, env=environment)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="of every command")
    parser.add_argument("--arch", default="eyeriss")
    options = parser.parse_args()
    searches = [f"search {layer} --arch {options.arch} --no-cache" for layer in LAYERS]
    taken: dict[str, list[tuple[float, float]]] = {command: [] for command in [*SHOWN, *searches]}
    for number in range(options.runs + 1):
        for command, times in taken.items():
            measured = seconds(command.split())
            if number:
                times.append(measured)
    print(f"{'CPU s':>6} {'wall s':>6}  command, medians of {options.runs} runs")
    medians = {c: [statistics.median(times) for times in zip(*taken[c], strict=True)] for c in taken}
    for command, (cpu, wall) in medians.items():
        print(f"{cpu:6.2f} {wall:6.2f}  {command}")
    for name, kind in (("CPU", 0), ("wall", 1)):
        times = [medians[search][kind] for search in searches]
        print(
            f"{name} time of {len(times)} searches: median {statistics.median(times):.2f} s, worst {max(times):.2f} s"
        )


if __name__ == "__main__":
    main()
