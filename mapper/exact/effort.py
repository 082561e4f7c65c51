"""How a search goes about its work: everything that decides how long it takes, and nothing that decides its result.

What the mechanisms are worth that these settings steer is measured by `benchmarks/ablation.py`: results/ablation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Effort:
    """Settings of one search. Whatever they are, its optimum and its proof are the same."""

    share: float = 0.25
    """Part of the memory for what is open, and as much for tables and known rows: the rest is for what is being worked
    on. And part of the time, where it is limited, for the search of a smaller space or a relaxation before this one."""

    # ---- How much is looked at together -----------------------------------------------------------------------------
    few: int = 16
    """Rows that a dive carries along, and that tell how many others each makes; choices of arrays that get tables of
    their own together; steps, dives or groups after which a search goes another way."""
    some: int = 400
    """Rows and placements on which much is worked out, at once; and rows that take, with all that grows from them,
    about as long to look at as tables for one more group of arrays take to make."""
    many: int = 40_000
    """Rows that are grown together, arrays that are decided together, and innermost tiles that are tried with them."""
    looked_at_once: int = 200_000
    """Rows made at once, about: that bounds memory, and the time until the clock is looked at."""
    near: float = 0.15
    """Rows whose bound is nearer to the best one's than this part of the way to the cutoff are grown with it, however
    many; and bounds nearer than this part to the cutoff are raised by growing rows alone, where choices of arrays are
    so many that their tables take longer to make than has been spent."""
    near_enough: float = 0.05
    """The same part where tables of all choices, or groups, of arrays are made sooner."""

    # ---- Tables -----------------------------------------------------------------------------------------------------
    busy: float = 0.25
    """A port gets columns in tables if it is busy, in the best mapping so far, for longer than this part of the
    shortest time that all operations may take."""
    first_cells: int = 16_000
    """Cells of the lattice that a search starts with, at most: more tiles share cells, which keeps bounds valid and
    makes them coarser. Groups of ragged arrays begin with a few times fewer."""
    looked_at_per_cell: int = 100
    """Rows for each cell of a lattice after which a choice of arrays with tables of its own gets finer ones."""
    least_gain: float = 0.1
    """Part of the way to the cutoff by which tables for groups of arrays, or finer ones, have to raise bounds for more
    of them to be made."""
    least_own_gain: float = 0.25
    """The same of tables for single choices of arrays, for a search to begin again with them."""
    rows_before_groups: int = 250_000
    """Rows that a search with perfect tiles has looked at when it is asked whether to begin again with tables for
    groups of alike arrays; and that a ragged row of arrays grows to, from which on such tables pay."""
    rows_before_own_tables: int = 3_000_000
    """Rows that a ragged search has looked at when it is asked whether to begin again with tables for every choice of
    arrays; and rows after which it is not the choice in work that goes on, but the one with the lowest bound."""
    many_arrays: int = 4
    """Arrays inside each other from which on rows are bounded by their own arrays, besides by those of their group."""

    @property
    def group_cells(self) -> int:
        """Cells of the lattice on which choices and groups of ragged arrays are bounded first, at most."""
        return self.first_cells // self.few


EFFORT: Final = Effort()
"""Those that have shown themselves to be fast."""
