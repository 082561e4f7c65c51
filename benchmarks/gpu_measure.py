"""Measure matrix products on a GPU with plain torch.matmul, for `tilewright gpu compare`.

    python benchmarks/gpu_measure.py --n 1024:4096:32 --out measured.csv
    tilewright gpu compare measured.csv --gpu a100

It needs a GPU and torch, and of tilewright only what reads `FROM:TO:STEP`. The table says in its first lines, which
start with #, what it was measured on and how. Times are medians over `--rounds` of CUDA-event times of `--calls` calls
in a row, divided by the calls, after a warm-up; operands are normal random numbers. Clocks are left as they are: state
locked clocks with --note.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import platform
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from tilewright.cli.gpu import parse_sizes
from tilewright.cost_models.gpu.comparison import COLUMNS

TYPES = {"fp16": "float16", "bf16": "bfloat16", "tf32": "float32"}


def main() -> None:
    options = parser().parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("error: this measurement needs torch, which is not installed")
    if not torch.cuda.is_available():
        sys.exit("error: this measurement needs a GPU, and torch sees none")
    torch.backends.cuda.matmul.allow_tf32 = options.dtype == "tf32"
    with options.out.open("w", newline="", encoding="utf-8") as file:
        write_table(file, provenance(torch, options), rows(options, lambda *shape: seconds(torch, options, *shape)))
    print(f"wrote {options.out}")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--n", default="1024:4096:32", help="FROM:TO:STEP, the last one included (%(default)s)")
    made.add_argument("--m", type=int, help="M; as N, if not given")
    made.add_argument("--k", type=int, help="K; as N, if not given")
    made.add_argument("--batch", type=int, default=1)
    made.add_argument("--dtype", choices=TYPES, default="fp16")
    made.add_argument("--a", choices=("row", "column"), default="row", help="layout of A")
    made.add_argument("--b", choices=("row", "column"), default="row", help="layout of B")
    made.add_argument("--calls", type=int, default=20)
    made.add_argument("--rounds", type=int, default=7)
    made.add_argument("--note", default="", help="whatever else should be known, such as locked clocks")
    made.add_argument("--out", type=Path, required=True)
    return made


def rows(options: argparse.Namespace, measure: Callable[[int, int, int], float]) -> Iterator[dict[str, Any]]:
    """One row for every size, measured as it is asked for."""
    fixed = {"batch": options.batch, "dtype": options.dtype, "a": options.a, "b": options.b}
    for n in parse_sizes(options.n):
        m, k = options.m or n, options.k or n
        yield {"m": m, "n": n, "k": k, **fixed, "seconds": measure(m, n, k)}


def write_table(file: TextIO, history: list[str], table: Iterator[dict[str, Any]]) -> None:
    """Where the table comes from, its columns, its rows."""
    file.writelines(f"# {line}\n" for line in history)
    writer = csv.DictWriter(file, fieldnames=COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow(row)
        file.flush()


def provenance(torch: Any, options: argparse.Namespace) -> list[str]:
    device = torch.cuda.get_device_properties(0)
    history = [
        f"measured {datetime.datetime.now(datetime.UTC):%Y-%m-%d} with benchmarks/gpu_measure.py",
        f"device {device.name}, {device.multi_processor_count} SMs, {device.total_memory / 2**30:.0f} GiB",
        f"torch {torch.__version__}, CUDA {torch.version.cuda}, Python {platform.python_version()}",
        f"median of {options.rounds} rounds of {options.calls} calls of torch.matmul, CUDA events",
    ]
    return [*history, *filter(None, [options.note])]


def seconds(torch: Any, options: argparse.Namespace, m: int, n: int, k: int) -> float:
    """Seconds of one call: the median over rounds."""
    a = operand(torch, options, options.a, m, k)
    b = operand(torch, options, options.b, k, n)
    out = torch.empty((options.batch, m, n), device="cuda", dtype=a.dtype).squeeze(0)
    for _ in range(3):
        torch.matmul(a, b, out=out)
    times = []
    for _ in range(options.rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(options.calls):
            torch.matmul(a, b, out=out)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / options.calls)
    return statistics.median(times)


def operand(torch: Any, options: argparse.Namespace, order: str, rows: int, columns: int) -> Any:
    """A matrix of random numbers, or a batch of them, with its rows or its columns next to each other in memory."""
    dtype = getattr(torch, TYPES[options.dtype])
    shape = (rows, columns) if order == "row" else (columns, rows)
    made = torch.randn((options.batch, *shape), device="cuda", dtype=dtype)
    return (made if order == "row" else made.transpose(1, 2)).squeeze(0)


if __name__ == "__main__":
    main()
