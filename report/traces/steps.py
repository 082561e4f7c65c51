"""The steps of a plan on several devices as a trace: what devices do, and what moves along every axis."""

from __future__ import annotations

from ...run.documents.sharded_plans import ShardedPlanDocument
from .events import Trace


def sharded_trace(plan: ShardedPlanDocument, clock_hz: float) -> str:
    """The trace of a network on a system: all devices work or wait at once, so one lane shows them all."""
    trace = Trace(clock_hz)
    for step in plan.steps:
        if not step.seconds:
            continue
        start, cycles = step.start_s * clock_hz, step.seconds * clock_hz
        if step.kind == "work":
            about: dict[str, object] = {"split": step.split, "energy pJ": step.energy_pj}
            trace.add("devices", "work", step.name, start, cycles, **about)
        else:
            about = {"from": step.before, "to": step.after, "bytes a link": step.bytes_a_link, "hops": step.hops}
            trace.add(
                "links",
                str(step.axis),
                f"{step.move} {step.name}",
                step.start_s * clock_hz,
                step.seconds * clock_hz,
                **about,
            )
    return trace.text()
