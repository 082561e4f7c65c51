"""The part of an emitted numpy program that counts words: a meter for every transfer, and one for the MACs."""

from __future__ import annotations

from .runtime import TensorPlace

# ---- meters ----------------------------------------------------------------------------------------------------------

WordTable = dict[tuple[str, str], tuple[int, int]]


class Visits:
    """Which places were visited before."""

    def __init__(self) -> None:
        self.all, self.places = False, set[tuple[int, ...]]()
        self._outside: list[tuple[bool, set[tuple[int, ...]]]] = []

    def visit(self, place: tuple[int, ...]) -> bool:
        """Visit a place; whether it was visited before."""
        before = self.all or place in self.places
        self.places.add(place)
        return before

    def enter(self, again: bool) -> None:
        """Begin on a pass, of whose places all or none were visited before."""
        self._outside.append((self.all, self.places))
        self.all, self.places = again, set()

    def leave(self) -> None:
        """End a pass."""
        self.all, self.places = self._outside.pop()


class Fills:
    """Counts what enters the buffers of one operand: `outer` is read, `inner` is written.

    now    place and outside of the last arrival, as `fill` has them
    stale  whether the buffers do not have what they hold by the count, so that they have to be filled at once
    """

    def __init__(self, outer: tuple[str, str], inner: tuple[str, str], halo: str, tensor: TensorPlace) -> None:
        self.outer, self.inner, self.halo, self.tensor = outer, inner, halo, tensor
        self.now: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self.stale = False
        self.reads = self.writes = 0
        self._known: dict[tuple[tuple[int, ...], bool], tuple[int, int]] = {}

    def fill(self, place: tuple[int, ...], others: tuple[int, ...] = (), outside: tuple[int, ...] = ()) -> bool:
        """Whether the buffers are filled; if the tile moves, count what the instances at work do not hold yet.

        place    where the tile begins, per dimension of the tensor
        others   where further dimensions stand
        outside  where the loops outside the innermost moving one stand. If they stood still, that one moves the tile,
                 and the tile slides; if they did not, the tile is transferred, whatever it was before
        """
        before, self.now = self.now, (place, outside)
        stale, self.stale = self.stale, False
        if before == self.now:
            return stale
        slides = before is not None and before[1] == outside
        moves = self.tensor.moves(place + others)
        reuse = self.halo == "exact" or (self.halo == "innermost" and slides)
        key = (moves, reuse)
        words = self._known.get(key)
        if words is None:
            words = self.tensor.words(moves, "transfer", reuse), self.tensor.words(moves, "alone", reuse)
            self._known[key] = words
        self.reads += words[0]
        self.writes += words[1]
        return True

    def forget(self) -> None:
        """What the buffers hold is given up: the next arrival fills them anew."""
        self.now = None
        self.tensor.forget()

    def tally(self) -> tuple[int, ...]:
        """All counts."""
        return self.reads, self.writes

    def add(self, counts: tuple[int, ...]) -> None:
        """Add to all counts."""
        self.reads, self.writes = self.reads + counts[0], self.writes + counts[1]

    def totals(self) -> list[tuple[tuple[str, str], int, int]]:
        """(memory and tensor, reads, writes)."""
        return [(self.outer, self.reads, 0), (self.inner, 0, self.writes)]


class PartialSums:
    """Counts what enters and leaves the buffers of partial sums: `inner` are drained to `outer`, and come back.

    drain_read  whether the inner read of a drain counts
    first_read  whether sums are read at their first visit, too
    """

    def __init__(
        self, outer: tuple[str, str], inner: tuple[str, str], drain_read: bool, first_read: bool, tensor: TensorPlace
    ) -> None:
        self.outer, self.inner, self.tensor = outer, inner, tensor
        self.drain_read, self.first_read = drain_read, first_read
        self.now: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self.at: tuple[int, ...] = ()
        self.visits = Visits()
        self.outer_reads = self.outer_writes = self.inner_reads = self.inner_writes = 0
        self.holding: tuple[int, int, int] | None = None
        self._known: dict[tuple[int, ...], tuple[int, int, int]] = {}

    def moves(self, place: tuple[int, ...], outside: tuple[int, ...], at: tuple[int, ...]) -> bool:
        """Whether the tile moves: its place changes, or a loop outside the innermost moving one steps."""
        before, self.now = self.now, (place, outside)
        if before == self.now:
            self.at = at
        return before != self.now

    def enter(self, place: tuple[int, ...], others: tuple[int, ...], at: tuple[int, ...]) -> bool:
        """Begin on a tile; whether it was here before, so that its sums come back. `at` is where it lies outside."""
        self.at = at
        moves = self.tensor.moves(place + others)
        if moves not in self._known:
            alone, arriving, distinct = (self.tensor.words(moves, by) for by in ("alone", "transfer", "outer"))
            self._known[moves] = alone, arriving, distinct
        self.holding = self._known[moves]
        returns = self.visits.visit(place)
        if returns or self.first_read:
            self.inner_writes += self.holding[0]
            self.outer_reads += self.holding[2]
        return returns

    def forget(self) -> None:
        """The next arrival is of another tile, wherever it is."""
        self.now = None

    def leave(self) -> bool:
        """Count the words that move when the tile is drained; return False if nothing is held."""
        if self.holding is None:
            return False
        alone, arriving, distinct = self.holding
        self.holding = None
        self.inner_reads += alone * self.drain_read
        self.outer_writes += arriving
        self.outer_reads += arriving - distinct
        return True

    def tally(self) -> tuple[int, ...]:
        """All counts."""
        return self.outer_reads, self.outer_writes, self.inner_reads, self.inner_writes

    def add(self, counts: tuple[int, ...]) -> None:
        """Add to all counts."""
        sums = [mine + more for mine, more in zip(self.tally(), counts, strict=True)]
        self.outer_reads, self.outer_writes, self.inner_reads, self.inner_writes = sums

    def totals(self) -> list[tuple[tuple[str, str], int, int]]:
        """(memory and tensor, reads, writes)."""
        return [(self.outer, self.outer_reads, self.outer_writes), (self.inner, self.inner_reads, self.inner_writes)]


class Macs:
    """Counts what the MACs read and update: every operand for every step, and the sums.

    tensors  (memory and tensor, where its instances and steps stand, edges), the output last. The edges say which of
             the starts given to `step` belong to the tensor's dimensions; None: it never ends within a tile
    first_read  whether sums are read at their first update, too
    ran         steps that were run one by one
    """

    def __init__(self, tensors: list[tuple[tuple[str, str], TensorPlace, list[int | None]]], first_read: bool) -> None:
        self.operands, self.sums, self.first_read = tensors[:-1], tensors[-1], first_read
        self.steps: dict[tuple[int, ...], int] = {}
        self.first: dict[tuple[int, ...], int] = {}
        self.visits = Visits()
        self.ran = 0
        self._counts: tuple[int, ...] = (0,) * (len(tensors) + 2)

    def step(self, edges: tuple[int, ...], place: tuple[int, ...]) -> None:
        """One pass over the innermost tiles. The first update of a sum reads nothing."""
        self.steps[edges] = self.steps.get(edges, 0) + 1
        if not self.visits.visit(place):
            self.first[edges] = self.first.get(edges, 0) + 1

    def tally(self) -> tuple[int, ...]:
        """All counts: steps, reads of every operand, updates of the sums, and those of them that are the first."""
        ran = sum(self.steps.values())
        reads = [_accesses(tensor, edges, self.steps, "transfer") for _, tensor, edges in (*self.operands, self.sums)]
        _, tensor, edges = self.sums
        first = _accesses(tensor, edges, self.first, "outer")
        self.steps, self.first, self.ran = {}, {}, self.ran + ran
        self.add((ran, *reads, first))
        return self._counts

    def number(self) -> tuple[int, int]:
        """Steps of the schedule, and those that were run one by one."""
        return self.tally()[0], self.ran

    def add(self, counts: tuple[int, ...]) -> None:
        """Add to all counts."""
        self._counts = tuple([mine + more for mine, more in zip(self._counts, counts, strict=True)])

    def totals(self) -> list[tuple[tuple[str, str], int, int]]:
        """(memory and tensor, reads, writes)."""
        _, *reads, updates, first = self.tally()
        found = [(name, words, 0) for (name, _, _), words in zip(self.operands, reads, strict=True)]
        return [*found, (self.sums[0], updates - (0 if self.first_read else first), updates)]


def _accesses(tensor: TensorPlace, edges: list[int | None], steps: dict[tuple[int, ...], int], by: str) -> int:
    """Words over all steps: alike steps are counted once and multiplied."""
    alike: dict[tuple[int, ...], int] = {}
    for starts, times in steps.items():
        moves = tensor.moves(tuple(0 if i is None else starts[i] for i in edges))
        alike[moves] = alike.get(moves, 0) + times
    return sum(times * tensor.words(moves, by) for moves, times in alike.items())


def words_moved(meters: list[Fills | PartialSums | Macs]) -> WordTable:
    """Words read and written, by memory and tensor."""
    moved: WordTable = {}
    for meter in meters:
        for name, reads, writes in meter.totals():
            before = moved.get(name, (0, 0))
            moved[name] = before[0] + reads, before[1] + writes
    return moved
