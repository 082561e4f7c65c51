"""What searches with limits take, beside what was asked for: seconds, and how much the process has grown.

    python benchmarks/limits.py                 # all rows, each in a process of its own
    python benchmarks/limits.py --only attention --clock processor

Over is the time past the limit, from the call to its answer: imports are made before. Peak is the largest resident set
of the process; grown is that without what it had before the call. On a machine that does other things as well, let
limits count seconds of the processor (`--clock processor`). ONNX models are those that come with `onnx`, without data.
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

OPERATIONS = ["S[b,m,n] += Q[b,m,e]*K[b,n,e]", "P[b,m,n] = exp(S[b,m,n])", "O[b,m,f] += P[b,m,n]*V[b,n,f]"]
SIZES = {"b": 12, "m": 1024, "n": 1024, "e": 64, "f": 64}
WHOLE = "gpt2_small:qk+softmax+av"

ROWS: dict[str, dict[str, Any]] = {
    **{
        f"attention {arch} {tiling}": {
            "run": "cascade", "what": OPERATIONS, "arch": arch, "tiling": tiling, "time": 2.0, "memory": "200 MiB"
        }
        for arch in ("cpu", "h100", "eyeriss")
        for tiling in ("ragged", "perfect")
    },
    **{
        f"attention forms {arch}": {"run": "cascade", "what": WHOLE, "arch": arch, "time": 2.0, "memory": "200 MiB"}
        for arch in ("cpu", "h100", "eyeriss", "tpu_v1")
    },
    "attention front cpu": {"run": "front", "what": WHOLE, "arch": "cpu", "time": 2.0, "memory": "200 MiB"},
    "attention top 3 cpu": {"run": "top", "what": WHOLE, "arch": "cpu", "time": 2.0, "memory": "200 MiB"},
    "cpsat": {
        "run": "cpsat", "what": "resnet50:layer1.0.conv2", "arch": "eyeriss", "time": 2.0, "memory": "200 MiB"
    },
    **{
        f"compile {network} {arch} {seconds:g} s": {
            "run": "network", "what": network, "arch": arch, "time": seconds, "memory": "1 GiB"
        }
        for network, arch, seconds in (
            ("mobilenet_v2", "eyeriss", 1.0),
            ("mobilenet_v2", "cpu", 10.0),
            ("bert_base", "h100", 10.0),
            ("light_squeezenet.onnx", "cpu", 10.0),
            ("light_densenet121.onnx", "cpu", 20.0),
        )
    },
    "emit C of 58 Concats": {
        "run": "emit", "what": "light_densenet121.onnx", "arch": "cpu", "time": 20.0, "memory": "1 GiB"
    },
}  # fmt: skip


def network_named(name: str) -> str:
    """A network of the library, or the path of a model that comes with onnx."""
    if not name.endswith(".onnx"):
        return name
    import onnx

    return str(Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / name)


def measured(row: dict[str, Any]) -> dict[str, Any]:
    """What one row takes, in this process."""
    import tilewright as tw
    from tilewright.workloads import load_network

    machine, limits = tw.load_arch(row["arch"]), {"time_limit": row["time"], "memory_limit": row["memory"]}
    kind, what = row["run"], row["what"]
    problem: Any = None
    if kind in ("network", "emit"):
        problem = load_network(network_named(what), widths="arch" if what.endswith(".onnx") else "file")
    elif isinstance(what, list):
        problem = tw.cascade(what, SIZES)
    elif kind == "cpsat":
        problem = what
    else:
        problem = tw.cascade_of(*what.split(":"))
    before, started, worked = _resident_mib(), time.perf_counter(), time.process_time()
    gap: float | None = None
    if kind == "cascade":
        gap = tw.search(problem, machine, tiling=row.get("tiling", "ragged"), **limits).certificate.gap
    elif kind == "front":
        list(tw.search_pareto(problem, machine, **limits))
    elif kind == "top":
        gap = tw.search_top(problem, machine, count=3, **limits)[0].certificate.gap
    elif kind == "cpsat":
        gap = tw.search(problem, machine, tiling="perfect", strategy="cpsat", **limits).certificate.gap
    else:
        fuse = "none" if kind == "emit" else "all"
        limits = {"total_limit": row["time"], "memory_limit": row["memory"], "workers": 1}
        found = tw.compile(problem, machine, fuse=fuse, **limits)
        gap = found.certificate.gap
        if kind == "emit":
            started, worked = time.perf_counter(), time.process_time()
            found.emit("c")
            row = {**row, "time": 0.0}
    taken, work = time.perf_counter() - started, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"over": taken - row["time"], "cpu": work, "peak": peak, "grown": peak - before, "gap": gap}


def _resident_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="rows that have this in their names")
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall", help="what limits count")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.row:
        if chosen.clock == "processor":
            time.perf_counter = time.process_time  # the clock of all limits
        print(json.dumps(measured(ROWS[chosen.row])))
        return
    print(f"{'row':34} {'asked':>16} {'over s':>7} {'CPU s':>6} {'peak':>9} {'grown':>9} {'gap':>7}")
    for name, row in ROWS.items():
        if chosen.only not in name:
            continue
        command = [sys.executable, __file__, "--row", name, "--clock", chosen.clock]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
        asked = f"{row['time']:g} s, {row['memory']}"
        if done.returncode:
            print(f"{name:34} {asked:>16} {done.stderr.strip().splitlines()[-1]}")
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        gap = "" if found["gap"] is None else f"{found['gap']:.1%}"
        print(
            f"{name:34} {asked:>16} {found['over']:7.1f} {found['cpu']:6.1f} {found['peak']:5.0f} MiB "
            f"{found['grown']:5.0f} MiB {gap:>7}",
            flush=True,
        )


if __name__ == "__main__":
    main()
