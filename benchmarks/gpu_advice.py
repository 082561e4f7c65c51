"""What `tilewright gpu advise` says a padding or another layout is worth, beside what was measured.

    python benchmarks/gpu_measure.py --random 60 --advised h100 --out results/gpu/h100_advised.csv   # on that GPU
    python benchmarks/gpu_advice.py results/gpu/h100_advised.csv --gpu h100

Every product is paired with those that its table has beside it (column `of`): padded, and in other layouts.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import correlation, median

from tilewright.cost_models.gpu import Gpu, Measurement, best_plan, load_gpu, read_measurements
from tilewright.cost_models.gpu.comparison import ranks

PAYS = 1.05
"""A change that is worth less is not told from noise."""


@dataclass(frozen=True)
class Change:
    """A product run in another way: its time before / its time after."""

    kind: str
    modelled: float
    measured: float


def changes(gpu: Gpu, path: Path) -> Iterator[Change]:
    with path.open(encoding="utf-8") as file:
        numbers = [row["of"] for row in csv.DictReader(line for line in file if not line.startswith("#"))]
    pairs = zip(numbers, read_measurements(path), strict=True)
    for _, group in groupby(pairs, key=lambda pair: pair[0]):
        (_, before), *others = group
        for _, after in others:
            yield change(gpu, before, after)


def change(gpu: Gpu, before: Measurement, after: Measurement) -> Change:
    kind = "padding" if before.gemm.sizes() != after.gemm.sizes() else "layout"
    modelled = best_plan(gpu, before.gemm).seconds / best_plan(gpu, after.gemm).seconds
    return Change(kind, modelled, before.seconds / after.seconds)


def row(kind: str, found: list[Change]) -> str:
    """What is right about changes of a kind: their order, how far off, and whether they pay at all."""
    order = correlation(ranks(each.modelled for each in found), ranks(each.measured for each in found))
    off = median(abs(each.modelled / each.measured - 1) for each in found)
    pay = [each for each in found if each.modelled > PAYS]
    held = sum(each.measured > 1 for each in pay)
    worth = f"{median(each.modelled for each in pay):.2f} | {median(each.measured for each in pay):.2f}"
    return f"| {kind} | {len(found)} | {order:.2f} | {off:.0%} | {len(pay)} | {held} | {worth} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path)
    parser.add_argument("--gpu", default="h100")
    options = parser.parse_args()
    found = list(changes(load_gpu(options.gpu), options.measured))
    print("| change | pairs | rank correlation | median error | said to pay | did | worth, modelled | measured |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for kind in ("padding", "layout"):
        print(row(kind, [each for each in found if each.kind == kind]))


if __name__ == "__main__":
    main()
