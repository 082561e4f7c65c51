"""Many searches at once: planned so that each runs once, longest first, and run on processes or on a cluster.

job.py        one search, as a worker runs it
plan.py       layers, architectures and dataflows as distinct searches
run.py        the searches that the store cannot answer, one after another into the store
calls.py      larger pieces of work, such as whole networks
group_workers.py groups of one network, by workers on this machine
sharing.py    what they know of one another
processes.py  workers on this machine
worker.py     such a worker
cluster.py    workers of a Dask cluster
"""
