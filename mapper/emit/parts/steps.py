"""Loops as digits of the indexes of their dimensions, and what tiles span along the axes of tensors."""

from __future__ import annotations

from collections.abc import Mapping as Extents
from dataclasses import dataclass

from ....ir import Digit, Mapping, Problem, Rank, digits_by_dimension


@dataclass(frozen=True)
class Step:
    """A loop as a digit of its dimension's index: one trip advances the index by `tile`."""

    position: int
    dim: str
    trips: int
    tile: int
    spatial: bool

    @property
    def extent(self) -> int:
        return self.trips * self.tile


def steps_of(mapping: Mapping) -> tuple[Step, ...]:
    """The loops of a mapping that do something, outermost first."""
    digits = digits_by_dimension(mapping.problem, mapping.nest)
    steps = [_step(dim, digit) for dim, found in digits.items() for digit in found if digit.trips > 1]
    return tuple(sorted(steps, key=lambda s: s.position))


def _step(dim: str, digit: Digit) -> Step:
    return Step(digit.position, dim, digit.trips, digit.tile, digit.spatial)


def span(rank: Rank, extents: Extents[str, int]) -> int:
    """Elements from the first to the last that a tile touches along one tensor axis."""
    return 1 + sum(c * (extents[dim] - 1) for dim, c in rank)


def operand_shapes(problem: Problem) -> dict[str, tuple[int, ...]]:
    """Shape of every operand: what all of the problem spans along each rank."""
    return {t.name: tuple(span(rank, problem.sizes) for rank in t.ranks) for t in problem.operands}
