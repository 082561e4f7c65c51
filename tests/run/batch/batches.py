"""Small batches for tests: a network, its cells, and workers that misbehave."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import tilewright as tw
from tilewright.cost_models import parse_objective
from tilewright.ir import UndecidedError
from tilewright.mapper.progress import SearchProgress, answering
from tilewright.mapper.question import NestQuestion
from tilewright.run.batch.job import run_job
from tilewright.run.batch.plan import (
    Cell,
    Machine,
    Settings,
    Workload,
    distinct_questions,
    plan_comparison,
    read_dataflows,
)
from tilewright.workloads import Network, load_network

DATAFLOWS = ("free", "weight-stationary", "output-stationary")

NETWORK = """\
network: {name}
layers:
  - {{name: first, op: gemm, M: 8, N: 4, K: 4, weight: true, repeat: 3}}
  - {{name: same, op: gemm, M: 8, N: 4, K: 4, weight: true}}
  - {{name: conv, op: conv, K: 4, C: 2, P: 4, Q: 1, R: 3, S: 1}}
  - {{name: attention, op: gemm, M: 4, N: 4, K: 8, weight: false, repeat: 2}}
"""


def network(folder: Path, name: str = "tiny") -> Network:
    path = folder / f"{name}.yaml"
    path.write_text(NETWORK.format(name=name), encoding="utf-8")
    return load_network(path)


def settings(objective: str = "edp", **changes: Any) -> Settings:
    return Settings(parse_objective(objective), **{"tiling": "perfect", **changes})


def cells(
    folder: Path, archs: tuple[str, ...] = ("three_level",), dataflows: tuple[str, ...] = ("free",)
) -> tuple[Cell, ...]:
    machines = [Machine(tw.load_arch(arch), ("--arch", arch)) for arch in archs]
    workloads = [Workload(network(folder), str(folder / "tiny.yaml"))]
    return plan_comparison(workloads, machines, read_dataflows(dataflows), settings())


def questions(folder: Path, **kinds: Any) -> tuple[NestQuestion, ...]:
    return distinct_questions(cells(folder, **kinds))


class Here:
    """Workers that are none: every search runs at once in this process."""

    def __init__(self) -> None:
        self.ran: list[NestQuestion] = []
        self.stopped = False

    def submit(self, function: Callable[[Any], Any], argument: Any) -> Future[Any]:
        self.ran.append(argument)
        future: Future[Any] = Future()
        try:
            future.set_result(function(argument))
        except BaseException as error:
            future.set_exception(error)
        return future

    def count(self) -> int:
        return 1

    def said(self, _: object) -> SearchProgress:
        return SearchProgress()

    def stop(self) -> None:
        self.stopped = True


def killing_job(question: Any) -> Any:
    """As `run_job`, but the worker is killed by the first search of a convolution; a file remembers that."""
    mark = Path(os.environ["TILEWRIGHT_TEST_MARK"])
    if "R" in question.problem.sizes and (not mark.exists() or "always" in mark.name):
        mark.touch()
        os.kill(os.getpid(), 9)
    return run_job(question)


def undecided_job(_: Any) -> Any:
    """A search whose time was over before it had found anything."""
    raise UndecidedError("time ran out", where="gemm", hint="wait longer")


def searching(seconds: float) -> float:
    """Something that takes its time, and says so."""
    with answering(lambda: SearchProgress(doing="counting", objective="edp", value=4.0, bound=3.0)):
        time.sleep(seconds)
    return seconds
