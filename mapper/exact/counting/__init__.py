"""What partial mappings, many at once, hold and move: the closed forms of `cost_models`, as arrays over rows.

fill_point.py    where a boundary is charged
traffic.py       words that cross between memories
first_instance.py  what the first instance of a memory has of these: how busy its ports are
row_loops.py     the loops of these mappings, dimension by dimension
rank_traffic.py  words along single ranks of a tensor
windows.py       words along a rank of several dimensions, for one setting of the loops
footprints.py    tiles in words, and whether a memory has room for them
cost_columns.py  from words to cost columns: energy, and cycles of every port
charges.py       what a boundary costs that is charged
line_ranks.py    how many lines tiles touch along one rank
lines.py         memories with lines: words packed without a gap, and what is known to be more
zeros.py         what they leave of words and bits, at least
"""
