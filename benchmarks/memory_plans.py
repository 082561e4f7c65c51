"""How long MiniMalloc's instances take to plan: at the capacity that is known to suffice, or for the least height.

    python benchmarks/memory_plans.py                              # all eleven at 1,048,576 bytes
    python benchmarks/memory_plans.py --least --only C D J         # the least height: lower bound and best plan

Every plan is checked. Both clocks are shown, since other work on the machine makes the one on the wall run on.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tilewright.mapper.means import Means
from tilewright.mapper.memory_plan import plan_memory, read_buffers

INSTANCES = Path(__file__).parent.parent / "tests" / "golden" / "memory_plans"
CAPACITY = 1_048_576


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", action="store_true", help="look for the least height")
    parser.add_argument("--only", nargs="*", default=list("ABCDEFGHIJK"), help="instances")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each")
    chosen = parser.parse_args()
    plan_memory(read_buffers(INSTANCES / f"H.{CAPACITY}.csv"), CAPACITY, least=False)  # compiles, if need be
    print("instance  buffers     height  lower bound  proven  decisions  processor s  wall s")
    for name in chosen.only:
        buffers = read_buffers(INSTANCES / f"{name}.{CAPACITY}.csv")
        wall, processor = time.perf_counter(), time.process_time()
        plan = plan_memory(buffers, None if chosen.least else CAPACITY, chosen.least, Means.from_now(chosen.time_limit))
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        plan.check()
        height = f"{plan.height:,}" if plan.fits else "none"
        print(
            f"{name:8}  {len(buffers.buffers):7}  {height:>9}  {plan.lower_bound:>11,}  {plan.proven!s:6}"
            f"  {plan.decisions:9,}  {processor:11.2f}  {wall:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
