"""What is grown next, and what has been found.

exploring.py   what is grown next, how many rows at once, and when better bounds are made
open_items.py  what is still open, as states of the kernel (`mapper/kernel/`)
own_tables.py  tables for single choices of arrays, or groups of them: whether they pay, and which choice is in work
finishing.py   complete rows, evaluated
orders.py      orders of their loops that may be best, where every loop counts
found.py       the best mappings so far, and the cutoff
standing.py    where a search stands that ends before its proof is complete
"""
