"""Our search on the cases whose optima AccelForge proved (1.0.467, perfect factors, every tensor at its own depth).

    python benchmarks/accelforge.py                     # all cases; CPU seconds: the median of three searches
    python benchmarks/accelforge.py --only H3b --space even

The machines count by AccelForge's rule of reuse (`reuse: at_node`). `recounted` is AccelForge's mapping by our count.
Where it is smaller than AccelForge's own figure, our model shares the overlap of neighbours' tiles. Where ours is
smaller than `recounted`, our search found a better mapping by our count. Ours may only be larger where the space is
smaller: even, or cut short.
"""

from peers import accelforge_cases, report

NOTES = "eyerissN, simbaN: only mappings with the largest use of every array, as AccelForge was asked for (min_usage 1)"

if __name__ == "__main__":
    report(accelforge_cases(), "AccelForge", __doc__.splitlines()[0], NOTES)
