"""How long searches take with zeros of operands, against the same without, and against one without that asks as much:
words with as many bits as they take with zeros in the outermost memory, and units as much faster and cheaper as they
are for leaving out operations.

python benchmarks/sparse_searches.py [--time-limit 40]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import tilewright as tw
from tilewright.cost_models.sparse import with_densities
from tilewright.mapper.exact.question.zero_rules import ZeroRules

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
) -> tuple[float, str, tw.SearchResult]:
    """CPU seconds, the same with what is left open as text, and what was found."""
    started = time.process_time()
    found = tw.search(layer, arch, tiling=tiling, density=density or None, time_limit=limit)
    took, proof = time.process_time() - started, found.certificate
    text = f"{took:.{1 if took >= 0.1 else 2}f}"
    return took, text + ("" if proof.proven else f", gap {1 - proof.lower_bound / proof.value:.0%}"), found


def alike(
    layer: tw.Problem, arch: tw.Architecture, density: dict[str, str], tiling: str, found: tw.SearchResult
) -> tuple[tw.Problem, tw.Architecture]:
    """A question without zeros that asks as much as one with them."""
    home, bits = arch.memories[0].name, {}
    for traffic in found.cost.traffic:
        if traffic.memory == home and traffic.tensor in density and traffic.zeros is not None:
            held = traffic.zeros.stored_words * arch.word_bits + traffic.zeros.stored_metadata_bits
            bits[traffic.tensor] = round(held / traffic.tile_words)
    tensors = tuple(replace(each, bits=bits.get(each.name, each.bits)) for each in layer.tensors)
    return replace(layer, tensors=tensors), ZeroRules(with_densities(layer, density), arch, tiling).machine


def row(name: str, arch: str, changes: dict[str, object], density: dict[str, str], tiling: str, limit: float) -> str:
    """A row of the table."""
    layer = tw.gemm(512, 512, 512) if name == "gemm" else tw.load_layer(name)
    machine = tw.load_arch(arch, changes)
    dense, plain, _ = seconds(layer, machine, {}, tiling, limit)
    sparse, zeros, found = seconds(layer, machine, density, tiling, limit)
    _, same, _ = seconds(*alike(layer, machine, density, tiling, found), {}, tiling, limit)
    said = [f"`{name}`", f"`{arch}`", ", ".join(f"`{key}`" for key in changes), tiling, plain, same, zeros]
    return "| " + " | ".join([*said, f"{sparse / dense:.1f}"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=40.0, help="seconds per search")
    limit = parser.parse_args().time_limit
    tw.search(tw.gemm(8, 8, 8), "sparse_tensor_core", density={"W": "2:4"})  # what is loaded once counts for none
    print("| layer | machine | set | tiling | without zeros | without, alike | with zeros | times |")
    print("|---|---|---|---|---|---|---|---|")
    for case in CASES:
        print(row(*case, limit), flush=True)


if __name__ == "__main__":
    main()
