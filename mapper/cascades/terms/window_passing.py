"""The memories in which intermediates that are read through windows pass, and whether rows are kept there or computed
again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ....cost_models.cascades import reads_all, words_exchanged
from ....cost_models.cascades.windows import Kept
from ...kernel.remembered import remembered, remembered_by
from .branch import Room, Sizes
from .parts import VisitedPart, stepped_dims
from .sharing import LoopAbove, Passage, SharedDim
from .tree_rules import TreeRules
from .windowed import Uneven, uneven_visits


@dataclass(frozen=True, eq=False)
class WindowPassing(TreeRules):
    """The windows at the splits of one cascade on one machine.

    searched  whether shared loops step over what readers see through windows at all
    """

    searched: bool

    # ---- which loops ---------------------------------------------------------------------------------------

    def allows(self, dim: SharedDim) -> bool:
        """Whether a loop over a dimension is searched: what is uneven is read by operations below the loop alone, along
        a dimension of what they write; and memories do not round up to blocks, of which a part may cost more than its
        part."""
        if not dim.uneven:
            return True
        if not self.searched or any(memory.block_bits for memory in self.memories.arch.memories):
            return False
        below = {name for name, _ in dim.dims}
        for name in dim.uneven:
            readers = self.cascade.consumers[self.cascade.operation(name).output.name]
            if any(reader.name not in below or dim.of(reader.name) not in reader.output.dims for reader in readers):
                return False
        return True

    def is_whole(self, dim: SharedDim, sizes: Mapping[str, Mapping[str, int]]) -> bool:
        """Whether no loop further out steps over a dimension."""
        return all(sizes[name][own] == self.cascade.operation(name).problem.sizes[own] for name, own in dim.dims)

    def may_stand_together(self, dims: Sequence[SharedDim]) -> bool:
        """Whether some loops may stand above one split: one of them makes visits uneven at most, and no other one steps
        over another dimension of the same window."""
        windowed = [dim for dim in dims if dim.uneven]
        return len(windowed) <= 1 and all(self._is_apart(dim, dims) for dim in windowed)

    def _is_apart(self, dim: SharedDim, dims: Sequence[SharedDim]) -> bool:
        for name in dim.uneven:
            tensor = self.cascade.operation(name).output.name
            for reader in self.cascade.consumers[tensor]:
                own = dim.of(reader.name)
                ranks = (rank for rank in reader.problem.tensor(tensor).ranks if own in {d for d, _ in rank})
                window = {d for rank in ranks for d, _ in rank} - {own}
                if window & {other.of(reader.name) for other in dims}:
                    return False
        return True

    def ties(self, names: Sequence[str], loops: Sequence[LoopAbove]) -> frozenset[str]:
        """The operations that stand in branches of their own below some loops: those that are uneven, and their
        readers."""
        found: set[str] = set()
        for name in (name for loop in loops for name in loop.dim.uneven):
            readers = self.cascade.consumers[self.cascade.operation(name).output.name]
            found |= {name, *(reader.name for reader in readers)}
        return frozenset(found & set(names))

    # ---- what is below -------------------------------------------------------------------------------------

    def uneven_below(self, part: VisitedPart, loops: Sequence[LoopAbove]) -> tuple[tuple[Uneven, ...], ...]:
        """By operation, what is uneven below some loops. Where loops above are, nothing is: there are only leaves
        below."""
        found = part.uneven or ((),) * len(part.names)
        for loop in loops:
            if loop.dim.uneven:
                visits = self._uneven(part.names, loop)
                assert visits is not None
                found = tuple((visits[name],) if name in visits else () for name in part.names)
        return found

    @remembered_by(lambda _, part, loops: (part.names, part.sizes, part.uneven, tuple(loops)))
    def sizes_below(self, part: VisitedPart, loops: Sequence[LoopAbove]) -> list[Sizes]:
        """By operation, the tile of one visit below some loops; of an uneven one, of an even visit."""
        found = []
        for name, sizes, uneven in zip(part.names, part.sizes, self.uneven_below(part, loops), strict=True):
            above = {loop.dim.of(name): loop for loop in loops}
            even = {one.dim: one.step for one in uneven}
            tiles = ((dim, above[dim].tile_of(size) if dim in above else size) for dim, size in sizes)
            found.append(tuple((dim, even.get(dim, tile)) for dim, tile in tiles))
        return found

    @remembered
    def _uneven(self, names: tuple[str, ...], loop: LoopAbove) -> dict[str, Uneven] | None:
        """The uneven operations below a loop, counted once for all trees."""
        return uneven_visits(self.cascade, names, loop.dim, loop.trips, loop.passes)

    # ---- where ---------------------------------------------------------------------------------------------

    def ways(self, names: tuple[str, ...], loops: tuple[LoopAbove, ...]) -> Iterator[tuple[LoopAbove, ...]]:
        """Some loops, with all choices of memories that windowed intermediates pass in, rows kept or not."""
        windowed = next((i for i, loop in enumerate(loops) if loop.dim.uneven), None)
        if windowed is None:
            yield loops
            return
        loop, is_innermost = loops[windowed], windowed == len(loops) - 1
        options = [list(self._passes(name, loop.dim, is_innermost)) for name in loop.dim.uneven]
        for passes in itertools.product(*options):
            passed = replace(loop, passes=passes)
            if self._uneven(names, passed) is not None:
                yield (*loops[:windowed], passed, *loops[windowed + 1 :])

    def _passes(self, name: str, dim: SharedDim, is_innermost: bool) -> Iterator[Passage]:
        """Where the output of an uneven operation may pass. A memory keeps rows from step to step of the innermost loop
        alone; the outermost one has all that was ever made, and alone what no reader reads all of along other ranks."""
        operation = self.cascade.operation(name)
        tensor = operation.output.name
        readers = self.cascade.consumers[tensor]
        roles = {user.problem.tensor(tensor).role for user in (operation, *readers)}
        yield Passage(tensor, self.memories.outermost, "all")
        stepped = {i for i, ((own, _),) in enumerate(operation.output.ranks) if own == dim.of(name)}
        if not any(reads_all(reader, tensor, self.cascade.extents(tensor), stepped) for reader in readers):
            return
        for memory in self.memories.upper[1:]:
            if self.memories.may_hold(memory.name, roles):
                keeps: list[Kept] = ["last", "none"] if memory.halo != "none" and is_innermost else ["none"]
                yield from (Passage(tensor, memory.name, kept) for kept in keeps)

    def held(self, loops: Sequence[LoopAbove]) -> list[Passage]:
        """Return the intermediates that pass below some loops in memories other than the outermost."""
        return [one for loop in loops for one in loop.passes if one.memory != self.memories.outermost]

    def rooms(self, part: VisitedPart, loops: Sequence[LoopAbove]) -> tuple[Room, ...] | None:
        """By operation, the bits that intermediates which are read through windows take while it works; None where
        constraints leave them less."""
        found: list[Room] = [()] * len(part.names)
        for loop in (loop for loop in loops if loop.dim.uneven):
            visits = self._uneven(part.names, loop)
            assert visits is not None
            for name, one in zip(loop.dim.uneven, loop.passes, strict=True):
                words = self._words(part, loops, name, one, {loop.dim.of(name): visits[name].span})
                taken = self._taken(part, name, one, words)
                most = max((bits for own in taken for _, _, bits in own), default=0)
                stepped = stepped_dims(self.cascade.operation(name), part.sizes[part.names.index(name)])
                stepped |= {each.dim.of(name) for each in loops}
                tile = dict(self.sizes_below(part, loops)[part.names.index(name)])
                if not self.constraints.allow_exchange(one.tensor, one.memory, most, stepped, tile):
                    return None
                found = [(*own, *more) for own, more in zip(found, taken, strict=True)]
        return tuple(found)

    def _words(
        self, part: VisitedPart, loops: Sequence[LoopAbove], name: str, one: Passage, span: dict[str, int]
    ) -> int:
        """Words of an intermediate that its memory holds."""
        operation = self.cascade.operation(name)
        trips = {loop.dim.of(name): loop.trips for loop in loops}
        tile = {d: span.get(d, n // trips.get(d, 1)) for d, n in part.sizes[part.names.index(name)]}
        readers = self.cascade.consumers[one.tensor]
        words = words_exchanged(operation, readers, tile, frozenset(span), self.memories.arch.footprint)
        return words * self.memories.copies(one.memory, self.memories.arch.overlap == "across_operations")

    def _taken(self, part: VisitedPart, name: str, one: Passage, words: int) -> tuple[Room, ...]:
        """By operation, the bits of an intermediate: while rows are kept, in all branches; else from the one that
        writes it to the last that reads it; none in the outermost memory."""
        if one.memory == self.memories.outermost:
            return ((),) * len(part.names)
        operation, users = self.cascade.operation(name), self.placing.users(part, one.tensor)
        places = [part.names.index(user.name) for user in users]
        live = range(len(part.names)) if one.kept == "last" else range(min(places), max(places) + 1)
        found: list[Room] = []
        for place, own in enumerate(part.names):
            role = self.memories.part_for(own, users, one.tensor, one.memory)
            is_partial = (one.tensor, one.memory) in self.sums.wide and own == name
            bits = words * self.memories.width(operation, one.tensor, is_partial)
            found.append(((one.memory, role, bits),) if place in live else ())
        return tuple(found)
