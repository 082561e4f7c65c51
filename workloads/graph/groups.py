"""Groups of operations that can be mapped as one: they connect, no way leads out of them and back, and no tensor that
passes inside is read outside too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...ir import Cascade, ProblemError, Tensor
from .joining import SoftmaxForm, joined_with_names
from .occurrences import OUTSIDE, NetworkGraph, Occurrence


@dataclass(frozen=True)
class OperationGroup:
    """Occurrences that may be mapped together.

    places   of the occurrences in the network, in its order
    names    of the occurrences
    cascade  of them; None: what is made in a way that is no operation here
    tensors  by occurrence that makes it, what the cascade calls each tensor that is no parameter
    times    how often it is done
    moved    of what is no operation, the tensors that it reads and makes, and their words that it moves
    """

    places: tuple[int, ...]
    names: tuple[str, ...]
    cascade: Cascade | None
    tensors: Mapping[str, str] = field(default_factory=dict, compare=False)
    times: int = 1
    moved: tuple[tuple[Tensor, int], ...] = field(default=(), compare=False)

    @property
    def start(self) -> int:
        """The first one's place."""
        return self.places[0]

    @property
    def end(self) -> int:
        """The place after the last one."""
        return self.places[-1] + 1


def operation_groups(
    graph: NetworkGraph, most: int, *, softmax: SoftmaxForm = "parts", runs_only: bool = True
) -> list[OperationGroup]:
    """All groups of up to `most` occurrences: each alone, and those that connect where every tensor that passes inside
    has all of its readers there, and nothing outside is done between them.

    softmax    "parts" or "one", as of `cascade_of`
    runs_only  only those that stand one after the other in the network
    """
    reading = GraphReading(graph)
    found = []
    for places in sorted(_connected(reading, most), key=lambda one: (one[0], one[-1], one)):
        if runs_only and places[-1] - places[0] >= len(places):
            continue
        group = _group(reading, places, softmax)
        if group is not None:
            found.append(group)
    return found


class GraphReading:
    """Which occurrence of a graph reads which, by their places.

    occurrences  in the network's order
    before       of each, the places of those that make what it reads, as bits
    readers      of each, the places of those that read what it makes, as bits
    handed_out   places of those that make what the network hands out, or of which it hands out a form, as bits
    """

    def __init__(self, graph: NetworkGraph) -> None:
        self.graph = graph
        self.occurrences: Sequence[Occurrence] = list(graph)
        self.place = {occurrence.name: i for i, occurrence in enumerate(self.occurrences)}
        count = len(self.occurrences)
        self.before, self.readers, self.handed_out = [0] * count, [0] * count, 0
        for i, occurrence in enumerate(self.occurrences):
            for name in occurrence.reads:
                made = self.place.get(name)
                if made is not None:
                    self.before[i] |= 1 << made
                    self.readers[made] |= 1 << i
        if graph.meaning is not None:
            made_of = {form: source for source, forms in graph.meaning.copies.items() for form in forms}
            for name in graph.meaning.outputs:
                place = self.place.get(made_of.get(name, name))
                self.handed_out |= 1 << place if place is not None else 0
        self._above, self._below = [0] * count, [0] * count
        for i in range(count):
            for j in bits_of(self.before[i]):
                self._above[i] |= self._above[j] | 1 << j
        for i in reversed(range(count)):
            for j in bits_of(self.readers[i]):
                self._below[i] |= self._below[j] | 1 << j

    def is_closed(self, places: Sequence[int]) -> bool:
        """Whether every tensor that is read inside is read there alone."""
        inside = mask_of(places)
        read = (i for i in places if self.readers[i] & inside)
        return all(not self.readers[i] & ~inside and not self.handed_out >> i & 1 for i in read)

    def is_convex(self, places: Sequence[int]) -> bool:
        """Whether no way leads out and back."""
        above = below = 0
        for i in places:
            above, below = above | self._above[i], below | self._below[i]
        return not above & below & ~mask_of(places)


def bits_of(mask: int) -> Iterator[int]:
    """The places of a set of bits, rising."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(places: Sequence[int]) -> int:
    """Places as bits."""
    return sum(1 << i for i in places)


def _connected(reading: GraphReading, most: int) -> Iterator[tuple[int, ...]]:
    """All sets of up to so many occurrences that read one another, or a common tensor; what has to be alone, alone."""
    count = len(reading.occurrences)
    near = [reading.before[i] | reading.readers[i] for i in range(count)]
    common: dict[str, int] = {}
    for i, occurrence in enumerate(reading.occurrences):
        for source in occurrence.sources:
            common[source.name] = common.get(source.name, 0) | 1 << i
    for i, occurrence in enumerate(reading.occurrences):
        for source in occurrence.sources:
            near[i] |= common[source.name] & ~(1 << i)
    alone = mask_of([i for i, occurrence in enumerate(reading.occurrences) if occurrence.is_alone])
    for first in range(count):
        if alone >> first & 1:
            yield (first,)
            continue
        # Sets whose first place is this one, each once: what is passed over is not taken later on.
        later = ~alone & ~((1 << first + 1) - 1)
        waiting = [(1 << first, near[first] & later, 1 << first)]
        while waiting:
            chosen, open_ones, seen = waiting.pop()
            yield tuple(bits_of(chosen))
            if chosen.bit_count() == most:
                continue
            seen |= open_ones
            for i in bits_of(open_ones):
                open_ones &= ~(1 << i)
                waiting.append((chosen | 1 << i, open_ones | (near[i] & later & ~seen), seen))


def _group(reading: GraphReading, places: tuple[int, ...], softmax: SoftmaxForm) -> OperationGroup | None:
    """The group of some occurrences, if they can be mapped together."""
    graph, members = reading.graph, [reading.occurrences[i] for i in places]
    names = tuple(occurrence.name for occurrence in members)
    shown = "+".join(graph.shown(occurrence) for occurrence in members)
    if len(members) == 1 and members[0].kind == OUTSIDE:
        return OperationGroup(places, names, None, moved=_moved(graph, members[0]))
    if not (reading.is_closed(places) and reading.is_convex(places) and _in_one_form(graph, members)):
        return None
    try:
        cascade, tensors = joined_with_names(graph, members, f"{graph.network}:{shown}", softmax)
        return OperationGroup(places, names, cascade, tensors, members[0].times)
    except ProblemError:
        if len(members) == 1:
            raise
        return None  # they read one another in a way that no cascade has: each alone is mapped


def _moved(graph: NetworkGraph, occurrence: Occurrence) -> tuple[tuple[Tensor, int], ...]:
    """What passes the outermost memory for what is no operation, in words of the machine, unless the graph has their
    widths."""
    moved = graph.moved(occurrence)
    found = [(Tensor(name, (), "input", graph.widths.get(name)), words) for name, words in moved.read]
    if moved.written:
        found.append((Tensor(occurrence.name, (), "output", graph.widths.get(occurrence.name)), moved.written))
    return tuple(found)


def _in_one_form(graph: NetworkGraph, members: Sequence[Occurrence]) -> bool:
    """Whether every tensor that is read inside is read in one form: a cascade has it once."""
    if graph.meaning is None or not graph.meaning.forms:
        return True
    found: dict[str, str] = {}
    reads = [(source.name, (member.name, source.name)) for member in members for source in member.sources]
    forms = graph.meaning.forms
    inside = {member.name for member in members}
    if any(source in inside and use in forms for source, use in reads):
        return False
    return all(found.setdefault(source, forms.get(use, source)) == forms.get(use, source) for source, use in reads)
