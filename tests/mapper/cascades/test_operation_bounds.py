"""What single operations weigh at least, by what they weigh with tensors in the nearest memory."""

from __future__ import annotations

import itertools
import random

import pytest

from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keep, Mac, Memory, load_arch
from tilewright.ir import Cascade
from tilewright.mapper.cascades.branches.oracle import ExactBranches
from tilewright.mapper.cascades.relaxations.operation_bounds import OperationBounds
from tilewright.mapper.cascades.terms.upper_memories import UpperMemories
from tilewright.mapper.cascades.terms.weights import Weights
from tilewright.mapper.means import Means
from tilewright.workloads import cascade

KEEPS: tuple[Keep, ...] = ("may", "may", "must", "never")


def _machine(rng: random.Random) -> Architecture:
    """Two or three memories outside an array, whose ports may be narrower further in, and one inside."""
    memories = [Memory(name="DRAM", access_bits=8, read_energy_pj=20.0, write_energy_pj=20.0)]
    for name in ("L2", "GLB")[rng.randrange(2) :]:
        energy = memories[-1].read_energy_pj / rng.choice([1, 2, 5, 20])
        memories.append(Memory(name=name, size_bits=1024, access_bits=8, read_energy_pj=energy, write_energy_pj=energy))
    for i, memory in enumerate(memories):
        update: dict[str, object] = {"shared_bits_per_cycle": rng.choice([None, 2.0, 8.0, 64.0])}
        if i:
            update["keeps"] = {role: rng.choice(KEEPS) for role in ("input", "weight", "output")}
        memories[i] = memory.model_copy(update=update)
    array = Fanout(name="array", axes=(ArrayAxis(size=rng.choice([2, 4])),))
    inside = Memory(name="RF", size_bits=128, access_bits=8, read_energy_pj=0.5, write_energy_pj=0.5)
    leakage = rng.choice([0.0, 0.0, 3.0])
    return Architecture(
        name="m",
        clock_hz=1e9,
        word_bits=8,
        levels=(*memories, array, inside),
        mac=Mac(energy_pj=1.0),
        leakage_pj_per_cycle=leakage,
    )


def _operation(rng: random.Random) -> Cascade:
    """A product, a convolution of rows, or one operation point by point."""
    text = rng.choice(["O[m,n] += A[m,k] * B[k,n]", "O[k,p] += I[c,p+r] * W[k,c,r]", "O[m,n] = A[m,n] + B[n]"])
    sizes = {dim: rng.choice([2, 3, 4, 6]) for dim in "mnkpcr" if dim in text.split(" ", 1)[0] + text}
    return cascade([text], sizes)


@pytest.mark.parametrize("seeds", blocks(8, 6))
def test_with_tensors_from_further_out_no_operation_weighs_less(seeds: range) -> None:
    compared = 0
    for seed in seeds:
        rng = random.Random(seed)
        whole, memories = _operation(rng), UpperMemories(_machine(rng))
        solver = ExactBranches(whole, memories.arch, "uneven", "perfect", Means())
        weights = Weights(1.0, 10 ** rng.uniform(-1, 2))
        bounds = OperationBounds(whole, memories, weights, solver, False, {})
        (operation,) = whole
        names = sorted(tensor.name for tensor in operation.problem.tensors)
        for chosen in itertools.product([memory.name for memory in memories.upper], repeat=len(names)):
            homes = tuple(zip(names, chosen, strict=True))
            bound = bounds.by_nearest(operation, operation.problem.dims, homes)
            if bound is not None:
                exact = solver.least(bounds._roomy(operation, operation.problem.dims, homes), weights).bound
                assert 0 < bound <= exact * (1 + 1e-9), f"{seed} {homes}\n{whole}\n{memories.arch}"
                compared += 1
    assert compared > 10


@pytest.mark.parametrize("machine", ["eyeriss", "three_level", "tpu_v4i"])
def test_on_machines_of_the_library_it_is_close(machine: str) -> None:
    whole = cascade(["O[k,p,q] += I[c,p,q] * W[k,c]"], k=16, c=16, p=8, q=8)
    memories, weights = UpperMemories(load_arch(machine)), Weights(1.0, 1000.0)
    solver = ExactBranches(whole, memories.arch, "even", "perfect", Means())
    bounds = OperationBounds(whole, memories, weights, solver, False, {})
    (operation,) = whole
    homes = tuple((name, memories.outermost) for name in "IOW")
    bound = bounds.by_nearest(operation, operation.problem.dims, homes)
    exact = solver.lower(bounds._roomy(operation, operation.problem.dims, homes), weights)
    assert bound is not None
    assert 0.9 * exact < bound <= exact * (1 + 1e-9)
