"""How a search goes about its work: everything that decides how long it takes, and nothing that decides its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ..space import Space
from ..tilings import Tiling


@dataclass(frozen=True)
class Effort:
    """Settings of one search. Whatever they are, its optimum and its proof are the same."""

    # ---- The means that a search has --------------------------------------------------------------------------------
    frontier_share: float = 0.25
    """Part of the memory for what is open."""
    tables_share: float = 0.25
    """Part of the memory for tables. The rest is for what is being worked on."""
    known_share: float = 1 / 16
    """Part of the memory for what is known of rows that have been queued (`growing/known_rows.py`)."""
    first_tiles_share: float = 0.01
    """Part of the memory for innermost tiles that are asked for again (`growing/first_tiles.py`)."""
    smaller_space_share: float = 0.3
    """Part of the time, where it is limited, for the search of a smaller space."""
    steps_before_smaller_space: int = 32
    """Steps of a search for what is below some value, before one of a smaller space: most of them find nothing, and
    know that sooner."""
    tiles_before_smaller_space: int = 5_000
    """Tiles of a problem, up to which these steps grow rows too: with more of them one step is as long as a search."""
    full_lines_share: float = 0.6
    """The same for the search where lines are always full: it may be all that is needed."""
    least_seconds_to_count: float = 0.02
    """Time to count the space in, however short the search was."""
    seconds_to_diagnose: float = 1.0
    """Time to work out why nothing fits, besides as much as the search took: it is known then that nothing does."""
    part_to_tell: float = 0.05
    """Time, as part of what the search took, in which to work out what is told of a proof that is not complete."""

    # ---- Placements and arrays --------------------------------------------------------------------------------------
    decided_at_once: int = 1024
    """Ways to go on that are bounded together, at most."""
    many_arrays: int = 4
    """Arrays inside each other from which on rows are bounded by their own arrays, besides by those of their group."""
    rows_at_first: int = 20_000
    """Arrays of a machine, up to which all of them are decided at once."""
    extended_at_once: int = 50_000
    """Choices that others are extended to together, about."""

    # ---- How many rows are grown together ---------------------------------------------------------------------------
    rows_at_once: Mapping[Tiling, int] = field(default_factory=lambda: {"perfect": 96, "ragged": 16_000})
    """Rows expanded together at first: enough to fill vectors, few enough to stop early. A ragged search starts from
    the best perfect mapping, so that most rows have to be looked at in any case."""
    more_at_once: int = 8
    """By how many rows more each step grows than the one before: a search that has not ended yet may go on for
    long."""
    most_at_once: int = 16_000
    """Rows that are expanded together at most, before `near` and `looked_at_once` count."""
    near: float = 0.1
    """Rows are expanded together, however many, whose bound is nearer to the best one's than this part of the way to
    the cutoff."""
    tried_first: int = 4
    """Rows that are grown before it is known how many others each of them makes."""
    tried_below: int = 64
    """The same of perfect tiles where mappings are wanted below some value alone, so that few others are made."""
    looked_at_once: int = 200_000
    """Rows made at once, about: that bounds memory, and the time until the clock is looked at."""
    first_tiles_at_once: int = 4_000_000
    """The same of innermost tiles, which are looked at with many arrays in few passes, however many there are."""
    settled_at_once: int = 1000
    """Rows whose windows are counted exactly together."""
    fewest_at_once: int = 1_000
    """Rows that are made at once even where memory is short."""
    most_tiles: int = 40_000
    """Tiles that are tried with every row, at most; where more fit, bounds on some of the dimensions decide first."""
    pairs_at_once: int = 2_000_000
    """Pairs of a row and a tile that are looked at together: that bounds memory."""
    most_compared: int = 64
    """Rows that cost no more, among those alike, that a row is compared with."""

    # ---- Dives ------------------------------------------------------------------------------------------------------
    decided_first: int = 300
    """Steps of deciding placements before the first dive: where they are too many, one is decided at a venture."""
    far_off: float = 2.0
    """Where the first mapping costs more than so many times the lowest bound, these bounds are no guide to a good
    one, and other placements are not dived into."""
    dived_alone: int = 8
    """Choices of arrays that get tables of their own then, to dive from the best of them."""
    later_dives: Mapping[Tiling, int] = field(default_factory=lambda: {"perfect": 8, "ragged": 12})
    """Times that the search dives again, once better bounds are known."""
    close: float = 1.3
    """Where nothing is wanted that costs more than so many times the lowest bound, bounds lead there as soon as
    dives."""
    steps_per_dive: int = 8
    """Steps after which the search dives again, at the latest, from where it has come to: the longer it takes, the
    more it gains by a better mapping."""
    dive_width: int = 16
    """Rows carried along in a dive."""
    reaches: tuple[float, ...] = (1.02, 1.08, 1.4)
    """How many times as much as the best row a dive's next rows may cost at first; the next, where there are none."""

    # ---- Tables -----------------------------------------------------------------------------------------------------
    busy: float = 0.25
    """A port gets columns in tables if it is busy, in the best mapping so far, for longer than this part of the
    shortest time that all operations may take."""
    most_cells: int = 400_000
    """Cells of a lattice, at most: more tiles share cells, which keeps bounds valid and makes them coarser."""
    first_cells: int = 16_000
    """Cells of the lattice that a search starts with, at most; where it takes long, it goes on with finer ones."""
    looked_at_per_cell: int = 30
    """Rows for each cell of a lattice that a search has looked at before finer tables are made."""
    looked_at_per_last_cell: int = 100
    """The same, before tables are made that take all the room there is."""

    # ---- Tables for single choices of arrays ------------------------------------------------------------------------
    rows_before_own_tables: float = 3_000_000
    """Rows that a ragged search has looked at when it is asked whether to begin again with tables for every choice of
    arrays."""
    choices_asked: int = 8
    """Choices of arrays of which it is asked what such tables say."""
    least_own_gain: float = 0.25
    """Part of the way to the cutoff by which they have to raise bounds."""
    rows_per_own_table: int = 20_000
    """Rows that are looked at in about the time that takes to make all tables of one choice of arrays."""
    rows_per_turn: int = 2_000_000
    """Rows after which it is not the choice of arrays in work that goes on, but the one with the lowest bound."""
    near_enough: float = 0.05
    """Part of the best value that bounds may be below it to be raised by growing rows alone."""
    near_enough_for_many: float = 0.15
    """The same, where choices are so many that their tables take longer to make than has been spent."""
    own_at_once: int = 24
    """Choices of arrays that get tables of their own together."""

    # ---- Tables for groups of alike arrays --------------------------------------------------------------------------
    rows_per_group: Mapping[Space, int] = field(default_factory=lambda: {"even": 400, "uneven": 20})
    """Rows that take, with all that grows from them, about as long to look at as tables for one more group of arrays
    take to make."""
    rows_before_groups: float = 250_000
    """Rows that a search with perfect tiles has looked at when it is asked whether to begin again with such tables."""
    rows_of_long_steps: int = 400_000
    """Rows that one row of arrays grows to with ragged tiles, from which on better bounds for alike arrays pay."""
    grouped_at_once: int = 1_000
    """Ragged rows of arrays that get tables by groups together: each gets one of its own, too."""
    group_cells: tuple[int, ...] = (1_500, 25_000)
    """Cells of the lattices on which groups of ragged arrays are bounded, at most, before it is done on the whole
    one."""
    cells_at_once: int = 160_000
    """Numbers in a table for several groups of arrays at once, about."""
    cells_in_use: int = 200_000
    """Cells of the lattices of all groups of arrays whose tables are kept, about."""
    least_gain: float = 0.1
    """Part of the way to the cutoff by which finer tables have to raise bounds for still finer ones to be made."""
    groups_tried: Mapping[Tiling, int] = field(default_factory=lambda: {"perfect": 2, "ragged": 8})
    """Groups of arrays for which tables of their own, or with ragged tiles finer ones, are tried before it is said that
    they add little."""


EFFORT: Final = Effort()
"""Those that have shown themselves to be fast."""
