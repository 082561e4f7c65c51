"""What operations of a part take more, in the room that nodes leave them, than bounds of its shared loops take for
granted: that they are at their best, with endless room, and that each word of a tile comes once a visit from its home.

With the loops above a split, and the nodes of tensors chosen there, an operation's branch has a tile, homes, and some
room at most. Tables know all its mappings, and nothing that is decided further in makes them cheaper: a node in a split
further in stands around the branch as one of its own nodes could. A tensor that may come from a node further in that
another operation fills comes from the nearest memory, if that has to keep it, at no cost, and takes no room there. So
the branch takes no less energy than the least of all mappings in that room, and no fewer cycles of a port than the
least of those, each by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ....ir import Operation
from ...exact.rows import Ints
from ...kernel.remembered import remembered_by
from ..tables.tables import TableBranches
from ..terms.parts import VisitedPart
from ..terms.placing import Placing
from ..terms.upper_memories import Floats, UpperMemories
from .operation_bounds import OperationBounds


class InRoom(NamedTuple):
    """Choices of nodes, as one operation finds them.

    tile   (choices,) which of some tiles
    far    (choices,) tensors that come from the outermost memory, as `Least` has them
    bits   (choices,) of the nearest memory that are left
    """

    tile: Ints
    far: Ints
    bits: Floats


@dataclass(frozen=True, eq=False)
class RoomBounds:
    """Operations of one cascade on a machine for which there are tables.

    alone  what operations take at their best
    """

    memories: UpperMemories
    placing: Placing
    alone: OperationBounds
    tables: TableBranches

    @remembered_by(lambda _, part, passing: (part.names, part.homes, tuple(passing)))
    def places(self, part: VisitedPart, passing: Sequence[str]) -> tuple[int, ...]:
        """The operations of a part of which it is known where all tensors come from.

        passing  intermediates that pass at its split
        """
        keeps, homes, found = self.memories.upper[-1].keeps, dict(part.homes), list[int]()
        for place, operation in enumerate(map(self.alone.cascade.operation, part.names)):
            are_known = (
                one.name in passing
                or (one.name in homes and operation in self.placing.payers(part, one.name))
                or keeps[one.role] == "must"
                for one in operation.problem.tensors
            )
            if operation.iterates is None and not operation.generations and all(are_known):
                found.append(place)
        return tuple(found)

    def more(
        self,
        part: VisitedPart,
        place: int,
        tiles: Mapping[str, Ints],
        repeats: Callable[[str], Floats],
        chosen: InRoom,
    ) -> tuple[Floats, Floats]:
        """(choices,) pJ, and (ports, choices) cycles that one operation takes more, of all visits; infinite where it
        has no room.

        tiles    per dimension, (n,) sizes of visits
        repeats  (n,) how often a tensor's words come at least where it comes from the outermost memory
        """
        name, sizes = part.names[place], part.sizes[place]
        operation = self.alone.cascade.operation(name)
        energy, cycles = np.zeros(len(chosen.tile)), np.zeros((len(self.memories.ports), len(chosen.tile)))
        for code in set(chosen.far.tolist()):
            far = [tensor.name for i, tensor in enumerate(operation.problem.tensors) if code >> i & 1]
            those = np.flatnonzero(chosen.far == code)
            found = self._least(part, place, operation, tiles, far)
            if found is None:
                continue
            bits, least = found
            if not len(bits):
                energy[those] = np.inf
                continue
            least[0] -= self.alone.least_of(name, sizes)[0]
            for tensor in far:
                once, later = self.alone.far(name, tensor, sizes, self.memories.outermost)
                least[0] -= (once * repeats(tensor))[:, None]
                least[1:] -= (later[: len(least) - 1, None] * repeats(tensor))[:, :, None]
            step = np.searchsorted(bits, chosen.bits.take(those), side="right") - 1
            taken = least[:, chosen.tile.take(those), step]
            taken[:, step < 0] = np.inf
            energy[those] = taken[0]
            cycles[: len(taken) - 1, those] = taken[1:]
        return np.maximum(energy, 0.0), np.maximum(cycles, 0.0)

    def _least(
        self, part: VisitedPart, place: int, operation: Operation, tiles: Mapping[str, Ints], far: Sequence[str]
    ) -> tuple[Ints, Floats] | None:
        """(steps,) bits, and (1 + ports, n, steps) what all visits of an operation take at least from there on; no
        ports where cycles do not count. None where that is not known."""
        sizes, timed = part.sizes[place], self.alone.timed
        adding = part.again[place] * math.prod(n for dim, n in sizes if dim not in operation.output.dims)
        found = self.tables.least_by_room(operation.name, tiles, far, adding, timed)
        if found is None:
            return None
        bits, least = found
        return bits, least[: None if timed else 1] * (math.prod(n for _, n in sizes) / operation.problem.macs)
