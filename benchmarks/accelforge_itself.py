"""AccelForge's own search of one of the cases of tests/golden/accelforge.json, by an interpreter that has AccelForge.

    PYTHON -P benchmarks/accelforge_itself.py 15     # 1.0.467 wants Python 3.12; our package is not needed
    PYTHON -P benchmarks/accelforge_itself.py 1 --coarseness 3      # in a part of the space
    PYTHON -P benchmarks/accelforge_itself.py 25 --weights-first    # in another one
    PYTHON -P benchmarks/accelforge_itself.py 3 --fused --searches 3   # a line of tests/golden/fused/accelforge.jsonl

Prints a line of JSON: CPU seconds of the search, in the median where there are several one after the other in this
process, on one thread; and the optimum, in pJ, cycles or pJ x cycles (of a front the least product). Importing and
reading the machine are not timed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent.parent / "tests" / "golden"
COLUMNS = {
    "energy": ["energy"],
    "latency": ["latency"],
    "edp": ["energy_delay_product"],
    "front": ["energy", "latency"],
}
"""What AccelForge's result states of an objective: the product of these."""

INTERMEDIATES = "keep: ~Intermediates, may_keep: All"
"""What the outermost memory keeps: all but intermediates, and these if that is best."""

WIDE_SUMS = "    bits_per_value: {output: 3 * output.bits_per_value}\n"


def memory(name: str, size: int | str, energy: float, throughput: float | str, keep: str, more: str = "") -> str:
    """A memory of AccelForge. size in bits; energy in pJ, and throughput per cycle, of a value of BITS bits."""
    figures = f"energy: {energy}, throughput: {throughput}, bits_per_action: BITS"
    return f"""
  - !Memory
    name: {name}
    size: {size}
    leak_power: 0
    area: 0
    tensors: {{{keep}}}
    actions: [{{name: read, {figures}}}, {{name: write, {figures}}}]
{more}"""


def macs(per_cycle: int) -> str:
    return f"""
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions: [{{name: compute, energy: 0.5, throughput: {per_cycle}}}]
"""


def array(name: str, *axes: str) -> str:
    return f"\n  - !Container\n    name: {name}\n    spatial: [{', '.join(f'{{{axis}}}' for axis in axes)}]\n"


def three_levels(keep: str, words: int = 131072, outermost: str = "keep: All") -> list[str]:
    return [
        memory("DRAM", "inf", 200, 16, outermost),
        memory("GLB", words * 8, 6, 64, keep),
        array("PE", "name: X, fanout: 16", "name: Y, fanout: 16"),
        memory("RF", 512 * 8, 1, 4, keep),
    ]


def two_levels(keep: str) -> list[str]:
    return [memory("DRAM", "inf", 200, 16, "keep: All"), memory("GLB", 65536 * 8, 6, 64, keep)]


MACHINES = {
    "G2": two_levels("keep: All"),
    "G2b": two_levels("may_keep: All"),
    "H3": three_levels("keep: All"),
    "H3.16": three_levels("keep: All"),
    "H3b": three_levels("may_keep: All"),
    "eyerissN": [
        memory("MainMemory", "inf", 200, 16, "keep: All"),
        memory("GlobalBuffer", 1048576, 6, 64, "keep: ~MainMemory, may_keep: All"),
        array(
            "ProcessingElement",
            "name: reuse_weight, fanout: 14, reuse: weight, min_usage: 1",
            "name: reuse_output, fanout: 12, reuse: output, min_usage: 1",
        ),
        memory("InputScratchpad", 192, 0.2, 4, "keep: input"),
        memory("WeightScratchpad", 3072, 0.5, 4, "keep: weight"),
        memory("OutputScratchpad", 256, 0.3, 4, "keep: output"),
    ],
    "simbaN": [
        memory("MainMemory", "inf", 200, 16, "keep: All"),
        memory("GlobalBuffer", 524288, 6, 64, "keep: input | output"),
        array("ProcessingElement", "name: reuse_all, fanout: 16, min_usage: 1"),
        memory("InputBuffer", 65536, 2, 64, "keep: input"),
        memory("WeightBuffer", 262144, 3, 64, "keep: weight"),
        memory("AccumulationBuffer", 24576, 2, 64, "keep: output", WIDE_SUMS),
        array(
            "VectorMAC",
            "name: reuse_output, fanout: 8, min_usage: 1, reuse: output",
            "name: reuse_input, fanout: 8, min_usage: 1, reuse: input",
        ),
        memory("Register", "weight.bits_per_value if weight else 0", 0.1, "inf", "keep: weight"),
    ],
}


def machine(name: str, weights_first: bool) -> str:
    bits = "16" if name == "H3.16" else "8"
    nodes = MACHINES[name]
    if weights_first:  # only nodes of memories named later may stand below those of one
        first = next(i for i, node in enumerate(nodes) if "InputScratchpad" in node)
        nodes = [*nodes[:first], nodes[first + 1], nodes[first], *nodes[first + 2 :]]
    return "arch:\n  nodes:\n" + ("".join(nodes) + macs(1)).replace("BITS", bits)


def fused_machine(case: dict[str, Any]) -> str:
    """F2 or F3 with the GLB of a case (tests/golden/README.md)."""
    if case["machine"] == "F3":
        nodes = [*three_levels("keep: All", case["glb_words"], INTERMEDIATES), macs(1)]
    else:
        glb = memory("GLB", case["glb_words"] * 8, 6, 128, "keep: All")
        nodes = [memory("DRAM", "inf", 200, 0.5, INTERMEDIATES), glb, macs(16)]
    return "arch:\n  nodes:\n" + "".join(nodes).replace("BITS", "8")


def workload(case: dict[str, Any]) -> str:
    ((kind, sizes),) = case["layer"].items()
    dims = {"N": 1, **sizes} if kind == "conv2d" else dict(sizes)
    stride, groups = dims.pop("stride", 1), dims.pop("groups", 1)
    window = [f"{stride} * {out} + {tap}" for out, tap in (("p", "r"), ("q", "s"))]
    if kind == "gemm":
        accesses = {"input": "[m, k]", "weight": "[k, n]", "output": "[m, n]"}
    elif groups == 1:
        accesses = {"input": "{N: n, C: c, H: HH, W: WW}", "weight": "[k, c, r, s]", "output": "[n, k, p, q]"}
    else:
        del dims["K"]  # depthwise: every channel on its own
        accesses = {"input": "{N: n, C: c, H: HH, W: WW}", "weight": "[c, r, s]", "output": "[n, c, p, q]"}
    accesses["input"] = accesses["input"].replace("HH", window[0]).replace("WW", window[1])
    ranges = "".join(f"    {dim.lower()}: 0 <= {dim.lower()} < {size}\n" for dim, size in dims.items())
    tensors = "".join(
        f"    - {{name: {role.title()}, projection: {ranks}{', output: True' * (role == 'output')}}}\n"
        for role, ranks in accesses.items()
    )
    renames = ", ".join(f"{role}: {role.title()}" for role in accesses)
    bits = 16 if case["arch"] == "H3.16" else 8
    return (
        f"workload:\n  iteration_space_shape:\n{ranges}  bits_per_value: {{All: {bits}}}\n  einsums:\n"
        f"  - name: Layer\n    tensor_accesses:\n{tensors}    renames: {{{renames}}}\n"
    )


def fused_workload(case: dict[str, Any]) -> str:
    ranges = "".join(f"    {dim}: 0 <= {dim} < {size}\n" for dim, size in case["sizes"].items())
    einsums = ""
    for name, accesses in case["einsums"]:
        einsums += f"  - name: {name}\n    tensor_accesses:\n"
        for tensor, ranks, is_output in accesses:
            einsums += f"    - {{name: {tensor}, projection: {ranks}{', output: True' * is_output}}}\n"
    return f"workload:\n  iteration_space_shape:\n{ranges}  bits_per_value: {{All: 8}}\n  einsums:\n{einsums}"


def fused_case(number: int) -> dict[str, Any]:
    """One of the lines whose whole space was searched."""
    lines = (GOLDEN / "fused" / "accelforge.jsonl").read_text().splitlines()
    return [case for case in map(json.loads, lines) if case["mode"] == "fused"][number]


def cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def asked(options: argparse.Namespace) -> tuple[str, str, str]:
    """The objective, the machine and the workload of a case."""
    if options.fused:
        case = fused_case(options.number)
        return case["objective"], fused_machine(case), fused_workload(case)
    case = json.loads((GOLDEN / "accelforge.json").read_text())["cases"][options.number]
    return case["objective"], machine(case["arch"], options.weights_first), workload(case)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("number", type=int, help="which case, from 0 on")
    parser.add_argument("--fused", action="store_true", help="of the cascades")
    parser.add_argument("--searches", type=int, default=1, help="how often it is searched; the median of all counts")
    parser.add_argument("--coarseness", type=float, help="AccelForge's tiling_coarseness")
    parser.add_argument("--weights-first", action="store_true", help="name eyerissN's scratchpad of weights first")
    options = parser.parse_args()
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR"):  # read when numpy is loaded
        os.environ[f"{library}_NUM_THREADS"] = "1"
    import accelforge
    from accelforge.frontend.spec import Spec
    from accelforge.mapper import Metrics
    from accelforge.mapper.FFM.main import join_pmappings, make_pmappings

    objective, *texts = asked(options)
    metric = {
        "energy": Metrics.ENERGY,
        "latency": Metrics.LATENCY,
        "edp": Metrics.ENERGY_DELAY_PRODUCT,
        "front": Metrics.ENERGY | Metrics.LATENCY,
    }[objective]
    accelforge.set_n_parallel_jobs(1)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("machine.yaml", "workload.yaml")]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        spec = Spec.from_yaml(*map(str, files))
    spec.mapper.metrics = metric
    if options.coarseness is not None:
        spec.mapper.tiling_coarseness = options.coarseness
    seconds = []
    for _ in range(options.searches):
        started = cpu_seconds()
        parts = make_pmappings(spec, print_progress=False)
        found = join_pmappings(parts, metrics=metric, require_all_einsums=False, print_progress=False)
        seconds.append(cpu_seconds() - started)
    value = math.prod(found.data[f"Total<SEP>{column}"] for column in COLUMNS[objective]).min()
    print(json.dumps({"cpu_s": statistics.median(seconds), "value": float(value)}))


if __name__ == "__main__":
    main()
