"""What a mapping of operands with zeros moves, holds and computes, written from docs/sparse.md alone: every setting of
the loops is walked, and every mask that the densities allow is looked at. Nothing is taken from the cost model.

For tiles that keep nothing when they move (`halo: none`), and machines without a structure.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
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
    """

    moved: float = 0.0
    gated: float = 0.0
    filled: float = 0.0
    gated_filled: float = 0.0


@dataclass
class Oracle:
    """A mapping on a machine, with all masks of its operands, (masks, words) each."""

    mapping: Mapping
    arch: Architecture
    masks: dict[str, np.ndarray]
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
        moves = [
            n for n in timed if inner is None or (self.loops[n][1].dim in tensor.dims and self.loops[n][1].trips > 1)
        ]
        last = max(moves, default=-1)
        told_apart = [n for n in timed if n <= last]
        for n in above:
            i, loop = self.loops[n]
            if loop.is_spatial:
                shares = (
                    i > chain[place][0] and loop.dim not in tensor.dims and self.fanouts[loop.axis.fanout].multicast
                )
                told_apart += [] if shares else [n]
        found: dict[object, list[Point]] = defaultdict(list)
        for point in self.points:
            found[tuple(point[n] for n in told_apart)].append(point)
        return found

    def _words_of(self, tensor: Tensor, place: int, served: list[Point]) -> int:
        """Words of the tile that an access brings: of one instance, and one moment."""
        chain = self.chains[tensor.name]
        inner = chain[place + 1][0] if place + 1 < len(chain) else math.inf
        outside = [n for n, (i, _) in enumerate(self.loops) if i < inner]
        first = tuple(served[0][n] for n in outside)
        return len({self._word(tensor, p) for p in served if tuple(p[n] for n in outside) == first})

    def _spatial(self, tensor: Tensor, place: int) -> list[int]:
        """The loops over instances outside the inner holder of a boundary."""
        chain = self.chains[tensor.name]
        inner = chain[place + 1][0] if place + 1 < len(chain) else math.inf
        return [n for n, (i, loop) in enumerate(self.loops) if loop.is_spatial and i < inner]

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
                words = self._words_of(tensor, place, served)
                *outer, (kind, left) = causes[served[0]][: place + 1]
                before = [false_of(self._other(tensor), self.masks), *(cause for by, cause in outer if by)]
                here = ~np.logical_or.reduce(before)
                own = left if kind else np.zeros_like(here)
                moved, gated = float(np.mean(here & ~own)), float(np.mean(here & own)) * (kind == "gating")
                fills = words * len({tuple(p[n] for n in self._spatial(tensor, place)) for p in served})
                crossing.moved, crossing.gated = crossing.moved + words * moved, crossing.gated + words * gated
                crossing.filled += fills * moved
                crossing.gated_filled += fills * gated
            found.append(crossing)
        return found

    def operations(self) -> tuple[float, float, float]:
        """Done, gated, skipped."""
        done = timed = 0.0
        mac, causes = self.arch.mac, {t.name: self._causes(t) for t in self.problem.operands}
        for point in self.points:
            is_done = is_timed = 1.0
            for operand in self.problem.operands:
                if operand.name not in self.masks:
                    continue
                zero = self._zero(operand, [point])
                gated = zero & (operand.role in mac.gates)
                skipped = zero & (operand.role in mac.skips)
                for kind, left in causes[self._other(operand).name][point]:
                    gated = gated | left if kind == "gating" else gated
                    skipped = skipped | left if kind == "skipping" else skipped
                is_done *= 1.0 - float(np.mean(gated | skipped))
                is_timed *= 1.0 - float(np.mean(skipped))
            done, timed = done + is_done, timed + is_timed
        return done, timed - done, len(self.points) - timed

    # ---- what is held ----------------------------------------------------------------------------------------

    def held(self, tensor: Tensor, place: int, kind: str, block: int = 0) -> tuple[float, float, int]:
        """Of the largest tile of a holder: nonzero words and bits of metadata, on average, and the bits of the fullest
        one."""
        position, _ = self.chains[tensor.name][place]
        outside = [n for n, (i, _) in enumerate(self.loops) if i < position]
        tiles: dict[Point, set[Point]] = defaultdict(set)
        for point in self.points:
            tiles[tuple(point[n] for n in outside)].add(point)
        by_words = [sorted({self._word(tensor, p) for p in points}) for points in tiles.values()]
        n, width = max(map(len, by_words)), self.arch.width_bits(tensor)
        if kind == "uncompressed" or tensor.name not in self.masks:
            return float(n), 0.0, n * width
        masks = self.masks[tensor.name]
        most = max(int(masks[:, words].sum(axis=1).max()) for words in by_words)
        zeros = max(int((~masks[:, words]).sum(axis=1).max()) for words in by_words)
        full = next(words for words in by_words if len(words) == n)
        row = len({word % self.shape(tensor)[-1] for word in full})
        mean = n * masks.mean()

        def bits(nonzeros: float) -> float:
            each = {"coordinate": log2(n), "runs": log2(zeros + 1), "csr": log2(row), "blocks": log2(max(block, 1))}
            fixed = {"bitmask": n, "csr": (n // row + 1) * log2(most + 1)}
            return fixed.get(kind, 0) + nonzeros * each.get(kind, 0)

        return mean, bits(mean), most * width + math.ceil(bits(most))


def false_of(other: Tensor, masks: dict[str, np.ndarray]) -> np.ndarray:
    """No mask of an operand, or of one without zeros."""
    return np.zeros(len(masks[other.name]) if other.name in masks else 1, dtype=bool)


def log2(values: int) -> int:
    """Bits that tell so many values apart."""
    return math.ceil(math.log2(values)) if values > 1 else 0
