"""Lower bounds on what a partial mapping has still to pay.

bounds.py        for every tile that a row may have, by tables
boundary_costs.py  the least cost of a boundary, by the tile that charges it
once.py          the least cost of boundaries if every word passes once, for each row's own arrays
array_tables.py  such tables from inside an array
array_groups.py  groups of alike arrays
groups.py        bounds for each of them
loop_charges.py  what the next loop does to the boundaries that wait
table_columns.py which cost columns tables have
zeros_at_tiles.py what words with zeros take in each tile, and what memories that gate or skip leave of them
waiting_lines.py what lines take of operands that wait above all arrays

`growing/fanouts.py` and `growing/loops.py` add them to the costs that rows have been charged; the objective of the sum
is the bound of a row.
"""
