"""The cost of nodes above a split, for one visit of the split: the words between them and the homes of their
tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ....arch import Architecture
from ....cost_models.boundaries import chains_of
from ....cost_models.cascades import kinds_of_visits
from ....cost_models.closed_form import Nest
from ....cost_models.cost import Cost, tensor_tile_words
from ....cost_models.passing import sum_bits_at_inner, sum_bits_at_outer
from ....cost_models.sets import is_plain
from ....ir import Cascade, Loop, LoopNest, Mapping, Node, Problem, Role, Tensor, ceil_div
from ...kernel.remembered import remembered
from .branch import Busy, Sizes


class LoopOver(NamedTuple):
    """A loop above a split, over one operation's dimension; `tile`: elements of a step, where the last one has
    fewer."""

    dim: str
    trips: int
    tile: int | None = None


Loops = tuple[LoopOver, ...]
"""Outermost first."""

Chain = tuple[tuple[str, int], ...]
"""Memories that keep a tensor above a split, outermost first, and how many of the split's loops stand above each."""


class Around(NamedTuple):
    """The surroundings of a split: the loops above it, and the homes of tensors.

    home   the memory of the innermost node above its loops
    again  visits of the split that add to one tile of an output
    over   by dimension of which the last visit of the split is shorter, elements of all visits. Costs are means
    """

    home: str
    again: int
    over: Sizes = ()


@dataclass(frozen=True)
class UpperCost:
    """The cost of one tensor's nodes above a split, for one visit of all loops above it.

    energy_pj  of the words that pass
    busy       bits read and written, by memory
    words      of the tile at each node
    stays      per node, whether one tile lasts for the whole visit of the split
    """

    energy_pj: float
    busy: Busy
    words: tuple[int, ...]
    stays: tuple[bool, ...]


@dataclass
class UpperNodes:
    """The nodes above splits of one cascade on one machine."""

    cascade: Cascade
    arch: Architecture

    def __post_init__(self) -> None:
        self._memories = {memory.name: memory for memory in self.arch.memories}
        self._next_to_macs = self._last_for("output")

    def _last_for(self, role: Role) -> str:
        """The innermost memory that may keep a role."""
        return next((one.name for one in reversed(self.arch.memories) if one.keeps[role] != "never"), "")

    def cost(self, operation: str, tensor: str, sizes: Sizes, loops: Loops, chain: Chain, around: Around) -> UpperCost:
        """Return the cost of a tensor's nodes, by the operation that reads or writes it.

        sizes  of the operation's tile in a visit of the split
        loops  above the split, over the operation's dimensions
        """
        above = loops[: max((depth for _, depth in chain), default=0)]
        used = self.cascade.operation(operation).problem.tensor(tensor)
        named = used.dims | {loop.dim for loop in above}
        over = tuple((dim, whole) for dim, whole in around.over if dim in named or used.is_output)
        named |= {dim for dim, _ in over}
        relevant = tuple((dim, size if dim in named else 1) for dim, size in sizes)
        return self._cost(operation, tensor, relevant, above, chain, around._replace(over=over))

    @remembered
    def _cost(self, operation: str, tensor: str, sizes: Sizes, loops: Loops, chain: Chain, around: Around) -> UpperCost:
        """What `cost` returns, by what matters."""
        is_ragged = around.over or any(loop.tile is not None for loop in loops)
        is_simple = not is_ragged and self._is_simple(operation, tensor, sizes, loops, chain)
        return (self._products if is_simple else self.counted)(operation, tensor, sizes, loops, chain, around)

    def _is_simple(self, operation: str, tensor: str, sizes: Sizes, loops: Loops, chain: Chain) -> bool:
        """Whether what passes is a product of sizes and trips: tiles do not differ, and where they overlap, either all
        of it is transferred again, or nothing along the loop that a tile slides along."""
        one, whole = self.cascade.operation(operation).problem.tensor(tensor), dict(sizes)
        stepped = {loop.dim for loop in loops}
        plain = all(is_plain(rank, self.arch.footprint) or not stepped & {dim for dim, _ in rank} for rank in one.ranks)
        return (
            (one.is_output or all(self._memories[memory].halo != "exact" for memory, _ in chain))
            and (plain or self._slides_simply(one, whole, loops, chain))
            and all(whole[loop.dim] % loop.trips == 0 for loop in loops)
            and not any(memory.block_bits for memory in self.arch.memories)
        )

    def _slides_simply(self, tensor: Tensor, sizes: dict[str, int], loops: Loops, chain: Chain) -> bool:
        """Whether what a tile has not yet, where it slides along a loop, is what it adds to all that it has seen there:
        neither it nor what it passes over has gaps."""
        tiles = [tile for memory, depth in chain for tile in self._tiles(tensor, sizes, loops[:depth], memory)]
        gaps = any(tensor_tile_words(tensor, t, "exact") != tensor_tile_words(tensor, t, "box") for t in tiles)
        return not tensor.is_output and not gaps

    def _tiles(
        self, tensor: Tensor, sizes: dict[str, int], loops: Loops, memory: str
    ) -> tuple[dict[str, int], dict[str, int]]:
        """The tile at a node below some loops, and all that it passes over as it slides along one of them; or itself
        once more."""
        above = {loop.dim: loop.trips for loop in loops}
        tile = {dim: size // above.get(dim, 1) for dim, size in sizes.items()}
        moving = [loop.dim for loop in loops if self.arch.loop_moves(loop.dim, tensor)]
        slides = self._memories[memory].halo != "none" and moving and moving[-1] in tensor.dims
        return tile, {**tile, moving[-1]: sizes[moving[-1]]} if slides else tile

    def _products(
        self, operation: str, tensor: str, sizes: Sizes, loops: Loops, chain: Chain, around: Around
    ) -> UpperCost:
        """What `counted` says of a simple tensor: a tile passes as often as loops above step, but for those inside the
        last one that makes a tile be transferred again; what it slides over passes once for all steps of that loop."""
        one = self.cascade.operation(operation).problem.tensor(tensor)
        outer, energy = around.home, 0.0
        read, written, words, stays = dict[str, float](), dict[str, float](), [], []
        for memory, depth in chain:
            moving = [i for i, loop in enumerate(loops[:depth]) if self.arch.loop_moves(loop.dim, one)]
            tile, passed = self._tiles(one, dict(sizes), loops[:depth], memory)
            words.append(tensor_tile_words(one, tile, self.arch.footprint))
            outside = moving[-1] + (passed is tile) if moving else 0
            moved = tensor_tile_words(one, passed, self.arch.footprint) * math.prod(
                loop.trips for loop in loops[:outside]
            )
            stays.append(not moving)
            distinct = tensor_tile_words(one, dict(sizes), self.arch.footprint)
            for name, (reading, writing) in self._passing(one, outer, memory, moved, distinct / around.again):
                read[name] = read.get(name, 0.0) + reading
                written[name] = written.get(name, 0.0) + writing
                level = self._memories[name]
                energy += (reading * level.read_energy_pj + writing * level.write_energy_pj) / level.access_bits
            outer = memory
        busy = tuple((name, one.role, read[name], written[name]) for name in read if read[name] or written[name])
        return UpperCost(energy, busy, tuple(words), tuple(stays))

    def _passing(
        self, tensor: Tensor, outer: str, inner: str, words: int, first: float
    ) -> tuple[tuple[str, tuple[float, float]], ...]:
        """Bits that two memories read and write for words that pass between them; `first`: the first visits of partial
        sums that no other visits have added to, as many as the last ones that finish them."""
        if not tensor.is_output:
            bits = float(self.arch.width_bits(tensor) * words)
            return (outer, (bits, 0.0)), (inner, (0.0, bits))
        visits, once = (np.array([number], dtype=np.float64) for number in (words, first))
        # Where MACs add to words in a memory, they leave it unfinished.
        finished = once if inner != self._next_to_macs else 0 * once
        sides = (outer, sum_bits_at_outer, once), (inner, sum_bits_at_inner, finished)
        return tuple(
            (name, tuple(float(bits[0]) for bits in bits_at(self.arch, tensor, visits, once, done)))  # type: ignore[misc]
            for name, bits_at, done in sides
        )

    def counted(
        self, operation: str, tensor: str, sizes: Sizes, loops: Loops, chain: Chain, around: Around
    ) -> UpperCost:
        """Return what `cost` returns, by the cost model of one operation."""
        own, home, whole = self.cascade.operation(operation), around.home, dict(around.over)
        dims = tuple((dim, whole.get(dim, size)) for dim, size in sizes)
        problem = Problem(own.name, dims, own.problem.tensors)
        items: list[Loop | Node] = [Node(home, tensor)]
        items += [Node(self.arch.memories[0].name, t.name) for t in problem.tensors if t.name != tensor]
        outside = [Loop(dim, ceil_div(whole[dim], size)) for dim, size in sizes if dim in whole]
        items += outside
        start, mean = len(items), 1 / math.prod(loop.trips for loop in outside)
        for depth in range(len(loops) + 1):
            items += [Node(memory, tensor) for memory, at in chain if at == depth]
            items += [Loop(loops[depth].dim, loops[depth].trips)] if depth < len(loops) else []
        below = dict(sizes)
        for loop in loops:
            below[loop.dim] = ceil_div(below[loop.dim], loop.trips) if loop.tile is None else loop.tile
        items += [Loop(dim, size) for dim, size in below.items() if size > 1]
        # Words leave a node finished unless the MACs add to them there: here a memory inside has them, if there is one.
        innermost = self._next_to_macs if own.output.name == tensor else self.arch.memories[-1].name
        if innermost not in {home, *(memory for memory, _ in chain)}:
            items.append(Node(innermost, tensor))
        mapping = Mapping(problem, LoopNest(tuple(items)))
        inside = [b for b in chains_of(mapping, self.arch) if b.tensor.name == tensor][: len(chain)]
        visits = kinds_of_visits(mapping, self.arch, tuple(inside), around.again, start)
        nest = Nest.of(mapping, self.arch, (0, start))
        positions = mapping.nest.node_positions(tensor)[1 : len(chain) + 1]
        written = problem.tensor(tensor)
        return UpperCost(
            mean * sum(share * _moving_pj(cost) for share, cost in visits),
            _mean_bits(written.role, visits, mean),
            tuple(_tile_words(mapping, position, tensor, self.arch) for position in positions),
            tuple(nest.innermost_serving(written, position) < start for position in positions),
        )


def _moving_pj(cost: Cost) -> float:
    """Energy of words on their way, apart from what computes and what leaks."""
    return sum(use.energy_pj for use in cost.memories) + sum(hops.energy_pj for hops in cost.networks)


def _mean_bits(role: Role, visits: tuple[tuple[float, Cost], ...], mean: float) -> Busy:
    """Bits of a role that each memory reads and writes for a visit, in the mean; `mean`: of how many visits each is."""
    bits: dict[str, list[float]] = {}
    for share, cost in visits:
        for use in cost.memories:
            moved = bits.setdefault(use.name, [0.0, 0.0])
            moved[0] += mean * share * use.read_bits
            moved[1] += mean * share * use.write_bits
    return tuple((name, role, read, written) for name, (read, written) in bits.items() if read or written)


def _tile_words(mapping: Mapping, position: int, tensor: str, arch: Architecture) -> int:
    tile = dict.fromkeys(mapping.problem.dim_names, 1)
    for item in reversed(mapping.nest.items[position:]):
        if isinstance(item, Loop):
            tile[item.dim] = min(mapping.problem.sizes[item.dim], tile[item.dim] * item.trips)
    return tensor_tile_words(mapping.problem.tensor(tensor), tile, arch.footprint)
