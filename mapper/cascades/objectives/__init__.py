"""Sums, products, fronts and limits of energy and latency become searches of weighted sums.

weighted_sums.py  the tree of least weight, over all orders of operations
first_trees.py    good trees that are found soon
front_search.py   all that may be best where energy and latency are weighed in other ways
proofs.py         what a search proves: the certificate, or why there is nothing
unsearched_trees.py trees that need no search
search.py         which weighted sums are searched: for sums, products, fronts, within limits
"""
