"""Nodes above splits: what is a product of sizes and trips is what the cost model counts."""

from __future__ import annotations

import random

import pytest

from tilewright.arch import Architecture, Mac, Memory
from tilewright.mapper.cascades.terms.upper_nodes import Around, LoopOver, UpperNodes
from tilewright.workloads import cascade

PRODUCTS = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[2*n,p]"], m=12, n=8, k=6, p=4)
WINDOWS = cascade(
    ["U[c,x,z] += X[c,2*x+r,3*z+t] * V[r,t,c]", "O[k,y,z] += U[c,y+2*s,z] * W[k,c,s] pad U[0,1:1,0]"],
    {"c": 4, "x": 12, "z": 4, "r": 3, "t": 2, "k": 2, "y": 10, "s": 3},
)


def _machine(rng: random.Random) -> Architecture:
    """Four memories, one in the other."""
    levels = [
        Memory(
            name=f"M{i}",
            access_bits=rng.choice([8, 16, 64]),
            read_energy_pj=rng.choice([1.0, 2.5, 7.0]),
            write_energy_pj=rng.choice([1.0, 3.0]),
            overlaps=rng.random() < 0.5,
            halo=rng.choice(["none", "innermost", "innermost", "exact"]),
        )
        for i in range(4)
    ]
    return Architecture(
        name="machine",
        clock_hz=1e9,
        word_bits=rng.choice([8, 16]),
        reuse=rng.choice(["at_node", "across_levels"]),
        partial_sum_bits=rng.choice([None, 24]),
        first_read_elision=rng.random() < 0.5,
        inner_drain_read=rng.random() < 0.5,
        footprint=rng.choice(["exact", "box"]),
        levels=tuple(levels),
        mac=Mac(energy_pj=0.5, per_cycle=1),
    )


@pytest.mark.parametrize("seed", range(4))
def test_products_are_what_is_counted(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(90):
        arch = _machine(rng)
        whole = rng.choice([PRODUCTS, WINDOWS])
        upper = UpperNodes(whole, arch)
        operation = rng.choice(whole.operations)
        tensor = rng.choice(operation.problem.tensors).name
        dims = dict(operation.problem.dims)
        loops = tuple(
            LoopOver(dim, rng.choice([n for n in range(2, dims[dim] + 1) if dims[dim] % n == 0]))
            for dim in rng.sample(sorted(dims), rng.randint(0, len(dims)))
        )
        depths = sorted(rng.randint(0, len(loops)) for _ in range(rng.randint(1, 2)))
        first = rng.choice([1, 2])
        chain = tuple((f"M{first + i}", depth) for i, depth in enumerate(depths))
        asked = operation.name, tensor, operation.problem.dims, loops, chain, Around("M0", rng.choice([1, 3]))
        counted, found = upper.counted(*asked), upper.cost(*asked)
        assert found.energy_pj == pytest.approx(counted.energy_pj)
        assert [name for name, *_ in sorted(found.busy)] == [name for name, *_ in sorted(counted.busy)]
        for (_, *ours), (_, *theirs) in zip(sorted(found.busy), sorted(counted.busy), strict=True):
            assert ours == pytest.approx(theirs)
        assert (found.words, found.stays) == (counted.words, counted.stays)
