"""Shared loops along which readers see an intermediate through a window: what every visit makes of it.

A loop steps over rows of a reader that asks for more rows of an intermediate than it steps over. So the visits of its
producer are *uneven*: the first one makes more rows than the others, or all of them make some again, and the last ones
may make fewer (`cost_models/cascades/windows.py`). What a producer reads itself is uneven in turn.

Loops inside an uneven branch cut the rows of an even visit; where a visit makes more, one more loop stands outside.
Costs are bounds: visits that make fewer count as their part of an even one, and those that make more as their part of
the even ones that cover them, taken as one visit. Tiles inside divide an even visit, so a part of it costs no less than
its part. More is known of what all visits take together (`relaxations/uneven_shares.py`); and where a search of the
even visit can count them pass by pass (`Uneven.counts`), nothing is bounded. The cost model has the last word on the
whole tree; what it says more is a gap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ....cost_models.cascades.windows import Kept, Positions, asked_positions, new_positions
from ....ir import Cascade, Loop, Node, Operation, ceil_div, plain_rank
from ...exact.tiles.visits import short_visits, size_of_visits
from ...tilings import factors
from .sharing import Passage, SharedDim, is_window

KEPT: tuple[Kept, ...] = ("all", "last", "none")


@dataclass(frozen=True)
class Uneven:
    """The positions of one dimension that the visits of an operation compute while a loop above its split steps.

    dim     of the operation
    step    what an even visit makes: by how much the loop moves on, or, where rows are made again, most of them
    visits  all of them
    most    positions that a visit makes at most
    part    of the positions of as many even visits: at least what all visits make, none of them more than an even one
    span    positions of a tile where the reader finds it, zeros around included
    longer  visits that make more than an even one: (positions, how many)
    made    positions of all visits: (positions, how many)
    """

    dim: str
    step: int
    visits: int
    most: int
    part: float
    span: int
    longer: tuple[tuple[int, int], ...] = ()
    made: tuple[tuple[int, int], ...] = ()

    @property
    def whole_part(self) -> float:
        """The positions of all visits as a part of those of as many even ones, or the visits that make any, if these
        are less (`relaxations/uneven_shares.py`)."""
        made = sum(times * number for number, times in self.made) / self.step
        return min(made, sum(times for number, times in self.made if number)) / self.visits

    def computing(self, at_once: int) -> float:
        """Steps in which a mapping of the even visit computes all visits at least, as a part of those of as many even
        ones, if instances side by side have so many positions: what is left over takes a step too."""
        steps = sum(times * ceil_div(number, at_once) for number, times in self.made)
        return steps * at_once / (self.visits * self.step)

    @property
    def whole(self) -> int | None:
        """Positions of visits that stand for all, of which the last one alone makes fewer than the others; None where
        none do."""
        if len(self.made) != 2 or self.longer or not self.made[0][0] or not self.keeps_loops:
            return None
        (fewer, times), _ = self.made
        return None if self.visits % times else (self.visits // times - 1) * self.step + fewer

    @property
    def keeps_loops(self) -> bool:
        """Whether no visit that makes anything makes so little that a loop of an even one comes down to one trip: that
        may let tensors stay that move in even visits."""
        return not short_visits(self.made, self.step)[1]

    @property
    def counts(self) -> bool:
        """Whether a search of the even visit can count what all visits cost: there are several in which no loop comes
        down to one trip."""
        lasting, _ = short_visits(self.made, self.step)
        return self.step < size_of_visits(lasting, self.step)

    def tiles(self) -> tuple[tuple[float, int], ...]:
        """Tiles that stand for the visits, by their positions: the mean visit takes no less energy than so many of each
        together."""
        longer = [(times, number, self.step * ceil_div(number, self.step)) for number, times in self.longer]
        even = self.part - sum(times for times, _, _ in longer) / self.visits
        return (even, self.step), *((times / self.visits * number / size, size) for times, number, size in longer)

    def one_tile(self) -> tuple[tuple[float, int], ...]:
        """One tile that every visit is a part of."""
        size = self.step * ceil_div(self.most, self.step)
        return ((sum(share * positions for share, positions in self.tiles()) / size, size),)


def uneven_visits(
    cascade: Cascade, names: Sequence[str], dim: SharedDim, trips: int, passes: Sequence[Passage]
) -> dict[str, Uneven] | None:
    """The uneven operations below a loop, by name; None where what they make cannot be counted: positions that no one
    reads, gaps, readers that ask for different positions.

    passes  for each of them, where its output passes, and what is kept there
    """
    kept = {tensor: keeps for tensor, _, keeps in passes}
    steps: dict[str, list[Positions]] = {}
    even: dict[str, int] = {}
    found: dict[str, Uneven] = {}
    for name in reversed(names):
        operation, own = cascade.operation(name), dim.of(name)
        if name not in dim.uneven:
            even[name] = operation.problem.sizes[own] // trips
            steps[name] = [frozenset(range(i * even[name], (i + 1) * even[name])) for i in range(trips)]
            continue
        made = _made(cascade, operation, dim, steps, kept[operation.output.name])
        if made is None:
            return None
        steps[name], span = made
        counts = [len(new) for new in steps[name]]
        reader = cascade.consumers[operation.output.name][0]
        window = _window(operation, own, reader, dim.of(reader.name))
        even[name] = window.even(even[reader.name], kept[operation.output.name])
        if reader.name not in found and kept[operation.output.name] == "none":
            most_often = {number: counts.count(number) for number in counts if number}  # others see zeros alone
            even[name] = max(most_often, key=lambda number: (most_often[number], number))
        found[name] = _uneven(own, even[name], counts, span)
    return found


def _made(
    cascade: Cascade, operation: Operation, dim: SharedDim, steps: dict[str, list[Positions]], kept: Kept
) -> tuple[list[Positions], int] | None:
    """Return the positions that an operation computes at each step, and the span that its readers ask for."""
    tensor, own = operation.output.name, dim.of(operation.name)
    rank = plain_rank(operation, tensor, own)
    assert rank is not None
    asks = {
        tuple(asked_positions(reader, tensor, rank, dim.of(reader.name), at) for at in steps[reader.name])
        for reader in cascade.consumers[tensor]
    }
    if len(asks) > 1:
        return None
    (whole,) = asks
    extent = operation.problem.sizes[own]
    asked = [frozenset(x for x in ask if 0 <= x < extent) for ask in whole]
    new = list(new_positions(asked, kept))
    gaps = any(made and max(made) - min(made) + 1 != len(made) for made in new)
    if gaps or len(frozenset().union(*asked)) < extent:
        return None
    span = max(map(len, whole)) if kept != "all" else len(frozenset().union(*whole))
    return new, span


@dataclass(frozen=True)
class _Window:
    """A reader's view of one rank of the tensor that an operation writes.

    coefficient  of the reader's dimension
    reach        positions that the window has beyond the first one
    pad          zeros before and after
    extent       of the rank
    stride       the least coefficient of the other dimensions that is larger than that of the reader's; 0: none is
    inside       positions that dimensions of lesser coefficients reach beyond the first one
    """

    coefficient: int
    reach: int
    pad: tuple[int, int]
    extent: int
    stride: int
    inside: int

    def even(self, read: int, kept: Kept) -> int:
        """What a visit makes for so many positions of the reader, away from the ends: what is new, or all of it."""
        made = self.coefficient * read if kept != "none" else self.coefficient * (read - 1) + 1 + self.reach
        return min(made, self.extent)

    @property
    def more(self) -> int:
        """Positions that the first visit makes more than an even one, at most: what the window sees beyond what the
        loop moves on by, or what zeros at the ends take from an even visit."""
        return max(self.reach + 1 - self.coefficient, sum(self.pad))

    def has_gaps(self, most: int) -> bool:
        """Whether so many positions of the reader, or fewer, ask for words with gaps between, wherever they lie: such
        loops are not searched."""
        span = self.coefficient * (most - 1) + 1 + self.inside
        return self.pad == (0, 0) and span < self.stride

    def windowed(self, made: str, read: Iterable[int], extra: int = 0) -> Windowed:
        """What visits make along a dimension, where even ones of the reader take one of some numbers of positions, and
        no other one more than so many more."""
        steps = {self.even(n, kept) for n in read for kept in KEPT}
        steps |= {n - zeros for n in steps for zeros in range(1, sum(self.pad) + 1) if n > zeros}
        return Windowed(made, frozenset(steps), self.more + self.coefficient * extra)


def _window(operation: Operation, made: str, reader: Operation, read: str) -> _Window:
    tensor = operation.output.name
    rank = plain_rank(operation, tensor, made)
    assert rank is not None
    terms = reader.problem.tensor(tensor).ranks[rank]
    own, sizes = dict(terms)[read], reader.problem.sizes
    others = [(c, sizes[other] - 1) for other, c in terms if other != read and sizes[other] > 1]
    reach = sum(c * steps for c, steps in others)
    stride = min((c for c, _ in others if c > own), default=0)
    inside = sum(c * steps for c, steps in others if c <= own)
    return _Window(own, reach, reader.pad(tensor, rank), operation.problem.sizes[made], stride, inside)


def _uneven(dim: str, step: int, made: Sequence[int], span: int) -> Uneven:
    counts, visits = Counter(made), len(made)
    every = tuple(sorted(counts.items()))
    positions = sum(times * min(number, step) for number, times in counts.items())
    longer = tuple(sorted((number, times) for number, times in counts.items() if number > step))
    return Uneven(dim, step, visits, max(counts), positions / (visits * step), span, longer, every)


def covering(items: tuple[Loop | Node, ...], uneven: Sequence[Uneven]) -> tuple[Loop | Node, ...]:
    """Return the items of a branch with loops that cover its longest visit."""
    for one in uneven:
        items = _covering(items, one)
    return items


def _covering(items: tuple[Loop | Node, ...], uneven: Uneven) -> tuple[Loop | Node, ...]:
    if uneven.most > uneven.step:
        return (Loop(uneven.dim, ceil_div(uneven.most, uneven.step)), *items)
    found, inside, left = list(items), uneven.step, uneven.most
    for place, item in enumerate(items):
        if isinstance(item, Loop) and item.dim == uneven.dim and item.trips > 1 and left < inside:
            inside //= item.trips
            found[place] = replace(item, trips=ceil_div(left, inside))
    return tuple(item for item in found if not (isinstance(item, Loop) and item.trips == 1))


# ---- before it is known which loops there are --------------------------------------------------------------


@dataclass(frozen=True)
class Windowed:
    """A dimension of an operation that may become uneven.

    dim    of the operation
    steps  what an even visit may make
    extra  positions that the first visit may make more than the others, at most
    """

    dim: str
    steps: frozenset[int]
    extra: int


def windowed_dims(cascade: Cascade, operation: Operation) -> Iterator[Windowed]:
    """The dimensions of an operation that a shared loop may make uneven, once for each way, by its readers, in which
    one may; none of one that uses generations. Loops step over dimensions of what readers write alone
    (`WindowPassing.allows`)."""
    tensor = operation.output.name
    if operation.generations:
        return
    for reader in cascade.consumers[tensor]:
        own = list(windowed_dims(cascade, reader))
        for i, rank in enumerate(reader.problem.tensor(tensor).ranks):
            made = next((dim for dim, _ in operation.problem.dims if plain_rank(operation, tensor, dim) == i), None)
            for dim in (dim for dim, _ in rank if made is not None and dim in reader.output.dims):
                assert made is not None
                window, size = _window(operation, made, reader, dim), reader.problem.sizes[dim]
                for windowed in (one for one in own if one.dim == dim):
                    yield window.windowed(made, windowed.steps, windowed.extra)
                even = factors(size, "perfect", True)[:-1]
                if is_window(operation, made, reader, dim) and not window.has_gaps(max(even, default=1)):
                    yield window.windowed(made, even)
