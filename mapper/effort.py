"""How searches go about their work: everything that decides how long they take, and nothing that decides their results.

What the settings are worth, and the mechanisms that they steer, is measured by `benchmarks/ablation.py`:
results/ablation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

AT_ONCE: Final = 200_000
"""Rows, numbers or steps that are worked on together or listed, about: that bounds memory, and the time until the clock
is looked at."""


@dataclass(frozen=True)
class Effort:
    """Settings of the exact search of one operation. Whatever they are, its optimum and its proof are the same."""

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


@dataclass(frozen=True)
class TreeEffort:
    """Settings of all searches over trees."""

    few: int = 4
    """Choices of nodes and loops that a first tree is looked for among, and times as many where none has been found;
    operations of which all ways to part them are bounded, and all choices looked at for a first tree."""
    some: int = 64
    """Elements of a dimension of which all ragged tiles are tried."""
    many: int = 1_000
    """Orders of operations that are looked at."""
    at_once: int = 10_000
    """Combinations of steps that are bounded together; answers about branches after which they are forgotten."""
    share: float = 0.1
    """Of the time that is left, at most, for bounds on a branch."""
    moment: float = 2.0
    """Seconds, at most, for what a whole operation costs at least, for a first tree, and to say why nothing fits."""
    patience: float = 30.0
    """Seconds, at most, to count uneven visits of a branch of which bounds are known; `few` times as many once all
    trees have been searched, and such a bound is what leaves a gap."""


@dataclass(frozen=True)
class PlanEffort:
    """Settings of all searches over segmentations."""

    first_share: float = 0.02
    """Of all the time, at most, for a group at first, and for the bound of one: where many groups take long, a good way
    is known sooner."""
    share: float = 0.2
    """Of the time, at most, for bounds of groups before any is searched; for ways of smaller groups than there may be;
    and for what the best is told beside: operations on their own, and the best where nothing stays between groups."""
    longer: int = 4
    """By how much longer a group is searched in the next round, and by how much less in ways of smaller groups."""
    least: float = 0.1
    """Seconds that a bound, or the search of a group, has at least."""
    plan: float = 5.0
    """Seconds for the addresses of one group's tiles, or of those of groups between which something stays, in one
    memory; a tenth of them where time is up, or where all of some groups have none."""
    steps_a_second: int = 500
    """Steps for each second that there is for the whole: each path through more would take much of it."""


EFFORT: Final = Effort()
TREE_EFFORT: Final = TreeEffort()
PLAN_EFFORT: Final = PlanEffort()
"""Those that have shown themselves to be fast."""
