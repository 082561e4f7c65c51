"""The planner against brute force, MiniMalloc's instances, its own check, and a clock that runs out."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import longer
from cases import CASES
from tilewright.ir import MemoryPlanError, NoPlanError
from tilewright.mapper.means import UNLIMITED, Means
from tilewright.mapper.memory_plan import (
    BufferSet,
    InPlace,
    LiveBuffer,
    MemoryPlan,
    buffer_set,
    plan_memory,
    read_buffers,
)
from tilewright.mapper.memory_plan.attempts import ORDERS, AttemptOutcome, Attempts, luby
from tilewright.mapper.memory_plan.sections import blocks_of, sections_of

GOLDEN = Path(__file__).parent.parent.parent / "golden" / "memory_plans"
CAPACITY = 1_048_576


def test_minimallocs_example() -> None:
    plan = plan_memory(read_buffers(GOLDEN / "input.12.csv"))
    plan.check()
    assert (plan.height, plan.lower_bound) == (12, 12)


@pytest.mark.long
@pytest.mark.parametrize("name", "ABCDEFGHIJK")
def test_minimallocs_instances(name: str) -> None:
    plan = plan_memory(read_buffers(GOLDEN / f"{name}.{CAPACITY}.csv"), CAPACITY, least=False)
    plan.check()
    assert plan.fits


# ---- brute force: from what a plan is, without anything of the planner ---------------------------------------------


def least_height(buffers: Sequence[LiveBuffer], pairs: Sequence[InPlace], most: int) -> int:
    """The least height of any plan: every offset of every copy is tried, for one height after the other."""
    copies = [buffer for buffer in sorted(buffers, key=lambda b: b.lower) for _ in range(buffer.copies)]
    return next(height for height in range(most + 1) if any(_plans(copies, pairs, height)))


def _plans(copies: Sequence[LiveBuffer], pairs: Sequence[InPlace], height: int) -> Iterator[tuple[int, ...]]:
    def extend(offsets: tuple[int, ...], used: tuple[InPlace, ...]) -> Iterator[tuple[int, ...]]:
        if len(offsets) == len(copies):
            yield offsets
            return
        new = copies[len(offsets)]
        for offset in range(0, height - new.size + 1, new.alignment):
            if new.offset not in (None, offset):
                continue
            shared = used
            for other, start in zip(copies, offsets, strict=False):
                if not moments(new) & moments(other):
                    continue
                if offset >= start + other.size or start >= offset + new.size:
                    continue
                pair = next((p for p in pairs if {p.source, p.result} == {new.name, other.name}), None)
                clash = [p for p in shared if pair and (p.source == pair.source or p.result == pair.result)]
                if pair is None or start != offset or clash:
                    break
                shared = (*shared, pair)
            else:
                yield from extend((*offsets, offset), shared)

    return extend((), ())


def moments(buffer: LiveBuffer) -> set[int]:
    """At which it is live."""
    return set(range(buffer.lower, buffer.upper)) - {time for gap in buffer.gaps for time in range(*gap)}


def random_buffers(chance: random.Random) -> BufferSet:
    """Few and small: alignments, copies, updates in place, fixed offsets and gaps among them."""
    while True:
        with suppress(MemoryPlanError):  # two of fixed offsets may lie on each other
            return _random_buffers(chance)


def _random_buffers(chance: random.Random) -> BufferSet:
    buffers = []
    for number in range(chance.randint(1, 5)):
        lower = chance.randrange(6)
        alignment = chance.choice([1, 1, 1, 2, 3, 4]) if chance.random() < 0.5 else 1
        copies = 2 if chance.random() < 0.1 else 1
        upper, offset, gaps = lower + chance.randint(1, 4), None, ()
        if copies == 1 and chance.random() < 0.15:
            offset = alignment * chance.randint(0, 4)
        if upper > lower + 2 and chance.random() < 0.4:
            begin = chance.randint(lower + 1, upper - 2)
            gaps = ((begin, chance.randint(begin + 1, upper - 1)),)
        size = chance.randint(1, 5)
        buffers.append(LiveBuffer(f"b{number}", lower, upper, size, alignment, copies, offset, gaps))
    pairs = []
    for one, other in itertools.permutations(buffers, 2):
        in_turn = one.lower < other.lower < one.upper <= other.upper
        if in_turn and one.size == other.size and one.copies == other.copies == 1 and len(pairs) < 2:
            pairs.append(InPlace(one.name, other.name))
    return BufferSet(tuple(buffers), tuple(pairs))


@pytest.mark.parametrize("seeds", longer.blocks(160, 40))
def test_least_heights_are_those_of_brute_force(seeds: range) -> None:
    for seed in seeds:
        buffers = random_buffers(random.Random(seed))
        plan = plan_memory(buffers)
        plan.check()
        assert plan.proven
        assert plan.height == least_height(buffers.buffers, buffers.in_place, plan.height), (seed, buffers)


def test_nothing_fits_below_the_least_height() -> None:
    """Every capacity below it is refused, every other one met."""
    chance = random.Random(7)
    above_the_peak = 0
    for _ in range(60):
        buffers = random_buffers(chance)
        least = plan_memory(buffers).height
        above_the_peak += least > buffers.peak and all(buffer.offset is None for buffer in buffers.buffers)
        with pytest.raises(NoPlanError):
            plan_memory(buffers, least - 1, least=False)
        assert plan_memory(buffers, least, least=False).fits
    assert above_the_peak  # some needed the search to be refused


@pytest.mark.long
def test_a_plan_is_the_same_without_a_compiler() -> None:
    """The compiled functions are Python as it stands."""
    program = (
        "from tilewright.mapper.memory_plan import plan_memory, read_buffers\n"
        "from tilewright.mapper.memory_plan.attempts import Attempts\n"
        "from tilewright.mapper.memory_plan.sections import blocks_of, sections_of\n"
        "from tilewright.mapper.means import UNLIMITED\n"
        f"blocks = blocks_of(read_buffers({str(GOLDEN / 'H.1048576.csv')!r}))\n"
        "found = Attempts(sections_of(blocks, UNLIMITED), UNLIMITED)\n"
        "print(found.below(1200000, 300), sum(found.offsets()))\n"
    )

    def printed(jit: str) -> str:
        environment = {"NUMBA_DISABLE_JIT": jit, "PATH": ""}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert printed("1") == printed("0") != ""


def test_out_of_time_is_no_error() -> None:
    buffers = read_buffers(GOLDEN / f"J.{CAPACITY}.csv")
    plan_memory(buffer_set([("a", 0, 2, 2), ("b", 1, 3, 2)]))
    plan = plan_memory(buffers, CAPACITY, means=Means.from_now(0.0))
    plan.check()
    assert not plan.fits
    assert plan.lower_bound == 989_184 <= plan.height
    assert 0 < plan.gap < 1


def test_too_little_memory_is_no_error() -> None:
    plan = plan_memory(read_buffers(GOLDEN / f"H.{CAPACITY}.csv"), means=Means(memory_limit=10_000))
    plan.check()
    assert plan.lower_bound == CAPACITY < plan.height


def test_what_is_live_is_named_where_nothing_fits() -> None:
    with pytest.raises(NoPlanError, match=r"12 bytes are live at time 0, in 3 buffers, and the capacity is 11"):
        plan_memory(read_buffers(GOLDEN / "input.12.csv"), 11)
    with pytest.raises(NoPlanError, match=r"big: a buffer of 9 bytes, and a capacity of 8"):
        plan_memory(buffer_set([("small", 0, 1, 1), ("big", 0, 1, 9)]), 8)


@pytest.mark.long
@pytest.mark.parametrize("name", ["fixed", "gaps"])
def test_fixed_offsets_and_gaps_of_files(name: str) -> None:
    buffers = read_buffers(CASES / "plan" / f"{name}.csv")
    plan = plan_memory(buffers)
    plan.check()
    assert plan.height == plan.lower_bound == least_height(buffers.buffers, (), 56) == 56
    if name == "fixed":
        assert (plan.offsets["in"], plan.offsets["b"]) == ((0,), (32,))
        with pytest.raises(MemoryPlanError, match="offset 33, expected 32"):
            replace(plan, offsets={**plan.offsets, "b": (33,)}).check()
    else:
        assert buffers.buffers[0].gaps == ((1, 3),)


def test_in_a_gap_others_have_the_addresses() -> None:
    split = LiveBuffer("split", 0, 9, 8, gaps=((3, 6),))
    plan = plan_memory(BufferSet((split, LiveBuffer("in the gap", 3, 6, 8))))
    plan.check()
    assert (plan.height, plan.lower_bound) == (8, 8)
    beside = plan_memory(BufferSet((split, LiveBuffer("longer", 3, 7, 8))))
    beside.check()
    assert (beside.height, beside.lower_bound) == (16, 16)


def test_what_lies_above_a_fixed_offset_is_needed() -> None:
    high = LiveBuffer("high", 0, 2, 8, offset=100)
    plan = plan_memory(BufferSet((high, LiveBuffer("low", 0, 2, 50))))
    assert (plan.height, plan.lower_bound) == (108, 108)
    with pytest.raises(NoPlanError, match="high: a buffer of 8 bytes at offset 100, and a capacity of 100"):
        plan_memory(BufferSet((high,)), 100)


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ({"offset": 0}, {"offset": 7}, "a: offset 0 and size 8, and b, live at the same time, has offset 7 and size 8"),
        ({"offset": 3, "alignment": 2}, {}, "offset 3, expected a multiple of its alignment 2"),
        ({"offset": 3, "copies": 2}, {}, "one offset, and 2 copies"),
        ({"gaps": ((2, 2),)}, {}, "the gap 2-2, expected gaps in order within its life, 0 to 4"),
        ({"gaps": ((2, 5),)}, {}, "the gap 2-5"),
        ({"gaps": ((2, 3), (1, 2))}, {}, "the gap 1-2"),
        ({"gaps": ((0, 4),)}, {}, "no time at which it is live"),
    ],
)
def test_fixed_offsets_and_gaps_that_cannot_be(one: dict[str, Any], other: dict[str, Any], message: str) -> None:
    with pytest.raises(MemoryPlanError, match=message):
        BufferSet((LiveBuffer("a", 0, 4, 8, **one), LiveBuffer("b", 0, 4, 8, **other)))


def test_fixed_offsets_may_ask_for_an_update_in_place() -> None:
    buffers = (LiveBuffer("x", 0, 2, 8, offset=16), LiveBuffer("y", 1, 3, 8, offset=16))
    plan = plan_memory(BufferSet(buffers, (InPlace("x", "y"),)))
    plan.check()
    assert (plan.height, plan.lower_bound, len(plan.shared)) == (24, 24, 1)


def test_an_update_in_place_takes_no_room() -> None:
    buffers = [("x", 0, 2, 8), ("y", 1, 3, 8), ("z", 2, 4, 8)]
    assert plan_memory(buffer_set(buffers)).height == 16
    shared = plan_memory(buffer_set(buffers, [("x", "y"), ("y", "z")]))
    shared.check()
    assert shared.height == 8
    assert shared.offsets == {"x": (0,), "y": (0,), "z": (0,)}


def test_one_source_becomes_one_result() -> None:
    """Both results of x are live at once, so one of them needs room of its own."""
    buffers = [("x", 0, 2, 8), ("y", 1, 4, 8), ("z", 1, 4, 8)]
    plan = plan_memory(buffer_set(buffers, [("x", "y"), ("x", "z")]))
    plan.check()
    assert plan.height == 16
    assert plan.proven


def test_double_buffers_have_addresses_each() -> None:
    plan = plan_memory(buffer_set([LiveBuffer("tile", 0, 4, 10, 16, copies=2), ("other", 1, 2, 6)]))
    plan.check()
    assert sorted(plan.offsets["tile"]) == [0, 16]
    assert plan.height == 26


def test_no_buffers_need_no_memory() -> None:
    plan = plan_memory(BufferSet(()))
    assert (plan.height, plan.lower_bound, plan.proven) == (0, 0, True)
    assert plan_memory(buffer_set([("empty", 0, 1, 0)])).height == 0


# ---- the check ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offsets", "shared", "lower", "message"),
    [
        ({"a": (0,), "b": (2,)}, (), 4, "live at the same time"),
        ({"a": (0,), "b": (0,)}, (), 4, "live at the same time"),
        ({"a": (0,), "b": (2,)}, (InPlace("a", "b"),), 4, "live at the same time"),
        ({"a": (0,), "b": (5,)}, (), 4, "expected a multiple of 2"),
        ({"a": (-4,), "b": (4,)}, (), 4, "offset -4"),
        ({"a": (0,)}, (), 4, "b: 0 offsets for 1 copies"),
        ({"a": (0,), "b": (4,)}, (), 9, "are said to be needed"),
    ],
)
def test_wrong_plans_are_found(
    offsets: dict[str, tuple[int, ...]], shared: tuple[InPlace, ...], lower: int, message: str
) -> None:
    buffers = BufferSet((LiveBuffer("a", 0, 2, 4), LiveBuffer("b", 1, 3, 4, alignment=2)))
    with pytest.raises(MemoryPlanError, match=message):
        MemoryPlan(buffers, offsets, shared, lower).check()


def test_right_plans_are_right() -> None:
    buffers = BufferSet((LiveBuffer("a", 0, 2, 4), LiveBuffer("b", 1, 3, 4)))
    MemoryPlan(buffers, {"a": (0,), "b": (4,)}, (), 8).check()
    MemoryPlan(buffers, {"a": (0,), "b": (0,)}, (InPlace("a", "b"),), 4).check()


@pytest.mark.parametrize("order", range(len(ORDERS)))
@pytest.mark.parametrize("seeds", longer.blocks(60, 30))
def test_every_order_alone_finds_the_least_height(order: int, seeds: range) -> None:
    """None leaves out a plan: with as many decisions as it takes, each finds the height of brute force, and proves that
    nothing is lower."""
    for seed in seeds:
        buffers = random_buffers(random.Random(seed))
        if not buffers.buffers or buffers.in_place:
            continue
        least = least_height(buffers.buffers, (), plan_memory(buffers).height)
        attempts = Attempts(sections_of(blocks_of(buffers), UNLIMITED), UNLIMITED)
        taste, keys = ORDERS[order]
        assert attempts.in_order(least, taste, keys, 10**6) is AttemptOutcome.FITS
        assert attempts.in_order(least - 1, taste, keys, 10**6) is AttemptOutcome.NOTHING_FITS


def test_how_full_sections_are_counts_anew_in_each_group() -> None:
    """I falls into groups, and without that 20,000 decisions of the same order find no plan of it."""
    sections = sections_of(blocks_of(read_buffers(GOLDEN / f"I.{CAPACITY}.csv")), UNLIMITED)
    assert Attempts(sections, UNLIMITED).in_order(CAPACITY, *ORDERS[0], 1_000) is AttemptOutcome.FITS


def test_the_luby_sequence() -> None:
    assert [luby(number) for number in range(1, 16)] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
