"""Lines that the model counts beside sectors of 32 bytes that a GPU counts, load by load.

    python benchmarks/gpu_sectors.py --out tests/golden/gpu_sectors.csv  # needs a GPU, nvcc and ncu
    python benchmarks/gpu_sectors.py                                     # what would be run, and the model's counts

A warp is an array of 32 instances that read from a memory with lines of 32 bytes, and a load instruction is a step of
the mapping. So a mapping of one tensor into registers is a program for one warp, whose sectors a counter of the GPU
counts (`l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`), before any cache. Where a word lies follows from what
docs/layouts.md says a line holds; the code here shares nothing with the model's. The other cases are those of
`gpu advise`: warps that walk along and across the rows of a matrix.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import math
import random
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tilewright as tw
from tilewright.arch import parse_arch
from tilewright.cost_models.cost import lines_of
from tilewright.cost_models.gpu import coalescing

HERE = Path(__file__).parent
COUNTER = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
SECTOR, LANES, IDLE = 32, 32, -1
SEED = 21
MACHINE = """
name: warp
clock: 1 GHz
word: {bits} bit
levels:
  - {{memory: DRAM, access: 1 word, read: 1 pJ, write: 1 pJ, line: {sector} B, layout: {{{tensor}: {layout}}}}}
  - {{fanout: lanes, x: 32, y: 32, multicast: true, spatial_reduction: true}}
  - {{memory: RF, size: 1 MiB, access: 1 word, read: 1 pJ, write: 1 pJ, halo: none}}
mac: {{energy: 1 pJ}}
"""


@dataclass(frozen=True)
class Case:
    """Loads of a warp, and the sectors that the model counts for them.

    bytes   that a lane takes at once
    steps   for every load instruction the byte that each lane reads from, -1 where it is idle
    """

    name: str
    bytes: int
    steps: tuple[tuple[int, ...], ...]
    modelled: float


@dataclass(frozen=True)
class Walk:
    """A mapping of one tensor: loops from the outermost to the innermost, and how far each lane is along a dimension.

    ranks    for each rank of the tensor the dimensions that add up to its index
    spread   the dimensions over the lanes, with how many lanes each has
    order    ranks from the outermost to the innermost, in memory
    """

    problem: tw.Problem
    tensor: str
    ranks: tuple[tuple[str, ...], ...]
    loops: tuple[tuple[str, int], ...]
    spread: tuple[tuple[str, int], ...]
    order: tuple[int, ...]
    bytes: int

    @property
    def layout(self) -> str:
        return "".join(self.ranks[rank][0] for rank in self.order)

    def nest(self) -> str:
        lanes = [
            f"parallel {dim} in {size} on lanes.{axis}" for (dim, size), axis in zip(self.spread, "xy", strict=False)
        ]
        return "\n".join(
            [
                f"DRAM keeps {' '.join(tensor.name for tensor in self.problem.tensors)}",
                *(f"for {dim} in {size}" for dim, size in self.loops),
                *lanes,
                f"RF keeps {' '.join(tensor.name for tensor in self.problem.tensors)}",
            ]
        )

    def modelled(self) -> int:
        """Lines that DRAM is read in, by the closed form."""
        text = MACHINE.format(bits=8 * self.bytes, sector=SECTOR, tensor=self.tensor, layout=self.layout)
        mapping = tw.Mapping(self.problem, tw.LoopNest.parse(self.nest()))
        return lines_of(mapping, parse_arch(text)).total["DRAM", self.tensor].supplied

    def steps(self) -> Iterator[tuple[int, ...]]:
        """The byte that each lane reads from, step by step."""
        sizes = self.problem.sizes
        extents = [1 + sum(sizes[dim] - 1 for dim in rank) for rank in self.ranks]
        box = line_box(extents, self.order, SECTOR // self.bytes)
        spread = dict(self.spread)
        for trip in itertools.product(*(range(size) for _, size in self.loops)):
            base = {dim: spread.get(dim, 1) * index for (dim, _), index in zip(self.loops, trip, strict=True)}
            lanes = []
            for lane in itertools.product(*map(range, spread.values())):
                at = {dim: base.get(dim, 0) + dict(zip(spread, lane, strict=True)).get(dim, 0) for dim in sizes}
                place = [sum(at[dim] for dim in rank) for rank in self.ranks]
                inside = all(at[dim] < size for dim, size in sizes.items())
                lanes.append(byte_at(place, extents, self.order, box, self.bytes) if inside else IDLE)
            yield tuple(lanes + [IDLE] * (LANES - len(lanes)))


def line_box(extents: Sequence[int], order: Sequence[int], words: int) -> list[int]:
    """Indices along each rank that a line holds: whole innermost ranks, of the next one as many as still fit."""
    box = [1] * len(extents)
    for rank in reversed(order):
        box[rank] = min(extents[rank], words)
        words //= box[rank]
        if box[rank] < extents[rank]:
            break
    return box


def byte_at(
    place: Sequence[int], extents: Sequence[int], order: Sequence[int], box: Sequence[int], word_bytes: int
) -> int:
    """Where a word lies in a memory in which every line begins a sector."""
    line = inside = 0
    for rank in order:
        line = line * math.ceil(extents[rank] / box[rank]) + place[rank] // box[rank]
        inside = inside * box[rank] + place[rank] % box[rank]
    return SECTOR * line + word_bytes * inside


def cases() -> list[Case]:
    """Random mappings of matrices and images, and the rows of matrices."""
    rng = random.Random(SEED)
    walks = [walk for make in (matrix, image) for walk in (make(rng) for _ in range(40))]
    return [*map(mapped, walks), *rows_of_matrices()]


def mapped(walk: Walk) -> Case:
    sizes = " ".join(f"{dim}={size}" for dim, size in walk.problem.sizes.items() if size > 1)
    lanes = " ".join(f"{dim}{size}" for dim, size in walk.spread)
    loops = "".join(dim for dim, _ in walk.loops)
    name = f"{walk.tensor} {walk.layout} of {sizes}, lanes {lanes}, loops {loops}"
    return Case(name, walk.bytes, tuple(walk.steps()), walk.modelled())


def matrix(rng: random.Random) -> Walk:
    problem = tw.gemm(rng.randint(1, 70), 1, rng.randint(2, 70))
    return walk_of(rng, problem, "A", (("M",), ("K",)))


def image(rng: random.Random) -> Walk:
    sizes = {"C": rng.randint(1, 9), "P": rng.randint(1, 14), "Q": rng.randint(2, 14)}
    problem = tw.conv2d(K=1, **sizes, R=rng.randint(1, 3), S=rng.randint(1, 3))
    return walk_of(rng, problem, "I", (("C",), ("P", "R"), ("Q", "S")))


def walk_of(rng: random.Random, problem: tw.Problem, tensor: str, ranks: tuple[tuple[str, ...], ...]) -> Walk:
    """One or two dimensions over the lanes, loops in any order, ranks in any order, words of 1 to 8 bytes."""
    dims = [dim for rank in ranks for dim in rank if problem.sizes[dim] > 1]
    spread, left = [], LANES
    for dim in rng.sample(dims, min(len(dims), rng.randint(1, 2))):
        size = rng.randint(2, max(2, min(left, problem.sizes[dim])))
        if size <= left:
            spread.append((dim, size))
            left //= size
    inner = dict(spread)
    loops = [(dim, math.ceil(problem.sizes[dim] / inner.get(dim, 1))) for dim in rng.sample(dims, len(dims))]
    order = tuple(rng.sample(range(len(ranks)), len(ranks)))
    trips = tuple(loop for loop in loops if loop[1] > 1)
    return Walk(problem, tensor, ranks, trips, tuple(spread), order, rng.choice([1, 2, 4, 8]))


def rows_of_matrices() -> Iterator[Case]:
    """Every row of a matrix of 256, loaded along and across, as `gpu advise` shows it."""
    for bytes_, leading in itertools.product((1, 2, 4), (256, 264, 272, 288, 304, 257, 260, 258)):
        loads = coalescing(leading, leading, bytes_)
        width, along = loads.load_bytes, min(LANES * loads.load_bytes, leading * bytes_)
        lanes = along // width
        starts = [row * leading * bytes_ for row in range(256)]
        steps = [tuple(start + lane * width for lane in range(lanes)) + (IDLE,) * (LANES - lanes) for start in starts]
        yield Case(f"rows of {leading} x {bytes_} B, along", width, tuple(steps), len(steps) * loads.sectors_along)
        steps = [tuple(starts[first : first + LANES]) for first in range(0, len(starts), LANES)]
        yield Case(f"rows of {leading} x {bytes_} B, across", width, tuple(steps), len(steps) * loads.sectors_across)


def counted(found: list[Case]) -> list[int]:
    """Sectors that the GPU counts for each case: with the loads less without them."""
    with tempfile.TemporaryDirectory() as folder:
        program, lists = Path(folder, "sectors"), Path(folder, "lists.bin")
        subprocess.run(["nvcc", "-O2", "-arch=native", "-o", program, HERE / "gpu_sectors.cu"], check=True)
        lists.write_bytes(b"".join(map(listed, found)))
        command = ["ncu", "--csv", "--metrics", COUNTER, program, lists]
        ran = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    table = ran.stdout[ran.stdout.index('"ID"') :]
    values = [int(float(row["Metric Value"].replace(",", ""))) for row in csv.DictReader(io.StringIO(table))]
    if len(values) != 2 * len(found):
        sys.exit(f"error: found {len(values)} launches in what ncu printed, expected {2 * len(found)}")
    return [loads - bare for bare, loads in zip(values[::2], values[1::2], strict=True)]


def listed(case: Case) -> bytes:
    """A case as gpu_sectors.cu reads it."""
    addresses = list(itertools.chain.from_iterable(case.steps))
    return struct.pack(f"<2i{len(addresses)}i", case.bytes, len(case.steps), *addresses)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="a table of what was counted; unless given, only the model's counts")
    options = parser.parse_args()
    found = cases()
    if options.out is None:
        for case in found:
            print(f"{case.modelled:10,.2f} sectors in {len(case.steps):5,} loads of {case.bytes} B: {case.name}")
        return
    with options.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case", "bytes", "loads", "sectors"])
        for case, sectors in zip(found, counted(found), strict=True):
            writer.writerow([case.name, case.bytes, len(case.steps), sectors])
            if abs(sectors - case.modelled) > 1e-6:
                print(f"counted {sectors:,}, modelled {case.modelled:,.2f}: {case.name}")
    print(f"{len(found)} cases; wrote {options.out}")


if __name__ == "__main__":
    main()
