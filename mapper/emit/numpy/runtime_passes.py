"""The part of an emitted numpy program that runs equal passes once: pasted into programs that have passes."""

from __future__ import annotations

import itertools
from typing import Any

from .runtime_meters import Fills, Macs, PartialSums, Visits

# ---- passes ----------------------------------------------------------------------------------------------------------
#
# What a pass over some loops moves depends on what is held when it begins, on where the edges of the layer are, and on
# whether its sums were visited before: all as seen from where the pass begins. Passes that are equal in this move the
# same words, and leave the same behind.


class Pass:
    """All that is inside some loops.

    fills, sums  meters inside, each with the starts (by index) that are its place
    macs, place  the meter of the MACs, and the starts that are the place of its sums
    inner        the pass inside this one, if there is one
    edges        (which start, size, extent of a pass, offsets of instances) of every ragged dimension
    every_step   whether all passes are run step by step
    """

    def __init__(
        self,
        fills: list[tuple[Fills, list[int]]],
        sums: list[tuple[PartialSums, list[int]]],
        macs: Macs,
        place: list[int],
        inner: list[Pass],
        edges: list[tuple[int, int, int, list[int]]],
        every_step: bool,
    ) -> None:
        self.meters: list[tuple[Fills | PartialSums, list[int]]] = [*fills, *sums]
        self.fills = [meter for meter, _ in fills]
        self.macs, self.place, self.edges, self.every_step = macs, place, edges, every_step
        self.counting = [*(meter for meter, _ in self.meters), macs]
        self.visits = Visits()
        self.visited = [meter.visits for meter, _ in sums] + [macs.visits] + [p.visits for p in inner]
        self.known: dict[Any, tuple[list[tuple[int, ...]], list[Any]]] = {}
        self.running: tuple[Any, tuple[int, ...], tuple[tuple[int, ...], ...], list[tuple[int, ...]]] | None = None

    def repeats(self, starts: tuple[int, ...], outside: tuple[tuple[int, ...], ...]) -> bool:
        """Whether a pass like this one ran before; if so it is counted, and else it has to be run.

        starts   where it begins, per dimension
        outside  where the loops outside the innermost moving one stand, per meter
        """
        if self.every_step:
            return False
        again = self.visits.visit(tuple([starts[i] for i in self.place]))
        key = (again, self._edges(starts), *self._states(starts, outside))
        found = self.known.get(key)
        if found is None:
            for visits in self.visited:
                visits.enter(again)
            for fills in self.fills:
                fills.stale = True
            self.running = (key, starts, outside, [meter.tally() for meter in self.counting])
            return False
        counts, states = found
        for counting, count in zip(self.counting, counts, strict=True):
            counting.add(count)
        for (meter, place), state, at in zip(self.meters, states, outside, strict=True):
            _resume(meter, state, tuple([starts[i] for i in place]), at)
        return True

    def ends(self) -> None:
        """Remember what a pass that was run step by step has counted, and what it has left behind."""
        if self.running is None:
            return
        (key, starts, outside, before), self.running = self.running, None
        for visits in self.visited:
            visits.leave()
        after = [meter.tally() for meter in self.counting]
        counts = [tuple([n - m for n, m in zip(new, old, strict=True)]) for new, old in zip(after, before, strict=True)]
        self.known[key] = counts, self._states(starts, outside)

    def _states(self, starts: tuple[int, ...], outside: tuple[tuple[int, ...], ...]) -> list[Any]:
        return [
            _state(meter, tuple([starts[i] for i in place]), at)
            for (meter, place), at in zip(self.meters, outside, strict=True)
        ]

    def _edges(self, starts: tuple[int, ...]) -> tuple[int, ...]:
        """How much of the layer is left for every instance, up to a whole pass."""
        left = [[min(max(size - starts[i] - o, 0), extent) for o in offsets] for i, size, extent, offsets in self.edges]
        return tuple(itertools.chain(*left))


def _state(meter: Fills | PartialSums, place: tuple[int, ...], outside: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """What a meter compares the next arrival with, as seen from the first arrival of a pass."""
    now = None if meter.now is None else (_less(meter.now[0], place), _less(meter.now[1], outside))
    if isinstance(meter, PartialSums):
        return now, meter.holding, None
    held = [along.held(start) for along, start in zip(meter.tensor.place, place, strict=True)]
    return now, None, tuple(held)


def _resume(
    meter: Fills | PartialSums, state: tuple[Any, Any, Any], place: tuple[int, ...], outside: tuple[int, ...]
) -> None:
    """Go on from a state that another pass has left behind."""
    now, holding, held = state
    meter.now = None if now is None else (_plus(now[0], place), _plus(now[1], outside))
    if isinstance(meter, PartialSums):
        meter.holding = holding
        return
    for along, holds, start in zip(meter.tensor.place, held, place, strict=True):
        along.hold(holds, start)


def _less(places: tuple[int, ...], begin: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([place - start for place, start in zip(places, begin, strict=True)])


def _plus(places: tuple[int, ...], begin: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([place + start for place, start in zip(places, begin, strict=True)])
