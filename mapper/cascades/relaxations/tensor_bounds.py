"""What a tensor of a part takes at least, for one choice of its nodes or of the memory that it passes in, with many
trips of shared loops at once.

With no halo between steps, the words that pass into a node below some loops are those of the tensor, as often as loops
repeat them that do not move it and stand outside one that does; and a tensor whose home is outside all loops comes into
the branches as often as all loops repeat it that do not move it. Both are products of trips. Windows may save words
between steps, never words of the whole tensor: these are counted once, so the products are bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....arch import Memory
from ....cost_models.cost import tensor_tile_words
from ....cost_models.sets import is_plain
from ....ir import Cascade, Operation, Role, Tensor
from ...kernel.remembered import remembered_by
from ..terms.parts import VisitedPart
from ..terms.placing import Placing
from ..terms.sharing import SharedDim
from ..terms.upper_memories import Floats, UpperMemories
from .loop_choices import Least

Above = tuple[int, ...]
"""Loops above a node, outermost first, by their place among all."""

NodesBelow = tuple[tuple[str, Above], ...]
"""Memories that keep a tensor above a split, outermost first, and the loops above each."""


@dataclass(frozen=True, eq=False)
class TensorBounds:
    """Bounds for the tensors of one part.

    dims   that loops may step over, in no order
    trips  (dims, n); 1 where there is no loop
    both_pj  (operations,) what is taken for granted that each weighs more, where all its tensors come from the nearest
             memory: not so where one comes from further out
    """

    cascade: Cascade
    memories: UpperMemories
    placing: Placing
    part: VisitedPart
    dims: tuple[SharedDim, ...]
    trips: Floats
    both_pj: Floats

    @cached_property
    def nothing(self) -> Least:
        """What is taken by nothing."""
        return Least.nothing(len(self._places), len(self.memories.ports), len(self.part.room[0]), self.trips.shape[1])

    def at_nodes(self, tensor: str, home: str, nodes: NodesBelow) -> Least:
        """What a tensor from outside takes at nodes between its home and the branches, and inside."""
        users = self.placing.users(self.part, tensor)
        found = self.nothing.of(np.zeros_like(self.nothing.values))
        outer = self.memories.of(home)
        if nodes:
            payer = next((user for user in users if user.output.name == tensor), users[0])
            for name, above in nodes:
                inner = self.memories.of(name)
                self._into(found, payer, tensor, outer, inner, above)
                outer = inner
        for user in self.placing.payers(self.part, tensor):
            self._far(found, user, tensor, outer)
        self._come_from(found, users, outer)
        return found

    def exchanged(self, tensor: str, memory: Memory) -> Least:
        """What an intermediate takes that passes at the split in a memory."""
        users = self.placing.users(self.part, tensor)
        producer = users[0]
        found = self.nothing.of(np.zeros_like(self.nothing.values))
        for user in users:
            self._far(found, user, tensor, memory)
        self._come_from(found, users, memory)
        if memory.name != self.memories.outermost:
            words = tensor_tile_words(producer.output, self._sizes(producer)) / self._product(self._every)
            first, last = (self._places[user.name] for user in (producer, users[-1]))
            bits = words * self.memories.arch.width_bits(producer.output)
            self._hold(found, tensor, memory.name, bits, self.part.names[first : last + 1])
        return found

    def repeats_inside(self, user: Operation, tensor: str) -> Floats:
        """(n,) how often all loops repeat a tensor's words, in a branch."""
        return self._product(self._repeating(user, tensor, self._every))

    # ---- nodes ---------------------------------------------------------------------------------------------

    def _come_from(self, found: Least, users: Sequence[Operation], home: Memory) -> None:
        """What is not for granted where users get a tensor from a memory."""
        if home.name != self.memories.nearest:
            found.energy[:] -= sum(self.both_pj[self._places[user.name]] for user in users)

    def _into(self, found: Least, user: Operation, tensor: str, outer: Memory, inner: Memory, above: Above) -> None:
        """A node of an inner memory below some loops, filled from, or drained to, an outer one."""
        one = user.problem.tensor(tensor)
        words = float(tensor_tile_words(one, self._sizes(user)))
        if self._comes_again(one, inner):
            last = self._last_moving(user, one, above)
            passing = words * self._product(self._repeating(user, tensor, above[:last]))
            if not self._is_plain(one):
                slides = last > 0 and inner.halo == "innermost" and self.dims[above[last - 1]].of(user.name) in one.dims
                passing = np.fmax(passing, self._of_tiles(user, one, above, last, slides))
        else:
            passing = np.full(self.trips.shape[1], words)
        bits = self.memories.arch.width_bits(one)
        if one.is_output:
            returning = passing - words
            drained = bits * passing if self.memories.arch.inner_drain_read else None
            self._book(found, user, outer, one.role, bits * returning, bits * passing)
            self._book(found, user, inner, one.role, drained, bits * returning)
        else:
            self._book(found, user, outer, one.role, bits * passing, None)
            self._book(found, user, inner, one.role, None, bits * passing)
        moving = tuple(i for i in above if self.dims[i].of(user.name) in one.dims)
        tile = words / self._product(moving)
        moves = self.part.steps or any(self.memories.arch.loop_moves(self.dims[i].of(user.name), one) for i in above)
        copies = self.memories.copies(inner.name, moves and self._is_plain(one))
        is_exchanged = one.is_output and tensor in self.cascade.intermediates  # it may be narrow, and not last
        width = self.memories.width(user, tensor, is_partial=one.is_output and not is_exchanged)
        copies = 1 if is_exchanged else copies
        self._hold(found, tensor, inner.name, copies * width * tile, [user.name] if is_exchanged else self.part.names)

    def _of_tiles(self, user: Operation, tensor: Tensor, above: Above, last: int, slides: bool = False) -> Floats:
        """(n,) words of all tiles below some loops, as often as the first of these step, where windows have no gaps;
        not a number where they have.

        slides  along the last one of these, so that what the tile passes over comes once
        """
        sizes = {dim: np.full(self.trips.shape[1], float(size)) for dim, size in self._sizes(user).items()}
        for place, i in enumerate(above):
            if not (slides and place == last - 1):
                dim = self.dims[i].of(user.name)
                sizes[dim] = sizes[dim] / self.trips[i]
        found = self._product(above[: last - 1 if slides else last])
        for rank in tensor.ranks:
            extent = np.ones(self.trips.shape[1])
            for coefficient, dim in sorted((coefficient, dim) for dim, coefficient in rank):
                gaps = (extent < coefficient) & (sizes[dim] > 1)
                extent = np.where(gaps, np.nan, extent + coefficient * (sizes[dim] - 1))
            found = found * extent
        return found

    def _comes_again(self, tensor: Tensor, inner: Memory) -> bool:
        """Whether every repetition by a loop that does not move the tensor fetches all its words anew; in a memory
        with an exact halo it does not, since that keeps what the next tile shares with this one."""
        at_node = self.memories.arch.reuse == "at_node"
        return tensor.is_output or inner.halo != "exact" or (self._is_plain(tensor) and not at_node)

    def _is_plain(self, tensor: Tensor) -> bool:
        """Whether tiles of a tensor neither overlap nor have gaps."""
        return all(is_plain(rank, self.memories.arch.footprint) for rank in tensor.ranks)

    def _far(self, found: Least, user: Operation, tensor: str, home: Memory) -> None:
        """What comes into branches from a home further out than the nearest memory, at every visit."""
        if home.name == self.memories.nearest:
            return
        one, place = user.problem.tensor(tensor), self._places[user.name]
        found.far[place] += 1 << user.problem.tensors.index(one)
        words = float(tensor_tile_words(one, self._sizes(user))) * self.repeats_inside(user, tensor)
        if not self._is_plain(one):
            words = np.fmax(words, self._of_tiles(user, one, self._every, len(self.dims)))
        found.energy[:] += (self.part.full_share(place) * self.memories.further_pj(one, home.name)) * words
        if self.memories.ports:
            bits = words * self.memories.arch.width_bits(one)
            self._book_cycles(found, user, home, one.role, *((None, bits) if one.is_output else (bits, None)))

    @cached_property
    def _every(self) -> Above:
        return tuple(range(len(self.dims)))

    def _repeating(self, user: Operation, tensor: str, above: Above) -> Above:
        """Of some loops those that do not move a tensor."""
        moved = user.problem.tensor(tensor).dims
        return tuple(i for i in above if self.dims[i].of(user.name) not in moved)

    def _last_moving(self, user: Operation, tensor: Tensor, above: Above) -> int:
        """How many of some loops there are up to the last one at whose steps a tensor is transferred again."""
        if self.memories.arch.reuse == "at_node":
            return len(above)
        moving = (place for place, i in enumerate(above, 1) if self.dims[i].of(user.name) in tensor.dims)
        return max(moving, default=0)

    @remembered_by(lambda _, loops: tuple(sorted(loops)))
    def _product(self, loops: Above) -> Floats:
        """(n,) trips of some loops together."""
        found: Floats = np.multiply.reduce(self.trips[list(loops)])
        return found

    # ---- sums ----------------------------------------------------------------------------------------------

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.part.names)}

    def _sizes(self, user: Operation) -> dict[str, int]:
        return dict(self.part.sizes[self._places[user.name]])

    def _hold(self, found: Least, tensor: str, memory: str, bits: Floats, names: Sequence[str]) -> None:
        """A tensor takes bits of a memory while some operations work."""
        users, rooms = self.placing.users(self.part, tensor), len(self.part.room[0])
        for name in names:
            place, role = self._places[name], self.memories.part_for(name, users, tensor, memory)
            for i, (own, part, _) in enumerate(self.part.room[place]):
                if own == memory and part == role:
                    found.bits[place * rooms + i] += bits

    def _book(
        self, found: Least, user: Operation, memory: Memory, role: Role, read: Floats | None, written: Floats | None
    ) -> None:
        """Bits of a role that a memory reads and writes for an operation; None for none."""
        share = self.part.full_share(self._places[user.name])
        if read is not None:
            found.energy[:] += (share * memory.read_energy_pj / memory.access_bits) * read
        if written is not None:
            found.energy[:] += (share * memory.write_energy_pj / memory.access_bits) * written
        self._book_cycles(found, user, memory, role, read, written)

    def _book_cycles(
        self, found: Least, user: Operation, memory: Memory, role: Role, read: Floats | None, written: Floats | None
    ) -> None:
        place = self._places[user.name]
        share = self.part.full_share(place)
        none = np.zeros(self.trips.shape[1])
        for number, port in enumerate(self.memories.ports):
            if port.memory is memory:
                bits = none if read is None else read, none if written is None else written
                found.cycles[place, number] += share * port.cycles(role, *bits)
