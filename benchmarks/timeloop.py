"""Our search on the cases that Timeloop's mapper searched (commit 4cf6d4cd): its best mapping is an upper bound.

    python benchmarks/timeloop.py                       # all runs; CPU seconds: the median of three searches
    python benchmarks/timeloop.py --only gemm --space even

`recounted` is Timeloop's mapping by our count, with Timeloop's rule that a partial sum that leaves is not read. Where
it is smaller than Timeloop's own figure, arrays share overlapping parts of input tiles, which Timeloop reads once per
distinct tile. Timeloop's space is the even one: its CPU seconds are the budget that it was given.
"""

from peers import report, timeloop_cases

NOTES = (
    "Timeloop searches the even space at random or in order; its seconds are the budget of the run, over all threads"
)

if __name__ == "__main__":
    report(timeloop_cases(), "Timeloop", __doc__.splitlines()[0], NOTES)
