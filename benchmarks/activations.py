"""How much memory the activations of networks take without fusion: the published peaks, and how far below plans get.

    python benchmarks/activations.py

For each network: bytes of all activations; the most that are live in the network's order, and in the order that needs
least (proven, or its bound); the height of a plan with addresses, and with updates in place (least, or its bound).
"""

from __future__ import annotations

import argparse
import time

from tilewright.mapper.means import Means
from tilewright.mapper.memory_plan import (
    activation_buffers,
    activation_steps,
    least_peak_order,
    live_during,
    plan_memory,
)
from tilewright.workloads import load_network

NETWORKS = (
    ("mobilenet_v1", 4, 1, ()),
    ("mobilenet_v2", 4, 1, ()),
    ("resnet50", 2, 32, ("norm", "relu")),
)
"""Name, bytes of an element, batch, and what is written besides after each convolution."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for each order, and each plan")
    limit = parser.parse_args().time_limit
    print(
        "network       steps      all bytes  of convolutions    peak, given    least order         height      in place"
    )
    for name, element, batch, after in NETWORKS:
        graph = load_network(name).wiring
        assert graph is not None
        found = activation_steps(graph, element, batch, after)
        convolutions = [one.name for one in graph if one.multiplies and len(graph.shape(one.name) or ()) > 2]
        alone = sum(size for name, size in found.sizes.items() if name.split()[0] in convolutions)
        peak = max(live_during(found.steps, found.sizes, found.kept))
        started = time.process_time()
        order = least_peak_order(found.steps, found.sizes, found.kept, Means.from_now(limit))
        plans = [
            plan_memory(activation_buffers(found, order.names, in_place), means=Means.from_now(limit))
            for in_place in (False, True)
        ]
        shown = [f"{order.peak:,}" + ("" if order.proven else f" (>= {order.lower_bound:,})")]
        shown += [f"{plan.height:,}" + ("" if plan.proven else f" (>= {plan.lower_bound:,})") for plan in plans]
        print(
            f"{name:12} {len(found.steps):6} {found.bytes_in_all:14,} {alone:16,} {peak:14,} "
            + " ".join(f"{text:>14}" for text in shown)
            + f"   {time.process_time() - started:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
