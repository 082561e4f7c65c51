"""Copies of operands in the order in which tiles of registers read them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .loop_program import Access, Affine, Variable


@dataclass(frozen=True)
class Pack:
    """A copy of an operand in the order in which a register tile reads it: rows of lanes, one after the other; behind
    the last word along the lanes are zeros.

    access   of its words, in the array that it is copied from
    dims     with their extents, the slowest first; that of the lanes last, if it moves the operand
    variables  of these dimensions, in accesses
    width    words of a row; 0: lanes do not move it
    inside   how many of these dimensions vary faster than rows of lanes
    """

    access: Access
    dims: tuple[tuple[str, int], ...]
    variables: Mapping[str, Variable]
    width: int
    inside: int

    @property
    def tensor(self) -> str:
        return self.access.array.tensor.name

    @property
    def words(self) -> int:
        """Of the copy."""
        dims = [size for _, size in self.dims]
        if self.width:
            dims[-1] = -(-dims[-1] // self.width) * self.width
        return math.prod(dims)

    def place(self) -> Affine:
        """Where the word of an element is in the copy; along the lanes, of one that begins a row."""
        found, stride = Affine(), 1
        dims = list(self.dims)
        if self.width:
            lane, size = dims.pop()
            rows = math.prod(n for _, n in dims[len(dims) - self.inside :])
            found = Affine.of(self.variables[lane]).times(rows)
            stride = self.width
        for number, (dim, size) in enumerate(reversed(dims)):
            if self.width and number == self.inside:
                stride *= -(-self.dims[-1][1] // self.width)
            found += Affine.of(self.variables[dim]).times(stride)
            stride *= size
        return found
