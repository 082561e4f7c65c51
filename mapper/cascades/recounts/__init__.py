"""A relaxed machine is searched, and what is found is counted again on the true one.

filled.py      latency with the time of first tiles
overlapped.py  latency where operations overlap
prices.py      energy on a machine where cycles of resources cost
"""
