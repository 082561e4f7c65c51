"""No tree weighs less than its operations one by one."""

from __future__ import annotations

import math
import random
import re

import pytest
from window_brute_force import best_windowed, random_window_case

from cascade_cases import CHEAP, DEAR, random_case
from longer import TIMES, blocks
from tilewright.arch import Architecture, load_arch, parse_arch
from tilewright.cost_models import ENERGY, LATENCY
from tilewright.ir import Cascade
from tilewright.mapper.cascades import CascadeQuestion, Fuse, bound_by_singles, bound_cascade, search_cascade
from tilewright.mapper.cascades.branches.oracle import ExactBranches
from tilewright.mapper.cascades.relaxations.part_bounds import PartBounds
from tilewright.mapper.cascades.relaxations.single_branches import SingleBranches
from tilewright.mapper.cascades.single_bounds import SingleBounds
from tilewright.mapper.cascades.tables.tables import TableBranches, supports
from tilewright.mapper.cascades.terms.placing import Placing
from tilewright.mapper.cascades.terms.upper_memories import UpperMemories, with_single_copies
from tilewright.mapper.cascades.terms.weights import ENERGY_ALONE
from tilewright.mapper.means import Means
from tilewright.mapper.ski_slope import one_buffer
from tilewright.mapper.space import Space
from tilewright.workloads import cascade


def bounds_of(
    whole: Cascade, arch: Architecture, fuse: Fuse, by_tables: bool = False, space: Space = "uneven"
) -> SingleBounds:
    memories = UpperMemories(arch)
    single = with_single_copies(arch)
    solver = TableBranches(whole, single) if by_tables else ExactBranches(whole, single, "uneven", "perfect", Means())
    inside = TableBranches(whole, arch) if by_tables else ExactBranches(whole, arch, space, "perfect", Means())
    placing = Placing(whole, memories, "uneven")
    near = PartBounds(whole, memories, "uneven", ENERGY_ALONE, solver, placing, may_be_uneven=fuse == "all")
    branches = SingleBranches(whole, memories, inside, near.alone, ENERGY_ALONE)
    return SingleBounds(whole, memories, solver, branches, near, ENERGY_ALONE, fuse, {})


@pytest.mark.parametrize("seeds", blocks(10, 5))
def test_no_tree_of_a_brute_force_lies_below(seeds: range) -> None:
    compared = 0
    for seed in seeds:
        case = random_case(seed, CHEAP if TIMES == 1 else DEAR)
        best = case.trees.best()
        if case.tiling == "perfect" and best and not case.arch.total_leakage_pj_per_cycle:
            least = bounds_of(case.cascade, case.arch, case.fuse, space=case.space).of_all()
            assert 0 < least <= best["energy"].value * (1 + 1e-9), f"{seed}\n{case}"
            if supports(case.cascade, case.arch, "uneven", "perfect") is None:
                searched = bounds_of(case.cascade, case.arch, case.fuse).of_all()
                tabled = bounds_of(case.cascade, case.arch, case.fuse, by_tables=True).of_all()
                assert tabled == pytest.approx(searched, rel=1e-9), f"{seed}\n{case}"
            compared += 1
    assert compared or seeds.start


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(1, 1))
def test_no_tree_with_loops_along_windows_lies_below(seeds: range) -> None:
    for seed in seeds:
        case = random_window_case(seed)
        best = best_windowed(case, random.Random(seed), 2 if TIMES == 1 else 20)["energy"]
        if not case.arch.total_leakage_pj_per_cycle and best < math.inf:
            least = bounds_of(case.cascade, case.arch, "all").of_all()
            assert 0 < least <= best * (1 + 1e-9), f"{seed}\n{case}"


def test_a_bound_that_is_soon_seen_to_say_nothing_is_no_other_bound() -> None:
    """Above a weight it is what it is without one, and 0 only where it is no more."""
    skipped = 0
    for seed in range(6):
        case = random_case(seed, CHEAP)
        if case.tiling != "perfect" or case.arch.total_leakage_pj_per_cycle:
            continue
        bounds = bounds_of(case.cascade, case.arch, case.fuse)
        least = bounds.of_all()
        for above in (0.5 * least, least * (1 - 1e-9), least * (1 + 1e-9), 2 * least):
            found = bounds.of_all(above)
            assert found == least or (found == 0.0 and least <= above), f"{seed}\n{case}"
            skipped += found == 0.0
    assert skipped


@pytest.mark.long
def test_a_softmax_that_cannot_stay_on_chip_is_bounded_by_what_it_costs() -> None:
    """On gemmini an intermediate goes out and comes back, and of what two operations read one finds it on chip."""
    lines = ["L[m] max= S[m,n]", "P[m,n] = exp(S[m,n] - L[m])", "D[m] += P[m,n]", "O[m,n] = P[m,n] / D[m]"]
    whole = cascade(lines, m=16, n=8)
    asked = CascadeQuestion(whole, load_arch("gemmini"), ENERGY, "perfect")
    answer = search_cascade(asked)
    assert answer.certificate.gap == 0.0
    assert bound_cascade(asked) < bound_by_singles(asked, {}) == pytest.approx(answer.cost.energy_pj, rel=1e-9)


def test_operations_too_long_for_a_search_are_bounded_by_tables() -> None:
    """Where tables answer for the trees, they answer for single operations: an exact search takes no such dimension.
    Nothing counts its elements one by one."""
    whole = cascade(["T[m] = exp(A[m])", "O[m] = exp(T[m])"], m=134_217_728)
    arch = one_buffer(1024)
    asked = CascadeQuestion(whole, arch, ENERGY, "perfect", "uneven")
    words = arch.memories[0].read_energy_pj + arch.memories[0].write_energy_pj
    assert bound_by_singles(asked, {}) == pytest.approx(134_217_728 * words, rel=1e-9)
    assert search_cascade(asked).cost.energy_pj >= bound_by_singles(asked, {})


def test_operations_are_not_alike_where_arrays_go_by_names() -> None:
    """T takes 4 cycles with N on the array, and O one, with P and N on it: what is known of T says nothing of O."""
    levels = "\n".join(
        f"  - {{memory: {name}, access: 8 bit, read: 1 pJ, write: 1 pJ{rest}}}"
        for name, rest in (("DRAM", ""), ("GLB", ", size: 40 B, keep: may"), ("L2", ", size: 12 B, keep: may"))
    )
    text = f"name: m\nclock: 1 GHz\nword: 8 bit\nlevels:\n{levels}\n"
    text += "  - {fanout: array, x: {size: 16, dims: [P, N]}}\nmac: {energy: 1 pJ}\n"
    pair = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=1, k=4, n=4, p=4)
    question = CascadeQuestion(pair, parse_arch(text, "m"), LATENCY, "perfect", fuse="none")
    certificate = search_cascade(question).certificate
    assert (certificate.value, certificate.lower_bound) == (5, 5)


@pytest.mark.long
def test_what_lasts_in_a_double_buffered_memory_takes_the_room_of_one_copy() -> None:
    """B lies in the scratchpad while loops step over rows, where a mapping of T alone would have to keep it twice."""
    arch = load_arch("gemmini")
    small = {"double_buffered": True, "size_bits": 4096}
    levels = (one.model_copy(update=small) if one.name == "scratchpad" else one for one in arch.levels)
    arch = arch.model_copy(update={"levels": tuple(levels)})
    lines = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"]
    asked = CascadeQuestion(cascade(lines, m=6, n=16, k=16, p=8), arch, ENERGY, "perfect")
    answer = search_cascade(asked)
    assert answer.certificate.gap == 0.0
    assert answer.cost.energy_pj == pytest.approx(51904.32, rel=1e-9)
    assert bound_by_singles(asked, {}) <= answer.cost.energy_pj


@pytest.mark.long
@pytest.mark.parametrize("name", ["gemmini", "tpu_v1", "three_level"])
def test_heads_side_by_side_leave_the_visits_of_what_makes_them_even(name: str) -> None:
    """Nothing of this can be fused for less, and the bound says so by itself: T is mapped in the even space, and its
    columns are read head by head without one that two heads have in common."""
    lines = ["T[m,n] += A[m,k] * W[k,n]", "S[b,q,m] += Q[q,b,e] * T[m,4*b+e]", "P[b,q,m] = exp(S[b,q,m])"]
    whole = cascade(lines, m=8, n=12, k=16, b=3, q=8, e=4)
    asked = CascadeQuestion(whole, load_arch(name), ENERGY, "perfect")
    answer = search_cascade(asked)
    assert answer.certificate.gap == 0.0
    assert bound_by_singles(asked, {}) == pytest.approx(answer.cost.energy_pj, rel=1e-9)


def small_chip(buffer: str, word: int = 8, sums: int = 8, keep: str = "may", registers: int = 64) -> Architecture:
    """Two memories outside an array of 8 x 4 units; words and sums in bits."""
    return parse_arch(
        f"""
        name: small
        clock: 1 GHz
        word: {word} bit
        partial_sum: {sums} bit
        levels:
          - {{memory: DRAM, access: 8 bit, read: 200 pJ, write: 200 pJ}}
          - {{memory: GLB, size: {buffer}, access: 8 bit, read: 6 pJ, write: 6 pJ, keep: {keep}}}
          - {{fanout: array, x: 8, y: 4}}
          - {{memory: RF, size: {registers} B, access: 8 bit, read: 1 pJ, write: 1 pJ, keep: may}}
        mac: {{energy: 0.5 pJ}}
        """,
        "small.yaml",
    )


RUNS = (
    ("S[m,n] += Q[m,e] * K[n,e]", "L[m] max= S[m,n]", "P[m,n] = exp(S[m,n] - L[m])", "O[m,f] += P[m,n] * V[n,f]"),
    ("T[m,n] += A[m,k] * B[k,n]", "U[m,p] += T[m,n] * C[n,p]", "R[m,q] += U[m,p] * D[p,q]"),
    ("T[m,n] += A[m,k] * B[k,n]", "G[m,p] += T[m,n] * C[n,p]", "H[m,q] += T[m,n] * D[n,q]"),
    ("G[m,n] += X[m,k] * B[k,n]", "U[m,n] += X[m,k] * C[k,n]", "H[m,n] = G[m,n] * U[m,n]"),
    ("T[m,n] += A[m,k] * B[k,n]", "U[m,k] += T[m,n] * C[n,k]", "R[m,k] = U[m,k] + A[m,k]"),
    ("T[m,n] += A[m,k] * B[k,n]", "U[m,n] = exp(T[m,n])", "R[m,n] = U[m,n] + T[m,n]"),
    ("T[m,n] += A[m,k] * B[k,n]", "D[m] += T[m,n]", "R[m,n] = T[m,n] / D[m]"),
)
"""Cascades in which tensors have several readers, sums or none, and are cut along several dimensions or one."""


@pytest.mark.parametrize("seeds", blocks(8, 2))
def test_no_tree_that_a_search_finds_lies_below(seeds: range) -> None:
    """On machines with room for little, on which sums may be wider than words, and memories not keep all roles."""
    for seed in seeds:
        rng = random.Random(seed)
        lines = rng.choice(RUNS)
        dims = sorted(set(",".join(re.findall(r"\[(.*?)\]", " ".join(lines))).split(",")))
        sizes = {dim: rng.choice((2, 4, 4, 8, 12)) for dim in dims}
        word, keep = rng.choice((8, 16)), "{input: may, weight: never, output: may}"
        arch = small_chip(
            f"{rng.choice((24, 48, 96, 160, 256, 640))} B",
            word,
            rng.choice((word, 2 * word)),
            rng.choice(("may", keep)),
            rng.choice((8, 64)),
        )
        space: Space = rng.choice(("even", "uneven"))
        asked = CascadeQuestion(cascade(lines, sizes), arch, ENERGY, "perfect", space)
        least, found = bound_by_singles(asked, {}), search_cascade(asked).certificate
        assert 0 < least <= found.value * (1 + 1e-9), f"{seed} {lines} {sizes} {space}\n{arch}"


@pytest.mark.long
def test_scores_without_room_are_cut_and_their_keys_come_again() -> None:
    """A buffer that holds few rows of scores, and not all keys beside them, has these come for every few rows."""
    lines = [
        "S[m,n] += Q[m,e] * K[n,e]",
        "L[m] max= S[m,n]",
        "P[m,n] = exp(S[m,n] - L[m])",
        "O[m,f] += P[m,n] * V[n,f]",
    ]
    whole, before = cascade(lines, m=8, n=16, e=16, f=16), 0.0
    for buffer in ("1 KiB", "96 B"):
        asked = CascadeQuestion(whole, small_chip(buffer), ENERGY, "perfect")
        least, proof = bound_by_singles(asked, {}), search_cascade(asked).certificate
        assert proof.proven
        assert max(before * 1.5, 0.99 * proof.value) < least <= proof.value * (1 + 1e-9)
        before = least
