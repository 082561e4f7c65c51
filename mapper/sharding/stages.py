"""Stages of a pipeline: runs of consecutive steps of a plan, each on other devices along one axis, and microbatches
that pass one after the other.

With stages of t and sends of c seconds, m microbatches take sum t + sum c + (m - 1) max over all t and c: sends run
beside the work (DESIGN, "Pipelines").
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from ...arch import Architecture
from ...arch.system import MeshAxis
from .memory import DeviceRoom
from .question import DeviceMemory, DeviceWork, ShardedAnswer


@dataclass(frozen=True)
class PipelineStage:
    """Consecutive steps on the devices at one place of the axis.

    first, end  numbers of the steps, the last one excluded
    seconds     of these
    sent        bytes that each device sends to its counterpart in the next stage
    send        seconds of that; 0 of the last stage
    """

    first: int
    end: int
    seconds: float
    sent: int = 0
    send: float = 0.0


@dataclass(frozen=True)
class Pipeline:
    """Stages of a plan along an axis, and what they take together.

    axis          along which they lie
    microbatches  that pass one after the other
    stages        in order
    bound         seconds that no stages of any plan are below: all steps, and as often again as microbatches follow the
                  stage that is slowest, which has its share of them at least
    memory        of a device of the fullest stage
    """

    axis: str
    microbatches: int
    stages: tuple[PipelineStage, ...]
    bound: float
    memory: DeviceMemory = DeviceMemory(0, 0, 0, None)

    @property
    def slowest(self) -> float:
        """Seconds from one microbatch to the next."""
        return max(max(stage.seconds, stage.send) for stage in self.stages)

    @property
    def seconds(self) -> float:
        """From the first step of the first microbatch to the last one of the last."""
        through = math.fsum(stage.seconds + stage.send for stage in self.stages)
        return through + (self.microbatches - 1) * self.slowest

    @property
    def bubble(self) -> float:
        """The share of the time in which the devices of a stage wait, on the average."""
        busy = self.microbatches * math.fsum(stage.seconds for stage in self.stages) / len(self.stages)
        return 1 - busy / self.seconds if self.seconds else 0.0


def pipeline_of(answer: ShardedAnswer, axis: MeshAxis, microbatches: int, device: Architecture) -> Pipeline:
    """The best stages of a plan, each on the devices at one place along an axis.

    answer  how the devices of one stage, with room for everything, do a microbatch of the whole network; in seconds
    device  with the memory that there is
    """
    question = answer.question
    splits = {step.name: step.split for step in answer.steps if isinstance(step, DeviceWork)}
    room = DeviceRoom(question.graph, replace(question.system, device=device))
    crossing = room.crossing(answer.steps, splits)
    inner = math.prod(a.size for a in question.system.axes) if axis.shared and not axis.multicast else 1
    hops = 2 if axis.kind == "switch" else 1
    sends = [hops * axis.latency + inner * -(-moved // axis.links) / axis.bandwidth for moved in crossing]
    seconds = [step.seconds for step in answer.steps]
    cuts = best_cuts(seconds, sends, min(axis.size, len(seconds)), microbatches)
    ends = [*cuts, len(seconds)]
    stages = []
    for first, end in zip([0, *cuts], ends, strict=True):
        is_last = end == len(seconds)
        sent, send = (0, 0.0) if is_last else (crossing[end], sends[end])
        stages.append(PipelineStage(first, end, math.fsum(seconds[first:end]), sent, send))
    least = answer.seconds * (1 - answer.certificate.gap)
    bound = least * (1 + (microbatches - 1) / axis.size)
    memories = [_memory(room, answer, one, crossing[one.first]) for one in stages]
    return Pipeline(axis.name, microbatches, tuple(stages), bound, max(memories, key=lambda one: one.used))


def with_room_for_all(device: Architecture) -> Architecture:
    """A device whose outermost memory holds whatever lies there: a stage holds its own part of a network alone."""
    outermost, *others = device.levels
    roomy = outermost.model_copy(update={"holds_bits": None})
    return device.model_copy(update={"levels": (roomy, *others)})


def _memory(room: DeviceRoom, answer: ShardedAnswer, stage: PipelineStage, received: int) -> DeviceMemory:
    """What lies in a device of a stage at most: its own weights and caches, tensors, and what it has received."""
    steps = answer.steps[stage.first : stage.end]
    splits = {step.name: step.split for step in steps if isinstance(step, DeviceWork)}
    own = room.of_plan(steps, splits, {name: every for name, every in answer.shardings.items() if name in splits})
    return replace(own, live=own.live + received)


def best_cuts(seconds: Sequence[float], sends: Sequence[float], stages: int, microbatches: int) -> list[int]:
    """Before which steps a new stage begins, so that all microbatches take least.

    seconds  of every step
    sends    of a cut before every step
    stages   at most, and as many as there are steps

    For candidates of the slowest stage, upwards, the cuts that send least: a shortest path over steps that are done and
    stages used. What is sent only falls on the way up, so the next candidate is the first one with less, and the last
    one where that can no longer win.
    """
    done, count = [0.0, *accumulate(seconds)], len(seconds)
    pairs = ((first, end) for first in range(count) for end in range(first + 1, count + 1))
    slowest = sorted({done[end] - done[first] for first, end in pairs} | {*sends})
    known: dict[int, tuple[float, list[int]]] = {}

    def sent(number: int) -> float:
        if number not in known:
            known[number] = _least_sent(done, sends, stages, slowest[number])
        return known[number][0]

    last, follow = len(slowest) - 1, microbatches - 1
    at = bisect_left(range(last), True, key=lambda number: math.isfinite(sent(number))) if follow else last
    best, chosen = math.inf, list[int]()
    while True:
        value = sent(at) + follow * slowest[at]
        if value < best:
            best, chosen = value, known[at][1]
        beyond = bisect_left(slowest, (best - sent(last)) / follow, at + 1) if follow else at + 1
        here = sent(at)
        following = bisect_left(range(beyond), True, at + 1, key=lambda number: sent(number) < here)
        if following >= beyond:
            return chosen
        at = following


def _least_sent(done: Sequence[float], sends: Sequence[float], stages: int, slowest: float) -> tuple[float, list[int]]:
    """The least seconds of sends with no stage and no send over a limit, and the cuts; infinite where none are."""
    count = len(done) - 1
    best = [0.0, *[math.inf] * count]
    least, ways = math.inf, list[list[int]]()
    chosen = list[int]()
    for _ in range(stages):
        after, way = [math.inf] * (count + 1), [0] * (count + 1)
        window: deque[int] = deque()
        begin = 0
        for end in range(1, count + 1):
            while window and best[window[-1]] >= best[end - 1]:
                window.pop()
            window.append(end - 1)
            while done[end] - done[begin] > slowest:
                begin += 1
            while window and window[0] < begin:
                window.popleft()
            if not window or math.isinf(best[window[0]]):
                continue
            send = sends[end] if end < count else 0.0
            if send <= slowest:
                after[end], way[end] = best[window[0]] + send, window[0]
        ways.append(way)
        if after[count] < least:
            least, chosen = after[count], _cuts_of(ways, count)
        best = after
    return least, chosen


def _cuts_of(ways: Sequence[Sequence[int]], count: int) -> list[int]:
    found, at = [], count
    for way in reversed(ways):
        at = way[at]
        found.append(at)
    return found[-2::-1] if len(found) > 1 else []
