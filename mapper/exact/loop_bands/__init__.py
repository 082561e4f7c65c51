"""Step: the temporal loops up to the next group of storage nodes, and its tile.

loops.py         the step: loops one after the other, innermost first, and what each of them charges
loop_band.py     the rows of a stage of these loops, and how their tiles grow
first_tiles.py   the innermost tiles, for many arrays at once
trip_rules.py    where loops longer than the number of tiles asks for may pay
"""
