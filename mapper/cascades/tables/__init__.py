"""Branches answered by tables, where these are exact.

tables.py        the answers
machine.py       which machines and operations; what they are in tables
form.py          an operation without names: equal ones share tables
lattice.py       tiles as numbers
nodes.py         which nodes and loops are worth having
inside.py        arrays and memories inside them, from the MAC outwards
cuts.py          the least costs below each tile of the nearest memory
branches.py      own nodes of that memory, for a visit's tile and homes
nest.py          loops and nodes of an entry
"""
