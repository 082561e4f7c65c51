"""A network on a system of several devices: what each device does, how tensors are sharded, and the proof."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .arch.system import System
from .arguments import StoreLike, check_choice, tiling_or_default
from .cost_models import LATENCY, ObjectiveLike, parse_objective
from .cost_models.padding import with_padding_read
from .inputs import checks
from .ir import MappingError, ProblemError
from .ir.display import Shown
from .ir.units import percent, seconds
from .mapper.certificate import Certificate
from .mapper.fusing import answer_below
from .mapper.question import Limits
from .mapper.sharding import (
    ComparedPlan,
    DeviceMemory,
    DeviceWork,
    Pipeline,
    Resharding,
    ShardedAnswer,
    ShardingQuestion,
    shard,
    sharding_text,
)
from .mapper.space import SPACES, Space
from .mapper.tilings import Tiling
from .results import prepare_folder, write_file
from .run.batch.group_workers import GroupWorkers
from .stored import Note, group_solver
from .workloads import Network

if TYPE_CHECKING:
    from .mapper.emit.sharded import ShardedVerification
    from .run.documents.sharded_plans import ShardedPlanDocument


_FILES = ("plan.json", "system.html", "trace.json", "program.py")


@dataclass(frozen=True, repr=False)
class CompiledSystem(Shown):
    """The best plan of a network on several devices.

    network  its name
    answer   splits, shardings, collectives, and what is proven; with stages, of a microbatch on the devices of one
    pipeline its stages; None: all devices work on every operation
    """

    network: str
    answer: ShardedAnswer
    pipeline: Pipeline | None = None

    @property
    def system(self) -> System:
        """The devices and their links."""
        return self.answer.question.system

    @property
    def certificate(self) -> Certificate:
        """What is proven of the whole: of a pipeline, that no stages along that axis are better."""
        proof = self.answer.certificate
        if self.pipeline is None:
            return proof
        clock = self.system.device.clock_hz
        bound = min(self.pipeline.bound, self.pipeline.seconds)
        return replace(proof, value=clock * self.pipeline.seconds, lower_bound=clock * bound)

    @property
    def latency(self) -> float:
        """Seconds of the whole run."""
        return self.answer.seconds if self.pipeline is None else self.pipeline.seconds

    @property
    def energy_pj(self) -> float | None:
        """Of all devices and links; None where nobody states the energy of a hop."""
        return self.answer.energy_pj

    @property
    def work(self) -> tuple[DeviceWork, ...]:
        """What devices do, one operation after the other."""
        return tuple(step for step in self.answer.steps if isinstance(step, DeviceWork))

    @property
    def collectives(self) -> tuple[Resharding, ...]:
        """What moves between devices, in order."""
        steps = (step for step in self.answer.steps if isinstance(step, Resharding))
        return tuple(step for step in steps if step.phase is not None)

    @property
    def exposed(self) -> float:
        """Seconds in which devices wait for collectives."""
        return sum(step.seconds for step in self.collectives)

    @property
    def memory(self) -> DeviceMemory:
        """What lies in the outermost memory of the fullest device."""
        return self.answer.memory

    @property
    def compared(self) -> tuple[ComparedPlan, ...]:
        """Plans that people would choose, to compare with."""
        return self.answer.compared

    @cached_property
    def shardings(self) -> Mapping[str, tuple[str, ...]]:
        """By who makes it, how a tensor lies on the devices: as it is made, and as it is brought to its readers, such
        as X[b:data, s, d:model], with {model} behind it for partial sums over model."""
        graph, axes = self.answer.question.graph, [axis.name for axis in self.system.axes]
        return {
            name: tuple(sharding_text(graph, name, one, axes) for one in every)
            for name, every in self.answer.shardings.items()
        }

    @property
    def plan(self) -> ShardedPlanDocument:
        """Splits, shardings and collectives in order, by the keys of plan.json."""
        from .run.documents.sharded_plans import sharded_plan_of

        return sharded_plan_of(self.answer, self.pipeline)

    def emit(self) -> str:
        """The numpy program of all devices, with stages those of one: an array for every device and shard, collectives
        as copies between them, bytes counted by link; it compares with the network done at once.

        Raises MappingError where no program can be written, as for models in ONNX.
        """
        from .mapper.emit.sharded import sharded_program

        return sharded_program(self.answer)

    def verify(self) -> ShardedVerification:
        """Run that program: whether its outputs are those of the network done at once, and its bytes the plan's."""
        from .mapper.emit.sharded import verify_sharded

        return verify_sharded(self.answer)

    def save(self, folder: str | os.PathLike[str], command: str = "") -> tuple[Path, ...]:
        """Write plan.json, system.html, trace.json and, where it can be written, program.py; return their paths. The
        page has the shell command that makes it again, if given.

        Raises TilewrightError when the folder or a file cannot be written.
        """
        checks.text(command, "the command", "the text of one")
        from .report.networks.sharded_html import sharded_plan_html
        from .report.traces import sharded_trace
        from .run.documents.sharded_plans import dump_sharded_plan

        place, plan = prepare_folder(folder, _FILES), self.plan
        trace = sharded_trace(plan, self.system.device.clock_hz)
        texts = [dump_sharded_plan(plan), sharded_plan_html(self.answer, plan, command, self.pipeline), trace]
        (place / _FILES[-1]).unlink(missing_ok=True)  # of another plan, perhaps
        with suppress(MappingError):  # `emit` says why
            texts.append(self.emit())
        return tuple(write_file(place / name, text) for name, text in zip(_FILES, texts, strict=False))

    def __repr__(self) -> str:
        return f"<CompiledSystem: {self}>"

    def __str__(self) -> str:
        proof = self.certificate
        verdict = "proven optimal" if proof.proven else f"gap {percent(proof.gap, 1)}"
        waits = f", {percent(self.exposed, self.latency)} of it in collectives" if self.exposed else ""
        return f"{self.network} on {self.system.name}: {seconds(self.latency)}{waits}, {verdict} for {proof.objective}"


def load_system_plan(path: str | os.PathLike[str]) -> ShardedPlanDocument:
    """The plan.json at a path that `compile` has written for a network on a system: splits, shardings, collectives, by
    the keys of its schema.

    Raises MappingError for a file that is no such document, with the first key that is wrong, and for one that was
    changed: a time of the whole that is not that of its steps.
    """
    from .run.documents.sharded_plans import read_sharded_plan

    return read_sharded_plan(Path(checks.path(path, "a plan", "the path of a plan.json")))


def sharding_question(
    network: Network,
    system: System,
    objective: ObjectiveLike | None,
    tiling: Tiling | None,
    space: Space,
    limits: Limits,
) -> ShardingQuestion:
    """The question that arguments of `compile` with a system ask; all of them checked. No split is fixed, and its time
    is not limited."""
    if network.wiring is None:
        hint = "add a graph to its table, as workloads/networks/README.md says"
        raise ProblemError("which layer reads which is not known", where=f"network {network.name}", hint=hint)
    check_choice("space", space, SPACES)
    machine = replace(system, device=with_padding_read(system.device))
    wanted = parse_objective(LATENCY if objective is None else objective, machine.device.clock_hz)
    return ShardingQuestion(network.wiring, machine, wanted, tiling_or_default(tiling), space, limits)


def sharded(
    question: ShardingQuestion, store: StoreLike | None, note: Note, *, cached: bool, workers: int | None
) -> ShardedAnswer:
    """The answer to a question; the other arguments as of `compiled`."""
    count = None if workers is None else checks.whole(workers, "the number of workers")
    solvers = GroupWorkers(group_solver(store, note) if cached else answer_below, count)
    try:
        return shard(question, solvers)
    finally:
        solvers.drop()
