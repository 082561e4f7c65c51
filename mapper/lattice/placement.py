"""Which memory keeps what, and the boundaries that words cross then.

The steps of a placement, innermost first, are the places where tiles are chosen: memories with the tensors that they
keep. The outermost memory is the last. The loops between two steps are a band.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .columns import Floats, Ints
from .plain_question import PlainQuestion

MAC_LEVEL = 10**6
"""Inside all levels."""


@dataclass(frozen=True, eq=False)
class PricedBoundary:
    """From a memory that keeps a tensor, or the MAC, to the next one outwards that does: what words cost there.

    inner       memory number; None: the MAC
    per_visit   columns, for every word that an inner instance is given (or gives)
    per_arrival for every word that the outer memory serves (or takes)
    per_first, per_first_arrival  what the first visit of a word saves, and one of a finished word (outputs)
    """

    tensor: int
    inner: int | None
    outer: int
    per_visit: Floats
    per_arrival: Floats
    per_first: Floats
    per_first_arrival: Floats


@dataclass(frozen=True)
class StorageStep:
    """A memory and what it keeps."""

    memory: int
    kept: frozenset[int]


@dataclass(frozen=True)
class Late:
    """A boundary over whose fanouts windows are shared, with bands between them.

    start    the step of its inner end, -1: the MAC
    settled  the step whose tile is the last to tell where a fanout of the boundary begins
    """

    boundary: PricedBoundary
    start: int
    settled: int


@dataclass(eq=False)
class Placement:
    """Steps, boundaries and what follows from them.

    levels  per step, its memory's place in the hierarchy
    nodes  per step, the boundaries that begin there
    zones  per band, the one above a step: how many fanouts it stands outside of
    ways   in which tiles may slide (`halo.py`)
    """

    question: PlainQuestion
    steps: list[StorageStep]
    ways: list[tuple[int, int, int]] | None = None
    levels: list[int] = field(init=False)
    nodes: list[list[PricedBoundary]] = field(init=False)

    def __post_init__(self) -> None:
        q = self.question
        self.levels = [q.memories[s.memory].level for s in self.steps]
        self.chains = {t: [s.memory for s in self.steps if t in s.kept] for t in range(len(q.tensors))}
        self.at_mac = [self._boundary(t, None, chain[0]) for t, chain in self.chains.items()]
        self.nodes = [
            [self._boundary(t, s.memory, self.chains[t][self.chains[t].index(s.memory) + 1]) for t in sorted(s.kept)]
            if s.memory
            else []
            for s in self.steps
        ]
        self.zones = [sum(f.level > outer for f in q.fanouts) for outer in self.levels[1:]]
        self.late = [
            each
            for step, nodes in enumerate([self.at_mac, *self.nodes], -1)
            for b in nodes
            for each in self._late(b, step)
        ]

    def starts(self, late: Late, tiles: Sequence[Ints]) -> dict[int, Ints] | None:
        """Where the fanouts of a late boundary begin, of tiles of the first steps; None: it is not settled by them."""
        if len(tiles) <= late.settled:
            return None
        found = {}
        for s in range(late.start + 1, late.settled + 1):  # the first fanout outside a step begins at its tile
            inside = [i for i, f in enumerate(self.question.fanouts) if self.levels[s + 1] < f.level < self.levels[s]]
            if inside:
                found[inside[-1]] = tiles[s]
        return found

    @property
    def counts_every_loop(self) -> bool:
        """Whether a node keeps overlaps at every move: then loops of a dimension cannot be joined."""
        q = self.question
        return any(
            q.memories[b.inner].halo == "exact" and q.tensors[b.tensor].windows and not q.tensors[b.tensor].output
            for nodes in self.nodes
            for b in nodes
            if b.inner is not None
        )

    def free(self, step: int) -> list[int]:
        """Dimensions whose loops may as well stand above a step's nodes as directly below: these do not move what is
        kept, and do not lie along the fanouts between, or not in a window.

        Proof. Taken from directly below a node to directly above it, such a loop stands at the same place among all
        loops. The tile of the node has the same words, since the loop does not move it, and the same loops move it. If
        the band above has a loop of that dimension too, joining both costs nothing (`orders.py`). Fanouts between see
        the same windows. So below a node only loops are needed that move something it keeps, or over which something
        stays, or along which something slides. With halo `exact` joining may cost.
        """
        q, kept = self.question, self.steps[step].kept
        if step == self.last or not kept or self.counts_every_loop:
            return []
        moved = {d for t in kept for d in q.tensors[t].dims}
        crossed = {d for f in q.fanouts if self.levels[step + 1] < f.level < self.levels[step] for d in f.dims}
        windows = {d for tensor in q.tensors for d in tensor.windows}
        return [d for d in range(len(q.sizes)) if d not in moved and not (d in crossed and d in windows)]

    @property
    def last(self) -> int:
        return len(self.steps) - 1

    def inside(self, b: PricedBoundary) -> list[int]:
        """The fanouts that a boundary crosses, outermost first."""
        q = self.question
        inner = MAC_LEVEL if b.inner is None else q.memories[b.inner].level
        return [i for i, f in enumerate(q.fanouts) if q.memories[b.outer].level < f.level < inner]

    def _late(self, b: PricedBoundary, start: int) -> Iterator[Late]:
        """Late: fanouts that windows lie along, beyond the next step."""
        q = self.question
        windows = q.tensors[b.tensor].windows
        inside = self.inside(b)
        settled = [
            s
            for s in range(start + 1, self.last)
            if any(self.levels[s + 1] < q.fanouts[i].level < self.levels[s] for i in inside)
        ]
        along = {d for i in inside for _, dims in q.fanouts[i].axes for d in dims}
        if settled and windows & along:
            yield Late(b, start, settled[-1])

    def _boundary(self, t: int, inner: int | None, outer: int) -> PricedBoundary:
        q, tensor = self.question, self.question.tensors[t]
        nothing = np.zeros(1 + len(q.columns))
        saved = 1 - tensor.narrow / tensor.wide

        def read(m: int) -> Floats:
            return q.price(m, True) * tensor.wide

        def write(m: int) -> Floats:
            return q.price(m, False) * tensor.wide

        def finish(m: int, price: Floats) -> Floats:
            """Where no reduction is left above: see `Counting.constants`."""
            return price * saved * (m != self.chains[t][0])

        if not tensor.output:
            return PricedBoundary(
                t, inner, outer, nothing if inner is None else write(inner), read(outer), nothing, nothing
            )
        if inner is None:
            return PricedBoundary(
                t, None, outer, nothing, read(outer) + write(outer), nothing, np.stack([read(outer), nothing])
            )
        first = np.stack([write(inner), finish(inner, read(inner))])
        return PricedBoundary(
            t,
            inner,
            outer,
            read(inner) + write(inner),
            read(outer) + write(outer),
            first,
            np.stack([read(outer), finish(outer, write(outer))]),
        )


def placements(question: PlainQuestion) -> Iterator[Placement]:
    """Every choice of what each memory keeps."""
    roles: dict[str, tuple[bool, ...]] = {"must": (True,), "may": (True, False), "never": (False,)}
    choices = [
        list(itertools.product(*(roles[m.keeps[t.role]] for t in question.tensors))) for m in question.memories[1:]
    ]
    for choice in itertools.product(*choices):
        kept = [question.everything] + [frozenset(t for t, k in enumerate(c) if k) for c in choice]
        yield Placement(question, [StorageStep(m, kept[m]) for m in reversed(range(len(kept))) if kept[m]])
