"""Tiles that constraints fix, compared with capacities: what does not fit is known before anything is searched."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...arch import Architecture, Fanout, Memory
from ...arch.units import size_words
from ...cost_models.cost import Part, capacity_parts, held_width_bits, tensor_tile_words
from ...ir import InfeasibleError, Problem, Tensor, ceil_div
from ..space import Space
from .constraints import ANY, Constraints, Range


def fixed_tiles_error(
    problem: Problem, arch: Architecture, constraints: Constraints, space: Space
) -> InfeasibleError | None:
    """The error that says which tiles are too large for their memory in every mapping that keeps the constraints; None
    where the constraints leave tiles that fit, or where that takes a search to know."""
    if constraints.is_free or problem.has_zeros:  # what a tile with zeros takes is a mean
        return None
    tiles = _Tiles(problem, arch, constraints, space)
    for memory in arch.memories[1:]:
        for part in capacity_parts(memory):
            held = {t: tiles.bits(memory, t) for t in problem.tensors if t.role in part.roles}
            kept = {t: bits for t, bits in held.items() if tiles.must_keep(memory, t)}
            if sum(kept.values()) > part.bits:
                return tiles.error(part, kept)
    return None


@dataclass(frozen=True)
class _Tiles:
    """The least and the most elements of the tiles that constraints leave.

    In the uneven space a node may stand below loops of its own memory and of those further in: there only fanouts are
    known to stand inside a tile.
    """

    problem: Problem
    arch: Architecture
    constraints: Constraints
    space: Space

    def must_keep(self, memory: Memory, tensor: Tensor) -> bool:
        """Whether every mapping has a tile of the tensor there."""
        return self.constraints.keeps.get((memory.name, tensor.name), memory.keeps[tensor.role] == "must")

    def bits(self, memory: Memory, tensor: Tensor, most: bool = False) -> int:
        """What the smallest tile takes, or the largest, with its second copy."""
        spans = {dim: self._span(memory, dim)[most] for dim in self.problem.dim_names}
        words = tensor_tile_words(tensor, spans, self.arch.footprint)
        return words * held_width_bits(self.arch, memory, tensor) * (2 if memory.double_buffered else 1)

    def error(self, part: Part, kept: Mapping[Tensor, int]) -> InfeasibleError:
        """What does not fit, and which constraints would have to give way."""
        memory, needed = part.memory, size_words(sum(kept.values()))
        fixed = all(self.bits(memory, tensor, most=True) == bits for tensor, bits in kept.items())
        too_large = [tensor for tensor, bits in kept.items() if bits > part.bits]
        named = too_large or [tensor for tensor, bits in kept.items() if bits]
        sizes = [f"{tensor.name} of {'' if fixed else 'at least '}{size_words(kept[tensor])}" for tensor in named]
        first, *rest = sizes
        tiles = f"tiles of {', '.join(sizes[:-1])} and {sizes[-1]}" if rest and not too_large else f"a tile of {first}"
        together = "" if too_large else f", {needed} together"
        others = "".join(f", and one of {one}" for one in rest) if too_large else ""
        at_work = "; ".join(self._at_work(memory, named))
        return InfeasibleError(
            f"constraints fix {tiles} at {memory.name}{together}, capacity {size_words(part.bits)}{others}",
            where=self.constraints.name,
            hint=f"relax one of these: {at_work}; or give {memory.name} at least {needed}",
        )

    def _at_work(self, memory: Memory, tensors: Sequence[Tensor]) -> Iterator[str]:
        """The constraints, in words, that make the least tiles of some tensors as large as they are."""
        dims = dict.fromkeys(dim for tensor in tensors for rank in tensor.ranks for dim, _ in rank)
        inside_levels = set(self._levels(memory, inside=True))
        for dim in dims:
            if self._span(memory, dim)[0] == 1:
                continue
            by_inside = self._trips(memory, dim, inside=True)[0] >= self._span(memory, dim)[0]
            for single in self.constraints.singles():
                spans = [(at[0], at[-1], span) for at, span in (*single.temporal.items(), *single.spatial.items())]
                for level, of, (least, most) in spans:
                    is_inside = level in inside_levels
                    if of == dim and is_inside == by_inside and (least > 1 if is_inside else most is not None):
                        yield single.name

    def _span(self, memory: Memory, dim: str) -> tuple[int, int]:
        """The least and the most elements of a dimension in a tile of a memory."""
        size = self.problem.sizes[dim]
        inside, outside = self._trips(memory, dim, inside=True), self._trips(memory, dim, inside=False)
        least = max(inside[0], 1 if outside[1] is None else ceil_div(size, outside[1]))
        return min(size, least), size if inside[1] is None else min(size, inside[1])

    def _trips(self, memory: Memory, dim: str, inside: bool) -> Range:
        """How many trips the loops over a dimension have together on one side of the tiles of a memory."""
        ranges = [self._range(level, dim) for level in self._levels(memory, inside)]
        least = math.prod(one[0] for one in ranges)
        mosts = [one[1] for one in ranges if one[1] is not None]
        return least, math.prod(mosts) if len(mosts) == len(ranges) and self._is_even else None

    @property
    def _is_even(self) -> bool:
        return self.space == "even"

    def _levels(self, memory: Memory, inside: bool) -> tuple[str, ...]:
        """Names of the levels whose loops all stand on one side of the tiles of a memory."""
        place = self.arch.depth[memory.name]
        levels = self.arch.levels[place:] if inside else self.arch.levels[:place]
        return tuple(level.name for level in levels if self._is_even or isinstance(level, Fanout))

    def _range(self, name: str, dim: str) -> Range:
        """How many trips the loops over a dimension may have at a level."""
        level = self.arch.levels[self.arch.depth[name]]
        if isinstance(level, Memory):
            return self.constraints.temporal.get((name, dim), ANY)
        least, most = 1, 1
        for index, axis in enumerate(level.axes):
            asked = self.constraints.spatial.get((name, index, dim), ANY)
            least *= asked[0]
            most *= min(axis.size, asked[1] or axis.size) if axis.allows(self.problem, dim) else 1
        return least, most
