"""What all that a growing mapping has still to do costs at least.

bounds.py        for every tile that a row may have, by tables
boundary_costs.py  what a boundary costs at least, at any tile
once.py          what boundaries cost at least if every word passes once, for each row's own arrays
array_tables.py  such tables from inside an array
array_groups.py  groups of alike arrays
groups.py        bounds for each of them
loop_charges.py  what the next loop does to the boundaries that wait
table_columns.py which cost columns tables have
zeros_at_tiles.py what words with zeros take in each tile, and what memories that gate or skip leave of them
waiting_lines.py what lines take of operands that wait above all arrays

They are added to what rows have been charged in `growing/fanouts.py` and `growing/loops.py`; the objective of the sum
is the bound of a row.
"""
