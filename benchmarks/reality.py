"""Does the model predict what a processor does? Emitted C, timed, beside the latency that the cost model gives.

    python benchmarks/reality.py --out results/cpu
    python benchmarks/reality.py --layers alexnet:fc7 --mappings 8 --rounds 1

For every layer, mappings from the best to poor ones are written as C for the architecture `cpu`, compiled and run; the
page compares predicted latency and measured time by rank, and the fastest with plain loops and with numpy's BLAS, all
on one core. Times are CPU time, the least of several runs: on a machine that does other things, too, wall time says
little. Needs gcc.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import reality_effects
import reality_page
from numpy.lib.stride_tricks import as_strided
from reality_page import FLAGS, Measured

import tilewright as tw
from tilewright.cost_models import Cost, count_words, evaluate
from tilewright.ir import Mapping, Problem, Tensor
from tilewright.mapper.emit import emit_c
from tilewright.mapper.heuristics.moves import neighbour
from tilewright.mapper.heuristics.sample import GenomeSpace

LAYERS = (
    *("mobilenet_v1:conv1", "resnet50:layer1.0.conv1", "resnet18:layer2.0.conv1", "resnet50:layer3.0.conv3"),
    *("resnet18:layer4.0.conv1", "mobilenet_v2:b12.expand", "alexnet:fc7", "vit_b16:av"),
    *("llama3_8b_decode_block:qk", "llama3_8b_decode_block:av"),
)
PACKED = "L2"
"""The cache for whose tiles packed copies are made; the others keep by themselves what they keep."""
LEAST_REUSE = 2
"""A tile is copied if each of its words is used as often, by the counts of the model."""
SLOWEST = 40.0
"""Mappings with more than this many times the least latency are left out: they run for seconds."""


@dataclass(frozen=True)
class Candidate:
    """A mapping, and what the model says of it."""

    mapping: Mapping
    cost: Cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", default=",".join(LAYERS))
    parser.add_argument("--mappings", type=int, default=20, help="for each layer")
    parser.add_argument("--rounds", type=int, default=2, help="over all mappings of a layer")
    parser.add_argument("--runs", type=int, default=4, help="of each mapping in a round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--page-only", action="store_true", help="write the page again, from the table in --out")
    options = parser.parse_args()
    if options.page_only:
        write_page(options.out, reality_page.read_table(options.out), reality_page.where_measured(options.out))
        return
    rows: list[Measured] = []
    for layer in options.layers.split(","):
        found = measure_layer(layer, options)
        rows += found
        print(reality_page.summary(found), flush=True)
        if options.out:
            reality_page.write_table(options.out, rows)
    if options.out:
        write_page(options.out, rows, reality_page.here())


def write_page(folder: Path, rows: list[Measured], run_on: str) -> None:
    reality_page.write_page(folder, rows, reality_effects.table(rows), run_on)


def measure_layer(layer: str, options: argparse.Namespace) -> list[Measured]:
    arch = tw.load_arch("cpu")
    candidates = pick(layer, arch, options.mappings, random.Random(options.seed))
    with tempfile.TemporaryDirectory() as folder:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            programs = list(
                pool.map(lambda i: build(Path(folder), i, candidates[i].mapping, arch), range(len(candidates)))
            )
        times: list[list[tuple[float, float]]] = [[] for _ in programs]
        for _ in range(options.rounds):
            for program, found in zip(programs, times, strict=True):
                found.append(timed(program, options.runs))
    problem = tw.load_layer(layer)
    plain = min(p for found in times for _, p in found)
    blas = blas_seconds(problem)
    return [
        Measured(
            layer=layer,
            macs=problem.macs,
            cycles=c.cost.latency_cycles,
            energy_pj=c.cost.energy_pj,
            predicted_s=c.cost.latency_cycles / arch.clock_hz,
            measured_s=min(s for s, _ in found),
            plain_s=plain,
            blas_s=blas,
            chosen=i == 0,
            nest=str(c.mapping.nest),
        )
        for i, (c, found) in enumerate(zip(candidates, times, strict=True))
    ]


# ---- mappings from good to poor ------------------------------------------------------------------------------------


def pick(layer: str, arch: tw.Architecture, count: int, rng: random.Random) -> list[Candidate]:
    """The mapping with the least energy-delay product, and others, spread evenly over the logarithm of latency."""
    problem = tw.load_layer(layer)
    best = tw.search(problem, arch, objective="edp", tiling="perfect")
    least = tw.search(problem, arch, objective="latency,energy", tiling="perfect")
    known = {r.mapping: Candidate(r.mapping, r.cost) for r in (best, least)}
    limit = SLOWEST * least.cost.latency_cycles
    drawn = {c.mapping: c for c in around(list(known), problem, arch, rng) if c.cost.latency_cycles <= limit}
    pool = sorted((c for m, c in drawn.items() if m not in known), key=lambda c: c.cost.latency_cycles)
    return [*known.values(), *spread(pool, count - len(known))]


def around(starts: list[Mapping], problem: Problem, arch: tw.Architecture, rng: random.Random) -> Iterator[Candidate]:
    """Mappings on random walks away from some, and mappings drawn at random."""
    space = GenomeSpace(problem, arch, "perfect")
    for walk in range(20):
        genome = space.genome(starts[walk % len(starts)]) if walk % 3 else space.draw(rng)
        for _ in range(20):
            moved = neighbour(space, genome, rng)
            if space.fits(moved):
                genome = moved
                mapping = space.mapping(genome)
                yield Candidate(mapping, evaluate(mapping, arch))


def spread(pool: list[Candidate], count: int) -> list[Candidate]:
    """As many as asked for, the nearest to evenly spaced logarithms of latency."""
    left = list(pool)
    logs = np.log([c.cost.latency_cycles for c in pool])
    found = []
    for goal in np.linspace(logs[0], logs[-1], count):
        near = min(left, key=lambda c: abs(np.log(c.cost.latency_cycles) - goal))
        left.remove(near)
        found.append(near)
    return found


# ---- programs ------------------------------------------------------------------------------------------------------


def build(folder: Path, number: int, mapping: Mapping, arch: tw.Architecture) -> Path:
    source = folder / f"mapping{number}.c"
    source.write_text(emit_c(mapping, arch, copied=copied(mapping, arch)), encoding="ascii")
    program = source.with_suffix("")
    clock = "-DCLOCK=CLOCK_PROCESS_CPUTIME_ID"
    subprocess.run(["gcc", *FLAGS.split(), clock, str(source), "-o", str(program)], check=True)
    return program


def copied(mapping: Mapping, arch: tw.Architecture) -> list[str]:
    """Outputs into registers, which no cache does by itself; and into packed tiles what is used again in there."""
    total = count_words(mapping, arch).total
    found = [f"registers.{mapping.problem.output.name}"]
    for tensor in mapping.problem.tensors:
        inner, outer = total["registers", tensor.name], total[PACKED, tensor.name]
        uses, copies = (inner.drains, outer.drains) if tensor.is_output else (inner.fills, outer.fills)
        if uses >= LEAST_REUSE * copies:
            found.append(f"{PACKED}.{tensor.name}")
    return found


def timed(program: Path, runs: int) -> tuple[float, float]:
    """Seconds of the schedule and of the plain loops; the program checks that both agree."""
    done = subprocess.run([str(program), "0", str(runs)], capture_output=True, text=True, check=True)
    schedule, plain = re.findall(r"(\S+) s ", done.stdout)
    return float(schedule), float(plain)


# ---- numpy ---------------------------------------------------------------------------------------------------------


def blas_seconds(problem: Problem, runs: int = 9) -> float:
    """CPU seconds of the operation as one matrix product of numpy for each batch, the unfolding of windows included."""
    rng = np.random.default_rng(0)
    left, right = ((t, rng.random(shape(problem, t), dtype=np.float32)) for t in problem.operands)
    best = float("inf")
    for _ in range(runs):
        begun = time.process_time()
        product(problem, left, right)
        best = min(best, time.process_time() - begun)
    return best


def shape(problem: Problem, tensor: Tensor) -> tuple[int, ...]:
    return tuple(1 + sum(c * (problem.sizes[dim] - 1) for dim, c in rank) for rank in tensor.ranks)


def product(problem: Problem, left: tuple[Tensor, np.ndarray], right: tuple[Tensor, np.ndarray]) -> np.ndarray:
    """The output, its axes in the order batch, rows, columns."""
    output = problem.output.dims
    both = left[0].dims & right[0].dims
    batch = [dim for dim in problem.dim_names if dim in both and dim in output]
    depth = [dim for dim in problem.dim_names if dim in both and dim not in output]
    rows = [dim for dim in problem.dim_names if dim in left[0].dims - both]
    columns = [dim for dim in problem.dim_names if dim in right[0].dims - both]
    return np.matmul(matrix(problem, left, batch, rows, depth), matrix(problem, right, batch, depth, columns))


def matrix(problem: Problem, operand: tuple[Tensor, np.ndarray], *groups: list[str]) -> np.ndarray:
    """An operand with an axis for each group of dimensions; a copy where windows overlap (im2col)."""
    tensor, array = operand
    step = {d: c * s for rank, s in zip(tensor.ranks, array.strides, strict=True) for d, c in rank}
    order = [dim for group in groups for dim in group]
    view = as_strided(array, [problem.sizes[d] for d in order], [step[d] for d in order], writeable=False)
    return view.reshape([int(np.prod([problem.sizes[d] for d in group])) for group in groups])


if __name__ == "__main__":
    main()
