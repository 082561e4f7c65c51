"""A network on a system of several devices: what each device does, how tensors are sharded, and the proof."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .arch.system import MeshAxis, System
from .arguments import StoreLike, check_choice, tiling_or_default
from .cost_models import LATENCY, ObjectiveLike, parse_objective
from .cost_models.padding import with_padding_read
from .inputs import checks
from .ir import InfeasibleError, MappingError, ProblemError, TilewrightError
from .ir.display import Shown
from .ir.errors import entry
from .ir.units import percent, seconds
from .mapper.certificate import Certificate
from .mapper.effort import PLAN_EFFORT
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
    fixed_splits,
    pipeline_of,
    shard,
    sharding_text,
    with_room_for_all,
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


@dataclass(frozen=True)
class PlanChoices:
    """What a call says of a plan for several devices.

    fix           lines that fix splits
    stages        the axis along which stages of a pipeline lie; "free": whichever is best, or none; None: none
    microbatches  into how many a batch may be cut that passes the stages
    total_s       seconds for all searches
    """

    fix: Sequence[str] = ()
    stages: str | None = None
    microbatches: Sequence[int] = (1,)
    total_s: float | None = None


Divide = Callable[[ShardingQuestion], ShardedAnswer]
"""Answers a question about several devices."""


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


def compiled_on_system(
    load: Callable[[int], ShardingQuestion], choices: PlanChoices, divide: Divide
) -> tuple[ShardedAnswer, Pipeline | None]:
    """The best plan, and its stages where it has some.

    load  the question about one of so many microbatches
    """
    given = checks.items(choices.fix, "fix", "a list")
    lines = [checks.text(one, "fix", "a text such as 'attention.*: g@node'") for one in given]
    whole, counts = load(1), choices.microbatches
    axes, is_plain = _stage_axes(whole, choices.stages, counts), choices.stages in (None, "free")
    shares = _shares(choices.total_s, is_plain + len(axes) * len(counts))
    plans: list[tuple[ShardedAnswer, Pipeline | None]] = []
    bounds: list[float] = []
    refused: InfeasibleError | None = None
    if is_plain:
        try:
            answer = divide(replace(whole, fixed=fixed_splits(whole, lines), total_s=next(shares)))
            plans.append((answer, None))
            bounds.append(answer.seconds * (1 - answer.certificate.gap))
        except InfeasibleError as error:  # with stages it may fit
            refused = error
    for axis in axes:
        for count in counts:
            asked = whole if count == 1 else load(count)
            others = tuple(one for one in asked.system.axes if one != axis)
            roomy = replace(asked.system, axes=others, device=with_room_for_all(asked.system.device))
            asked = replace(asked, system=roomy, total_s=next(shares))
            answer = divide(replace(asked, fixed=fixed_splits(asked, lines)))
            pipeline = pipeline_of(answer, axis, count, whole.system.device)
            bounds.append(pipeline.bound)
            used, size = pipeline.memory.used, pipeline.memory.size
            if size is None or used <= size:
                plans.append((replace(answer, memory=pipeline.memory, compared=()), pipeline))
            else:
                message = f"a stage along {axis.name} takes {used:,} B of each device, which has {size:,}"
                refused = InfeasibleError(message, where=whole.graph.network)
    if not plans:
        raise refused or InfeasibleError("no axis has several devices, along which stages could lie", where="stages")
    answer, stages = min(plans, key=_seconds)
    if stages is not None:
        return answer, replace(stages, bound=min(bounds))
    if len(bounds) > 1:
        least = min(answer.certificate.lower_bound, whole.system.device.clock_hz * min(bounds))
        answer = replace(answer, certificate=answer.certificate.with_bound(least))
    return answer, None


def _shares(total_s: float | None, plans: int) -> Iterator[float | None]:
    """Seconds for one plan after the other, of those for all: those that are left share alike what is left."""
    started = time.perf_counter()
    for left in range(plans, 0, -1):
        spent = time.perf_counter() - started
        yield None if total_s is None else max(PLAN_EFFORT.least, (total_s - spent) / left)


def _seconds(plan: tuple[ShardedAnswer, Pipeline | None]) -> float:
    answer, pipeline = plan
    return answer.seconds if pipeline is None else pipeline.seconds


def _stage_axes(question: ShardingQuestion, stages: str | None, counts: Sequence[int]) -> list[MeshAxis]:
    """Axes along which stages may lie."""
    if stages is None:
        if any(count != 1 for count in counts):
            hint = "say along which axis stages lie, or stages free"
            raise TilewrightError("a batch is cut, and there are no stages to pass", where="microbatches", hint=hint)
        return []
    if question.objective != LATENCY:
        message = f"stages are cut for latency, expected no {question.objective.name}"
        raise TilewrightError(message, where="stages")
    axes = [axis for axis in question.system.axes if axis.size > 1]
    if stages == "free":
        return axes
    return [entry({axis.name: axis for axis in axes}, stages, "axis")]


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
