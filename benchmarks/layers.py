"""How long a proof takes, layer by layer: every distinct layer of some networks on some architectures.

    python benchmarks/layers.py                                   # four networks, three machines, EDP
    python benchmarks/layers.py --networks bert_base --archs eyeriss --tiling ragged --no-verify

Prints seconds of search (one process, warm imports), of verification, and what was found.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time

import tilewright as tw


def distinct_layers(names: list[str]) -> list[tw.Problem]:
    """Layers of some networks, equal shapes once, in order."""
    seen: dict[object, tw.Problem] = {}
    for name in names:
        for layer in tw.load_network(name).layers:
            seen.setdefault((layer.problem.dims, layer.problem.tensors), layer.problem)
    return list(seen.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", default="resnet50,bert_base,mobilenet_v2,gpt3_6_7b_block")
    parser.add_argument("--archs", default="eyeriss,tpu_v1,three_level")
    parser.add_argument("--objective", default="edp")
    parser.add_argument("--tiling", default="perfect")
    parser.add_argument("--space", default="even")
    parser.add_argument("--time-limit", type=float, default=None, help="seconds for each layer")
    parser.add_argument("--verify", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    layers = distinct_layers(options.networks.split(","))
    columns = f"{'architecture':12} {'layer':36} {'search s':>9} {'verify s':>9} {'proven':>6} {'agrees':>6}"
    print(columns, options.objective)
    for name in options.archs.split(","):
        arch, taken = tw.load_arch(name), []
        for problem in layers:
            started = time.perf_counter()
            result = tw.search(
                problem, arch, options.objective, options.tiling, options.space, time_limit=options.time_limit
            )
            taken.append(time.perf_counter() - started)
            check = result.verify() if options.verify else None
            proven = "yes" if result.certificate.proven else "NO"
            agrees = "-" if check is None else "yes" if check.agrees and check.words_agree else "NO"
            seconds = 0.0 if check is None else check.seconds
            value = result.certificate.value
            print(
                f"{name:12} {problem.name:36} {taken[-1]:9.2f} {seconds:9.2f} {proven:>6} {agrees:>6} {value:.6e}",
                flush=True,
            )
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name}: {len(taken)} layers, median {statistics.median(taken):.2f} s, worst {max(taken):.2f} s; "
            f"peak memory so far {memory:.0f} MiB"
        )


if __name__ == "__main__":
    main()
