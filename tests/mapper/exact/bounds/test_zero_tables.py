"""Tables of bounds where the bits of words with zeros depend on the tile that a memory holds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import numpy as np

from brute_force import all_mappings
from generators import memory, tensor
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac
from tilewright.cost_models import ENERGY
from tilewright.cost_models.sparse import densities_of, evaluate_sparse, with_densities
from tilewright.ir import Loop, Mapping, MappingError, Problem
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.exact.arrays.array_choices import ArrayPlans
from tilewright.mapper.exact.batch import Batch
from tilewright.mapper.exact.bounds.array_groups import group_of
from tilewright.mapper.exact.bounds.boundary_costs import BoundaryBounds
from tilewright.mapper.exact.bounds.bounds import Bounds
from tilewright.mapper.exact.effort import EFFORT
from tilewright.mapper.exact.hierarchy import Outline
from tilewright.mapper.exact.preparing import prepare
from tilewright.mapper.exact.reduced import ReducedQuestion
from tilewright.mapper.exact.surroundings import ALONE
from tilewright.mapper.means import Means


def question(seed: int) -> tuple[Problem, Architecture]:
    """A product on a machine whose inner memory holds what its operands have in formats that depend on the tile."""
    rng = random.Random(seed)
    sizes = (("M", rng.choice([2, 3])), ("N", rng.choice([2, 4])), ("K", rng.choice([4, 6])))
    tensors = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N"))
    problem = with_densities(Problem("product", sizes, tensors), {"I": rng.choice([0.3, 0.6]), "W": 0.4})
    kinds = {role: (rng.choice(["csr", "coordinate"]),) for role in ("input", "weight")}
    inner = memory("L1", size_bits=rng.choice([150, 300]), halo="none", formats=kinds, read_energy_pj=2.0)
    array = Fanout(name="array", axes=(ArrayAxis(size=2),))
    levels = (memory("DRAM", formats=kinds), array, inner)
    return problem, Architecture(name="two", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))


def array_of(mapping: Mapping) -> tuple[int, ...]:
    """Instances per dimension."""
    found = dict.fromkeys(mapping.problem.dim_names, 1)
    for loop in mapping.nest.items:
        if isinstance(loop, Loop) and loop.is_spatial:
            found[loop.dim] *= loop.trips
    return tuple(found.values())


def least_of_each(problem: Problem, arch: Architecture) -> dict[tuple[int, ...], float]:
    """The least energy with each array, by brute force."""
    found: dict[tuple[int, ...], float] = {}
    for mapping in all_mappings(problem, arch, ragged=False):
        try:
            energy = evaluate_sparse(mapping, arch, densities_of(problem)).energy_pj
        except MappingError:
            continue
        array = array_of(mapping)
        found[array] = min(found.get(array, float("inf")), energy)
    return found


def bound_of(row: Batch, bounds: Bounds) -> float:
    one = np.ones_like(row.rows.arrays[0])
    ahead = bounds.at(bounds.table(row.state), one, np.zeros(1, dtype=np.int64))
    return float((row.costs + ahead)[0, 0])


def with_saver(seed: int) -> tuple[Problem, Architecture]:
    """The same product on a machine whose buffer leaves out inputs that meet zeros of the weights alone."""
    problem, _ = question(seed)
    rng = random.Random(seed)
    saves = {rng.choice(["gates", "skips"]): {"input": ("weight",)}}
    inner = memory("L1", size_bits=rng.choice([150, 300]), halo="none", read_energy_pj=2.0)
    array = Fanout(name="array", axes=(ArrayAxis(size=2),), multicast=rng.random() < 0.7)
    levels = (memory("DRAM"), memory("L2", size_bits=400, read_energy_pj=9.0, halo="none", **saves), array, inner)
    return problem, Architecture(name="saver", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=5.0))


def tables_know(asked: tuple[Problem, Architecture], forget: Callable[[BoundaryBounds], None], seed: int) -> int:
    """How many arrays have better bounds than where tables forget something; none is above the least by brute force."""
    tighter = 0
    problem, arch = asked
    reduced = ReducedQuestion(problem, arch, "perfect", "even", Constraints(), ALONE)
    context = prepare(reduced, ENERGY, None, False, Means(), EFFORT, Counter())
    batch = ArrayPlans(context).start(Outline(next(context.hierarchy.placements())), float("inf"))
    assert isinstance(batch, Batch)
    assert reduced.problem.dim_names == problem.dim_names
    for array, least in least_of_each(problem, arch).items():
        at = next(r for r in range(len(batch)) if tuple(batch.rows.arrays[0][r].tolist()) == array)
        row = batch.take(slice(at, at + 1))
        bounds = context.groups.of(group_of(context.hierarchy, "perfect", row.rows.arrays))
        rough = Bounds(bounds.hierarchy, bounds.footprints, bounds.lattice, bounds.columns, bounds.groups)
        forget(rough.boundaries)
        found = bound_of(row, bounds)
        assert found <= least * (1 + 1e-9), (seed, array)
        tighter += found > bound_of(row, rough) * (1 + 1e-9)
    return tighter


def test_tables_know_what_words_take_in_tiles() -> None:
    """They took the least bits of any tile until a row's tile was known; now what MACs read is counted by it."""

    def forget(boundaries: BoundaryBounds) -> None:
        boundaries._bits = None

    assert sum(tables_know(question(seed), forget, seed) for seed in range(6)) > 10


def test_tables_know_what_is_left_where_several_words_are_used_with_an_access() -> None:
    """They let every access meet a single zero: a search took five times as long as one without zeros."""

    def forget(boundaries: BoundaryBounds) -> None:
        boundaries._left_at_tiles = None

    assert sum(tables_know(with_saver(seed), forget, seed) for seed in range(2)) > 2
