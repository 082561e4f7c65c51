"""A network as one C file.

network.py  the whole text
extern.py   operators that no mapping has: functions to link
plain.py    those that are written in plain loops
group.py    one group in it
packed.py   copies that groups read
between.py  what is done between groups: functions and calls
apart.py    one such function
reduced.py  reductions, softmax and norms there
places.py   where words lie there
finish.py   what is done with words there
check.py    its check: plain loops, constants
runtime.py  the text of its check that is the same everywhere
"""
