"""A network on several devices, as a page of text: splits, shardings, collectives, memory, proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from rich.console import Group, RenderableType
from rich.text import Text

from ...ir.units import count, energy, percent, plural, rate, seconds, significant, size
from ...mapper.sharding import DeviceWork, Pipeline, Resharding, ShardedAnswer, sharding_text
from ..parts.proofs import proof_rows, verdict_of
from ..parts.text import columns, pairs, section, wrapped

Step = DeviceWork | Resharding
_BITS = 8


def sharded_plan_page(answer: ShardedAnswer, files: Iterable[object] = (), pipeline: Pipeline | None = None) -> Group:
    """What each device does, what moves between them, what that gains, and what is proven."""
    question, system = answer.question, answer.question.system
    waits = sum(step.seconds for step in answer.steps if isinstance(step, Resharding))
    missing = "not known: nobody states the energy of a hop"
    rows = [
        ("Network", f"{question.graph.network}: {plural(len(_work(answer)), 'operation')}"),
        ("System", f"{system.name}, {count(system.devices)} of {system.device.name}"),
        *([("", "set " + ", ".join(f"{k}={v}" for k, v in system.settings.items()))] if system.settings else []),
        *([] if pipeline is None else pipeline_rows(pipeline)),
        ("Latency", f"{seconds(answer.seconds)}, {percent(waits, answer.seconds)} of it in collectives"),
        ("Energy", missing if answer.energy_pj is None else energy(answer.energy_pj)),
    ]
    parts: list[RenderableType] = [
        pairs(rows),
        *([] if pipeline is None else [section("Stages", stages_shown(answer, pipeline))]),
        section("Steps, one after the other", _steps_shown(answer)),
        *plan_parts(answer),
    ]
    written = [str(path) for path in files]
    if written:
        parts.append(section("Files", Text("\n".join(written), no_wrap=True)))
    return Group(*parts)


def pipeline_rows(pipeline: Pipeline) -> list[tuple[str, str]]:
    """What all microbatches take together; what follows is of one of them."""
    every = f"{plural(len(pipeline.stages), 'stage')} along {pipeline.axis}"
    shown = f"{seconds(pipeline.seconds)} for {plural(pipeline.microbatches, 'microbatch', 'microbatches')}"
    least = percent(1 - pipeline.bound / pipeline.seconds, 1) if pipeline.bound < pipeline.seconds else "0%"
    return [
        ("Pipeline", f"{every}: {shown}, one every {seconds(pipeline.slowest)}; bubble {percent(pipeline.bubble, 1)}"),
        ("", f"no stages of any plan take {least} less"),
    ]


def stages_shown(answer: ShardedAnswer, pipeline: Pipeline) -> RenderableType:
    """A row for each stage."""
    table = columns(("stage", "from", "to"), ("time", "B sent by each device", "send"))
    for number, stage in enumerate(pipeline.stages, 1):
        ends = answer.steps[stage.first], answer.steps[stage.end - 1]
        names = (one.name if isinstance(one, DeviceWork) else f"{one.move} {one.tensor}" for one in ends)
        table.add_row(str(number), *names, seconds(stage.seconds), count(stage.sent), seconds(stage.send))
    return table


def plan_parts(answer: ShardedAnswer) -> list[RenderableType]:
    """What the axes are used as, memory, what it is compared with, and what is proven."""
    return [
        section("Devices", _devices(answer)),
        section("Memory of a device", _memory(answer)),
        *([section("Compared with", _compared(answer))] if answer.compared else []),
        section("Certificate", pairs(_certificate(answer))),
    ]


def _work(answer: ShardedAnswer) -> list[DeviceWork]:
    return [step for step in answer.steps if isinstance(step, DeviceWork)]


def _devices(answer: ShardedAnswer) -> RenderableType:
    """What every axis is used as, by the share of the devices' time."""
    table = columns(("axis", "kind"), ("devices", "a link"))
    table.add_column("used as", no_wrap=True)
    for place, axis in enumerate(answer.question.system.axes):
        table.add_row(axis.name, axis.kind, count(axis.size), rate(axis.bandwidth), used_as(answer, place))
    return table


def used_as(answer: ShardedAnswer, place: int) -> str:
    """What the field calls the splits over an axis, each with its share of the time that devices work."""
    spent: dict[str, float] = {}
    for step in _work(answer):
        name = (step.parallelism[place] if step.parallelism else "") or "all the same"
        spent[name] = spent.get(name, 0.0) + step.seconds
    every = sum(spent.values())
    shown = sorted(spent.items(), key=lambda one: -one[1])
    return ", ".join(f"{name} {percent(time, every)}" for name, time in shown if time)


def step_texts(answer: ShardedAnswer, step: Step) -> tuple[str, str, str]:
    """Of a step: its name, what is done, and how the tensor lies after it."""
    graph, axes = answer.question.graph, [axis.name for axis in answer.question.system.axes]
    if isinstance(step, Resharding):
        return "", f"{step.move} along {step.axis}", sharding_text(graph, step.tensor, step.after, axes)
    names = step.parallelism or ("",) * len(axes)
    dealt = zip(axes, step.split, names, strict=True)
    done = ", ".join(f"{dim.lower()}:{axis}" + (f" ({name})" if name else "") for axis, dim, name in dealt if dim)
    made = answer.shardings.get(step.name)
    return step.name, done or "all the same", sharding_text(graph, step.name, made[0], axes) if made else ""


def _steps_shown(answer: ShardedAnswer) -> RenderableType:
    """A row for each step that takes time; blocks like the one before stand once."""
    table = columns(("operation", "split, or what moves", "makes"), ("time", "B a link", "proof"))
    for first, length, times in folded(answer):
        for step in answer.steps[first : first + length]:
            table.add_row(*_row(answer, step))
        if times > 1:
            spent = sum(step.seconds for step in answer.steps[first + length : first + length * times])
            table.add_row(f"... {times - 1} more like these {length} steps", "", "", seconds(spent), "", "")
    return table


def _row(answer: ShardedAnswer, step: Step) -> list[str]:
    name, done, made = step_texts(answer, step)
    if isinstance(step, Resharding):
        moved = "" if step.phase is None else count(step.phase.bytes)
        return [name, done, made, seconds(step.seconds) if step.seconds else "", moved, ""]
    proof = "" if step.answer is None else verdict_of(step.answer.certificate)
    return [name, done, made, seconds(step.seconds) if step.seconds else "", "", proof]


def folded(answer: ShardedAnswer) -> list[tuple[int, int, int]]:
    """Steps in runs: the first one's place, how many there are, and how often the same ones follow, once included."""
    occurrences, keys = answer.question.graph.by_name, list[object]()
    for step in answer.steps:
        name = step.name if isinstance(step, DeviceWork) else step.tensor
        known = occurrences.get(name)
        local = known.local if known is not None and known.local != name else name
        what = (step.split,) if isinstance(step, DeviceWork) else (step.move, step.axis, step.before, step.after)
        keys.append((local, what))
    found, start = [], 0
    while start < len(keys):
        length, times = _repetition(keys, start)
        found.append((start, length, times))
        start += length * times
    return found


def _repetition(keys: Sequence[object], start: int) -> tuple[int, int]:
    """The length and the number of the run that covers most, of those that are there three times or more."""
    best = 1, 1
    for length in range(2, (len(keys) - start) // 3 + 1):
        times = 1
        while keys[start + times * length : start + (times + 1) * length] == keys[start : start + length]:
            times += 1
        if times > 2 and length * times > best[0] * best[1]:
            best = length, times
    return best


def _memory(answer: ShardedAnswer) -> RenderableType:
    used, memory = answer.memory, answer.question.system.device.memories[0]
    table = columns((memory.name,), ("bytes", "share"))
    whole = used.size or used.used
    for name, bytes_ in (("weights", used.weights), ("caches", used.cache), ("tensors alive at once", used.live)):
        table.add_row(name, size(bytes_ * _BITS), percent(bytes_, whole) if whole else "")
    table.add_row("all", size(used.used * _BITS), percent(used.used, whole) if whole else "")
    table.add_row("there is", "not stated" if used.size is None else size(used.size * _BITS), "")
    return table


def _compared(answer: ShardedAnswer) -> RenderableType:
    table = columns(("plan",), ("time", "times the best"))
    table.add_column("", no_wrap=True)
    table.add_row("best", seconds(answer.seconds), "1", "")
    for one in answer.compared:
        figures = (
            ("-", "-") if one.seconds is None else (seconds(one.seconds), significant(one.seconds / answer.seconds))
        )
        table.add_row(one.name, *figures, "\n".join(wrapped(one.why, 48)))
    return table


def speedup(answer: ShardedAnswer) -> float | None:
    """How much faster than one device it is; None where that is not known."""
    one = next((plan.seconds for plan in answer.compared if plan.name == "one device"), None)
    return None if one is None or not answer.seconds else one / answer.seconds


def _certificate(answer: ShardedAnswer) -> list[tuple[str, str]]:
    proof = answer.certificate
    devices = prod(axis.size for axis in answer.question.system.axes)
    gained = speedup(answer)
    rows = [*proof_rows(proof)]
    if gained is not None:
        rows.append(("Speedup", f"{significant(gained)} of {count(devices)} devices"))
    rows.append(("Searched", f"{count(answer.searched)} divided operations in {seconds(proof.seconds)}"))
    rows += [("", line) for line in proof.constraints]
    return rows
