"""Groups of a network one after the other, and where everything lies.

assembly.py   from the answer of a segmentation to a program
program.py    what a program has
addresses.py  where the buffers of a group lie in the memories inside
orders.py     how tensors between groups lie on a machine with caches
leaving.py    where words are finished that are stored in another way than sums
extern.py     functions that C leaves to link
writable.py   whether a program can be written, before groups are known
exact.py      with which inputs results are exact
weights.py    parameters, as a file
files.py      what lies beside a program
"""
