"""The model beside measured times: a table of products and seconds, read and compared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import correlation, median
from typing import cast

from ...arch.document import read_text
from ...ir import TilewrightError
from ...ir.csv_table import read_table
from .gemm import Gemm, Order
from .machine import Gpu
from .sweep import Choice, best_plan

COLUMNS = ("m", "n", "k", "batch", "dtype", "a", "b", "seconds")
"""Columns that a table must have, in any order; others are left alone, and lines that start with # are its history."""

FEWEST = 3
"""Products below which a rank correlation says nothing."""


@dataclass(frozen=True)
class Measurement:
    """A product and its measured time [s]."""

    gemm: Gemm
    seconds: float


@dataclass(frozen=True)
class ModelAccuracy:
    """How near the model comes.

    rank_correlation   Spearman's, of modelled and measured FLOP/s: 1 where the model puts all products in their order
    median_error       median over products of |modelled - measured| / measured time
    median_ratio       median over products of modelled / measured time: below 1 the model is too fast
    rows               measurement, modelled seconds
    """

    rank_correlation: float
    median_error: float
    median_ratio: float
    rows: tuple[tuple[Measurement, float], ...]


def read_measurements(path: str | os.PathLike[str]) -> list[Measurement]:
    """The products and times of a CSV file such as benchmarks/gpu_measure.py writes.

    Raises TilewrightError, with the line, for a file that cannot be read, missing columns and senseless values.
    """
    return [Measurement(_product(row, where), _seconds(row, where)) for row, where in _table(path, COLUMNS)]


def read_products(path: str | os.PathLike[str]) -> list[Gemm]:
    """The products of such a file, whose times may be missing. Raises as `read_measurements` does."""
    columns = [column for column in COLUMNS if column != "seconds"]
    return [_product(row, where) for row, where in _table(path, columns)]


def compare(gpu: Gpu, measurements: Sequence[Measurement], choice: Choice | None = None) -> ModelAccuracy:
    """The model's times beside the measured ones.

    Raises TilewrightError when there are too few products, or all of them are equally fast.
    """
    if len(measurements) < FEWEST:
        raise TilewrightError(f"found {len(measurements)} products, expected {FEWEST} or more to compare")
    modelled = [best_plan(gpu, entry.gemm, choice).seconds for entry in measurements]
    measured_rates = [entry.gemm.flop / entry.seconds for entry in measurements]
    modelled_rates = [entry.gemm.flop / seconds for entry, seconds in zip(measurements, modelled, strict=True)]
    if len(set(measured_rates)) == 1 or len(set(modelled_rates)) == 1:
        raise TilewrightError("all products are equally fast, expected several rates to rank")
    ratios = [seconds / entry.seconds for entry, seconds in zip(measurements, modelled, strict=True)]
    return ModelAccuracy(
        rank_correlation=correlation(ranks(modelled_rates), ranks(measured_rates)),
        median_error=median(abs(ratio - 1) for ratio in ratios),
        median_ratio=median(ratios),
        rows=tuple(zip(measurements, modelled, strict=True)),
    )


def ranks(values: Iterable[float]) -> list[float]:
    """The rank of every value, counted from 1; equal values share the mean of their ranks."""
    values = list(values)
    order = sorted(values)
    first = {value: order.index(value) for value in set(values)}
    counts = {value: values.count(value) for value in first}
    return [first[value] + (counts[value] + 1) / 2 for value in values]


def _table(path: str | os.PathLike[str], columns: Sequence[str]) -> list[tuple[Mapping[str, str], str]]:
    """The rows of a CSV file, each with where it stands."""
    name = os.fspath(path)
    found, rows = read_table(read_text(Path(name), name, "a table of measured products (CSV)"), name, TilewrightError)
    missing = [column for column in columns if column not in found]
    if missing:
        hint = "benchmarks/gpu_measure.py writes such a table"
        raise TilewrightError(f"missing the columns {', '.join(missing)}", where=name, hint=hint)
    return [(row, where) for where, row in rows]


def _product(row: Mapping[str, str], where: str) -> Gemm:
    found = {column: row[column] for column in ("m", "n", "k", "batch")}
    try:
        sizes = {column: int(size) for column, size in found.items()}
    except (TypeError, ValueError):
        raise TilewrightError(f"found {found}, expected whole sizes", where=where) from None
    try:
        return Gemm(**sizes, dtype=row["dtype"], a=cast(Order, row["a"]), b=cast(Order, row["b"]))
    except TilewrightError as error:
        raise error.located(where) from None


def _seconds(row: Mapping[str, str], where: str) -> float:
    try:
        seconds = float(row["seconds"])
    except (TypeError, ValueError):
        seconds = float("nan")
    if not 0 < seconds < float("inf"):
        raise TilewrightError(f"found {row['seconds']!r} seconds, expected a positive time", where=where)
    return seconds
