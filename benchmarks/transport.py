"""What it costs to send a search to a worker and to keep its result, without the search itself.

    python benchmarks/transport.py                                       # workers on this machine
    python benchmarks/transport.py --scheduler tcp://127.0.0.1:8786      # a Dask cluster that is running

Jobs and results of real searches are sent back and forth; the workers only copy them. CPU milliseconds for each job,
of the program that runs the batch and of the scheduler, say how many searches a second they can deal with, and so how
many cores they keep busy at a given length of search: that is where a cluster stops scaling.
"""

from __future__ import annotations

import argparse
import copy
import pickle
import tempfile
import time
from concurrent.futures import wait
from dataclasses import replace
from pathlib import Path

import tilewright as tw
from tilewright.cost_models import parse_objective
from tilewright.mapper.question import Question
from tilewright.run.batch.cluster import Cluster
from tilewright.run.batch.job import run_job
from tilewright.run.batch.processes import Processes
from tilewright.run.store import Store


def scheduler_seconds(workers: Cluster | Processes) -> float:
    """CPU seconds that the scheduler has used so far; 0 where there is none."""
    if isinstance(workers, Processes):
        return 0.0
    return workers.on_scheduler(time.process_time)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scheduler", help="address of a Dask cluster")
    parser.add_argument("--workers", type=int, default=2, help="processes, without a cluster")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--layer", default="resnet50:layer1.0.conv2")
    parser.add_argument("--arch", default="eyeriss")
    options = parser.parse_args()

    layer = tw.load_layer(options.layer)
    question = Question(layer, tw.load_arch(options.arch), parse_objective("edp"), "perfect")
    started = time.process_time()
    done = run_job(question)
    seconds, sent, back = time.process_time() - started, len(pickle.dumps(question)), len(pickle.dumps(done))
    print(f"a search: {seconds:.3f} CPU s; {sent:,} bytes to the worker, {back:,} bytes back")

    # Names make the jobs differ, as those of a plan do.
    jobs = [replace(question, work=replace(layer, name=f"layer{n}")) for n in range(options.jobs)]
    workers = Cluster(options.scheduler) if options.scheduler else Processes(options.workers)
    try:
        wait([workers.submit(copy.copy, 0) for _ in range(4 * max(workers.count(), 1))])
        wall, here, there = time.perf_counter(), time.process_time(), scheduler_seconds(workers)
        wait([workers.submit(copy.copy, (job, done)) for job in jobs])
        wall, here = time.perf_counter() - wall, time.process_time() - here
        there = scheduler_seconds(workers) - there
        count = workers.count()
    finally:
        workers.stop()
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite3") as store:
        keeping = time.process_time()
        for size in range(options.jobs):
            asked = replace(question, work=replace(layer, dims=(*layer.dims[:-1], (layer.dims[-1][0], size + 1))))
            store.keep(asked, done.result, done.seconds)
        keeping = time.process_time() - keeping

    per_job = {"this program, sending": here, "scheduler": there, "this program, storing": keeping}
    for what, used in per_job.items():
        print(f"{what + ':':24} {used / options.jobs * 1e3:7.2f} CPU ms a job")
    print(f"wall time: {wall / options.jobs * 1e3:.2f} ms a job on {count} workers")
    slowest = max(here + keeping, there) / options.jobs
    print(f"at most {1 / slowest:,.0f} searches a second: ", end="")
    print(", ".join(f"{mean / slowest:,.0f} cores at {mean:g} s a search" for mean in (0.3, 1, 10)))


if __name__ == "__main__":
    main()
