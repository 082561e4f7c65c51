"""Measure matrix products on a GPU with plain torch.matmul, for `tilewright gpu compare`.

    python benchmarks/gpu_measure.py --n 1024:4096:32 --out measured.csv
    python benchmarks/gpu_measure.py --products earlier.csv --out measured.csv          # the products of such a table
    python benchmarks/gpu_measure.py --random 50 --advised h100 --out measured.csv      # and what is advised for each
    tilewright gpu compare measured.csv --gpu a100

It needs a GPU and torch, and of tilewright only what reads `FROM:TO:STEP`. The table says in its first lines, which
start with #, what it was measured on and how. Times are medians over `--rounds` of CUDA-event times of `--calls` calls
in a row (one CUDA graph), divided by the calls, after a warm-up; operands are normal random numbers. Clocks are left as
they are: state locked clocks with --note.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import platform
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO, cast

from tilewright.cli.gpu import parse_sizes
from tilewright.cost_models.gpu import Gemm, Gpu, advise, load_gpu
from tilewright.cost_models.gpu.comparison import COLUMNS, read_products
from tilewright.cost_models.gpu.gemm import ORDERS, Order

TYPES = {"fp16": "float16", "bf16": "bfloat16", "tf32": "float32"}


def main() -> None:
    options = parser().parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("error: this measurement needs torch, which is not installed")
    if not torch.cuda.is_available():
        sys.exit("error: this measurement needs a GPU, and torch sees none")
    torch.backends.cuda.matmul.allow_tf32 = True  # of products in fp32, which are those called tf32
    with options.out.open("w", newline="", encoding="utf-8") as file:
        write_table(file, provenance(torch, options), rows(options, lambda gemm: seconds(torch, options, gemm)))
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
    made.add_argument("--products", type=Path, help="a table that has these products; its times are not looked at")
    made.add_argument(
        "--random", type=int, help="so many seeded products: sizes, element types and layouts of all kinds"
    )
    made.add_argument(
        "--advised", metavar="GPU", help="after each product what `tilewright gpu advise` compares it with"
    )
    made.add_argument("--calls", type=int, default=20)
    made.add_argument("--rounds", type=int, default=7)
    made.add_argument("--note", default="", help="whatever else should be known, such as locked clocks")
    made.add_argument("--out", type=Path, required=True)
    return made


def rows(options: argparse.Namespace, measure: Callable[[Gemm], float]) -> Iterator[dict[str, Any]]:
    """One row for every product, measured as it is asked for; `of` is the number of the one that it stands beside."""
    for number, gemm in enumerate(products(options)):
        others = compared(load_gpu(options.advised), gemm) if options.advised else []
        for each in [gemm, *others]:
            yield {**asdict(each), "seconds": measure(each), "of": number}


def products(options: argparse.Namespace) -> Iterator[Gemm]:
    """Those of a table, random ones, or a sweep."""
    if options.products:
        return iter(read_products(options.products))
    return drawn(options.random) if options.random else swept(options)


def compared(gpu: Gpu, gemm: Gemm) -> list[Gemm]:
    """The best padding, if any pays, and the other layouts."""
    advice = advise(gpu, gemm)
    padded = [gemm.resized(advice.best.sizes)] if advice.best else []
    return [*padded, *(choice.cost.gemm for choice in advice.layouts[1:])]


def drawn(count: int) -> Iterator[Gemm]:
    """Sizes from 64 to 16,384, evenly in their logarithm, most of them rounded to a multiple of 8 or 64."""
    rng = random.Random(2026)
    for _ in range(count):
        m, n, k = (max(64, round(2 ** rng.uniform(6, 14)) // unit * unit) for unit in rng.choices((1, 2, 8, 64), k=3))
        a, b = (cast(Order, rng.choice(ORDERS)) for _ in "ab")
        yield Gemm(m, n, k, rng.choice((1, 1, 1, 8)), rng.choice(list(TYPES)), a, b)


def swept(options: argparse.Namespace) -> Iterator[Gemm]:
    """A product for every size of `--n`."""
    for n in parse_sizes(options.n):
        yield Gemm(options.m or n, n, options.k or n, options.batch, options.dtype, options.a, options.b)


def write_table(file: TextIO, history: list[str], table: Iterator[dict[str, Any]]) -> None:
    """Where the table comes from, its columns, its rows."""
    file.writelines(f"# {line}\n" for line in history)
    writer = csv.DictWriter(file, fieldnames=[*COLUMNS, "of"], lineterminator="\n")
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
        f"median of {options.rounds} rounds of {options.calls} calls of torch.matmul in a CUDA graph, CUDA events",
    ]
    return [*history, *filter(None, [options.note])]


def seconds(torch: Any, options: argparse.Namespace, gemm: Gemm) -> float:
    """Seconds of one call: the median over rounds."""
    a = operand(torch, gemm, gemm.a, gemm.m, gemm.k)
    b = operand(torch, gemm, gemm.b, gemm.k, gemm.n)
    out = torch.empty((gemm.batch, gemm.m, gemm.n), device="cuda", dtype=a.dtype).squeeze(0)
    graph = recorded(torch, lambda: torch.matmul(a, b, out=out), options.calls)
    times = []
    for _ in range(options.rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / options.calls)
    return statistics.median(times)


def recorded(torch: Any, call: Callable[[], object], times: int) -> Any:
    """So many calls as one graph: the GPU does not wait for the program that asks it, which takes 10 us a call."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):  # choose the kernel, and take what memory it wants
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(times):
            call()
    graph.replay()
    torch.cuda.synchronize()
    return graph


def operand(torch: Any, gemm: Gemm, order: str, rows: int, columns: int) -> Any:
    """A matrix of random numbers, or a batch of them, with its rows or its columns next to each other in memory."""
    dtype = getattr(torch, TYPES[gemm.dtype])
    shape = (rows, columns) if order == "row" else (columns, rows)
    made = torch.randn((gemm.batch, *shape), device="cuda", dtype=dtype)
    return (made if order == "row" else made.transpose(1, 2)).squeeze(0)


if __name__ == "__main__":
    main()
