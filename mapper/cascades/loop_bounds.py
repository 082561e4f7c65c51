"""What a part of a tree weighs at least for every number of trips of its shared loops at once.

With loops in one order, and no halo between steps, the words that pass into a node below some of them are those of the
tensor, as often as loops repeat them that do not move it and stand outside one that does; and a tensor whose home is
outside all loops comes into the branches as often as all loops repeat it that do not move it. Both are products of
trips. Windows may save words between steps, never words of the whole tensor: these are counted once, so the products
are bounds.

Every tensor has some choices, of nodes or of a memory to pass in. `LoopBounds.least` takes the best of each by itself;
`together` only choices that have room at the same time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ...arch import Memory
from ...cost_models.cost import tensor_tile_words
from ...cost_models.sets import is_plain
from ...ir import Cascade, Operation, Tensor
from ..exact.rows import Flags, Ints
from .loop_choices import Choices, KnownChoices, Least
from .parts import VisitedPart
from .placing import Placing
from .room_bounds import InRoom, RoomBounds
from .sharing import SharedDim
from .upper_memories import Floats, UpperMemories
from .upper_nodes import Chain

INFINITE = np.inf


MOST_TOGETHER = 1 << 18
"""Numbers for all choices of some tensors together; what is left then is bounded by the best of each."""


@dataclass(frozen=True, eq=False)
class LoopBounds:
    """Bounds for one part and one order of dimensions.

    dims   outermost first
    trips  (loops, n)
    grid   trips along the same dimensions in another order, one for all orders of them
    any_order  whether it only matters which loops stand above a node, and not in which order
    both_pj  (operations,) what is taken for granted that each weighs more, where all its tensors come from the nearest
             memory: not so where one comes from further out
    known  choices; more are noted there
    rooms  closer bounds of operations in the room that is left, where they are known
    """

    cascade: Cascade
    memories: UpperMemories
    placing: Placing
    part: VisitedPart
    dims: tuple[SharedDim, ...]
    trips: Floats
    grid: bytes
    any_order: bool
    both_pj: Floats
    known: KnownChoices
    rooms: RoomBounds | None = None

    @cached_property
    def choices(self) -> Choices:
        """Of every tensor: nodes and homes of those from outside, memories of those that pass here."""
        part, apart = self.part, self.placing.all_part_here(self.part)
        key = part.names, part.sizes, part.steps, part.over, part.apart, apart, self.grid, self.both_pj.tobytes()
        return self.known.of((*key, self.dims, part.homes, part.room), lambda: self._choices(key))

    def _choices(self, key: tuple[object, ...]) -> Choices:
        single = self.known.single((*key, frozenset(self.dims)))
        found = [
            [
                single.of((tensor, home, self._seen_by(chain)), partial(self._chain, tensor, home, chain))
                for chain in self._chains(tensor, home)
            ]
            for tensor, home in self.part.homes
        ]
        found += [
            [
                single.of((tensor, memory.name), partial(self._exchange, tensor, memory))
                for memory in self.memories.upper
            ]
            for tensor in self._exchanged()
        ]
        return Choices.of(self._zero(), found, self._have_room)

    def _seen_by(self, chain: Chain) -> tuple[tuple[str, object], ...]:
        """What nodes see of the order of the loops above them."""
        see = frozenset if self.any_order else tuple
        return tuple((memory, see(self.dims[:depth])) for memory, depth in chain)

    def least(self) -> Least:
        """Each tensor at its best."""
        return self.choices.least

    def together(self, columns: Ints, weight: Callable[[Least], Floats], cutoff: float) -> Floats:
        """(columns,) what all tensors weigh at least, for some trips, by choices that have room together; infinite
        where there are none, or none below the cutoff.

        weight  of (..., n) what is taken
        """
        together, _ = self._together(columns, weight, cutoff)
        return np.full(len(columns), INFINITE) if together is None else np.asarray(weight(together).min(axis=0))

    def in_rooms(self, columns: Ints, weight: Callable[[Least], Floats], cutoff: float) -> Floats:
        """The same, with what operations take more in the room that is left, where it is known what that is."""
        together, are_all_chosen = self._together(columns, weight, cutoff)
        if together is None:
            return np.full(len(columns), INFINITE)
        found = np.asarray(weight(together))
        if are_all_chosen and self.rooms is not None:
            choice, trip = np.nonzero(found < cutoff)
            found[choice, trip] = weight(self._in_rooms(self.rooms, together.pairs(choice, trip), columns, trip))
        return np.asarray(found.min(axis=0))

    def _together(self, columns: Ints, weight: Callable[[Least], Floats], cutoff: float) -> tuple[Least | None, bool]:
        """What all tensors take at least, for some trips, by choices that have room together, and weigh less than the
        cutoff with some trips; and whether these are choices for all tensors. None where there are none."""
        choices = self.choices.at(columns)
        together, nothing = choices.alone.alone(), choices.alone.none()
        later = [nothing, *itertools.accumulate(options.best() for options in reversed(choices.open))][::-1]
        are_all_chosen = True
        # Where no tensor has a choice it is still seen whether there is room.
        for options, rest in zip(choices.open or (nothing.alone(),), later[1:] or later, strict=True):
            if together.bits.size * len(options.values) > MOST_TOGETHER:
                together, are_all_chosen = together + options.best(), False
                continue
            together = together.with_each(options)
            open_ones = self._have_room(together.bits) & (weight(together + rest) < cutoff)
            together.energy[~open_ones] = INFINITE
            some = np.flatnonzero(open_ones.any(axis=1))
            if not len(some):
                return None, True
            if len(some) < len(together.values):
                together = together.some(some)
        return together, are_all_chosen

    def _in_rooms(self, rooms: RoomBounds, chosen: Least, columns: Ints, trip: Ints) -> Least:
        """Some choices, with what operations take more in the room that is left.

        columns, trip  trips that are looked at, and which of these each choice is for
        """
        looked_at, tile = np.unique(trip, return_inverse=True)
        columns = columns.take(looked_at)
        trips = self.trips.take(columns, 1).astype(np.int64)
        for place in rooms.places(self.part, self._exchanged()):
            user = self.cascade.operation(self.part.names[place])
            sizes = {dim: np.full(len(columns), size) for dim, size in self.part.sizes[place]}
            for dim, steps in zip(self.dims, trips, strict=True):
                sizes[dim.of(user.name)] //= steps

            def repeats(tensor: str, user: Operation = user) -> Floats:
                return self._repeats_inside(user, tensor).take(columns)

            bits = self._left[place, 0] - chosen.bits[place, 0] if self._left.shape[1] else np.full(len(trip), np.inf)
            energy, cycles = rooms.more(self.part, place, sizes, repeats, InRoom(tile, chosen.far[:, place], bits))
            chosen.energy[:] += energy
            chosen.cycles[place] += cycles
        return chosen

    def _have_room(self, bits: Floats) -> Flags:
        """(..., n) whether there is room for (..., operations, rooms, n) bits."""
        return np.asarray((bits <= self._left).all(axis=(-3, -2)))

    @cached_property
    def _left(self) -> Floats:
        """(operations, rooms, 1) bits, with a little more for what is lost in rounding."""
        left = np.array([[float(size) for _, _, size in room] for room in self.part.room])
        return left[:, :, None] * (1 + 1e-12)

    # ---- tensors from outside ------------------------------------------------------------------------------

    def _chains(self, tensor: str, home: str) -> list[Chain]:
        return self.placing.chains(self.part, self.dims, tensor, home)

    def _chain(self, tensor: str, home: str, chain: Chain) -> Least:
        users = self.placing.users(self.part, tensor)
        found = self._zero()
        outer = self.memories.of(home)
        if chain:
            payer = next((user for user in users if user.output.name == tensor), users[0])
            for name, depth in chain:
                inner = self.memories.of(name)
                self._into(found, payer, tensor, outer, inner, depth)
                outer = inner
        for user in self.placing.payers(self.part, tensor):
            self._far(found, user, tensor, outer)
        self._come_from(found, users, outer)
        return found

    def _come_from(self, found: Least, users: Sequence[Operation], home: Memory) -> None:
        """What is not for granted where users get a tensor from a memory."""
        if home.name != self.memories.nearest:
            found.energy[:] -= sum(self.both_pj[self.part.names.index(user.name)] for user in users)

    def _into(self, found: Least, user: Operation, tensor: str, outer: Memory, inner: Memory, depth: int) -> None:
        """A node of an inner memory below so many loops, filled from, or drained to, an outer one."""
        one = user.problem.tensor(tensor)
        words = float(tensor_tile_words(one, self._sizes(user)))
        again = self._comes_again(one, inner)
        passing = words * (self._repeats(user, tensor, depth) if again else np.ones(self.trips.shape[1]))
        if again and not self._is_plain(one):
            last = self._last_moving(user, tensor, depth)
            slides = last > 0 and inner.halo == "innermost" and self.dims[last - 1].of(user.name) in one.dims
            passing = np.fmax(passing, self._of_tiles(user, one, depth, last, slides))
        bits = self.memories.arch.width_bits(one)
        if one.is_output:
            returning = passing - words
            drained = bits * passing if self.memories.arch.inner_drain_read else None
            self._book(found, user, outer, bits * returning, bits * passing)
            self._book(found, user, inner, drained, bits * returning)
        else:
            self._book(found, user, outer, bits * passing, None)
            self._book(found, user, inner, None, bits * passing)
        moving = [i for i, dim in enumerate(self.dims[:depth]) if dim.of(user.name) in one.dims]
        tile = words / np.multiply.reduce(self.trips[moving])
        moves = self.part.steps or any(self.memories.arch.loop_moves(d.of(user.name), one) for d in self.dims[:depth])
        copies = self.memories.copies(inner.name, moves and self._is_plain(one))
        is_exchanged = one.is_output and tensor in self.cascade.intermediates  # it may be narrow, and not last
        width = self.memories.width(user, tensor, is_partial=one.is_output and not is_exchanged)
        copies = 1 if is_exchanged else copies
        self._hold(found, tensor, inner.name, copies * width * tile, [user.name] if is_exchanged else self.part.names)

    def _of_tiles(self, user: Operation, tensor: Tensor, depth: int, last: int, slides: bool = False) -> Floats:
        """(n,) words of all tiles below so many loops, as often as the first of these step, where windows have no gaps;
        not a number where they have.

        slides  along the last one of these, so that what the tile passes over comes once
        """
        above = [dim.of(user.name) for dim in self.dims[:depth]]
        sizes = {dim: np.full(self.trips.shape[1], float(size)) for dim, size in self._sizes(user).items()}
        for i, dim in enumerate(above):
            if not (slides and i == last - 1):
                sizes[dim] = sizes[dim] / self.trips[i]
        found: Floats = np.prod(self.trips[: last - 1 if slides else last], axis=0)
        for rank in tensor.ranks:
            extent = np.ones(self.trips.shape[1])
            for coefficient, dim in sorted((coefficient, dim) for dim, coefficient in rank):
                gaps = (extent < coefficient) & (sizes[dim] > 1)
                extent = np.where(gaps, np.nan, extent + coefficient * (sizes[dim] - 1))
            found = found * extent
        return found

    def _comes_again(self, tensor: Tensor, inner: Memory) -> bool:
        """Whether all words of a tensor come again as often as loops repeat them: not where a memory keeps whatever of
        its tile the next step asks for, and that may be some of it."""
        at_node = self.memories.arch.reuse == "at_node"
        return tensor.is_output or inner.halo != "exact" or (self._is_plain(tensor) and not at_node)

    def _is_plain(self, tensor: Tensor) -> bool:
        """Whether tiles of a tensor neither overlap nor have gaps."""
        return all(is_plain(rank, self.memories.arch.footprint) for rank in tensor.ranks)

    def _far(self, found: Least, user: Operation, tensor: str, home: Memory) -> None:
        """What comes into branches from a home further out than the nearest memory, at every visit."""
        if home.name == self.memories.nearest:
            return
        one, every = user.problem.tensor(tensor), len(self.dims)
        found.far[self.part.names.index(user.name)] += 1 << user.problem.tensors.index(one)
        words = float(tensor_tile_words(one, self._sizes(user))) * self._repeats_inside(user, tensor)
        if not self._is_plain(one):
            words = np.fmax(words, self._of_tiles(user, one, every, every))
        share = self.part.full_share(self.part.names.index(user.name))
        found.energy[:] += (share * self.memories.further_pj(one, home.name)) * words
        if self.memories.ports:
            bits = words * self.memories.arch.width_bits(one)
            self._book_cycles(found, user, home, *((None, bits) if one.is_output else (bits, None)))

    def _repeats(self, user: Operation, tensor: str, depth: int, all_of: bool = False) -> Floats:
        """(n,) how often loops above a node repeat a tensor's words; of all loops where a branch asks for it."""
        moves = [dim.of(user.name) in user.problem.tensor(tensor).dims for dim in self.dims[:depth]]
        last = depth if all_of else self._last_moving(user, tensor, depth)
        repeated = [i for i, moving in enumerate(moves[:last]) if not moving]
        product: Floats = np.multiply.reduce(self.trips[repeated])
        return product

    def _repeats_inside(self, user: Operation, tensor: str) -> Floats:
        """(n,) the same of all loops, in a branch."""
        return self._repeats(user, tensor, len(self.dims), all_of=True)

    def _last_moving(self, user: Operation, tensor: str, depth: int) -> int:
        """How many of so many loops there are up to the last one at whose steps a tensor is transferred again."""
        if self.memories.arch.reuse == "at_node":
            return depth
        one = user.problem.tensor(tensor)
        return max((i + 1 for i, dim in enumerate(self.dims[:depth]) if dim.of(user.name) in one.dims), default=0)

    # ---- intermediates -------------------------------------------------------------------------------------

    def _exchanged(self) -> list[str]:
        """Intermediates that pass from one branch to another at this split for sure."""
        homes = dict(self.part.homes)
        if not self.placing.all_part_here(self.part):
            return []
        operations = map(self.cascade.operation, self.part.names)
        outputs = [operation.output.name for operation in operations if not operation.iterates]
        return [output for output in outputs if output not in homes and len(self.placing.users(self.part, output)) > 1]

    def _exchange(self, tensor: str, memory: Memory) -> Least:
        users = self.placing.users(self.part, tensor)
        producer = users[0]
        found = self._zero()
        for user in users:
            self._far(found, user, tensor, memory)
        self._come_from(found, users, memory)
        if memory.name != self.memories.outermost:
            words = tensor_tile_words(producer.output, self._sizes(producer)) / np.prod(self.trips, axis=0)
            first, last = (self.part.names.index(user.name) for user in (producer, users[-1]))
            bits = words * self.memories.arch.width_bits(producer.output)
            self._hold(found, tensor, memory.name, bits, self.part.names[first : last + 1])
        return found

    # ---- sums ----------------------------------------------------------------------------------------------

    def _sizes(self, user: Operation) -> dict[str, int]:
        return dict(self.part.sizes[self.part.names.index(user.name)])

    def _hold(self, found: Least, tensor: str, memory: str, bits: Floats, names: Sequence[str]) -> None:
        """A tensor takes bits of a memory while some operations work."""
        users = self.placing.users(self.part, tensor)
        for place, name in enumerate(self.part.names):
            held = (memory, self.memories.part_for(name, users, tensor, memory)) if name in names else None
            for i, (own, role, _) in enumerate(self.part.room[place]):
                if (own, role) == held:
                    found.bits[place, i] += bits

    def _zero(self) -> Least:
        return Least.nothing(len(self.part.names), self.memories.ports, len(self.part.room[0]), self.trips.shape[1])

    def _book(self, found: Least, user: Operation, memory: Memory, read: Floats | None, written: Floats | None) -> None:
        """Bits that a memory reads and writes for an operation; None for none."""
        share = self.part.full_share(self.part.names.index(user.name))
        if read is not None:
            found.energy[:] += (share * memory.read_energy_pj / memory.access_bits) * read
        if written is not None:
            found.energy[:] += (share * memory.write_energy_pj / memory.access_bits) * written
        self._book_cycles(found, user, memory, read, written)

    def _book_cycles(
        self, found: Least, user: Operation, memory: Memory, read: Floats | None, written: Floats | None
    ) -> None:
        place = self.part.names.index(user.name)
        share = self.part.full_share(place)
        for port, (name, reading, writing) in enumerate(self.memories.rates):
            if name != memory.name:
                continue
            if read is not None and reading:
                found.cycles[place, port] += (share * reading) * read
            if written is not None and writing:
                found.cycles[place, port] += (share * writing) * written
