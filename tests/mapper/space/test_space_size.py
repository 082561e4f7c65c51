from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Mapping as MappingABC

import pytest

import longer
from brute_force import all_mappings, count, count_uneven, uneven_mappings
from generators import memory, random_architecture, random_problem, tensor
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory, load_arch
from tilewright.ir import Axis, Loop, LoopNest, Mapping, Problem, ceil_div
from tilewright.mapper.space.size import SPACES, Space, SpaceSize, count_mappings, space_size
from tilewright.mapper.tilings import TILINGS, Tiling
from tilewright.workloads import conv2d, gemm, load_layer

MAY = Keeps(input="may", weight="may", output="may")
NEVER = Keeps(input="never", weight="never", output="never")


def machine(*levels: Memory | Fanout) -> Architecture:
    return Architecture(
        name="machine", clock_hz=1e9, word_bits=8, levels=(memory("DRAM"), *levels), mac=Mac(energy_pj=1.0)
    )


def vector(size: int) -> Problem:
    return Problem("vector", (("P", size),), (tensor("I", "input", "P"), tensor("O", "output", "P")))


def fits_axes(mapping: Mapping, arch: Architecture) -> bool:
    """Every loop is on an axis that allows it, and no axis has more instances in use than it has."""
    axes = {Axis(f.name, i): axis for f in arch.fanouts for i, axis in enumerate(f.axes)}
    used: Counter[Axis] = Counter()
    for loop in mapping.nest.loops:
        if loop.axis is not None:
            used[loop.axis] = max(used[loop.axis], 1) * loop.trips
            if not axes[loop.axis].allows(mapping.problem, loop.dim):
                return False
    return all(instances <= axes[axis].size for axis, instances in used.items())


def without_orders(mapping: Mapping) -> tuple[object, ...]:
    """The nest, with every run of temporal loops sorted."""
    groups = itertools.groupby(mapping.nest, key=lambda item: isinstance(item, Loop) and item.axis is None)
    return tuple(tuple(sorted(map(str, run))) if in_time else tuple(run) for in_time, run in groups)


def listed(problem: Problem, arch: Architecture, tiling: Tiling, space: Space = "even") -> SpaceSize:
    """The same figures, by listing the space."""
    if space == "uneven":
        mappings = list(uneven_mappings(problem, arch, tiling))
    else:
        mappings = [m for m in all_mappings(problem, arch, tiling == "ragged") if fits_axes(m, arch)]
    nests: set[LoopNest] = {m.nest for m in mappings}
    assert len(nests) == len(mappings)
    return SpaceSize(
        placements=len({frozenset(m.nest.nodes) for m in mappings}),
        tiled=len({without_orders(m) for m in mappings if not any(loop.is_spatial for loop in m.nest.loops)}),
        spread=len({without_orders(m) for m in mappings}),
        total=len(mappings),
    )


def restricted(rng: random.Random, problem: Problem, arch: Architecture) -> Architecture:
    """The architecture with random placement rules, and axes that allow some dimensions only."""

    def axis(size: int) -> ArrayAxis:
        dims = tuple(d for d in problem.dim_names if rng.random() < 0.6) if rng.random() < 0.4 else None
        return ArrayAxis(
            size=size, dims=dims, reuse=rng.choice([None, None, "input", "weight", "output"]), reduce=rng.random() < 0.8
        )

    def keeps() -> Keeps:
        words = ["must", "may", "never"]
        return Keeps.model_validate({role: rng.choice(words) for role in ("input", "weight", "output")})

    levels: list[Memory | Fanout] = []
    for i, level in enumerate(arch.levels):
        if isinstance(level, Fanout):
            levels.append(level.model_copy(update={"axes": tuple(axis(a.size) for a in level.axes)}))
        else:
            levels.append(level.model_copy(update={"keeps": keeps()} if i and rng.random() < 0.7 else {}))
    return arch.model_copy(update={"levels": tuple(levels)})


def small(problem: Problem, arch: Architecture, tiling: Tiling, space: Space, limit: int) -> bool:
    if space == "uneven":
        return count_uneven(problem, arch, tiling, limit) < limit
    return count(problem, arch, tiling == "ragged", limit) < limit


@pytest.mark.some(3)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("seed", longer.seeds(40))
def test_equals_the_listed_space(seed: int, space: Space) -> None:
    rng = random.Random(seed)
    compared = 0
    while compared < 4:
        problem = random_problem(rng, largest=rng.choice([2, 3, 5]))
        arch = restricted(rng, problem, random_architecture(rng, memories=rng.randint(0, 2)))
        tiling = rng.choice(TILINGS)
        few_nodes = len(problem.tensors) * len(arch.memories) < 12
        if few_nodes and small(problem, arch, tiling, space, limit=1500):
            assert space_size(problem, arch, tiling, space) == listed(problem, arch, tiling, space)
            compared += 1


@pytest.mark.some(2)
@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("shape", [(2,), (3, 2), (4, 5)])
def test_large_dimensions_on_an_array(tiling: Tiling, shape: tuple[int, ...]) -> None:
    array = Fanout(name="array", axes=tuple(ArrayAxis(size=size) for size in shape))
    for size in (12, 19):
        problem = vector(size)
        for levels in ((array,), (memory("RF"), array), (array, memory("RF", keeps=MAY))):
            arch = machine(*levels)
            assert space_size(problem, arch, tiling) == listed(problem, arch, tiling)


@pytest.mark.parametrize("tiling", TILINGS)
def test_two_arrays_and_a_bypassed_memory_between(tiling: Tiling) -> None:
    outer = Fanout(name="clusters", axes=(ArrayAxis(size=3), ArrayAxis(size=2, dims=("K",))))
    inner = Fanout(name="array", axes=(ArrayAxis(size=2, reuse="output"),))
    problem = gemm(2, 2, 3)
    for keeps in (NEVER, Keeps(input="may", weight="never", output="never")):
        arch = machine(outer, memory("GLB", keeps=keeps), inner)
        assert space_size(problem, arch, tiling) == listed(problem, arch, tiling)


@pytest.mark.parametrize(("size", "slots", "ways"), [(56, 3, 30), (224, 4, 224), (64, 4, 84)])
def test_ordered_factorizations(size: int, slots: int, ways: int) -> None:
    arch = machine(*(memory(f"L{i}") for i in range(1, slots)))
    assert space_size(vector(size), arch, "perfect") == SpaceSize(placements=1, tiled=ways, spread=ways, total=ways)


def test_orders_of_loops() -> None:
    """One memory: every loop is directly below it, in any order."""
    assert count_mappings(conv2d(2, 3, 4, 5, 6, 7), machine(), "ragged") == math.factorial(6)
    assert space_size(gemm(1, 1, 1), machine(), "ragged") == SpaceSize(1, 1, 1, 1)


def test_placements_are_products_of_free_choices() -> None:
    arch = machine(memory("L1", keeps=MAY), memory("L2", keeps=Keeps(input="may", weight="never", output="must")))
    assert space_size(gemm(1, 1, 1), arch, "ragged") == SpaceSize(16, 16, 16, 16)


def ragged_chains(size: int, slots: int, known: dict[tuple[int, int], int]) -> int:
    """Trip counts over some slots that cover a dimension, by the plain recursion."""
    if slots == 0:
        return int(size == 1)
    if (size, slots) not in known:
        known[size, slots] = sum(ragged_chains(-(-size // f), slots - 1, known) for f in range(1, size + 1))
    return known[size, slots]


@pytest.mark.parametrize(("size", "slots"), [(1000, 4), (4097, 3), (100_000, 2), (720, 9)])
def test_large_ragged_dimensions(size: int, slots: int) -> None:
    arch = machine(*(memory(f"L{i}") for i in range(1, slots)))
    assert space_size(vector(size), arch, "ragged").total == ragged_chains(size, slots, {})


def test_long_chains() -> None:
    """So many slots that machine words are not sure to be exact."""
    arch = machine(*(memory(f"L{i}") for i in range(1, 12)))
    assert count_mappings(vector(2**24), arch, "perfect") == math.comb(24 + 11, 11)


def test_products_in_doubles_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, arch = gemm(2048, 16384, 4096), load_arch("three_level")
    in_words = space_size(layer, arch, "ragged")
    monkeypatch.setattr("tilewright.mapper.space.chain_tables._LARGE", 0)
    assert space_size(layer, arch, "ragged") == in_words


@pytest.mark.long
def test_figures_beyond_64_bits() -> None:
    """Dimensions that no array couples multiply."""
    arch = machine(*(memory(f"L{i}") for i in range(1, 5)))
    problem = conv2d(32768, 30030, 29989, 40000, 35721, 31250)
    known: dict[tuple[int, int], int] = {}
    expected = math.prod(ragged_chains(size, 5, known) for _, size in problem.dims)
    assert expected > 2**130
    assert space_size(problem, arch, "ragged").tiled == expected


def chains_by_use(size: int, axis: int, ragged: bool) -> MappingABC[int, int]:
    """Chains over time, an axis and time, by the trips on the axis."""
    found: Counter[int] = Counter()
    for inner in range(1, size + 1):
        left = ceil_div(size, inner)
        for trips in range(1, min(left, axis) + 1):
            if ragged or (size % inner == 0 and left % trips == 0):
                found[trips] += 1
    return found


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("axis", [7, 16, 100])
def test_an_array_shared_by_dimensions(tiling: Tiling, axis: int) -> None:
    arch = machine(Fanout(name="array", axes=(ArrayAxis(size=axis),)), memory("RF"))
    per_dim = [chains_by_use(size, axis, tiling == "ragged") for size in (24, 30, 56)]
    expected = sum(
        math.prod(uses[use] for uses, use in zip(per_dim, chosen, strict=True))
        for chosen in itertools.product(*per_dim)
        if math.prod(chosen) <= axis
    )
    assert space_size(gemm(24, 30, 56), arch, tiling).spread == expected


@pytest.mark.some(2)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", ["three_level", "eyeriss", "tpu_v1"])
def test_library_machines(name: str, space: Space) -> None:
    """Ragged spaces hold the perfect ones, and the factors multiply to the total."""
    arch = load_arch(name)
    layer = load_layer("resnet50:layer1.0.conv2")
    perfect, ragged = (space_size(layer, arch, tiling, space) for tiling in TILINGS)
    assert 0 < perfect.placements == ragged.placements
    for size in (perfect, ragged):
        assert size.placements * size.tilings * size.spatial * size.orders == size.total
        assert min(size.tilings, size.spatial, size.orders) > 1
        assert count_mappings(layer, arch, "ragged" if size is ragged else "perfect", space) == size.total
    assert (perfect.tiled, perfect.spread, perfect.total) < (ragged.tiled, ragged.spread, ragged.total)
