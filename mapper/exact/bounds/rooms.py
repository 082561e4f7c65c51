"""How much room of a memory is taken by tiles that stand in it, while others are still to come there.

In the uneven space the nodes of a memory stand apart, and tables of bounds (`bounds.py`) go from one to the next by the
tile alone. So that they do not let every tensor have all of the memory, states say how many bits are taken there
(`State.taken`), rounded down to one of a few amounts.

Lemma. All tiles that a memory holds are there together, each with the bits of its own node's tile. So in every mapping
that grows from a row, the tiles that stand in a memory and those still to come there take no more bits than it has.
A state says no more bits than stand there: it is told some of the amounts that do, rounded down, and adds to them only
the bits of tiles that are placed from then on, rounded down again. So what a table leaves out for lack of room grows
from none of the rows that look it up. And a row may look up a state that says less than it could, since that leaves out
no more.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np

from ....cost_models.cost import capacity_parts
from ..counting.footprints import Footprints
from ..hierarchy import Hierarchy, Path, State
from ..lattice import Lattice
from ..rows import Flags, Floats, Ints, Rows, distinct, row_codes
from .loop_charges import End


class Rooms:
    """The memories that several tensors share, in the uneven space.

    amounts  per memory, the amounts of bits that are told apart, ascending: none, the least that anything takes, and
             as many parts of all the room as there are
    parts    which parts these are
    """

    def __init__(self, hierarchy: Hierarchy, footprints: Footprints) -> None:
        self.hierarchy = hierarchy
        self.footprints = footprints
        self.parts: tuple[float, ...] = ()
        self._shared = self._shared_parts() if hierarchy.space == "uneven" else {}
        self.amounts: dict[int, Ints] = {}
        self._least = {memory: self._least_bits(memory) for memory in self._shared}
        self.tell_apart(())

    def _shared_parts(self) -> dict[int, tuple[int, int]]:
        """Per memory that has a part for several tensors: the number of that part, and its bits."""
        found = {}
        for memory, level in enumerate(self.hierarchy.memories):
            for number, part in enumerate(capacity_parts(level)):
                own = [t for t in self._held(memory) if self.hierarchy.problem.tensors[t].role in part.roles]
                if len(own) > 1:
                    found[memory] = number, int(part.bits)
        return found

    def _held(self, memory: int) -> list[int]:
        """Tensors that a memory may keep, and that do not come from there."""
        hierarchy = self.hierarchy
        tensors = range(len(hierarchy.problem.tensors))
        return [t for t in tensors if hierarchy.keeps(memory, t) != "never" and memory != hierarchy.home(t)]

    def tell_apart(self, parts: Sequence[float]) -> None:
        """Tell apart how much room is taken, by parts of all there is, besides whether any is."""
        self.parts = tuple(parts)
        for memory, (_, room) in self._shared.items():
            least = self._least[memory]
            amounts = {0, least, *(amount for part in parts if (amount := int(part * room)) > least)}
            self.amounts[memory] = np.array(sorted(amounts), dtype=np.int64)

    def _least_bits(self, memory: int) -> int:
        """Bits that a tile of one of the tensors that share a memory takes there, at least."""
        one = np.ones((1, len(self.hierarchy.problem.dims)), dtype=np.int64)
        shared = capacity_parts(self.hierarchy.memories[memory])[self._shared[memory][0]]
        tensors = (t for t in self._held(memory) if self.hierarchy.problem.tensors[t].role in shared.roles)
        return min(int(self.bits(memory, [t], one)[0]) for t in tensors)

    def bits(self, memory: int, tensors: Sequence[int], tiles: Ints) -> Ints:
        """(rows,) bits that tiles (rows, dims) of some tensors take of the part of a memory that is shared."""
        return self.footprints.used(memory, [(t, tiles) for t in tensors])[self._shared[memory][0]]

    def room(self, memory: int) -> int:
        """Bits of that part."""
        return self._shared[memory][1]

    def taken(self, state: State, memory: int) -> int:
        """Bits that are taken in a memory, at least."""
        return next((bits for own, bits in state.taken if own == memory), 0)

    def known(self, memory: int, bits: Ints) -> Ints:
        """Bits, rounded down to the amounts that are told apart."""
        amounts = self.amounts[memory]
        found: Ints = amounts[np.searchsorted(amounts, bits, side="right") - 1]
        return found

    def raised(self, state: State, taken: Sequence[tuple[int, int]]) -> State:
        """A state in which so many bits are taken in some memories that are still to hold something, of the amounts
        that are told apart. More than the least of them is told of one memory only, the outermost: of several there
        would be too many states."""
        known = {**dict(state.taken), **dict(taken)}
        most = max((memory for memory, bits in known.items() if bits > self._least[memory]), default=None)
        told = [
            (memory, bits if memory == most else min(bits, self._least[memory]))
            for memory, bits in sorted(known.items())
        ]
        return state._replace(taken=tuple(pair for pair in told if pair[1]))

    def of_rows(self, state: State, path: Path, rows: Rows) -> tuple[list[State], Ints]:
        """The states that tell apart how much room rows take that have come to one state; (rows,) which of them each is
        in."""
        memories = [m for m in self.amounts if self.hierarchy.is_to_hold(state.ahead, m)]
        columns, held = [], []
        for memory in memories:
            placed = [(k, g.tensors) for k, g in enumerate(path.node_groups) if g.memory == memory]
            if placed:
                bits = sum(self.bits(memory, tensors, rows.tiles[k]) for k, tensors in placed)
                columns.append(self.known(memory, np.asarray(bits)))
                held.append(memory)
        if not held:
            return [state._replace(taken=())], np.zeros(len(rows), dtype=np.int64)
        first, which = distinct(row_codes(columns))
        taken = zip(*(column[first].tolist() for column in columns), strict=True)
        states = [self.raised(state._replace(taken=()), list(zip(held, each, strict=True))) for each in taken]
        numbers: dict[State, int] = {}
        renumbered = np.array([numbers.setdefault(each, len(numbers)) for each in states], dtype=np.int64)
        return list(numbers), renumbered[which]


class FitsOnLattice:
    """Which tiles of a lattice fit, and what is taken where they stand: as (lattice) tables that are 0 where it is so,
    and infinite elsewhere."""

    def __init__(self, rooms: Rooms, lattice: Lattice) -> None:
        self.rooms = rooms
        self.hierarchy = rooms.hierarchy
        self.lattice = lattice
        self._room: dict[Hashable, Floats] = {}
        self._taken: dict[Hashable, list[tuple[int, Floats]]] = {}

    def filling(self, state: State, above: State, end: End) -> list[tuple[State, Floats]]:
        """The states that the one above a node group may be, by what is taken in its memory then, each with the tiles
        that fit and that it holds for."""
        memory, rooms = end.node_group.memory, self.rooms
        if memory not in rooms.amounts:
            return [(above, self._room_for(memory, end.residents))]
        taken = rooms.taken(state, memory)
        if not self.hierarchy.is_to_hold(above.ahead, memory):
            return [(above, self._room_beside(taken, end))]
        return [(rooms.raised(above, [(memory, bits)]), where) for bits, where in self._taken_by(taken, end)]

    def _room_for(self, memory: int, residents: tuple[int, ...]) -> Floats:
        """Tiles that a memory has room for."""
        key = memory, residents
        if key not in self._room:
            held = [(t, self._smallest) for t in residents]
            self._room[key] = self._where(self.rooms.footprints.fits(memory, held)) if held else self._everywhere
        return self._room[key]

    def _room_beside(self, taken: int, end: End) -> Floats:
        """Tiles that the memory of a node group has room for, with those to come, beside bits that are taken there
        already."""
        memory = end.node_group.memory
        key = memory, end.residents, end.to_come, taken
        if key not in self._room:
            bits = taken + self.rooms.bits(memory, end.to_come, self._smallest)
            beside = self._where(bits <= self.rooms.room(memory))
            self._room[key] = np.maximum(beside, self._room_for(memory, end.residents))
        return self._room[key]

    def _taken_by(self, taken: int, end: End) -> list[tuple[int, Floats]]:
        """The bits that may be taken in the memory of a node group when its tiles stand there, each with the tiles that
        fit and take so many."""
        (memory, tensors), rooms = end.node_group, self.rooms
        key = end.node_group, end.residents, end.to_come, taken, rooms.parts
        if key not in self._taken:
            bits = rooms.known(memory, taken + rooms.bits(memory, tensors, self._smallest))
            fits = np.isfinite(self._room_beside(taken, end)).reshape(-1)
            self._taken[key] = [(bit, self._where(fits & (bits == bit))) for bit in np.unique(bits[fits]).tolist()]
        return self._taken[key]

    def _where(self, fine: Flags) -> Floats:
        """(lattice) of flags (cells,)."""
        return np.where(fine, 0.0, np.inf).reshape(self.lattice.shape)

    @cached_property
    def _everywhere(self) -> Floats:
        return np.zeros(self.lattice.shape)

    @cached_property
    def _smallest(self) -> Ints:
        """(cells, dims) the smallest tile of every cell."""
        grids = np.meshgrid(*self.lattice.least, indexing="ij")
        return np.stack([g.ravel() for g in grids], axis=1)
