"""What is left of the room for blocks: heads are raised until no rule raises one.

In one section all blocks lie above each other, so they are jobs on one machine: a head is the earliest start, the
ceiling the deadline, and the head from the ceiling a tail. The rules are those of one-machine scheduling. Each looks
at the open blocks of one section: S of them, heads h, sizes p, ends h + p, tails t, ceiling H. From the ceiling, heads
and tails change roles.

- *Fit*: for every x, blocks whose heads are x or more need x + their sizes; if that is more than H less the least
  tail, nothing fits.
- *Not first*: if h(b) + p(b) + the sizes of some others exceeds H less the least tail, b is not the lowest of them,
  and lies above the first of them that can end: h(b) is at least the least of their ends. The best others are those
  with the greatest ends.
- *Not last*: if x + the sizes of all blocks with heads x or more exceeds the latest start of a block b below x, b is
  not the last of them: it ends where the last of their latest starts is, or before.
"""

from __future__ import annotations

from .compiled import compiled_part
from .work import END, FIRST, FRONT, FULL, HEAD, MARK, PLACED, RANK, SIZE, SLACK, STALE, START, STEP, TAIL, WEIGHT, Work

NOTHING = -1
"""Nothing fits."""


@compiled_part
def raise_head(work: Work, block: int, side: int, least: int, height: int) -> bool:
    """Raise a head (side HEAD) or tail (TAIL) to `least`, or to the next offset that is aligned; False if the block
    fits no more, or the trail is full."""
    blocks, trail = work.blocks, work.trail
    size, step = blocks[block, SIZE], blocks[block, STEP]
    if step > 1:
        if side == HEAD:
            least = (least + step - 1) // step * step
        else:
            least = height - size - (height - size - least) // step * step
    at = work.counters[MARK]
    if at >= len(work.trail):
        work.counters[FULL] = 1
        return False
    trail[at, 0], trail[at, 1], trail[at, 2] = block, side, blocks[block, side]
    work.counters[MARK] = at + 1
    blocks[block, side] = least
    for section in range(blocks[block, START], blocks[block, END]):
        work.sections[section, STALE] = 1
    return bool(blocks[block, HEAD] + size + blocks[block, TAIL] <= height)


@compiled_part
def undo(work: Work, mark: int) -> None:
    """Take back everything that the trail has beyond a mark."""
    for at in range(work.counters[MARK] - 1, mark - 1, -1):
        block, column = work.trail[at, 0], work.trail[at, 1]
        work.blocks[block, column] = work.trail[at, 2]
        if column == PLACED:
            for section in range(work.blocks[block, START], work.blocks[block, END]):
                for order in range(FRONT, FRONT + 4):
                    work.sections[section, order] = work.sections[section, FIRST]
    work.counters[MARK] = mark


@compiled_part
def key_of(work: Work, block: int, order: int) -> int:
    """By what an order has a block: placed ones come first, then open ones by their heads, tails, or ends of either."""
    blocks = work.blocks
    if blocks[block, PLACED] != 0:
        return -1
    return int(blocks[block, order] if order < 2 else blocks[block, order - 2] + blocks[block, SIZE])


@compiled_part
def put_in_order(work: Work, section: int, order: int) -> int:
    """Sort the blocks of a section, which are nearly in order since the last time; where the open ones begin."""
    front, stop = work.sections[section, FRONT + order], work.sections[section + 1, FIRST]
    orders = work.orders
    for i in range(front, stop):
        block, j = orders[order, i], i
        key = key_of(work, block, order)
        while j > front and key_of(work, orders[order, j - 1], order) > key:
            orders[order, j] = orders[order, j - 1]
            j -= 1
        orders[order, j] = block
    while front < stop and work.blocks[orders[order, front], PLACED] != 0:
        front += 1
    work.sections[section, FRONT + order] = front
    return int(front)


@compiled_part
def first_beyond(work: Work, row: int, count: int, limit: int) -> int:
    """The first of `count` rising numbers that is above a limit; the last one if none is."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        if work.rules[row, middle] > limit:
            high = middle
        else:
            low = middle + 1
    return low


@compiled_part
def not_first(work: Work, section: int, side: int, height: int, ceiling: int, total: int) -> bool:
    """The rule *not first* on the blocks of a section, whose sizes have a total; False when nothing fits."""
    blocks, rules, stop = work.blocks, work.rules, work.sections[section + 1, FIRST]
    orders = work.orders
    front = put_in_order(work, section, 2 + side)
    count, sizes = stop - front, 0
    for k in range(count):
        block = orders[2 + side, stop - 1 - k]
        sizes += blocks[block, SIZE]
        rules[0, k], rules[1, k] = sizes, blocks[block, side] + blocks[block, SIZE]
        blocks[block, RANK] = k
    for i in range(stop - 1, front - 1, -1):
        block = orders[side, i]
        head, size = blocks[block, side], blocks[block, SIZE]
        if head + total <= ceiling:
            break
        room = ceiling - head - size
        k = first_beyond(work, 0, count, room)
        if blocks[block, RANK] <= k:  # it is among them, and must not count
            room += size
            k = first_beyond(work, 0, count, room)
            if rules[0, k] <= room:
                continue
        if rules[1, k] > head and not raise_head(work, block, side, rules[1, k], height):
            return False
    return True


@compiled_part
def not_last(work: Work, section: int, side: int, height: int) -> bool:
    """The rule *not last* on the blocks of a section; False when nothing fits."""
    blocks, rules, other = work.blocks, work.rules, 1 - side
    front, stop = work.sections[section, FRONT + side], work.sections[section + 1, FIRST]
    orders = work.orders
    sizes, need, late = 0, -1, -1
    for k in range(stop - front):
        block = orders[side, stop - 1 - k]
        sizes += blocks[block, SIZE]
        need = max(need, blocks[block, side] + sizes)
        late = max(late, height - blocks[block, other] - blocks[block, SIZE])
        rules[2, k], rules[3, k] = need, late
    for i in range(front, stop - 1):
        block, above = orders[side, i], stop - 1 - i  # so many have heads as high or higher
        start = height - blocks[block, other] - blocks[block, SIZE]
        if rules[2, above - 1] <= start:
            continue
        least = height - rules[3, first_beyond(work, 2, above, start)]
        if least > blocks[block, other] and not raise_head(work, block, other, least, height):
            return False
    return True


@compiled_part
def tighten_section(work: Work, section: int, side: int, height: int, sides: int) -> int:
    """All rules on one section, from the floor (side HEAD) or from the ceiling (TAIL): its slack, or NOTHING. With one
    side, tails are not raised: less is found, sooner."""
    blocks, orders, stop = work.blocks, work.orders, work.sections[section + 1, FIRST]
    total, needed, least_tail, last = 0, 0, height, 0
    for i in range(stop - 1, put_in_order(work, section, side) - 1, -1):
        block = orders[side, i]
        total += blocks[block, SIZE]
        needed = max(needed, blocks[block, side] + total)
        least_tail = min(least_tail, blocks[block, 1 - side])
        last = max(last, blocks[block, side])
    ceiling = height - least_tail
    if total == 0:
        return height
    if needed > ceiling:
        return NOTHING
    if last + total > ceiling and not not_first(work, section, side, height, ceiling, total):
        return NOTHING
    if sides == 2 and not not_last(work, section, side, height):
        return NOTHING
    return ceiling - needed


@compiled_part
def tighten(work: Work, begin: int, end: int, height: int, sides: int) -> bool:
    """All rules on the sections from `begin` to `end`, until nothing is stale; False, with some left, when nothing
    fits. From the floor alone (1 side), or from the ceiling too (2)."""
    section, idle = begin, 0
    while idle < end - begin:
        idle += 1
        if work.sections[section, STALE] != 0:
            idle = 0
            work.sections[section, STALE] = 0
            for side in range(sides):
                slack = tighten_section(work, section, side, height, sides)
                if slack == NOTHING:
                    work.tightness[section, WEIGHT] += 1.0
                    return False
                if side == HEAD or slack < work.sections[section, SLACK]:
                    work.sections[section, SLACK] = slack
        section += 1
        if section == end:
            section = begin
    return True
