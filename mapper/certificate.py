"""What a search proves, and what it did."""

from __future__ import annotations

from dataclasses import dataclass

from .space import Space
from .tilings import Tiling


@dataclass(frozen=True)
class Certificate:
    """The proof record of a search.

    objective    text of what was minimized, as `objective=` of a search takes it
    tiling, space  as asked for
    value        objective of the mapping found, in the objective's unit
    lower_bound  no mapping of the space has a lower one
    space_size   mappings in the space, before capacities and constraints are looked at; None: not counted
    placements   choices of the tensors that each memory keeps
    evaluated    complete mappings whose cost was computed
    pruned       partial mappings left aside, by rule
    seconds      that the search took
    constraints  what the mappings of the space had to satisfy, in words
    strategy     how it was searched: only "exact" and "cpsat" prove anything
    interrupted  whether the search was interrupted (Ctrl-C)
    """

    objective: str
    tiling: Tiling
    value: float
    lower_bound: float
    space_size: int | None
    placements: int
    evaluated: int
    pruned: dict[str, int]
    seconds: float
    space: Space = "even"
    constraints: tuple[str, ...] = ()
    strategy: str = "exact"
    interrupted: bool = False

    @property
    def proven(self) -> bool:
        """Whether the bound meets the value (to the rounding of float arithmetic)."""
        return self.lower_bound >= self.value * (1 - RELATIVE_TOLERANCE)

    @property
    def gap(self) -> float:
        """How much better than this mapping another one could be at most, as a fraction of the value."""
        return max(0.0, 1 - self.lower_bound / self.value) if self.value else 0.0


RELATIVE_TOLERANCE = 1e-9
"""Objectives closer than this are one: sums of floats in another order differ by less."""
