"""Which tiles, trips and instances a search tries.

visits.py      which tiles mappings are made of, in a branch of a tree
lattice.py     the tiles that stand for all others in tables
trip_rules.py  where loops longer than the number of tiles asks for may pay
halos.py       what overlaps leave of tiles along windows, where they are kept at every move
instances.py   instances that an array's axes can realize
at_work.py     which of them ever have work, and how much the first one has
symmetry.py    dimensions that may change places
"""
