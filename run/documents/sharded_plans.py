"""plan.json of a network on a system: its model, which is its schema, and how it is read back and checked."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Final, Literal

from ...ir import MappingError
from ...mapper.sharding import DeviceWork, Pipeline, Resharding, ShardedAnswer, sharding_text
from .files import DocumentKind, Strict, document_from, members_of, read_text
from .mappings import written_by

SHARDED_PLAN_VERSION: Final = 1
"""Of the form of plan.json of a network on a system."""

SHARDED_PLAN: Final = DocumentKind(
    "plan.json",
    "sharded_plan_version",
    SHARDED_PLAN_VERSION,
    "an object with network, system and steps",
    "compile NETWORK --system SYSTEM",
)

_TOLERANCE = 1e-9
"""Sums of floats that are written down may differ by so much of themselves."""


class FabricAxisPart(Strict):
    """An axis of the mesh.

    name  what paths call it
    kind  how devices along it are linked
    size  devices along it
    """

    name: str
    kind: str
    size: int


class LinkPart(Strict):
    """A link of the busiest line of an axis.

    source, to  devices along the axis; -1: the switch
    bytes       that pass it
    """

    source: int
    to: int
    bytes: int


class StepPart(Strict):
    """What devices do at once, or what moves between them.

    kind          work: an operation; move: a tensor is brought from one sharding to another along an axis
    name          of the operation, or of the one that makes the tensor
    start_s, seconds  when it begins, and how long it takes
    energy_pj     of all devices and links; null: nobody states the energy of a hop
    split         of work: by axis, the dimension whose blocks the devices do
    parallelism   of work: by axis, what that is called
    proven        of work: whether no mapping of what a device does is better; null: words move, or it was bounded alone
    tree          of work: lines of the mapping of the largest block
    move, axis    of a move: what takes place, and along which axis
    before, after of a move: shardings of the tensor
    schedule, hops, bytes_a_link, moved_bytes  of a move: null where nothing moves
    links         of a move: bytes by link of the busiest line
    """

    kind: Literal["work", "move"]
    name: str
    start_s: float
    seconds: float
    energy_pj: float | None = None
    split: dict[str, str] | None = None
    parallelism: dict[str, str] | None = None
    proven: bool | None = None
    tree: tuple[str, ...] | None = None
    move: str | None = None
    axis: str | None = None
    before: str | None = None
    after: str | None = None
    schedule: str | None = None
    hops: int | None = None
    bytes_a_link: int | None = None
    moved_bytes: int | None = None
    links: tuple[LinkPart, ...] | None = None


class StagePart(Strict):
    """Consecutive steps on the devices at one place of the axis.

    first, last  numbers of the steps, from 1
    seconds      of these
    sent_bytes, send_s  what each device sends to the next stage, and how long that takes
    """

    first: int
    last: int
    seconds: float
    sent_bytes: int
    send_s: float


class PipelinePart(Strict):
    """Stages along an axis; the steps of the plan are those of one microbatch.

    axis          along which they lie
    microbatches  that pass one after the other
    seconds       of all
    bound_s       that no stages of any plan are below
    stages        in order
    """

    axis: str
    microbatches: int
    seconds: float
    bound_s: float
    stages: tuple[StagePart, ...]


class DeviceMemoryPart(Strict):
    """What lies in the outermost memory of the fullest device, in bytes.

    weights  parameters
    cache    caches
    live     the largest sum of tensors that are alive at once
    size     of the memory; null: not stated
    """

    weights: int
    cache: int
    live: int
    size: int | None = None


class ComparedPart(Strict):
    """A plan that people would choose.

    name       what it is called
    seconds    of the whole; null: there is no such plan
    energy_pj  of the whole; null: not known
    why        there is none, or what it divides
    """

    name: str
    seconds: float | None = None
    energy_pj: float | None = None
    why: str = ""


class ShardedPlanDocument(Strict):
    """A network on a system: how every operation is split, how tensors are sharded, what moves.

    sharded_plan_version  of this document
    written_by   the program and its version
    network, system, device  their names
    axes         of the mesh
    objective    what was minimized
    tiling, space, constraints  of the plans to choose from
    seconds, energy_pj  sums over steps; energy: null where nobody states that of a hop
    value, lower_bound, proven  of the objective
    searched_s   seconds of the search
    memory       of the fullest device
    compared     other plans
    pipeline     its stages; null: all devices work on every operation
    steps        one after the other
    """

    sharded_plan_version: Literal[1] = SHARDED_PLAN_VERSION
    written_by: str
    network: str
    system: str
    device: str
    axes: tuple[FabricAxisPart, ...]
    objective: str
    tiling: str
    space: str
    constraints: tuple[str, ...]
    seconds: float
    energy_pj: float | None = None
    value: float
    lower_bound: float
    proven: bool
    searched_s: float
    memory: DeviceMemoryPart
    compared: tuple[ComparedPart, ...]
    pipeline: PipelinePart | None = None
    steps: tuple[StepPart, ...]

    def check(self, where: str = "plan.json") -> None:
        """MappingError for a plan that was changed by hand: where the time of the whole is not that of its steps."""
        summed = math.fsum(step.seconds for step in self.steps)
        if not math.isclose(summed, self.seconds, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            message = f"it takes {self.seconds:,.10g} s in all, and its steps add up to {summed:,.10g} s"
            hint = "it was changed after it was written; `tilewright compile` writes it again"
            raise MappingError(message, where=where, hint=hint)


def sharded_plan_of(answer: ShardedAnswer, pipeline: Pipeline | None = None) -> ShardedPlanDocument:
    """The document of an answer, with its stages."""
    proof, question = answer.certificate, answer.question
    return ShardedPlanDocument(
        sharded_plan_version=SHARDED_PLAN_VERSION,
        written_by=written_by(),
        network=question.graph.network,
        system=question.system.name,
        device=question.system.device.name,
        axes=tuple(FabricAxisPart(name=a.name, kind=a.kind, size=a.size) for a in question.system.axes),
        objective=proof.objective,
        tiling=proof.tiling,
        space=proof.space,
        constraints=tuple(proof.constraints),
        seconds=answer.seconds,
        energy_pj=answer.energy_pj,
        value=proof.value,
        lower_bound=proof.lower_bound,
        proven=proof.proven,
        searched_s=proof.seconds,
        memory=DeviceMemoryPart.model_validate(answer.memory, from_attributes=True),
        compared=tuple(ComparedPart.model_validate(one, from_attributes=True) for one in answer.compared),
        pipeline=None if pipeline is None else _pipeline(pipeline),
        steps=tuple(_steps(answer)),
    )


def _pipeline(pipeline: Pipeline) -> PipelinePart:
    stages = (
        StagePart(first=one.first + 1, last=one.end, seconds=one.seconds, sent_bytes=one.sent, send_s=one.send)
        for one in pipeline.stages
    )
    return PipelinePart(
        axis=pipeline.axis,
        microbatches=pipeline.microbatches,
        seconds=pipeline.seconds,
        bound_s=pipeline.bound,
        stages=tuple(stages),
    )


def _steps(answer: ShardedAnswer) -> list[StepPart]:
    found, start = [], 0.0
    for step in answer.steps:
        found.append(_work(answer, step, start) if isinstance(step, DeviceWork) else _move(answer, step, start))
        start += step.seconds
    return found


def _work(answer: ShardedAnswer, step: DeviceWork, start: float) -> StepPart:
    axes = [axis.name for axis in answer.question.system.axes]
    names = step.parallelism or ("",) * len(axes)
    best = step.answer
    return StepPart(
        kind="work",
        name=step.name,
        start_s=start,
        seconds=step.seconds,
        energy_pj=step.energy_pj,
        split={axis: dim for axis, dim in zip(axes, step.split, strict=True) if dim is not None},
        parallelism={axis: name for axis, name in zip(axes, names, strict=True) if name},
        proven=None if best is None else best.certificate.proven,
        tree=None if best is None else tuple(str(best.mapping.tree).splitlines()),
    )


def _move(answer: ShardedAnswer, step: Resharding, start: float) -> StepPart:
    graph, axes, phase = answer.question.graph, [a.name for a in answer.question.system.axes], step.phase
    links = () if phase is None else phase.bytes_by_link.items()
    return StepPart(
        kind="move",
        name=step.tensor,
        start_s=start,
        seconds=step.seconds,
        energy_pj=step.energy_pj,
        move=step.move,
        axis=step.axis,
        before=sharding_text(graph, step.tensor, step.before, axes),
        after=sharding_text(graph, step.tensor, step.after, axes),
        schedule=None if phase is None else phase.schedule,
        hops=None if phase is None else phase.hops,
        bytes_a_link=None if phase is None else phase.bytes,
        moved_bytes=None if phase is None else phase.moved,
        links=tuple(LinkPart(source=source, to=to, bytes=moved) for (source, to), moved in links),
    )


def dump_sharded_plan(plan: ShardedPlanDocument) -> str:
    """The text of plan.json."""
    document = plan.model_dump(mode="json", exclude_none=True)
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_sharded_plan(path: Path) -> ShardedPlanDocument:
    """The document in a file, checked; MappingError for what is none, and for one that was changed."""
    where = str(path)
    text = read_text(path, where, SHARDED_PLAN)
    members_of(text, where, SHARDED_PLAN)
    found = document_from(text, ShardedPlanDocument, ShardedPlanDocument.model_fields, where)
    found.check(where)
    return found
