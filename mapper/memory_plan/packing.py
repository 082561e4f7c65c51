"""The search for addresses below a given height: complete, and stopped and gone on with at any decision.

Every plan can be pushed down until each block rests on the floor or on another block. So some block that nothing can
lie below has two choices: it lies at its head, or it is *postponed*, above the end of one of the open blocks that are
live with it: its head is then raised to the least of their ends. Heads are tightened after each decision
(`tighten.py`). Where the open blocks fall into groups that are not live together, the groups are *goals* of their own:
one that cannot be solved is not mended by another solution of its neighbours.

Which block is decided next is what a *taste* says: low ones first, in a fixed order as MiniMalloc has them (Moffitt,
ASPLOS 2023), or low ones, those of tight sections, or what is between.
"""

from __future__ import annotations

import numpy as np

from .compiled import compiled, compiled_part
from .tighten import raise_head, tighten, undo
from .work import (
    BEGIN,
    BLOCK,
    CHOICES,
    END,
    FULL,
    FULLEST,
    GOAL,
    GOALS,
    HEAD,
    LINKED,
    LIVE,
    MARK,
    NEAR,
    OPEN_BEFORE,
    PLACED,
    SHARE,
    SIZE,
    SLACK,
    STALE,
    START,
    STOP,
    STOP_AT,
    TAIL,
    TRAIL,
    USED,
    WEIGHT,
    Work,
)

SOLVED, OPEN, IMPOSSIBLE = range(3)
"""How a search ends, or that it has stopped on the way."""

SIDES, RULE = range(4, 6)
"""Where a taste has these."""

BY_SCORE, LOWEST, LOWEST_AND_FULLEST = range(3)
"""Rules: by a score, see `best_score`; the lowest block, see `lowest_block`, or of several the one with the fullest
section."""

WAITING, DONE = range(2)
"""Of a goal, and of one whose parts stand above it."""


@compiled_part
def count_open(work: Work, begin: int, end: int) -> None:
    """Note where open blocks of some sections begin and end."""
    sections = work.sections
    for section in range(begin, end + 1):
        sections[section, LIVE] = sections[section, LINKED] = 0
    for block in range(len(work.blocks) - 1):
        first, stop = work.blocks[block, START], work.blocks[block, END]
        if work.blocks[block, PLACED] == 0 and first >= begin and stop <= end:
            sections[first, LIVE] += 1
            sections[stop, LIVE] -= 1
            sections[first, LINKED] += 1
            sections[stop - 1, LINKED] -= 1


@compiled_part
def note_fullest(work: Work, begin: int, end: int) -> None:
    """Note, for each open block between two sections, how much is open in the fullest of its own."""
    blocks, sections, trail = work.blocks, work.sections, work.trail
    for section in range(begin, end):
        sections[section, LIVE] = 0
    for block in range(len(blocks) - 1):
        if blocks[block, PLACED] == 0 and blocks[block, START] >= begin and blocks[block, END] <= end:
            for section in range(blocks[block, START], blocks[block, END]):
                sections[section, LIVE] += blocks[block, SIZE]
    for block in range(len(blocks) - 1):
        if blocks[block, PLACED] != 0 or blocks[block, START] < begin or blocks[block, END] > end:
            continue
        fullest, at = 0, work.counters[MARK]
        for section in range(blocks[block, START], blocks[block, END]):
            fullest = max(fullest, sections[section, LIVE])
        if at >= len(trail):
            work.counters[FULL] = 1
            return
        trail[at, 0], trail[at, 1], trail[at, 2] = block, FULLEST, blocks[block, FULLEST]
        work.counters[MARK] = at + 1
        blocks[block, FULLEST] = fullest


@compiled_part
def split_goal(work: Work, at: int) -> int:
    """How many groups the open blocks of a goal form. One: the goal shrinks to it. More: each becomes a goal, tight
    ones first, and how full sections are counts anew."""
    begin, end = work.goals[at, BEGIN], work.goals[at, STOP_AT]
    count_open(work, begin, end)
    goals, parts, first = work.goals, 0, at + 1
    opened, live, linked, tightest = -1, 0, 0, 0
    for section in range(begin, end):
        live += work.sections[section, LIVE]
        linked += work.sections[section, LINKED]
        if opened < 0:
            if live == 0:
                continue
            opened, tightest = section, work.sections[section, SLACK]
        tightest = min(tightest, work.sections[section, SLACK])
        if linked == 0:  # nothing reaches on into the next section
            slot = first + parts  # sorted in, the tightest last; OPEN_BEFORE keeps the slack for that
            while slot > first and goals[slot - 1, OPEN_BEFORE] < tightest:
                goals[slot] = goals[slot - 1]
                slot -= 1
            goals[slot, BEGIN], goals[slot, STOP_AT], goals[slot, OPEN_BEFORE] = opened, section + 1, tightest
            parts += 1
            opened = -1
    if parts == 1:
        goals[at, BEGIN], goals[at, STOP_AT] = goals[first, BEGIN], goals[first, STOP_AT]
    elif parts > 1:
        goals[at, GOAL] = DONE
        for slot in range(first, first + parts):
            goals[slot, GOAL], goals[slot, OPEN_BEFORE] = WAITING, work.counters[CHOICES]
        work.counters[GOALS] = first + parts
        note_fullest(work, begin, end)
    return parts


@compiled_part
def lowest_block(work: Work, at: int, fullest_first: bool, preference: np.ndarray) -> int:
    """The open block with the least head; of several, the one with the fullest section if so asked; of several, the
    preferred one. Nothing open can lie below it, since what would begins no lower."""
    begin, end = work.goals[at, BEGIN], work.goals[at, STOP_AT]
    blocks = work.blocks
    best, full = -1, 0
    for block in range(len(blocks) - 1):
        if blocks[block, PLACED] != 0 or blocks[block, START] < begin or blocks[block, END] > end:
            continue
        fullest = blocks[block, FULLEST] if fullest_first else 0
        if best >= 0:
            above = blocks[block, HEAD] - blocks[best, HEAD]
            if above > 0 or (
                above == 0 and (fullest < full or (fullest == full and preference[block] <= preference[best]))
            ):
                continue
        best, full = block, fullest
    return best


@compiled_part
def best_score(work: Work, at: int, height: int, taste: np.ndarray, preference: np.ndarray) -> int:
    """Of the blocks that no other open block can lie below, one with the least score

        (head / height + taste 0) * tightness ^ taste 1 / (preference + taste 2)

    where the tightness is that of its tightest section: slack + taste 3 over its weight.
    """
    begin, end = work.goals[at, BEGIN], work.goals[at, STOP_AT]
    blocks, tightness = work.blocks, work.tightness
    for section in range(begin, end):
        tightness[section, SHARE] = (work.sections[section, SLACK] + taste[3]) / tightness[section, WEIGHT]
    best, least = -1, 0.0
    for block in range(len(blocks) - 1):
        if blocks[block, PLACED] != 0 or blocks[block, START] < begin or blocks[block, END] > end:
            continue
        head, lowest = blocks[block, HEAD], True
        for i in range(blocks[block, NEAR], blocks[block + 1, NEAR]):
            other = work.others[i]
            if blocks[other, HEAD] + blocks[other, SIZE] <= head and blocks[other, PLACED] == 0:
                lowest = False
                break
        if not lowest:
            continue
        share = tightness[blocks[block, START], SHARE]
        for section in range(blocks[block, START] + 1, blocks[block, END]):
            share = min(share, tightness[section, SHARE])
        score = (head / height + taste[0]) * share ** taste[1] / (preference[block] + taste[2])
        if best < 0 or score < least:
            best, least = block, score
    return best


@compiled_part
def next_block(work: Work, at: int, height: int, taste: np.ndarray, preference: np.ndarray) -> int:
    """The block to decide on: one that no other open block can lie below."""
    if taste[RULE] == BY_SCORE:
        return best_score(work, at, height, taste, preference)
    return lowest_block(work, at, taste[RULE] == LOWEST_AND_FULLEST, preference)


@compiled_part
def place(work: Work, at: int, block: int, height: int) -> bool:
    """Place a block of a goal at its head; False when then another one fits no more."""
    counters, row = work.counters, work.blocks[block]
    begin, end = work.goals[at, BEGIN], work.goals[at, STOP_AT]
    choice = work.choices[counters[CHOICES]]
    choice[GOAL], choice[BEGIN], choice[STOP_AT], choice[OPEN_BEFORE] = at, begin, end, work.goals[at, OPEN_BEFORE]
    choice[BLOCK], choice[TRAIL] = block, counters[MARK]
    counters[CHOICES] += 1
    if counters[MARK] >= len(work.trail):
        counters[FULL] = 1
        return False
    entry = work.trail[counters[MARK]]
    entry[0], entry[1], entry[2] = block, PLACED, 0
    counters[MARK] += 1
    row[PLACED] = 1
    top = row[HEAD] + row[SIZE]
    for section in range(row[START], row[END]):
        work.sections[section, STALE] = 1
    for i in range(row[NEAR], work.blocks[block + 1, NEAR]):
        other = work.others[i]
        if (
            work.blocks[other, PLACED] == 0
            and work.blocks[other, HEAD] < top
            and not raise_head(work, other, HEAD, top, height)
        ):
            return False
    return True


@compiled_part
def postpone(work: Work, height: int) -> bool:
    """Take back the last choice, and postpone its block instead; False when it fits nowhere else."""
    counters, blocks = work.counters, work.blocks
    counters[CHOICES] -= 1
    choice = work.choices[counters[CHOICES]]
    block, at = choice[BLOCK], choice[GOAL]
    undo(work, choice[TRAIL])
    goal = work.goals[at]
    goal[GOAL], goal[BEGIN] = WAITING, choice[BEGIN]
    goal[STOP_AT], goal[OPEN_BEFORE] = choice[STOP_AT], choice[OPEN_BEFORE]
    counters[GOALS] = at + 1
    lowest_end = height + 1
    for i in range(blocks[block, NEAR], blocks[block + 1, NEAR]):
        other = blocks[work.others[i]]
        if other[PLACED] == 0:
            lowest_end = min(lowest_end, other[HEAD] + other[SIZE])
    if lowest_end + blocks[block, SIZE] + blocks[block, TAIL] > height:
        return False
    return raise_head(work, block, HEAD, lowest_end, height)


@compiled_part
def next_goal(work: Work) -> int:
    """The goal to go on with: one group of blocks; -1 when all goals are solved."""
    counters = work.counters
    while counters[GOALS] > 0:
        at = counters[GOALS] - 1
        parts = 0 if work.goals[at, GOAL] == DONE else split_goal(work, at)
        if parts == 1:
            return int(at)
        if parts == 0:  # solved; what was chosen in it is not chosen again for others' sake
            counters[CHOICES], counters[GOALS] = work.goals[at, OPEN_BEFORE], at
    return -1


@compiled
def search(work: Work, height: int, taste: np.ndarray, preference: np.ndarray) -> int:
    """Search until `counters[STOP]` decisions are made: SOLVED, IMPOSSIBLE, or OPEN, which may be gone on with.

    height      in units
    taste       (6,) see `best_score`; at SIDES whether rules look from the floor alone (1), or both ways (2); at RULE
                how the next block is chosen
    preference  (n,) from 0 to 1: blocks that are decided sooner, as far as taste lets

    Before the first call heads and tails are 0, but for tails of blocks that have to end further below the ceiling, all
    sections are stale, all counters 0 and the only goal is everything.
    """
    counters, fits = work.counters, True
    if counters[USED] == 0:
        note_fullest(work, 0, len(work.tightness))
    while True:
        begin, end = work.goals[counters[GOALS] - 1, BEGIN], work.goals[counters[GOALS] - 1, STOP_AT]
        if fits and tighten(work, begin, end, height, int(taste[SIDES])):
            at = next_goal(work)
            if at < 0:
                return SOLVED
            if counters[USED] >= counters[STOP] or counters[FULL]:
                return OPEN
            counters[USED] += 1
            fits = place(work, at, next_block(work, at, height, taste, preference), height)
        else:
            for section in range(begin, end):
                work.sections[section, STALE] = 0
            if counters[CHOICES] == 0:
                return OPEN if counters[FULL] else IMPOSSIBLE
            fits = postpone(work, height)
