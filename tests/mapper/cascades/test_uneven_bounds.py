"""Bounds of operations whose visits are uneven: each tile that stands for a visit is a part of one that is bounded."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

import tilewright as tw
from longer import blocks
from tilewright.arch import load_arch
from tilewright.ir import Cascade
from tilewright.mapper.cascades.branches.oracle import ExactBranches
from tilewright.mapper.cascades.relaxations.operation_bounds import coverings
from tilewright.mapper.cascades.relaxations.part_bounds import PartBounds
from tilewright.mapper.cascades.terms.parts import VisitedPart
from tilewright.mapper.cascades.terms.placing import Placing
from tilewright.mapper.cascades.terms.sharing import Passage, SharedDim, shared_dims
from tilewright.mapper.cascades.terms.upper_memories import UpperMemories
from tilewright.mapper.cascades.terms.windowed import KEPT, Uneven, uneven_visits, windowed_dims
from tilewright.mapper.means import Means
from tilewright.mapper.pareto.weights import LATENCY_ALONE
from tilewright.workloads import cascade

LANES = """
name: lanes
clock: 1 GHz
word: 8 bit
levels:
  - {memory: DRAM, access: 8 bit, read: 100 pJ, write: 100 pJ}
  - {fanout: lanes, x: 4}
mac: {energy: 1 pJ}
"""

SIDE = """
name: side
clock: 1 GHz
word: 8 bit
levels:
  - {memory: DRAM, access: 8 bit, read: 200 pJ, write: 200 pJ}
  - {memory: GLB, size: 64 B, access: 8 bit, read: 6 pJ, write: 6 pJ, keep: may, halo: innermost}
  - {fanout: array, x: 4}
mac: {energy: 0.5 pJ}
"""


@pytest.mark.parametrize("seeds", blocks(8, 8))
def test_every_tile_of_uneven_visits_is_a_part_of_one_that_is_bounded(seeds: range) -> None:
    """Where windows are wide, tiles of a longer visit may divide neither the whole nor the longest visit."""
    compared = 0
    for seed in seeds:
        rng = random.Random(seed)
        found: Cascade = _windows(rng)
        for last, dims in ((2, shared_dims(found, ("T", "U"))), (3, shared_dims(found, ("T", "U", "O")))):
            names = ("T", "U", "O")[:last]
            for dim in (one for one in dims if _is_searched(found, one)):
                size = found.operation(names[-1]).problem.sizes[dim.of(names[-1])]
                for trips, *kept in itertools.product(range(2, size + 1), *[KEPT] * len(dim.uneven)):
                    passes = [Passage(name, "GLB", one) for name, one in zip(dim.uneven, kept, strict=True)]
                    visits = None if size % trips else uneven_visits(found, names, dim, trips, passes)
                    for name, one in (visits or {}).items():
                        whole = found.operation(name).problem.sizes[one.dim]
                        ways = [way for way in windowed_dims(found, found.operation(name)) if way.dim == one.dim]
                        covered = [whole, *(n for way in ways for n in coverings(way, whole))]
                        tiles = {tile for _, tile in (*one.tiles(), *one.one_tile())}
                        assert all(any(n % tile == 0 for n in covered) for tile in tiles)
                        compared += 1
    assert compared


def _windows(rng: random.Random) -> Cascade:
    """A product, and two sums over windows of it, with zeros around."""
    stages, size = [], rng.randint(2, 9)
    sizes = {"k": 2, "p": size}
    for made, written, read, window in (("p", "O", "U", "r"), ("y", "U", "T", "q")):
        sizes[window], stride = rng.randint(1, 5), rng.choice((1, 1, 2))
        extent = (size - 1) * stride + sizes[window]
        before = rng.randint(0, sizes[window] - 1)
        after = rng.randint(0, min(sizes[window], max(1, extent - before)) - 1)
        pad = f" pad {read}[{before}:{after}]" if before or after else ""
        stages.append(f"{written}[{made}] += {read}[{stride}*{made}+{window}] * V{written}[{window}]{pad}")
        size = sizes["y" if made == "p" else "x"] = max(1, extent - before - after)
    return cascade(["T[x] += A[x,k] * B[k]", *reversed(stages)], **sizes)


def _is_searched(found: Cascade, dim: SharedDim) -> bool:
    """Whether a loop over a dimension steps over dimensions of what readers write alone."""
    below = {name for name, _ in dim.dims}
    readers = [reader for name in dim.uneven for reader in found.consumers[name]]
    return all(one.name in below and dim.of(one.name) in one.output.dims for one in readers)


def test_a_longer_visit_weighs_its_bound_or_more(tmp_path: Path) -> None:
    """Three positions are bounded as such, as parts of 6, 9 and 15, and two times two of them besides: on four lanes
    these take no longer than three."""
    found = cascade(["T[x] += A[x,k] * B[k]", "O[p] += T[2*p+r] * V[r] pad T[0:4]"], x=3, k=3, p=2, r=5)
    machine = tmp_path / "lanes.yaml"
    machine.write_text(LANES)
    arch = load_arch(str(machine))
    memories = UpperMemories(arch)
    solver = ExactBranches(found, arch, "uneven", "perfect", Means())
    bounds = PartBounds(found, memories, "uneven", LATENCY_ALONE, solver, Placing(found, memories, "uneven"), True)
    homes = tuple(sorted((tensor.name, "DRAM") for tensor in found.operation("T").problem.tensors))
    part = VisitedPart(("T",), ((("X", 4), ("K", 3)),), homes, (1,), (memories.room,), ((),), steps=False)
    assert 0 < bounds.of(part) <= solver.least(part.question(), LATENCY_ALONE).bound * (1 + 1e-9)


def test_computing_takes_the_steps_of_all_visits() -> None:
    """Five rows, then four, then three: four at once take two steps for the first."""
    visits = Uneven("Y", 4, 3, 5, 11 / 12, 6, ((5, 1),), ((3, 1), (4, 1), (5, 1)))
    assert [visits.computing(n) for n in (1, 2, 4)] == [1.0, 14 / 12, 16 / 12]


@pytest.mark.long
def test_latency_of_uneven_visits_is_proven_where_computing_limits_it(tmp_path: Path) -> None:
    machine = tmp_path / "side.yaml"
    machine.write_text(SIDE)
    rows = ["T[k,y] += X[c,y] * A[k,c]", "U[k,p] += T[k,p+r] * B[k,r] pad T[0,1:1]"]
    small = tw.cascade(rows, c=3, k=2, y=16, p=16, r=3)
    found = tw.search(small, machine, "latency", "perfect", constraints=["for P in 4", "T along Y"])
    assert found.mapping.windows("T") == {"Y"}
    assert found.certificate.proven
