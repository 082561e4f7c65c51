"""What a mapping of operands with zeros moves, holds, computes and takes, written from docs/sparse.md and
docs/cost-model.md alone: every setting of the loops is walked, and every mask that the densities allow is looked at.
Nothing is taken from the cost model.

For tiles that keep nothing when they move (`halo: none`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from tilewright.arch import Architecture, Memory
from tilewright.ir import Loop, Mapping, Node, Tensor

Point = tuple[int, ...]
"""A setting of all loops, outermost first."""


def uniform_masks(words: int, fraction: float) -> np.ndarray:
    """(masks, words) every set of as many words."""
    count = max(1, math.ceil(fraction * words - 1e-9))
    found = np.zeros((math.comb(words, count), words), dtype=bool)
    for row, chosen in enumerate(itertools.combinations(range(words), count)):
        found[row, list(chosen)] = True
    return found


def block_masks(shape: tuple[int, ...], kept: int, block: int, rank: int) -> np.ndarray:
    """(masks, words) of every `block` neighbours along a rank any `kept`; the last block may be shorter."""
    blocks = defaultdict(list)
    for number, place in enumerate(itertools.product(*map(range, shape))):
        blocks[(*place[:rank], place[rank] // block, *place[rank + 1 :])].append(number)
    ways = [list(itertools.combinations(words, min(kept, len(words)))) for words in blocks.values()]
    found = np.zeros((math.prod(map(len, ways)), math.prod(shape)), dtype=bool)
    for row, chosen in enumerate(itertools.product(*ways)):
        found[row, list(itertools.chain(*chosen))] = True
    return found


@dataclass
class Crossing:
    """What passes between two holders of an operand, words: means over all masks.

    moved, gated  served by the outer one
    filled, gated_filled  of them, given to the instances of the inner one
    served, given  all of them without zeros, by instance of the outer and of the inner one
    """

    moved: float = 0.0
    gated: float = 0.0
    filled: float = 0.0
    gated_filled: float = 0.0
    served: Counter[Point] = field(default_factory=Counter)
    given: Counter[Point] = field(default_factory=Counter)

    @property
    def busiest_served(self) -> float:
        """Words that take time at the busiest instance of the outer holder: work is spread evenly."""
        return max(self.served.values()) * (self.moved + self.gated) / self.served.total()

    @property
    def busiest_given(self) -> float:
        """The same of the inner one."""
        return max(self.given.values()) * (self.filled + self.gated_filled) / self.given.total()


@dataclass
class Port:
    """Bits of one tensor through the ports of a memory: those that cost energy, and those that take time at the busiest
    instance."""

    reads: float = 0.0
    writes: float = 0.0
    timed_reads: float = 0.0
    timed_writes: float = 0.0


@dataclass
class Sums:
    """Words of the output at one holder, by instance, as if there were no zeros; `last` are those that carry all
    products.

    supplied, collected  read for what lies inside, or to accumulate; written from inside
    drained, filled      read on their way out; written from outside
    """

    supplied: Counter[Point] = field(default_factory=Counter)
    collected: Counter[Point] = field(default_factory=Counter)
    drained: Counter[Point] = field(default_factory=Counter)
    filled: Counter[Point] = field(default_factory=Counter)
    last_collected: Counter[Point] = field(default_factory=Counter)
    last_drained: Counter[Point] = field(default_factory=Counter)

    def wide(self, wide: int, narrow: int) -> tuple[Counter[Point], Counter[Point]]:
        """Bits that leave outwards, and that come from inside: words that carry all products are narrower."""
        return tuple(
            Counter({at: all_[at] * wide - last[at] * (wide - narrow) for at in all_})
            for all_, last in ((self.drained, self.last_drained), (self.collected, self.last_collected))
        )


@dataclass
class Oracle:
    """A mapping on a machine, with all masks of its operands, (masks, words) each.

    blocks  of operands whose density is N:M, these two and the rank that is cut into blocks
    """

    mapping: Mapping
    arch: Architecture
    masks: dict[str, np.ndarray]
    blocks: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    _empty: dict[object, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        items = self.mapping.nest.items
        self.problem = self.mapping.problem
        self.loops = [(i, item) for i, item in enumerate(items) if isinstance(item, Loop)]
        self.points = [p for p in itertools.product(*(range(loop.trips) for _, loop in self.loops)) if self._works(p)]
        self.fanouts = {fanout.name: fanout for fanout in self.arch.fanouts}
        self.chains: dict[str, list[tuple[int, Memory]]] = defaultdict(list)
        for i, item in enumerate(items):
            if isinstance(item, Node):
                memory = next(m for m in self.arch.memories if m.name == item.memory)
                self.chains[item.tensor].append((i, memory))

    # ---- where a setting is ----------------------------------------------------------------------------------

    def _indices(self, point: Point) -> dict[str, int]:
        found = dict.fromkeys(self.problem.sizes, 0)
        for (_, loop), digit in zip(self.loops, point, strict=True):
            found[loop.dim] = found[loop.dim] * loop.trips + digit
        return found

    def _works(self, point: Point) -> bool:
        return all(index < self.problem.sizes[dim] for dim, index in self._indices(point).items())

    def shape(self, tensor: Tensor) -> tuple[int, ...]:
        return tuple(sum(c * (self.problem.sizes[dim] - 1) for dim, c in rank) + 1 for rank in tensor.ranks)

    def _word(self, tensor: Tensor, point: Point) -> int:
        """The number of the word that a setting works on."""
        index, number = self._indices(point), 0
        for rank, extent in zip(tensor.ranks, self.shape(tensor), strict=True):
            number = number * extent + sum(c * index[dim] for dim, c in rank)
        return number

    # ---- accesses --------------------------------------------------------------------------------------------

    def accesses(self, tensor: Tensor, place: int) -> dict[object, list[Point]]:
        """Of the boundary inside a holder, the settings that each access serves: those of a stay, which lasts until a
        loop in time moves the tile (at the MAC, of one step), in all instances that share it."""
        chain = self.chains[tensor.name]
        inner = chain[place + 1][0] if place + 1 < len(chain) else None
        above = [n for n, (i, _) in enumerate(self.loops) if inner is None or i < inner]
        timed = [n for n in above if not self.loops[n][1].is_spatial]
        moves = [n for n in timed if inner is None or self._moves(self.loops[n][1], tensor)]
        last = max(moves, default=-1)
        told_apart = [n for n in timed if n <= last]
        for n in above:
            i, loop = self.loops[n]
            if loop.is_spatial:
                fanout = self.fanouts[loop.axis.fanout]
                joins = fanout.spatial_reduction if tensor.is_output else fanout.multicast
                shares = i > chain[place][0] and loop.dim not in tensor.dims and joins
                told_apart += [] if shares else [n]
        found: dict[object, list[Point]] = defaultdict(list)
        for point in self.points:
            found[tuple(point[n] for n in told_apart)].append(point)
        return found

    def _moves(self, loop: Loop, tensor: Tensor) -> bool:
        """Whether a tile is brought again when a loop in time steps."""
        return loop.trips > 1 and (loop.dim in tensor.dims or self.arch.reuse == "at_node")

    def _words_of(self, tensor: Tensor, place: int, served: list[Point]) -> frozenset[int]:
        """Words of the tile that an access brings: of one instance, and one moment."""
        chain = self.chains[tensor.name]
        inner = chain[place + 1][0] if place + 1 < len(chain) else math.inf
        outside = [n for n, (i, _) in enumerate(self.loops) if i < inner]
        first = tuple(served[0][n] for n in outside)
        return frozenset(self._word(tensor, p) for p in served if tuple(p[n] for n in outside) == first)

    def _instances(self, tensor: Tensor, place: int, served: list[Point]) -> set[Point]:
        """The instances of a holder, or MACs, that an access has to do with."""
        chain = self.chains[tensor.name]
        position = chain[place][0] if place < len(chain) else math.inf
        loops = [n for n, (i, loop) in enumerate(self.loops) if loop.is_spatial and i < position]
        return {tuple(p[n] for n in loops) for p in served}

    def _zero(self, tensor: Tensor, served: list[Point]) -> np.ndarray:
        """(masks,) whether all words of a tensor are zero that some settings work on."""
        words = frozenset(self._word(tensor, p) for p in served)
        if (tensor.name, words) not in self._empty:
            self._empty[tensor.name, words] = ~self.masks[tensor.name][:, sorted(words)].any(axis=1)
        return self._empty[tensor.name, words]

    def _saving(self, memory: Memory, tensor: Tensor, other: Tensor) -> str | None:
        if other.name not in self.masks:
            return None
        if other.role in memory.skips.get(tensor.role, ()):
            return "skipping"
        return "gating" if other.role in memory.gates.get(tensor.role, ()) else None

    def _other(self, tensor: Tensor) -> Tensor:
        return next(each for each in self.problem.operands if each is not tensor)

    def _causes(self, tensor: Tensor) -> dict[Point, list[tuple[str, np.ndarray]]]:
        """For every setting, by the boundaries of an operand from the outside in, what leaves out its words there, and
        for which masks of the other operand."""
        other, found = self._other(tensor), defaultdict(list)
        for place, (_, memory) in enumerate(self.chains[tensor.name]):
            kind = self._saving(memory, tensor, other)
            for served in self.accesses(tensor, place).values():
                left = self._zero(other, served) if kind else None
                for point in served:
                    found[point].append((kind, left))
        return found

    def crossings(self, tensor: Tensor) -> list[Crossing]:
        """Per holder of an operand, what passes further in."""
        causes, found = self._causes(tensor), []
        for place in range(len(self.chains[tensor.name])):
            crossing = Crossing()
            for served in self.accesses(tensor, place).values():
                words = len(self._words_of(tensor, place, served))
                *outer, (kind, left) = causes[served[0]][: place + 1]
                before = [false_of(self._other(tensor), self.masks), *(cause for by, cause in outer if by)]
                here = ~np.logical_or.reduce(before)
                own = left if kind else np.zeros_like(here)
                moved, gated = float(np.mean(here & ~own)), float(np.mean(here & own)) * (kind == "gating")
                givers, takers = (self._instances(tensor, at, served) for at in (place, place + 1))
                crossing.served.update(dict.fromkeys(givers, words))
                crossing.given.update(dict.fromkeys(takers, words))
                crossing.moved, crossing.gated = crossing.moved + words * moved, crossing.gated + words * gated
                crossing.filled += words * len(takers) * moved
                crossing.gated_filled += words * len(takers) * gated
            found.append(crossing)
        return found

    def operations(self) -> tuple[float, float, float]:
        """Done, gated, skipped."""
        chances = [self._chances(operand) for operand in self.problem.operands if operand.name in self.masks]
        done, timed = (sum(math.prod(1.0 - by[p][which] for by in chances) for p in self.points) for which in (0, 1))
        return done, timed - done, len(self.points) - timed

    def _chances(self, operand: Tensor) -> dict[Point, tuple[float, float]]:
        """For every setting, the chances that its operation is left out for the zeros of an operand, and that it is
        skipped."""
        mac, causes, found = self.arch.mac, self._causes(self._other(operand)), {}
        skips = operand.role in mac.skips
        for point in self.points:
            zero = self._zero(operand, [point])
            gated, skipped = zero & (operand.role in mac.gates), zero & (skips and mac.structure is None)
            for kind, left in causes[point]:
                gated = gated | left if kind == "gating" else gated
                skipped = skipped | left if kind == "skipping" else skipped
            found[point] = float(np.mean(gated | skipped)), float(np.mean(skipped))
        if not skips or mac.structure is None or operand.name not in self.blocks:
            return found
        halved, means = self._halved(operand), self._along_blocks(operand, found)
        return {point: (max(halved, left), max(halved, skipped)) for point, (left, skipped) in means.items()}

    def _along_blocks(
        self, operand: Tensor, chances: dict[Point, tuple[float, float]]
    ) -> dict[Point, tuple[float, ...]]:
        """Chances as means along the rank that is cut into blocks."""
        ((dim, _),) = operand.ranks[self.blocks[operand.name][2]]
        lines: dict[object, list[Point]] = defaultdict(list)
        for point in chances:
            lines[tuple(index for name, index in self._indices(point).items() if name != dim)].append(point)
        found = {}
        for points in lines.values():
            mean = tuple(float(np.mean(part)) for part in zip(*(chances[p] for p in points), strict=True))
            found.update(dict.fromkeys(points, mean))
        return found

    def _halved(self, operand: Tensor) -> float:
        """The part of all operations that units skip which take N of every M neighbours of an operand, if no M of them
        are more than N, however long its lines are; no more than its zeros, of which a padded block has fewer."""
        takes, of = self.arch.mac.structure
        if operand.name not in self.blocks:
            return 0.0
        kept, block, _ = self.blocks[operand.name]
        lines = block_masks((math.lcm(of, block),), kept, block, 0)
        fits = lines.reshape(len(lines), -1, of).sum(axis=-1).max() <= takes
        return min(1.0 - takes / of, 1.0 - float(self.masks[operand.name].mean())) if fits else 0.0

    # ---- what is held ----------------------------------------------------------------------------------------

    def kind(self, tensor: Tensor, place: int) -> str:
        """How a holder has an operand: in the one format that it names; `blocks` are for N:M alone."""
        _, memory = self.chains[tensor.name][place]
        (kind,) = memory.formats.get(tensor.role, ("uncompressed",))
        return "uncompressed" if kind == "blocks" and tensor.name not in self.blocks else kind

    def held(self, tensor: Tensor, place: int) -> tuple[int, float, float, int]:
        """Of the largest tile of a holder: words; nonzero ones and bits of metadata, on average; and the bits of the
        fullest one."""
        position, _ = self.chains[tensor.name][place]
        kind, (_, block, _) = self.kind(tensor, place), self.blocks.get(tensor.name, (1, 1, 0))
        outside = [n for n, (i, _) in enumerate(self.loops) if i < position]
        tiles: dict[Point, set[Point]] = defaultdict(set)
        for point in self.points:
            tiles[tuple(point[n] for n in outside)].add(point)
        by_words = [sorted({self._word(tensor, p) for p in points}) for points in tiles.values()]
        n, width = max(map(len, by_words)), self.arch.width_bits(tensor)
        if kind == "uncompressed" or tensor.name not in self.masks:
            return n, float(n), 0.0, n * width
        masks = self.masks[tensor.name]
        most = max(int(masks[:, words].sum(axis=1).max()) for words in by_words)
        zeros = max(int((~masks[:, words]).sum(axis=1).max()) for words in by_words)
        full = next(words for words in by_words if len(words) == n)
        row = len({word % self.shape(tensor)[-1] for word in full})
        mean = n * masks.mean()

        def bits(nonzeros: float) -> float:
            each = {"coordinate": log2(n), "runs": log2(zeros + 1), "csr": log2(row), "blocks": log2(block)}
            fixed = {"bitmask": n, "csr": (n // row + 1) * log2(most + 1)}
            return fixed.get(kind, 0) + nonzeros * each.get(kind, 0)

        return n, mean, bits(mean), most * width + math.ceil(bits(most))

    # ---- outputs ---------------------------------------------------------------------------------------------

    def sums(self) -> list[Sums]:
        """Per holder of the output, words without zeros (docs/cost-model.md, "Partial sums")."""
        output, elides = self.problem.output, self.arch.first_read_elision
        chain = self.chains[output.name]
        found = [Sums() for _ in chain]
        for place in range(len(chain)):
            arrived: dict[Point, set[int]] = defaultdict(set)
            visited: dict[Point, set[frozenset[int]]] = defaultdict(set)
            for served in self.accesses(output, place).values():
                words = self._words_of(output, place, served)
                (outer,) = self._instances(output, place, served)
                found[place].collected[outer] += len(words)
                found[place].supplied[outer] += len(words & arrived[outer] if elides else words)
                arrived[outer] |= words
                for inner in self._instances(output, place + 1, served) if place + 1 < len(chain) else ():
                    found[place + 1].filled[inner] += len(words) * (words in visited[inner] or not elides)
                    found[place + 1].drained[inner] += len(words) * self.arch.inner_drain_read
                    visited[inner].add(words)
            if self._knows_last(place):
                found[place].last_collected.update({at: len(words) for at, words in arrived.items()})
            if place + 1 < len(chain) and self._knows_last(place + 1) and self.arch.inner_drain_read:
                for inner, tiles in visited.items():
                    found[place + 1].last_drained[inner] = sum(map(len, tiles))
        return found

    def _knows_last(self, place: int) -> bool:
        """Whether a holder of the output knows which words carry all products: not next to the MAC, nor where
        instances hold parts of the same sums."""
        output = self.problem.output
        position, _ = self.chains[output.name][place]
        parts = any(
            loop.is_spatial and i < position and loop.trips > 1 and loop.dim not in output.dims
            for i, loop in self.loops
        )
        return place + 1 < len(self.chains[output.name]) and not parts

    def saved_updates(self) -> tuple[float, float]:
        """Of what passes between the MACs and the innermost holder of the output: the parts that are left out, and
        that are gated. What would save less than the other, gating or skipping, does nothing."""
        output = self.problem.output
        place = len(self.chains[output.name]) - 1
        _, memory = self.chains[output.name][place]
        chances = dict.fromkeys(("gating", "skipping"), 0.0)
        accesses = self.accesses(output, place).values()
        for kind, by_role in (("gating", memory.gates), ("skipping", memory.skips)):
            deciding = [
                each
                for each in self.problem.operands
                if each.role in by_role.get(output.role, ()) and each.name in self.masks
            ]
            for served in accesses:
                useful = math.prod(1.0 - float(np.mean(self._zero(each, served))) for each in deciding)
                chances[kind] += (1.0 - useful) / len(accesses)
        left = max(chances.values())
        return left, left if chances["gating"] > chances["skipping"] else 0.0

    # ---- energy and time -------------------------------------------------------------------------------------

    def operand_port(self, tensor: Tensor, place: int) -> Port:
        """Bits of an operand through the ports of a holder, metadata in proportion."""
        words, stored, metadata, _ = self.held(tensor, place)
        per_word, crossings = (stored * self.arch.width_bits(tensor) + metadata) / words, self.crossings(tensor)
        own, found = crossings[place], Port()
        found.reads = own.moved * per_word
        found.timed_reads = own.busiest_served * per_word
        if place:
            before = crossings[place - 1]
            found.writes = before.filled * per_word
            found.timed_writes = before.busiest_given * per_word
        return found

    def output_port(self, place: int) -> Port:
        """Bits of the output through the ports of a holder: what passes to and from the MACs is left out in part."""
        output = self.problem.output
        wide, narrow = self.arch.partial_width_bits(output), self.arch.width_bits(output)
        sums = self.sums()[place]
        drained, collected = sums.wide(wide, narrow)
        left, gated = self.saved_updates() if place + 1 == len(self.chains[output.name]) else (0.0, 0.0)
        moved, timed = 1.0 - left, 1.0 - left + gated

        def busiest(inside: Counter[Point], outside: Counter[Point]) -> float:
            return max((inside[at] * timed + outside[at] for at in {*inside, *outside}), default=0.0)

        supplied = Counter({at: words * wide for at, words in sums.supplied.items()})
        filled = Counter({at: words * wide for at, words in sums.filled.items()})
        return Port(
            reads=supplied.total() * moved + drained.total(),
            writes=collected.total() * moved + filled.total(),
            timed_reads=busiest(supplied, drained),
            timed_writes=busiest(collected, filled),
        )

    def cost(self) -> tuple[float, float]:
        """Energy, pJ, and latency, cycles: docs/cost-model.md, with operations and words that zeros leave."""
        mac, energy, added = self.arch.mac, 0.0, 0.0
        done, gated, _ = self.operations()
        timed = [n for n, (_, loop) in enumerate(self.loops) if not loop.is_spatial]
        steps = len({tuple(p[n] for n in timed) for p in self.points})
        slowest = steps / mac.per_cycle * (done + gated) / len(self.points)
        for memory in self.arch.memories:
            ports = []
            for tensor in self.problem.tensors:
                for place, (_, holder) in enumerate(self.chains[tensor.name]):
                    if holder.name == memory.name:
                        ports.append(self.output_port(place) if tensor.is_output else self.operand_port(tensor, place))
            reads, writes = sum(p.timed_reads for p in ports), sum(p.timed_writes for p in ports)
            rates = ((reads + writes, memory.shared_bits_per_cycle), (reads, memory.read_bits_per_cycle))
            rates += ((writes, memory.write_bits_per_cycle),)
            cycles = max(bits / rate if rate else 0.0 for bits, rate in rates)
            slowest, added = (max(slowest, cycles), added) if memory.overlaps else (slowest, added + cycles)
            for port in ports:
                bits = port.reads * memory.read_energy_pj + port.writes * memory.write_energy_pj
                energy += bits / memory.access_bits
        latency = slowest + added
        leaks = self.arch.leakage_pj_per_cycle + mac.leakage_pj_per_cycle * self.arch.mac_instances
        leaks += sum(m.leakage_pj_per_cycle * self.arch.instances(m.name) for m in self.arch.memories)
        return energy + done * mac.energy_pj + leaks * latency, latency


def false_of(other: Tensor, masks: dict[str, np.ndarray]) -> np.ndarray:
    """No mask of an operand, or of one without zeros."""
    return np.zeros(len(masks[other.name]) if other.name in masks else 1, dtype=bool)


def log2(values: int) -> int:
    """Bits that tell so many values apart."""
    return math.ceil(math.log2(values)) if values > 1 else 0
