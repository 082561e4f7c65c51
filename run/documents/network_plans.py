"""plan.json of a compiled network: its model, which is its schema, and how it is read back and checked."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Final, Literal

from ...ir import MemoryPlanError
from ...mapper.fusing import on_chip
from ...mapper.memory_plan import BufferSet, LiveBuffer, MemoryPlan
from ...mapper.segmentation import Apart, Arena, NetworkAnswer, Segment
from .files import DocumentKind, Strict, document_from, members_of, read_text
from .mappings import written_by
from .shifts import Shift, shifts_of_groups

NETWORK_PLAN_VERSION: Final = 6
"""Of the form of plan.json of a network."""

PLAN: Final = DocumentKind(
    "plan.json",
    "network_plan_version",
    NETWORK_PLAN_VERSION,
    "an object with network, summary and groups",
    "compile NETWORK",
)

_TOLERANCE = 1e-9
"""Sums of floats that are written down may differ by so much of themselves."""


class BufferPart(Strict):
    """A tile with its addresses.

    id           of the tensor, with a number behind it where there are several
    lower, upper the first operation of the group at which it is live, and the first at which it no longer is
    size_bytes   of one copy
    alignment    what its offsets are multiples of
    offsets      of each copy, in bytes
    """

    id: str
    lower: int
    upper: int
    size_bytes: int
    alignment: int
    offsets: tuple[int, ...]


class ArenaPart(Strict):
    """A memory, or a part of one, while a group works.

    memory          its name
    roles           of the tensors that the part is for
    capacity_bytes  of the part; null: as much as it takes
    height_bytes    where its uppermost buffer ends
    buffers         of all tiles
    """

    memory: str
    roles: tuple[str, ...]
    capacity_bytes: int | None
    height_bytes: int
    buffers: tuple[BufferPart, ...]


class AheadPart(Strict):
    """Weights that are fetched while the group before runs.

    tensor, memory  its id among the addresses of the group, and where it comes to
    words       that come ahead
    of          words of the tile that the group holds at its start
    size_bytes  that they take while the group before runs: there the id ends in " (next)"
    """

    tensor: str
    memory: str
    words: float
    of: float
    size_bytes: int


class GroupPart(Strict):
    """Operations that are mapped as one.

    operations      their names
    counted         false: what is made in a way that is no operation: its figures are of the words that it moves
    same_as         the number of the first group that differs in names alone, from 1
    times           how often it is done; all figures are of all of these together
    energy_pj, latency_cycles  of the group
    outer_words     that the outermost memory reads and writes
    lower_bound     of the objective, proven
    proven          whether no mapping of the group is better
    on_chip         intermediates that stay on chip, and where
    stays           tensors that the group finds on chip, or leaves there, and where
    cascade, tree   lines of their texts
    memories        addresses of its tiles, and of what comes ahead of the next group while it works
    ahead           weights that came ahead
    saved_cycles    that this has saved
    shifts          when its operations work
    """

    operations: tuple[str, ...]
    counted: bool
    same_as: int | None = None
    times: int = 1
    energy_pj: float | None = None
    latency_cycles: float | None = None
    outer_words: int | None = None
    lower_bound: float | None = None
    proven: bool | None = None
    on_chip: dict[str, str] | None = None
    stays: dict[str, str] | None = None
    cascade: tuple[str, ...] | None = None
    tree: tuple[str, ...] | None = None
    memories: tuple[ArenaPart, ...] | None = None
    ahead: tuple[AheadPart, ...] = ()
    saved_cycles: float = 0.0
    shifts: tuple[Shift, ...] | None = None


class StayingPart(Strict):
    """A tensor that stays on chip from the group that makes it to the last one that reads it; or a weight that lies
    there all the time.

    tensor       the operation that makes it; of a weight its operation, and what that calls it
    memory       in which it stays
    size_bytes   that it takes
    first, last  numbers of these groups, from 1
    buffers      its id among the addresses of each of these groups, first to last
    weight       whether it is a weight
    """

    tensor: str
    memory: str
    size_bytes: int
    first: int
    last: int
    buffers: tuple[str, ...]
    weight: bool = False


class PlanSummary(Strict):
    """The whole run.

    macs          multiply-accumulates of all groups; null: a document of version 2 or before
    energy_pj, latency_cycles  sums over groups
    outer_words   that the outermost memory reads and writes
    value         of the objective
    lower_bound   of it, proven
    proven        whether nothing is better
    gap           how much better another one could be at most, as a fraction of the value
    saves         the fraction of the objective that fusing saves; null: nothing to compare with
    seconds       of the search
    interrupted   whether it was ended before its end
    """

    macs: int | None = None
    energy_pj: float
    latency_cycles: float
    outer_words: int
    value: float
    lower_bound: float
    proven: bool
    gap: float
    saves: float | None
    seconds: float
    interrupted: bool


class ApartPart(Strict):
    """The network with each operation on its own, or with nothing on chip between groups.

    energy_pj, latency_cycles, outer_words, value, lower_bound  as of the whole
    """

    energy_pj: float
    latency_cycles: float
    outer_words: int
    value: float
    lower_bound: float


class ProvenPart(Strict):
    """What is proven of a part of all plans, where it is more than is proven of all.

    among        the plans of that part, in words
    lower_bound  none of them has a lower value
    """

    among: str
    lower_bound: float


class NetworkPlanDocument(Strict):
    """A network on an accelerator: which operations are mapped together, and where each tile lies.

    network_plan_version  of this document
    written_by     the program and its version
    network, architecture  their names
    clock_hz       of the architecture
    objective      what was minimized
    tiling, space  of the mappings to choose from
    constraints    on the groups
    not_counted    layers that no group has, and operators of which nothing is known: figures and proofs are of the rest
    macs_not_counted  multiply-accumulates of these layers
    summary        of the whole run
    parts          what is proven of parts of all plans, where that is more
    nothing_fused  what it costs with nothing fused; null: that is not known
    nothing_stays  what it costs with nothing on chip between groups; null: that is not known, or nothing stays
    staying        what stays on chip between groups, and weights that lie there all the time
    groups         in the order in which they run

    Documents of version 1 have nothing on chip between groups; up to version 2 they do not say what is not
    counted; up to version 3 what is no operation costs nothing; up to version 4 there are neither shifts nor a clock;
    up to version 5 nothing comes ahead.
    """

    network_plan_version: Literal[1, 2, 3, 4, 5, 6] = NETWORK_PLAN_VERSION
    written_by: str
    network: str
    architecture: str
    clock_hz: float | None = None
    objective: str
    tiling: str
    space: str
    constraints: tuple[str, ...]
    not_counted: tuple[str, ...] = ()
    macs_not_counted: int = 0
    summary: PlanSummary
    parts: tuple[ProvenPart, ...] = ()
    nothing_fused: ApartPart | None
    nothing_stays: ApartPart | None = None
    staying: tuple[StayingPart, ...] = ()
    groups: tuple[GroupPart, ...]

    def check(self, where: str = "plan.json") -> None:
        """MemoryPlanError for a plan that was changed by hand: where the figures of the whole are not those of the
        groups, where tiles overlap or do not fit, and where what stays is not listed or does not lie at one place."""
        counted = [group for group in self.groups if group.counted or group.outer_words]
        for name in ("energy_pj", "latency_cycles", "outer_words"):
            parts = [getattr(group, name) for group in counted]
            stated, summed = getattr(self.summary, name), math.fsum(part for part in parts if part is not None)
            if None in parts or not math.isclose(stated, summed, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
                message = f"{name} is {stated:,.10g} in all, and that of the groups adds up to {summed:,.10g}"
                raise MemoryPlanError(message, where=where, hint=_CHANGED)
        for number, group in enumerate(self.groups, 1):
            for arena in group.memories or ():
                _check_arena(arena, f"{where}: group {number}, {arena.memory}")
        for one in self.staying:
            self._check_staying(one, f"{where}: {one.tensor} stays in {one.memory}")
        self._check_found(where)
        self._check_ahead(where)

    def _check_staying(self, one: StayingPart, where: str) -> None:
        groups = self.groups[one.first - 1 : one.last]
        if not 1 <= one.first <= one.last <= len(self.groups) or len(one.buffers) != len(groups):
            message = f"from group {one.first} to {one.last}, with {len(one.buffers)} ids, of {len(self.groups)} groups"
            raise MemoryPlanError(message, where=where, hint=_CHANGED)
        places = set()
        for number, (group, name) in enumerate(zip(groups, one.buffers, strict=True), one.first):
            arenas = (arena for arena in group.memories or () if arena.memory == one.memory)
            buffer = next((b for arena in arenas for b in arena.buffers if b.id == name), None)
            if buffer is None or buffer.size_bytes < one.size_bytes:
                message = f"group {number} has no {one.size_bytes:,} B of that name in the memory"
                raise MemoryPlanError(message, where=where, hint=_CHANGED)
            places.add(buffer.offsets)
        if len(places) > 1:
            shown = " and ".join(str(offset) for (offset, *_) in sorted(places))
            message = f"it lies at {shown} in different groups, expected one place"
            raise MemoryPlanError(message, where=where, hint=_CHANGED)

    def _check_found(self, where: str) -> None:
        """What a group finds on chip, or leaves there, is among what stays."""
        lying = {
            (number, name, one.memory) for one in self.staying for number, name in enumerate(one.buffers, one.first)
        }
        for number, group in enumerate(self.groups, 1):
            for name, memory in (group.stays or {}).items():
                if (number, name, memory) not in lying:
                    message = f"{name} is said to stay in {memory}, and is not among what stays there"
                    raise MemoryPlanError(message, where=f"{where}: group {number}", hint=_CHANGED)

    def _check_ahead(self, where: str) -> None:
        """What comes ahead lies, while the group before works, among the addresses of the tile that it is part of."""
        before: GroupPart | None = None
        for number, group in enumerate(self.groups, 1):
            for one in (one for one in group.ahead if one.size_bytes and _bounded(group, one)):
                tile, part = _buffer(group, one.memory, one.tensor), _buffer(before, one.memory, f"{one.tensor} (next)")
                if tile is None or part is None or part.size_bytes != one.size_bytes or not _is_part(part, tile):
                    message = f"{one.tensor} comes ahead to {one.memory}, where its addresses are not kept for it"
                    raise MemoryPlanError(message, where=f"{where}: group {number}", hint=_CHANGED)
            before = group if group.latency_cycles else before


def _bounded(group: GroupPart, one: AheadPart) -> bool:
    return any(arena.memory == one.memory for arena in group.memories or ())


def _buffer(group: GroupPart | None, memory: str, name: str) -> BufferPart | None:
    arenas = (arena for arena in (group.memories if group else None) or () if arena.memory == memory)
    return next((buffer for arena in arenas for buffer in arena.buffers if buffer.id == name), None)


def _is_part(part: BufferPart, tile: BufferPart) -> bool:
    """Whether a buffer has none but addresses of another one."""
    (low, *_), (first, *_) = part.offsets, tile.offsets
    return first <= low and low + part.size_bytes <= first + tile.size_bytes


_CHANGED = "it was changed after it was written; `tilewright compile` writes it again"


def _check_arena(arena: ArenaPart, where: str) -> None:
    try:
        buffers = [
            LiveBuffer(one.id, one.lower, one.upper, one.size_bytes, one.alignment, len(one.offsets))
            for one in arena.buffers
        ]
        offsets = {one.id: one.offsets for one in arena.buffers}
        plan = MemoryPlan(BufferSet(tuple(buffers)), offsets, (), 0, arena.capacity_bytes)
        plan.check()
    except MemoryPlanError as error:
        raise MemoryPlanError(str(error).splitlines()[0], where=where, hint=_CHANGED) from None
    if plan.height != arena.height_bytes or not plan.fits:
        message = f"its tiles end at {plan.height:,} B, stated are {arena.height_bytes:,} B of {arena.capacity_bytes:,}"
        raise MemoryPlanError(message, where=where, hint=_CHANGED)


def network_plan_of(answer: NetworkAnswer) -> NetworkPlanDocument:
    """The document of an answer."""
    proof, question = answer.certificate, answer.question
    return NetworkPlanDocument(
        network_plan_version=NETWORK_PLAN_VERSION,
        written_by=written_by(),
        network=question.graph.network,
        architecture=question.arch.name,
        clock_hz=question.arch.clock_hz,
        objective=proof.objective,
        tiling=proof.tiling,
        space=proof.space,
        constraints=tuple(proof.constraints),
        not_counted=question.uncounted.names,
        macs_not_counted=question.uncounted.macs,
        summary=PlanSummary(
            macs=answer.macs,
            energy_pj=answer.energy_pj,
            latency_cycles=answer.latency_cycles,
            outer_words=answer.outer_words,
            value=proof.value,
            lower_bound=proof.lower_bound,
            proven=proof.proven,
            gap=proof.gap,
            saves=answer.saves,
            seconds=proof.seconds,
            interrupted=proof.interrupted,
        ),
        parts=tuple(ProvenPart.model_validate(part, from_attributes=True) for part in proof.parts),
        nothing_fused=_apart(answer.apart),
        nothing_stays=_apart(answer.passing),
        staying=tuple(
            StayingPart(
                tensor=one.name,
                memory=one.memory,
                size_bytes=-(-one.bits // 8),
                first=one.first + 1,
                last=one.last + 1,
                buffers=one.buffers,
                weight=one.is_weight,
            )
            for one in answer.staying
        ),
        groups=tuple(map(_group, answer.segments, shifts_of_groups(answer))),
    )


def _apart(one: Apart | None) -> ApartPart | None:
    return None if one is None else ApartPart.model_validate(one, from_attributes=True)


def _group(segment: Segment, shifts: tuple[Shift, ...]) -> GroupPart:
    answer = segment.answer
    if answer is None:
        known: dict[str, Any] = segment.moves._asdict() if segment.moves.outer_words else {}
        if segment.arenas:
            known["memories"] = tuple(map(_arena, segment.arenas))
        if known:
            known["shifts"] = shifts
        return GroupPart(operations=segment.names, counted=False, **known)
    return GroupPart(
        operations=segment.names,
        counted=True,
        same_as=segment.alike + 1,
        times=segment.times,
        **segment.totals._asdict(),
        lower_bound=segment.times * answer.certificate.lower_bound,
        proven=answer.certificate.proven,
        on_chip=on_chip(answer.mapping, answer.cost),
        stays=dict(segment.stays),
        cascade=tuple(str(answer.mapping.cascade).splitlines()),
        tree=tuple(str(answer.mapping.tree).splitlines()),
        memories=tuple(map(_arena, segment.arenas)),
        shifts=shifts,
        **_ahead(segment),
    )


def _ahead(segment: Segment) -> dict[str, Any]:
    """What came ahead of a group, where anything did."""
    parts = tuple(
        AheadPart(tensor=one.tensor, memory=one.memory, words=one.words, of=one.of, size_bytes=one.size)
        for one in segment.ahead
    )
    return {"ahead": parts, "saved_cycles": segment.saved.latency_cycles} if parts else {}


def _arena(arena: Arena) -> ArenaPart:
    plan = arena.plan
    buffers = tuple(
        BufferPart(
            id=buffer.name,
            lower=buffer.lower,
            upper=buffer.upper,
            size_bytes=buffer.size,
            alignment=buffer.alignment,
            offsets=tuple(plan.offsets[buffer.name]),
        )
        for buffer in plan.buffers.buffers
    )
    return ArenaPart(
        memory=arena.memory,
        roles=arena.roles,
        capacity_bytes=plan.capacity,
        height_bytes=plan.height,
        buffers=buffers,
    )


def dump_network_plan(plan: NetworkPlanDocument) -> str:
    """The text of plan.json."""
    document = plan.model_dump(mode="json", exclude_unset=True)
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_network_plan(path: Path) -> NetworkPlanDocument:
    """The document in a file, checked; raises as `parse_network_plan`, and MappingError for what cannot be read."""
    where = str(path)
    return parse_network_plan(read_text(path, where, PLAN), where)


def parse_network_plan(text: str, where: str) -> NetworkPlanDocument:
    """The document in a text, checked; `where` is what messages call it.

    Raises MappingError for what is no such document, with the first key that is wrong, and MemoryPlanError as
    `NetworkPlanDocument.check` does.
    """
    members_of(text, where, PLAN)
    found = document_from(text, NetworkPlanDocument, NetworkPlanDocument.model_fields, where)
    found.check(where)
    return found
