from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

import brute_force
from generators import memory, random_architecture, random_problem
from longer import blocks
from tilewright.arch import Architecture, Keeps, Mac, Memory, load_arch
from tilewright.cost_models import EDP, OBJECTIVES, Objective, evaluate
from tilewright.ir import InfeasibleError, Problem
from tilewright.mapper.effort import EFFORT, Effort
from tilewright.mapper.exact.search import ExactSearch, search_exact
from tilewright.mapper.means import Means
from tilewright.mapper.space import SPACES, Space
from tilewright.mapper.tilings import TILINGS, Tiling
from tilewright.workloads import conv2d, gemm, load_layer

SEEDS = 120
BLOCK = 10
MOST_MAPPINGS = 400
"""Mappings that the oracle tries per pair at most."""

Pair = tuple[Problem, Architecture, bool]


@cache
def pair_of(seed: int) -> Pair:
    """A problem, a machine, and whether tiles may be ragged, with few mappings. Of four, one has a long dimension, one
    two buffers, one a window and a buffer, one a buffer and an array."""
    rng, kind = random.Random(seed), seed % 4
    while True:
        memories = (rng.randint(0, 2), 2, rng.randint(1, 2), rng.randint(1, 2))[kind]
        problem = random_problem(rng, 3) if kind else with_long_dimension(rng, random_problem(rng, 2))
        if problem.macs > (60 if memories == 2 else 200) or (kind == 2 and not has_window(problem)):
            continue
        arch = random_architecture(rng, memories=memories, capacity=24)
        ragged = rng.random() < (0.5 if kind else 0.8)
        if kind == 3 and not arch.fanouts:
            continue
        if brute_force.count(problem, arch, ragged, MOST_MAPPINGS) < MOST_MAPPINGS:
            return problem, arch, ragged


def with_long_dimension(rng: random.Random, problem: Problem) -> Problem:
    """The problem with one dimension of many ragged tilings."""
    longer = rng.choice(problem.dim_names)
    dims = tuple((dim, rng.randint(4, 7) if dim == longer else size) for dim, size in problem.dims)
    return Problem(problem.name, dims, problem.tensors)


def has_window(problem: Problem) -> bool:
    """Whether tiles of an operand may overlap: two dimensions of more than one step in one of its ranks."""
    sizes = problem.sizes
    operands = [t for t in problem.tensors if not t.is_output]
    return any(sum(sizes[dim] > 1 for dim, _ in rank) > 1 for t in operands for rank in t.ranks)


def tiling_of(ragged: bool) -> Tiling:
    return "ragged" if ragged else "perfect"


def searched(
    problem: Problem,
    arch: Architecture,
    objective: str,
    tiling: Tiling,
    effort: Effort = EFFORT,
    space: Space = "even",
) -> float:
    """The optimum that the search proves; infinite if it finds that nothing fits."""
    try:
        mapping, cost, certificate = search_exact(problem, arch, objective, tiling, space, effort=effort)
    except InfeasibleError:
        return float("inf")
    assert certificate.proven
    assert evaluate(mapping, arch) == cost
    assert cost.objective(objective) == certificate.value
    return certificate.value


@pytest.mark.some(1)
@pytest.mark.parametrize("seeds", blocks(SEEDS, BLOCK))
def test_optimum_of_brute_force(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are few tiles all ragged trips are tried; where there are many, only those that may pay
    (`tilings.ragged_trips`): as if there were many, the same optima are found."""
    for seed in seeds:
        problem, arch, ragged = pair_of(seed)
        expected = brute_force.best(problem, arch, ragged, OBJECTIVES)
        found = {objective: searched(problem, arch, objective, tiling_of(ragged)) for objective in OBJECTIVES}
        assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"
        if ragged:
            objective = OBJECTIVES[seed % len(OBJECTIVES)]
            with monkeypatch.context() as patch:
                patch.setattr("tilewright.mapper.exact.growing.preparing.has_few_tiles", lambda problem: False)
                value = searched(problem, arch, objective, "ragged")
            assert value == pytest.approx(expected[objective], rel=1e-9, abs=0), f"seed {seed}, the trips that may pay"


@pytest.mark.some(1)
@pytest.mark.parametrize("many", [1, 16_000])
def test_optimum_by_finer_and_finer_tables(many: int) -> None:
    """Ragged arrays are bounded on several lattices, one after the other, however small the problem; and innermost
    tiles are found all at once, or one dimension after the other."""
    some = map(pair_of, range(40 if many > 1 else 80))
    chosen = [(problem, arch) for problem, arch, ragged in some if ragged and arch.fanouts]
    # What is found without these settings is compared with brute force above.
    expected = [searched(problem, arch, "edp", "ragged") for problem, arch in chosen]
    effort = Effort(few=2, many=many, rows_before_groups=-1, first_cells=4, looked_at_per_cell=0)
    found = [searched(problem, arch, "edp", "ragged", effort) for problem, arch in chosen]
    assert found == pytest.approx(expected, rel=1e-9)
    assert len(found) > 5


@pytest.mark.long
@pytest.mark.parametrize("space", SPACES)
def test_a_smaller_space_is_searched_sooner_or_later_where_values_have_to_be_low(space: Space) -> None:
    """What is below some value is found, or ruled out, whether a search begins with a smaller space or never looks at
    it."""
    some = map(pair_of, range(40))
    chosen = [(problem, arch) for problem, arch, ragged in some if ragged]
    for problem, arch in chosen:
        best = searched(problem, arch, "edp", "ragged")
        for steps in (1, 16, 10**9):
            asked = problem, arch, EDP, "ragged", space
            above, below = (ExactSearch(*asked, ceiling=c * best, effort=Effort(few=steps)) for c in (1.5, 0.999))
            least = searched(problem, arch, "edp", "ragged", space=space) if space == "uneven" else best
            assert above.solve()
            assert above.found[0].value == pytest.approx(least, rel=1e-9)
            assert below.solve() == (least < 0.999 * best)
            assert below.is_finished
    assert len(chosen) > 5


@pytest.mark.long
@pytest.mark.parametrize("steps", [5, 10**6])
def test_nothing_is_said_to_be_proven_that_there_was_no_memory_for(steps: int) -> None:
    """Whether rows were let go of in the first steps of a search for what is below some value, or after them: it is
    finished only with the best mapping, and bounds nothing above that."""
    finished = []
    for problem, arch in [pair_of(seed)[:2] for seed in range(40)]:
        best = searched(problem, arch, "edp", "ragged")
        if best < float("inf"):
            means, effort = Means.from_now(None, 8000), Effort(few=steps)
            search = ExactSearch(problem, arch, EDP, "ragged", means=means, ceiling=2 * best, effort=effort)
            is_best = search.solve() and search.found[0].value == pytest.approx(best, rel=1e-9)
            assert is_best or not search.is_finished
            assert search.open_bound <= best * (1 + 1e-9) or is_best
            finished.append(search.is_finished)
    assert {True, False} == set(finished)


def traits(problem: Problem, arch: Architecture, ragged: bool) -> Iterator[str]:
    """What makes a pair hard to get right."""
    inner = arch.memories[1:]
    yield f"{len(arch.fanouts)} fanouts"
    yield f"{len(inner)} memories that may be bypassed"
    if has_window(problem):
        yield from {f"halo {m.halo}" for m in inner}
    if not all(f.multicast for f in arch.fanouts):
        yield "no multicast"
    if not all(f.spatial_reduction for f in arch.fanouts):
        yield "no spatial reduction"
    if ragged and max(problem.sizes.values()) > 2:
        yield "ragged"
    elif not ragged:
        yield "perfect"


def test_pairs_cover_what_matters() -> None:
    found = Counter(trait for seed in range(SEEDS) for trait in traits(*pair_of(seed)))
    least = {
        "0 fanouts": 35,
        "2 fanouts": 22,
        "1 memories that may be bypassed": 55,
        "2 memories that may be bypassed": 30,
        "halo none": 8,
        "halo innermost": 8,
        "halo exact": 10,
        "no multicast": 22,
        "no spatial reduction": 22,
        "ragged": 20,
        "perfect": 60,
    }
    assert {trait: found[trait] for trait in least if found[trait] < least[trait]} == {}


# ---- the uneven space --------------------------------------------------------------------------------------

UNEVEN_SEEDS = 120
MOST_UNEVEN = 300


@cache
def uneven_pair_of(seed: int) -> Pair:
    """As `pair_of`, for the uneven space; of four, one has a long dimension, one two buffers and an array, and one a
    window and a buffer."""
    rng, kind = random.Random(seed), seed % 4
    while True:
        memories = 2 if kind == 1 else rng.randint(kind == 3, 2 if kind else 1)
        problem = random_problem(rng, 3 if memories < 2 and kind else 2)
        problem = problem if kind else with_long_dimension(rng, problem)
        if problem.macs > 60 or (kind == 3 and not has_window(problem)):
            continue
        arch = random_architecture(rng, memories=memories, capacity=24)
        ragged = rng.random() < (0.5 if kind else 0.8)
        if (kind != 1 or arch.fanouts) and has_few(problem, arch, ragged):
            return problem, arch, ragged


def has_few(problem: Problem, arch: Architecture, ragged: bool) -> bool:
    """Whether the uneven space is small; the even one, a part of it, is counted much sooner."""
    if brute_force.count(problem, arch, ragged, MOST_UNEVEN // 3) >= MOST_UNEVEN // 3:
        return False
    return brute_force.count_uneven(problem, arch, TILINGS[ragged], MOST_UNEVEN) < MOST_UNEVEN


@pytest.mark.some(1)
@pytest.mark.parametrize("seeds", blocks(UNEVEN_SEEDS, BLOCK))
def test_uneven_optimum_of_brute_force(seeds: range) -> None:
    for seed in seeds:
        problem, arch, ragged = uneven_pair_of(seed)
        tiling = tiling_of(ragged)
        mappings = brute_force.uneven_mappings(problem, arch, tiling)
        expected = brute_force.best_of(mappings, arch, OBJECTIVES)
        found = {objective: searched(problem, arch, objective, tiling, space="uneven") for objective in OBJECTIVES}
        assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"


@pytest.mark.long
def test_uneven_pairs_cover_what_matters() -> None:
    found = Counter(trait for seed in range(UNEVEN_SEEDS) for trait in traits(*uneven_pair_of(seed)))
    least = {
        "0 fanouts": 38,
        "1 fanouts": 40,
        "2 fanouts": 18,
        "1 memories that may be bypassed": 30,
        "2 memories that may be bypassed": 27,
        "halo none": 6,
        "halo innermost": 10,
        "halo exact": 10,
        "no multicast": 18,
        "no spatial reduction": 18,
        "ragged": 10,
        "perfect": 60,
    }
    assert {trait: (found[trait], n) for trait, n in least.items() if found[trait] < n} == {}


@pytest.mark.parametrize("tiling", TILINGS)
def test_uneven_is_never_worse_and_sometimes_better(tiling: Tiling) -> None:
    better = 0
    for objective in OBJECTIVES:
        for words in (8, 12, 40):
            levels = (memory("DRAM", shared_bits_per_cycle=8.0), memory("buffer", size_bits=8 * words, halo="none"))
            arch = Architecture(name="one", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))
            problem = gemm(6, 4, 9)
            even, uneven = (searched(problem, arch, objective, tiling, space=space) for space in SPACES)
            assert uneven <= even * (1 + 1e-9)
            better += uneven < even * (1 - 1e-6)
    assert better >= 2


# ---- known optima ------------------------------------------------------------------------------------------


def keeping_everything(arch: Architecture) -> Architecture:
    """The architecture without any bypass."""
    levels = tuple(
        level.model_copy(update={"keeps": Keeps()}) if isinstance(level, Memory) else level for level in arch.levels
    )
    return arch.model_copy(update={"levels": levels})


@pytest.mark.parametrize(("objective", "optimum"), [("energy", 3_792_896), ("edp", 3_953_131_520)])
def test_proven_optimum_of_another_mapper(objective: Objective, optimum: float) -> None:
    """AccelForge 1.0.467 proves the same for this GEMM on this machine (there: "H3")."""
    _, _, certificate = search_exact(gemm(64, 64, 64), keeping_everything(load_arch("three_level")), objective)
    assert certificate.value == pytest.approx(optimum, rel=1e-9)
    assert certificate.proven


def one_buffer(words: int, keeps: Keeps) -> Architecture:
    """A machine on which the energy is the number of words that pass between DRAM and the buffer."""
    levels = (memory("DRAM"), memory("buffer", size_bits=8 * words, keeps=keeps, read_energy_pj=0, write_energy_pj=0))
    return Architecture(name="one buffer", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))


LEAST_TRAFFIC = [
    *((16, words, n) for words, n in [(3, 8448), (8, 4352), (16, 3328), (32, 2304), (64, 1792), (128, 1280)]),
    *((16, words, n) for words, n in [(256, 1024), (512, 768), (1024, 768)]),
    *((32, words, n) for words, n in [(3, 66560), (8, 33792), (64, 13312), (512, 5120), (1024, 4096), (2048, 3072)]),
]
"""(size, buffer words, least DRAM words) of cubes: reads of A and B, writes and read-backs of O, from an enumeration
of all splits and orders, each tensor at its own depth, that shares no code with this project."""


@pytest.mark.parametrize(("size", "words", "least"), LEAST_TRAFFIC)
def test_least_traffic_with_one_buffer(size: int, words: int, least: int) -> None:
    _, _, certificate = search_exact(gemm(size, size, size), one_buffer(words, Keeps()), "energy")
    assert certificate.value == least


# ---- certificates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_certificate(objective: Objective, tiling: Tiling) -> None:
    mapping, cost, certificate = search_exact(gemm(12, 20, 6), load_arch("three_level"), objective, tiling)
    assert (certificate.objective, certificate.tiling) == (objective, tiling)
    assert certificate.proven
    assert certificate.lower_bound == pytest.approx(certificate.value, rel=1e-9)
    assert certificate.lower_bound <= certificate.value
    assert certificate.gap == pytest.approx(0, abs=1e-9)
    assert certificate.value == cost.objective(objective)
    assert cost == evaluate(mapping, load_arch("three_level"))
    assert min(certificate.pruned.values()) >= 0
    assert certificate.placements == 2**6
    assert 1 <= certificate.evaluated < certificate.space_size


def test_same_search_same_mapping() -> None:
    results = [search_exact(conv2d(K=4, C=2, P=4, Q=1, R=3, S=1), load_arch("eyeriss")) for _ in range(2)]
    (first, _, proof), (second, _, again) = results
    assert str(first) == str(second)
    assert (proof.evaluated, proof.pruned) == (again.evaluated, again.pruned)


def test_layer_of_a_network() -> None:
    layer, arch = load_layer("resnet50:layer4.0.downsample"), load_arch("eyeriss")
    mapping, _, certificate = search_exact(layer, arch, "edp", "perfect")
    assert certificate.proven
    assert evaluate(mapping, arch).edp == certificate.value
    assert mapping.problem is layer


# ---- ragged tiles ------------------------------------------------------------------------------------------


@cache
def optimum(problem: Problem, arch: str, objective: Objective, tiling: Tiling) -> float:
    return searched(problem, load_arch(arch), objective, tiling)


WINDOW = conv2d(K=13, C=2, P=13, Q=1, R=2, S=1)


@pytest.mark.some(3)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    ("problem", "arch"),
    [
        (WINDOW, "eyeriss"),
        (conv2d(K=4, C=2, P=4, Q=1, R=3, S=1, stride=2), "eyeriss"),
        (gemm(13, 13, 7), "eyeriss"),
        (gemm(26, 13, 8), "three_level"),
        (gemm(17, 7, 300), "tpu_v1"),
    ],
)
def test_ragged_tiles_are_never_worse(problem: Problem, arch: str, objective: Objective) -> None:
    perfect, ragged = (optimum(problem, arch, objective, tiling) for tiling in TILINGS)
    assert ragged <= perfect * (1 + 1e-9)


def test_ragged_tiles_help_where_sizes_are_prime() -> None:
    """13 rows do not fill an array of 12 rows or 14 columns, unless the last tile may be smaller."""
    assert optimum(WINDOW, "eyeriss", "edp", "ragged") < 0.998 * optimum(WINDOW, "eyeriss", "edp", "perfect")


def test_ragged_tiles_fill_an_array() -> None:
    problem = gemm(31, 31, 61)
    assert optimum(problem, "three_level", "edp", "ragged") < 0.7 * optimum(problem, "three_level", "edp", "perfect")


# ---- nothing fits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_memory_too_small(objective: Objective, tiling: Tiling) -> None:
    with pytest.raises(InfeasibleError, match="needs 3 B, capacity is 2 B") as caught:
        search_exact(gemm(4, 4, 4), one_buffer(2, Keeps()), objective, tiling)
    assert caught.value.where == "buffer"
    assert "buffer" in str(caught.value)


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_smallest_memory_that_fits(objective: Objective, tiling: Tiling) -> None:
    assert searched(gemm(4, 4, 4), one_buffer(3, Keeps()), objective, tiling) < float("inf")


def test_a_time_limit_gives_a_mapping_and_an_honest_gap() -> None:
    problem, arch = load_layer("alexnet:conv3"), load_arch("eyeriss")
    mapping, cost, stopped = search_exact(problem, arch, "edp", "ragged", time_limit=0.0)
    _, _, proven = search_exact(problem, arch, "edp", "ragged")
    assert not stopped.proven
    assert stopped.gap > 0
    assert stopped.lower_bound <= proven.value <= stopped.value
    assert evaluate(mapping, arch).edp == cost.edp == stopped.value
