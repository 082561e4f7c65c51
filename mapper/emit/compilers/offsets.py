"""The loops of a scalar program, counted from where the tile around them begins.

Where a loop variable of `loop_program.py` is the first index of a tile, compilers would rather see loops from 0, whose
bounds are numbers wherever they can be:

    for p0 = 0; p0 < 56; p0 += 8             for p0 = 0; p0 < 56; p0 += 8
      for p1 = p0; p1 < p0 + 8; p1 += 2  ->    for p1 = 0; p1 < 8; p1 += 2
        ... I[p1], GLB_I[p1 - p0]                ... I[p0 + p1], GLB_I[p1]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

from ..lowering.loop_program import Affine, For, Index, LoopProgram, Variable
from ..parts.names import FreshNames


class Offsets:
    """What the variables of a program are, in terms of loops that begin at 0.

    by_trips  loops count their trips; otherwise they advance by their step
    """

    def __init__(self, program: LoopProgram, by_trips: bool = False) -> None:
        self._start: dict[Variable, Affine] = {}
        self._least: dict[Variable, tuple[Affine, Affine]] = {}
        for loop in program.loops():
            offset = Affine.of(loop.variable).times(loop.step if by_trips else 1)
            start = self._start[loop.variable] = self.of(loop.start) + offset
            if loop.count is not None:
                self._least[loop.count] = (Affine.of(loop.step), Affine.of(loop.size) - start)

    def of(self, value: Affine) -> Affine:
        """An expression with the starts of tiles replaced; counts stay as they are."""
        return _sum(self._start.get(v, Affine.of(v)).times(c) for v, c in value.terms) + Affine((), value.constant)

    def count(self, loop: For) -> tuple[Affine, ...]:
        """The least of these is the count that a loop binds; none where it binds none."""
        return () if loop.count is None else self._least[loop.count]

    def least(self, value: Affine) -> tuple[Affine, ...]:
        """Expressions without counts, the least of which is the value; its coefficients of counts are positive."""
        choices = [[Affine((), value.constant)]]
        for variable, coefficient in value.terms:
            ways = self._least.get(variable, (self.of(Affine.of(variable)),))
            choices.append([way.times(coefficient) for way in ways])
        return tuple(dict.fromkeys(_sum(ways) for ways in itertools.product(*choices)))


def _sum(parts: Iterable[Affine]) -> Affine:
    found = Affine()
    for part in parts:
        found += part
    return found


class Spelling:
    """Names for everything in a program: identifiers of [a-z0-9_], each used once."""

    def __init__(self, program: LoopProgram, taken: Iterable[str] = ()) -> None:
        names = FreshNames(taken)
        self.function = names.unique(program.cascade.name)
        self.array = {a: names.unique(a.tensor.name) for a in program.arrays}
        self.array |= {b: names.unique(f"{b.memory}_{b.tensor.name}") for b in program.buffers}
        self.variable: dict[Variable, str] = {}
        for loop in program.loops():
            name = self.variable[loop.variable] = names.unique(f"{loop.variable.dim}{loop.variable.number}")
            if loop.count is not None:
                self.variable[loop.count] = names.unique(f"{name}_count")
        most = max(len(array.shape) for array in self.array)
        self.axes = tuple(names.unique(f"x{axis}") for axis in range(most))


def spelled(value: Affine, name: Callable[[Variable], str]) -> str:
    """An expression as text: `9 - p0 * 2`."""
    parts = [str(value.constant)] if value.constant or not value.terms else []
    for variable, coefficient in value.terms:
        factor = "" if abs(coefficient) == 1 else f" * {abs(coefficient)}"
        sign = ("- " if coefficient < 0 else "+ ") if parts else ("-" if coefficient < 0 else "")
        parts.append(f"{sign}{name(variable)}{factor}")
    return " ".join(parts)


def copied_axes(extents: Index) -> tuple[int, ...]:
    """The axes along which a copy needs a loop: those of more than one element."""
    return tuple(axis for axis, extent in enumerate(extents) if extent != Affine.of(1))


def tile_index(at: Sequence[str], extents: Index, steps: Sequence[int], axes: Sequence[str]) -> list[str]:
    """Where the copy loops' element of a tile is in an array: the tile begins at `at`, its elements are `steps` apart.

    axes  names of the copy loops, one for each axis
    """
    found = []
    copied = copied_axes(extents)
    for axis, (begin, step) in enumerate(zip(at, steps, strict=True)):
        element = axes[axis] + (f" * {step}" if step > 1 else "") if axis in copied else "0"
        found.append(" + ".join(part for part in (begin, element) if part != "0") or "0")
    return found
