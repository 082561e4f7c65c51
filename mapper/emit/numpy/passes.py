"""Which loops of a numpy program are run as passes, and their source text.

A *pass* is everything inside some of the Python loops. Passes that begin alike, with the same tiles held at the same
places as seen from where they stand, go on alike. So the first of each kind is run step by step, and the others as one
contraction on the buffers outside, counted as that first one (`runtime_passes.py`):

    for k0 in ...
        # GLB keeps I
        if pass1.repeats(...):
            one contraction of the tiles in GLB and DRAM
        else:
            for c1 in ...
                # spad keeps I W O
                one contraction of the tiles in spad
            pass1.ends()
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator

from ....ir import Operation, Tensor
from ..parts.steps import Step
from .plan import Buffer, NestPlan
from .schedule import Contracted, ProgramText, place_of, tuple_text

LARGEST_ARRAY = 2**25
"""Elements of the largest array that the contraction of a pass may need."""


def pass_depths(plan: NestPlan, pointwise: bool = False) -> tuple[int, ...]:
    """The numbers of Python loops that stand outside a pass, such that steps and passes take the least time.

    pointwise  whether every point of a pass is an element of an array, before they are combined
    """
    trips = [step.trips for step in plan.python_loops]
    cores = {depth: plan.core(depth) for depth in _possible(plan)}
    elements = {depth: [*core.elements, core.points * pointwise] for depth, core in cores.items()}
    # A contraction fetches 50,000 elements in the time that a step takes, which is tens of microseconds and more.
    costs = {depth: 1 + sum(found) / 50_000 for depth, found in elements.items()} | {len(trips): 1.0}

    def time(depths: tuple[int, ...]) -> float:
        ends = (*depths, len(trips))
        return sum(n * costs[end] for n, end in zip(_numbers(plan, depths), ends, strict=True))

    small = [depth for depth, found in elements.items() if max(found) <= LARGEST_ARRAY]
    choices = (chosen for n in range(4) for chosen in itertools.combinations(small, n))
    return min(choices, key=time)


def steps_one_by_one(plan: NestPlan, depths: tuple[int, ...]) -> int:
    """About how many steps are run one by one, and passes at once."""
    return sum(_numbers(plan, depths))


def _numbers(plan: NestPlan, depths: tuple[int, ...]) -> list[int]:
    """About how many passes of each depth are begun, and steps in the innermost ones.

    Passes of one depth are of few kinds: a kind for every loop outside that may have stepped last, one for the sums
    that are new, and one for each ragged edge.
    """
    trips = [step.trips for step in plan.python_loops]
    ragged = sum(plan.is_ragged(dim) for dim in plan.problem.dim_names)
    kinds = [1, *(2 * (depth + 1) * 2**ragged for depth in depths)]
    ends = zip((0, *depths), (*depths, len(trips)), strict=True)
    found, most = [], 1
    for kind, (begin, end) in zip(kinds, ends, strict=True):
        most *= math.prod(trips[begin:end])
        found.append(min(kind * math.prod(trips[begin:end]), most))
    return found


def _possible(plan: NestPlan) -> range:
    """Depths that leave a loop outside and one inside, and all loops outside that several operations share."""
    shared = sum(step.position < plan.shared for step in plan.python_loops)
    return range(max(shared, 1), len(plan.python_loops))


def chosen_depths(
    plan: NestPlan, operation: Operation, fast: bool | None, depths: Collection[int] | None = None
) -> tuple[int, ...]:
    """The depths of the passes of an operation; one that iterates has none, as its steps have an order.

    fast    whether it has some; None: if it has many steps
    depths  those to be taken, of which some may not be possible; None: those that take the least time
    """
    if operation.iterates:
        return ()
    if depths is not None:
        return tuple(sorted({*depths} & {*_possible(plan)}))
    is_wanted = fast or (fast is None and plan.steps_at_most > 20_000)
    return pass_depths(plan, pointwise=not operation.contracts) if is_wanted else ()


# ---- text ------------------------------------------------------------------------------------------------------------


def pass_lines(schedule: ProgramText) -> Iterator[str]:
    """One `Pass` for each, those inside first."""
    if not schedule.passes:
        return
    yield "# Passes: all that is inside some loops. Those alike to one before are counted as that one, and run at once."
    inner = "[]"
    for contracted in reversed(schedule.passes):
        found = _metered(schedule, contracted)
        meters = [f"({schedule.meter[b.position]}, {_indexes(schedule, b.tensor)})" for b in found]
        operands = sum(not b.tensor.is_output for b in found)
        yield f"{contracted.name} = Pass("
        yield f"    [{', '.join(meters[:operands])}],"
        yield f"    [{', '.join(meters[operands:])}],"
        place = _indexes(schedule, schedule.problem.output)
        yield f"    {schedule.macs}, {place}, {inner}, {_edges(schedule, contracted)},"
        yield "    every_step,"
        yield ")"
        inner = f"[{contracted.name}]"


def pass_repeats(schedule: ProgramText, contracted: Contracted) -> Iterator[str]:
    """The head of the branch that runs a pass at once."""
    position = contracted.core.position
    starts = schedule.starts(schedule.problem.dim_names, position)
    metered = _metered(schedule, contracted)
    outside = [schedule.outside_innermost(b.tensor, b.position, position) for b in metered]
    yield f"if {contracted.name}.repeats({starts}, {tuple_text(outside)}):"


def pass_ends(schedule: ProgramText, contracted: Contracted) -> Iterator[str]:
    """The end of a pass that was run step by step: sums that are inside leave, so that others may be run at once."""
    for buffer in reversed(_inside(schedule, contracted)):
        if buffer.tensor.is_output:
            yield f"    {schedule.sums_leave(buffer)}"
            yield f"    {schedule.buffer[buffer.position]}[...] = {schedule.identity}"
    yield f"    {contracted.name}.ends()"


def _indexes(schedule: ProgramText, tensor: Tensor) -> list[int]:
    return [schedule.problem.dim_names.index(dim) for dim in place_of(tensor)]


def _metered(schedule: ProgramText, contracted: Contracted) -> list[Buffer]:
    """Buffers that are served inside a pass, operands first."""
    found = [b for b in schedule.plan.buffers.values() if b.boundary and b.position > contracted.core.position]
    return sorted(found, key=lambda b: b.tensor.is_output)


def _inside(schedule: ProgramText, contracted: Contracted) -> list[Buffer]:
    """Of these, the ones that are not inside a further pass."""
    deeper = [c.core.position for c in schedule.passes if c.core.position > contracted.core.position]
    limit = min(deeper, default=math.inf)
    return [b for b in _metered(schedule, contracted) if b.position < limit]


def _edges(schedule: ProgramText, contracted: Contracted) -> str:
    """(which start, size, extent of a pass, offsets of the instances outside) of every ragged dimension."""
    plan, position = schedule.plan, contracted.core.position
    extents = plan.extents(s for s in plan.steps if s.position >= position)
    found = []
    for dim in schedule.edges:
        outside = [s for s in plan.spatial if s.dim == dim and s.position < position]
        index = schedule.problem.dim_names.index(dim)
        found.append(f"({index}, {schedule.problem.sizes[dim]}, {extents[dim]}, {_offsets(outside)})")
    return f"[{', '.join(found)}]"


def _offsets(steps: list[Step]) -> list[int]:
    return [sum(places) for places in itertools.product(*(range(0, s.extent, s.tile) for s in steps))]
