"""Lines that trees touch: the closed form against a walk that looks at the lines of every transfer."""

from __future__ import annotations

import random

import pytest
from tree_simulator import walk_tree_lines
from trees import random_cascade, random_tree

import longer
import tilewright as tw
from generators import random_architecture
from tilewright.arch import Architecture, load_arch
from tilewright.cost_models.cascades import ways_of, with_work_layouts
from tilewright.cost_models.cascades.cost import lines_of_way
from tilewright.ir import Cascade, Mapping, MappingError, TilewrightError

PAIR = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"]


def with_lines(rng: random.Random, arch: Architecture, cascade: Cascade) -> Architecture:
    """The machine with lines and random orders of ranks in its memories without bounds."""
    levels = []
    for level in arch.levels:
        if level in arch.memories and level.size_bits is None and rng.random() < 0.8:
            banks = {"banks": rng.choice([2, 3, 4])} if rng.random() < 0.3 else {}
            level = level.model_copy(update={"line_bits": arch.word_bits * rng.choice([2, 3, 4, 8]), **banks})
        levels.append(level)
    machine = arch.model_copy(update={"levels": tuple(levels)})
    given = {}
    for memory in (memory for memory in machine.memories if memory.line_bits):
        for name in {t.name for o in cascade for t in o.problem.tensors}:
            given[f"{memory.name}.{name}"] = rng.choice(["row-major", "column-major"])
    return with_work_layouts(machine, cascade, given) if given else machine


def case_of(seed: int) -> tuple[Mapping, Architecture]:
    rng = random.Random(seed)
    arch = random_architecture(rng)
    cascade = random_cascade(rng, largest=4)
    tree = random_tree(rng, cascade, arch)
    return tree, with_lines(rng, arch, cascade)


@pytest.mark.parametrize("seeds", longer.blocks(160, 40))
def test_lines_of_trees_are_those_of_a_walk(seeds: range) -> None:
    counted = 0
    for seed in seeds:
        tree, arch = case_of(seed)
        try:
            ways = ways_of(tree, arch)
        except MappingError:
            continue
        expected = walk_tree_lines(tree, arch)
        for name, way in ways.items():
            found = lines_of_way(way, tree.cascade, arch)
            assert found.total == expected[name].total, f"seed {seed}\n{tree}"
            assert found.busiest == expected[name].busiest, f"seed {seed}\n{tree}"
            assert found.banks == expected[name].banks, f"seed {seed}\n{tree}"
        counted += any(memory.line_bits for memory in arch.memories)
    assert longer.occurs(counted > 10)


SIZES = {"m": 8, "k": 8, "n": 8, "p": 8}


def test_lines_that_are_full_prove_the_best_tree() -> None:
    """A line of one word is full."""
    pair = tw.cascade(PAIR, SIZES)
    plain = tw.search(pair, "three_level", tiling="perfect")
    lined = tw.search(pair, load_arch("three_level", {"DRAM.line": "8 bit"}), tiling="perfect")
    assert lined.certificate.proven
    assert lined.cost.energy_pj == pytest.approx(plain.cost.energy_pj)


@pytest.mark.some(1)
@pytest.mark.parametrize("objective", ["energy", "latency"])
def test_operations_that_are_not_fused_are_those_of_searches_on_their_own(objective: str) -> None:
    pair, arch = tw.cascade(PAIR, SIZES), load_arch("three_level", {"DRAM.line": "8 B"})
    found = tw.search(pair, arch, objective, tiling="perfect", fuse="none")
    alone = [tw.search(operation.problem, arch, objective, tiling="perfect").certificate for operation in pair]
    assert found.certificate.proven
    assert found.certificate.value == pytest.approx(sum(one.value for one in alone))
    fused = tw.search(pair, arch, objective, tiling="perfect")
    assert fused.certificate.value <= found.certificate.value * (1 + 1e-9)
    assert fused.unfused is not None
    assert fused.unfused.certificate.value == pytest.approx(found.certificate.value)
    assert fused.certificate.lower_bound <= fused.certificate.value
    assert tw.evaluate(fused.mapping, arch) == fused.cost


def test_bounds_of_constrained_trees_are_none_of_trees_with_nothing_fused() -> None:
    """Where T has to be in a dear buffer all trees that may be cost more: the best with nothing fused was called proven
    by their bound."""
    pair = tw.cascade(["T[m,n] = exp(A[m,n])", "O[m,n] = T[m,n] + A[m,n]"], {"m": 4, "n": 4})
    arch = load_arch("three_level", {"DRAM.line": "16 bit", "GLB.read": "900 pJ", "GLB.write": "900 pJ"})
    free, bound = (
        tw.search(pair, arch, "energy", tiling="perfect", constraints=constraints) for constraints in (None, "T in GLB")
    )
    assert free.unfused is not None
    assert bound.unfused is not None
    assert bound.unfused.certificate.value == free.unfused.certificate.value
    assert bound.unfused.certificate.lower_bound <= free.certificate.value < bound.certificate.value


def test_a_layout_that_leaves_lines_empty_costs_more_and_says_how_much() -> None:
    """Of a tensor by columns that is read by rows, a tile along a row touches a line for each word."""
    pair, arch = tw.cascade(PAIR, {"m": 2, "k": 8, "n": 8, "p": 2}), load_arch("three_level", {"DRAM.line": "16 B"})
    rows = tw.search(pair, arch, "energy", tiling="perfect", layout={"A": "row-major"})
    columns = tw.search(pair, arch, "energy", tiling="perfect", layout={"all": "row-major", "B": "N2K"})
    assert columns.certificate.lower_bound <= columns.certificate.value
    assert tw.evaluate(rows.mapping, arch) == rows.cost
    assert tw.evaluate(columns.mapping, columns.arch) == columns.cost
    assert tw.evaluate(columns.mapping, arch, layout={"B": "N2K"}) == columns.cost
    assert min(c.certificate.lower_bound for c in (rows, columns)) == pytest.approx(rows.certificate.lower_bound)


@pytest.mark.parametrize("fuse", ["none", "all"])
def test_open_layouts_cost_no_more_than_any_that_is_stated(fuse: str) -> None:
    """The tree found with open layouts is no worse for energy than with any order of one tensor's ranks."""
    pair, arch = tw.cascade(PAIR, {"m": 4, "k": 8, "n": 8, "p": 4}), load_arch("three_level", {"DRAM.line": "16 B"})
    found = tw.search(pair, arch, "energy", tiling="perfect", layout="any", fuse=fuse)  # type: ignore[call-overload]
    assert tw.evaluate(found.mapping, found.arch) == found.cost
    assert all(text != "any" for text in found.arch.memories[0].layouts.values())
    for tensor in pair.tensors:
        for text in ("row-major", "column-major"):
            assert tw.evaluate(found.mapping, found.arch, layout={tensor: text}).energy_pj >= found.cost.energy_pj
    assert tw.evaluate(found.mapping, arch, layout="any") == found.cost


@pytest.mark.long
def test_an_operation_reads_a_tensor_as_the_one_before_laid_it_out() -> None:
    """The same tree in other letters costs the same, whichever operation's letters a layout is stated in."""
    other = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "O[i,p] += T[i,j] * C[j,p]"], SIZES | {"i": 8, "j": 8})
    arch = load_arch("three_level", {"DRAM.line": "16 B"})
    one = tw.search(tw.cascade(PAIR, SIZES), arch, tiling="perfect", layout={"T": "NM"}, fuse="none")
    two = tw.search(other, arch, tiling="perfect", layout={"T": "NM"}, fuse="none")
    assert one.cost.energy_pj == pytest.approx(two.cost.energy_pj)


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"DRAM.line": "16 B"}, {"layout": {"Z": "row-major"}}, "unknown tensor 'Z'"),
        ({"DRAM.line": "16 B"}, {"layout": {"T": "XY"}}, "T has no rank X"),
        ({"GLB.line": "16 B"}, {}, "take no room yet"),
        ({"DRAM.line": "16 B"}, {"objective": "energy where latency <= 99999"}, "know no objective such as"),
    ],
)
def test_what_is_not_known_is_named(changes: dict[str, str], options: dict[str, object], message: str) -> None:
    with pytest.raises(TilewrightError, match=message):
        tw.search(tw.cascade(PAIR, SIZES), load_arch("three_level", changes), **options)  # type: ignore[call-overload]


def test_windows_and_zeros_around_are_refused() -> None:
    arch = load_arch("three_level", {"DRAM.line": "16 B"})
    padded = tw.cascade(
        ["T[k,x] += X[c,x] * W[k,c]", "O[l,p] += T[k,p+r] * V[l,k,r] pad T[0,1]"], c=2, k=2, l=2, p=4, r=2, x=4
    )
    with pytest.raises(TilewrightError, match="with zeros around it"):
        tw.search(padded, arch)
