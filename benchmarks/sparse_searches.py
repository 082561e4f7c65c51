"""How long searches take with zeros of operands, against the same without.

python benchmarks/sparse_searches.py [--time-limit 40]
"""

from __future__ import annotations

import argparse
import time

import tilewright as tw

W_AND_I = {"W": "0.35", "I": "0.45"}
FORMATS = ["uncompressed", "bitmask", "csr"]

CASES = [
    ("gemm", "sparse_tensor_core", {}, {"W": "2:4"}, "ragged"),
    ("gemm", "sparse_tensor_core", {}, {"W": "2:4"}, "perfect"),
    ("bert_base:ff1", "sparse_tensor_core", {}, {"W": "2:4"}, "perfect"),
    ("alexnet:conv3", "scnn_like", {}, W_AND_I, "perfect"),
    ("resnet50:layer1.0.conv2", "scnn_like", {}, W_AND_I, "perfect"),
    ("alexnet:conv3", "eyeriss_v2_like", {}, W_AND_I, "perfect"),
    ("resnet50:layer1.0.conv2", "eyeriss_v2_like", {}, W_AND_I, "perfect"),
    ("alexnet:conv3", "eyeriss", {"GLB.compress": {"input": FORMATS}}, W_AND_I, "perfect"),
    ("alexnet:conv3", "eyeriss", {"GLB.gate": {"input": ["weight"]}}, W_AND_I, "perfect"),
    ("alexnet:conv3", "eyeriss", {"spad.gate": {"weight": ["input"]}}, W_AND_I, "perfect"),
    ("alexnet:conv3", "eyeriss", {"spad.skip": {"weight": ["input"]}}, W_AND_I, "ragged"),
]
"""Layer (a product of 512 x 512 x 512, or of a network), machine, what is set there, densities, tiling."""


def seconds(
    layer: tw.Problem, arch: tw.Architecture, density: dict[str, str], tiling: str, limit: float
) -> tuple[float, str]:
    """CPU seconds, and the same with what is left open as text."""
    started = time.process_time()
    found = tw.search(layer, arch, tiling=tiling, density=density or None, time_limit=limit).certificate
    took = time.process_time() - started
    return took, f"{took:.{1 if took >= 0.1 else 2}f}" + (
        "" if found.proven else f", gap {1 - found.lower_bound / found.value:.0%}"
    )


def row(name: str, arch: str, changes: dict[str, object], density: dict[str, str], tiling: str, limit: float) -> str:
    """A row of the table."""
    layer = tw.gemm(512, 512, 512) if name == "gemm" else tw.load_layer(name)
    machine = tw.load_arch(arch, changes)
    dense, plain = seconds(layer, machine, {}, tiling, limit)
    sparse, zeros = seconds(layer, machine, density, tiling, limit)
    said = [f"`{name}`", f"`{arch}`", ", ".join(f"`{key}`" for key in changes), tiling, plain, zeros]
    return "| " + " | ".join([*said, f"{sparse / dense:.1f}"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=40.0, help="seconds per search")
    limit = parser.parse_args().time_limit
    print("| layer | machine | set | tiling | without zeros | with zeros | times |\n|---|---|---|---|---|---|---|")
    for case in CASES:
        print(row(*case, limit), flush=True)


if __name__ == "__main__":
    main()
