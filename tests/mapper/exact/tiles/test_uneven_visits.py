"""Visits that are not alike, counted in one search: it finds what a brute force over mappings of the even visit finds,
each of which is counted visit by visit."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

import longer
from brute_force import all_mappings, count
from tilewright.arch import Architecture, load_arch
from tilewright.cost_models import ENERGY
from tilewright.cost_models.cascades import VisitSizes, visit_cost
from tilewright.ir import Loop, LoopNest, Mapping, MappingError, Node, Operation, Problem, ceil_div
from tilewright.mapper.cascades.branches.oracle import ExactBranches
from tilewright.mapper.cascades.terms.branch import BranchQuestion
from tilewright.mapper.cascades.terms.upper_memories import UpperMemories
from tilewright.mapper.cascades.terms.windowed import _uneven
from tilewright.mapper.exact.question.surroundings import Surroundings
from tilewright.mapper.exact.search import ExactSearch
from tilewright.mapper.exact.tiles.visits import UnevenVisits, most_that_divide, short_visits, size_of_visits
from tilewright.mapper.means import Means
from tilewright.mapper.pareto.weights import ENERGY_ALONE
from tilewright.workloads import cascade

MACHINE = """
name: uneven
clock: 1 GHz
word: 8 bit
levels:
  - {{memory: DRAM, access: 8 bit, read: 100 pJ, write: 100 pJ}}
  - {{memory: GLB, size: {glb} B, access: 8 bit, read: {read} pJ, write: 7 pJ, keep: may, halo: {halo}}}
  - {{fanout: array, x: {side}, multicast: {multicast}}}
  - {{memory: RF, size: {rf} B, access: 8 bit, read: 1 pJ, write: {write} pJ, keep: may, halo: {inner}}}
mac: {{energy: 0.5 pJ}}
"""

BUFFER = """
name: short
clock: 1 GHz
word: 8 bit
levels:
  - {{memory: DRAM, access: 8 bit, read: 100 pJ, write: 100 pJ}}
  - {{memory: GLB, size: {glb} B, access: 8 bit, read: {read} pJ, write: 7 pJ, keep: may, halo: {halo}}}
mac: {{energy: 0.5 pJ}}
"""

OPERATIONS = ("T[k,y] += X[c,y] * A[k,c]", "T[k,y] += X[k,y+r] * A[k,r]", "T[k,y] += X[2*y+r] * A[k,r]")

MOST = 3000 if longer.ALL else 300
"""Mappings that are tried one by one at most."""


def machine_of(rng: random.Random, folder: Path) -> Architecture:
    figures = {
        "glb": rng.choice((12, 40, 4096)),
        "read": rng.choice((2, 20)),
        "halo": rng.choice(("none", "innermost")),
    }
    figures |= {"side": rng.choice((1, 2, 4)), "multicast": rng.choice(("true", "true", "false"))}
    figures |= {"rf": rng.choice((3, 8, 64)), "write": rng.choice((1, 30)), "inner": rng.choice(("none", "innermost"))}
    path = folder / "uneven.yaml"
    path.write_text(MACHINE.format(**figures))
    return load_arch(str(path))


def buffer_of(rng: random.Random, folder: Path) -> Architecture:
    """One buffer: of few mappings, so that brute force knows the best of larger problems."""
    path, halo = folder / "buffer.yaml", rng.choice(("none", "innermost"))
    path.write_text(BUFFER.format(glb=rng.choice((3, 4, 5, 6, 8, 12, 40)), read=rng.choice((2, 20)), halo=halo))
    return load_arch(str(path))


def made_by(rng: random.Random, tile: int, short: bool = False) -> VisitSizes:
    """Visits of a tile: no loop of it comes down to one trip in any that makes something; short: or in some."""
    fewest = 1 if short else max((n for n in range(1, tile) if tile % n == 0), default=0) + 1
    numbers = {tile, *(rng.randint(fewest, 2 * tile) for _ in range(rng.randint(1, 3)))}
    numbers |= {1} if short else set()
    numbers |= {0} if rng.random() < 0.3 else set()
    return tuple((number, rng.randint(1, 3)) for number in sorted(numbers))


def visit_by_visit(mapping: Mapping, arch: Architecture, made: VisitSizes, tile: int) -> float:
    """Energy of all visits, each of which is a mapping with as many trips as it needs."""
    nodes, branch, found = mapping.nest.items[:3], mapping.nest.items[3:], 0.0
    for positions, times in made:
        if not positions:
            continue
        items, covered = [], 1
        for item in reversed((Loop("Y", ceil_div(positions, tile)), *branch)):
            if isinstance(item, Loop) and item.dim == "Y":
                trips = min(item.trips, ceil_div(positions, covered))
                covered *= trips
                item = Loop("Y", trips, item.axis)
            items.append(item)
        dims = tuple((dim, positions if dim == "Y" else n) for dim, n in mapping.problem.dims)
        visit = Mapping(Problem("visit", dims, mapping.problem.tensors), LoopNest((*nodes, *reversed(items))))
        found += times * visit_cost(visit, arch, 1, {}, len(nodes)).energy_pj
    return found


def best_by_force(operation: Operation, arch: Architecture, made: VisitSizes, tile: int) -> float:
    least = math.inf
    for mapping in all_mappings(operation.problem, arch, ragged=False):
        try:
            least = min(least, visit_by_visit(mapping, arch, made, tile))
        except MappingError:  # what it keeps has no room
            continue
    return least


@pytest.mark.parametrize("seeds", longer.blocks(30, 30))
def test_the_search_finds_what_brute_force_finds(seeds: range, tmp_path: Path) -> None:
    compared = taller = fewer = 0
    for seed in seeds:
        rng = random.Random(seed)
        arch, tile, statement = machine_of(rng, tmp_path), rng.choice((1, 2, 3, 4, 5, 6)), rng.choice(OPERATIONS)
        sizes = {"k": rng.randint(1, 4), "c": rng.randint(1, 4), "r": rng.choice((2, 3)), "y": tile}
        (operation,) = cascade([statement], {name: size for name, size in sizes.items() if name in statement})
        made = made_by(rng, tile)
        whole = size_of_visits(made, tile)
        if whole <= tile or count(operation.problem, arch, ragged=False, limit=MOST) == MOST:
            continue
        dims = tuple((dim, whole if dim == "Y" else n) for dim, n in operation.problem.dims)
        around = Surroundings(cut=operation.problem.sizes, made={"Y": made})
        search = ExactSearch(
            Problem("visits", dims, operation.problem.tensors), arch, ENERGY, "perfect", "even", surroundings=around
        )
        search.solve()
        least = best_by_force(operation, arch, made, tile)
        found = search.found[0].value if search.found else math.inf
        assert found == pytest.approx(least, rel=1e-9), (seed, statement, made, tile)
        compared, taller = compared + 1, taller + (made[-1][0] > tile)
        fewer += whole < sum(n * times for n, times in made)
    assert longer.occurs(compared > 3)
    assert longer.occurs(taller)
    assert longer.occurs(fewer)


@pytest.mark.long
@pytest.mark.parametrize("seeds", longer.blocks(24, 12))
def test_short_visits_are_counted_too(seeds: range, tmp_path: Path) -> None:
    """Some make so little that loops come down to one trip in them, and then every order of the others counts; of six
    positions some make three, of which two are made at once in the best mapping, perhaps."""
    kinds = ((2, "T[k,y] += X[c,y+r] * A[k,c,r]"), *((tile, one) for tile in (6, 8) for one in OPERATIONS))
    compared = 0
    for seed in seeds:
        rng = random.Random(seed)
        tile, statement = kinds[0] if rng.random() < 0.3 else rng.choice(kinds[1:])
        arch = buffer_of(rng, tmp_path)
        sizes = {"k": 2, "c": 2 if tile == 2 else rng.randint(1, 4), "r": 2, "y": tile}
        (operation,) = operations = cascade([statement], {n: size for n, size in sizes.items() if n in statement})
        made = made_by(rng, tile, short=True)
        if tile == 6 and rng.random() < 0.7:
            made = (3, rng.randint(3, 9)), (6, 2)
        if size_of_visits(short_visits(made, tile)[0], tile) <= tile:
            continue
        branches = ExactBranches(operations, arch, "even", "perfect", Means())
        homes = tuple(sorted((tensor.name, "DRAM") for tensor in operation.problem.tensors))
        room, cut = UpperMemories(arch).room, frozenset(operation.problem.dim_names)
        asked = BranchQuestion(operation.name, operation.problem.dims, homes, room, cut=cut, made=(("Y", made),))
        answer = branches.counted(asked, ENERGY_ALONE)
        assert answer is not None
        least = best_by_force(operation, arch, made, tile)
        assert answer.bound * asked.visits == pytest.approx(least, rel=1e-9), (seed, statement, made, tile)
        assert branches.counted(asked, ENERGY_ALONE, answer.bound).mapping is None
        compared += 1
    assert longer.occurs(compared > 3)


def test_three_of_six_positions_may_take_less_than_three(tmp_path: Path) -> None:
    """Perfect tiles of three hold one or all of them, those of six two as well: so what is known of a visit of three is
    what two take. (Three were taken to cost no less than the best mapping of three.)"""
    path = tmp_path / "buffer.yaml"
    path.write_text(BUFFER.format(glb=3, read=2, halo="none"))
    least = {}
    for tile, positions in ((6, 3), (3, 3), (2, 2)):
        (operation,) = cascade([OPERATIONS[0]], {"k": 1, "c": 4, "y": tile})
        least[tile] = best_by_force(operation, load_arch(str(path)), ((positions, 1),), tile)
    assert least[2] <= least[6] < least[3]
    assert [most_that_divide(n, 6) for n in (1, 2, 3)] == [1, 2, 2]
    assert [most_that_divide(n, 12) for n in (3, 4, 5, 6)] == [2, 2, 2, 2]
    assert [most_that_divide(n, 8) for n in (1, 2, 3, 4)] == [1, 2, 2, 4]


def test_a_loop_of_one_trip_lets_sums_stay(tmp_path: Path) -> None:
    """A visit of one position, where even ones make two, takes less than the last one of a loop that is cut short."""
    arch = machine_of(random.Random(0), tmp_path)
    (operation,) = cascade([OPERATIONS[0]], {"k": 2, "c": 2, "y": 2})
    made, loops = ((1, 1), (2, 2)), (Loop("C", 2), Loop("Y", 2))
    nodes = tuple(Node("DRAM", tensor.name) for tensor in operation.problem.tensors)
    inside = (Node("RF", "T"), Loop("K", 2))
    even = Mapping(operation.problem, LoopNest((*nodes, *loops, *inside)))
    dims = tuple((dim, 5 if dim == "Y" else n) for dim, n in operation.problem.dims)
    problem = Problem("visits", dims, operation.problem.tensors)
    cut_short = Mapping(problem, LoopNest((*nodes, Loop("Y", 3), *loops, *inside)))
    taken = visit_by_visit(even, arch, made, 2)
    assert taken < visit_cost(cut_short, arch, 1, {}, len(nodes) + 1).energy_pj
    asked = _uneven("Y", 2, [1, 2, 2], 1)
    assert asked.whole is None
    assert not asked.keeps_loops
    assert asked.counts
    assert not _uneven("Y", 2, [1, 2], 1).counts  # of one even visit there is nothing to count


def test_passes_of_visits() -> None:
    """Those of 5, 4, 4 and 3 positions, by tiles of 4: one pass each, and one of a single position more."""
    visits = UnevenVisits.of(((3, 1), (4, 2), (5, 1)), 4)
    assert sorted(visits.passes) == [(1, 1), (3, 1), (4, 3)]
    assert sorted(visits.first) == [(3, 1), (4, 1), (4, 2)]
    assert visits.at_work(2, 4) == min((3 + 1 + 3 * 4) / (2 + 1 + 3 * 2), (2 + 1 + 3 * 2) / 5)  # of one, of two each
