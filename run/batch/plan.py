"""Layers, architectures and dataflows as distinct searches: equal ones are one, whatever they are called."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...arch import Architecture
from ...arch.document import Field, is_path
from ...cost_models import Objective
from ...ir import ConstraintError, Problem, TilewrightError
from ...ir.limits import check_countable
from ...ir.units import exact_size
from ...mapper.constraints import Constraints
from ...mapper.constraints.files import load_constraints, read_constraints
from ...mapper.question import Limits, NestQuestion, Question
from ...mapper.space import Space
from ...mapper.tilings import Tiling
from ...workloads import Network, NetworkLayer
from ..store import NoMapping


@dataclass(frozen=True)
class Dataflow:
    """A part of the mapping space to compare with others: its name, and the document of its constraints.

    options  of a command that searches it
    """

    name: str
    document: Field
    options: tuple[str, ...]


@dataclass(frozen=True)
class Machine:
    """An architecture, and the options of a command that searches on it."""

    arch: Architecture
    options: tuple[str, ...]


@dataclass(frozen=True)
class Workload:
    """A network, and how a command names it.

    reference  its name, or the path of its file
    options    that a command needs besides, such as `--dim batch=1` of an ONNX file
    """

    network: Network
    reference: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """What all searches of a batch have in common.

    objective, tiling, space  as of `search`
    limits  of each search
    """

    objective: Objective
    tiling: Tiling
    space: Space = "even"
    limits: Limits = Limits()

    @property
    def options(self) -> tuple[str, ...]:
        """Of a command that searches with them: objective and tiling, and what is not the default."""
        limits = self.limits
        words = ["--objective", self.objective.name, "--tiling", self.tiling]
        words += ["--space", self.space] if self.space != Settings.space else []
        words += ["--time-limit", f"{limits.time_s:g}"] if limits.time_s is not None else []
        if limits.memory_bytes != Limits.memory_bytes:
            words += ["--memory-limit", exact_size(limits.memory_bytes)]
        return tuple(words)


@dataclass(frozen=True)
class Cell:
    """One layer of a network on one architecture under one dataflow.

    question  to be searched; or why the dataflow makes no sense there
    """

    workload: Workload
    layer: NetworkLayer
    machine: Machine
    dataflow: Dataflow
    question: NestQuestion | NoMapping


def read_dataflows(names: Iterable[str]) -> tuple[Dataflow, ...]:
    """The dataflows of these names, or in files of these paths. Raises ConstraintError for one that cannot be read."""
    return tuple(
        Dataflow(Path(name).stem, read_constraints(name), ("--constraints", name))
        if is_path(name)
        else Dataflow(name, read_constraints(name), ("--dataflow", name))
        for name in names
    )


def plan_comparison(
    workloads: Sequence[Workload], machines: Sequence[Machine], dataflows: Sequence[Dataflow], settings: Settings
) -> tuple[Cell, ...]:
    """Every layer on every architecture under every dataflow.

    A dataflow that cannot be resolved for a layer makes a cell with the reason. Raises ConstraintError for one that
    cannot be resolved anywhere, and TilewrightError where two architectures or networks have one name.
    """
    for what, names in (
        ("networks", [workload.network.name for workload in workloads]),
        ("architectures", [machine.arch.name for machine in machines]),
        ("dataflows", [dataflow.name for dataflow in dataflows]),
    ):
        check_distinct(what, names)
    for workload in workloads:
        for layer in workload.network.layers:
            check_countable(layer.problem)
    resolver = _Resolver(settings)
    cells = tuple(
        Cell(workload, layer, machine, dataflow, resolver.question(layer.problem, machine.arch, dataflow))
        for workload, machine, dataflow in itertools.product(workloads, machines, dataflows)
        for layer in workload.network.layers
    )
    for dataflow in dataflows:
        resolver.check(dataflow)
    return cells


def distinct_questions(cells: Iterable[Cell]) -> tuple[NestQuestion, ...]:
    """The searches that answer all cells, each once."""
    questions = {c.question.key: c.question for c in cells if isinstance(c.question, Question)}
    return tuple(questions.values())


class _Resolver:
    """Questions for cells; equal layers have their constraints resolved once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._questions: dict[tuple[Problem, int, str], NestQuestion | ConstraintError] = {}
        self._resolved: set[str] = set()

    def question(self, problem: Problem, arch: Architecture, dataflow: Dataflow) -> NestQuestion | NoMapping:
        shape = replace(problem, name="")
        asked = self._questions.get((shape, id(arch), dataflow.name))
        if asked is None:
            asked = self._resolve(problem, arch, dataflow)
            self._questions[shape, id(arch), dataflow.name] = asked
        if isinstance(asked, Question):
            self._resolved.add(dataflow.name)
            return asked
        return NoMapping(problem.name, asked.message, asked.where, asked.hint)

    def check(self, dataflow: Dataflow) -> None:
        """Raise what stands in the way everywhere."""
        if dataflow.name not in self._resolved:
            errors = (e for (_, _, name), e in self._questions.items() if name == dataflow.name)
            raise next(error for error in errors if isinstance(error, ConstraintError))

    def _resolve(self, problem: Problem, arch: Architecture, dataflow: Dataflow) -> NestQuestion | ConstraintError:
        try:
            found = load_constraints(dataflow.document, problem, arch)
        except ConstraintError as error:
            return error
        constraints: Constraints = replace(found, name=dataflow.name)
        settings = self._settings
        return Question(
            problem, arch, settings.objective, settings.tiling, settings.space, constraints, settings.limits
        )


def check_distinct(what: str, names: Sequence[str]) -> None:
    """TilewrightError where there are no names, or two are equal; `what` they are of: "networks"."""
    if not names:
        raise TilewrightError(f"no {what} are given, expected one or more")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TilewrightError(f"two {what} are named {twice[0]!r}", hint="give each a name of its own")
