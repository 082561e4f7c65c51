"""Plans with stages and without: along which axis stages lie, how many microbatches pass them, and what is proven of
all that were looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...arch.system import MeshAxis
from ...cost_models import LATENCY
from ...inputs import checks
from ...ir import InfeasibleError, TilewrightError
from ...ir.errors import entry
from ..effort import PLAN_EFFORT
from .fixing import fixed_splits
from .question import ShardedAnswer, ShardingQuestion
from .stages import Pipeline, pipeline_of, with_room_for_all


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
