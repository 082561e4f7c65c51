"""One dimension for several that always move together: as good mappings, and each is one of the operation's own."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

import longer
from cascade_cases import random_case
from tilewright.arch import Architecture, Fanout, load_arch
from tilewright.cost_models import EDP, ENERGY, evaluate
from tilewright.ir import InfeasibleError, LoopNest, Operation
from tilewright.mapper.cascades.terms.merged_dims import MergedDims, merged_sizes, parted
from tilewright.mapper.exact.search import ExactSearch
from tilewright.workloads import cascade

STATEMENTS = {
    "O[m,n] += A[m,{k}*h+k] * W[n,h,k]": "mnhk",
    "O[m,n] += A[m,h,k] * W[h,k,n]": "mnhk",
    "T[m,n] = exp(A[m,n])": "mn",
    "E[b,m,n] = exp(S[b,m,n] - H[b,m])": "bmn",
    "D[b,m] += E[b,m,n]": "bmn",
    "O[k,p,q] += I[c,p,q] * W[k,c]": "kcpq",
}
"""Operations with dimensions that move together, and their letters."""

LEFT_APART = ("O[k,p] += I[c,p+r] * W[k,c,r]", "O[m,n] += A[m,k] * B[k,n]")


def _operation(rng: random.Random) -> Operation:
    text, letters = rng.choice(list(STATEMENTS.items()))
    sizes = {letter: rng.choice([1, 2, 3, 4, 6] if len(letters) < 4 else [1, 2, 2, 3]) for letter in letters}
    return next(iter(cascade([text.format(k=sizes.get("k"))], sizes)))


def _with_named_axes(arch: Architecture, operation: Operation, rng: random.Random) -> Architecture:
    """The machine, each axis of which allows some of the dimensions."""
    levels = []
    for level in arch.levels:
        if isinstance(level, Fanout) and rng.random() < 0.8:
            names = operation.problem.dim_names
            axes = [
                axis.model_copy(update={"dims": tuple(rng.sample(names, rng.randint(1, len(names))))})
                for axis in level.axes
            ]
            level = level.model_copy(update={"axes": tuple(axes)})
        levels.append(level)
    return arch.model_copy(update={"levels": tuple(levels)})


@pytest.mark.parametrize("seeds", longer.blocks(90, 30))
def test_mappings_are_as_good_and_the_operations_own(seeds: range) -> None:
    merged_some = on_axes = 0
    for seed in seeds:
        rng, arch = random.Random(seed), random_case(seed).arch
        operation = _operation(rng)
        arch = _with_named_axes(arch, operation, rng)
        merged, sizes = MergedDims(operation, arch), operation.problem.dims
        groups = merged.groups(sizes)
        assert sorted(dim for group in groups for dim in group) == sorted(operation.problem.dim_names)
        if all(len(group) == 1 for group in groups):
            continue
        merged_some += 1
        one = merged.merged(groups)
        assert one.problem.dims == merged_sizes(groups, sizes)
        for objective in (ENERGY, EDP):
            own, other = (ExactSearch(each.problem, arch, objective, "perfect", "uneven") for each in (operation, one))
            try:
                value = own.run()[2].value
            except InfeasibleError:
                with pytest.raises(InfeasibleError):
                    other.run()
                continue
            mapping, cost, proof = other.run()
            assert proof.value == pytest.approx(value, rel=1e-9), (seed, operation, groups)
            items = parted(mapping.nest.items, groups, sizes, operation, arch)
            same = evaluate(replace(mapping, problem=operation.problem, nest=LoopNest(items)), arch)
            assert same.energy_pj == pytest.approx(cost.energy_pj, rel=1e-12), seed
            assert same.latency_cycles == pytest.approx(cost.latency_cycles, rel=1e-12), seed
            on_axes += any(loop.is_spatial and loop.trips > 1 for loop in mapping.nest.loops)
    assert longer.occurs(merged_some > 10)
    assert longer.occurs(on_axes)


def test_what_stays_apart() -> None:
    arch = load_arch("three_level")
    for text in LEFT_APART:
        letters = sorted({letter for letter in text if letter.islower()} - {"x"})
        (operation,) = cascade([text], dict.fromkeys(letters, 4))
        groups = MergedDims(operation, arch).groups(operation.problem.dims)
        assert all(len(group) == 1 for group in groups), text


def test_axes_that_allow_one_alone_need_its_factors() -> None:
    """simba spreads N over 16 processing elements, and no A: of a tile with so many factors of N both are one."""
    arch = load_arch("simba")
    (operation,) = cascade(["O[m,p] += X[m,a,n] * W[a,n,p]"], m=4, a=32, n=128, p=8)
    merged = MergedDims(operation, arch)
    assert ("N", "A") in merged.groups((("M", 4), ("A", 32), ("N", 16), ("P", 8)))
    assert ("N", "A") not in merged.groups((("M", 4), ("A", 32), ("N", 8), ("P", 8)))
    assert ("N", "A") in merged.groups((("M", 4), ("A", 1), ("N", 8), ("P", 8)))
    assert (
        math.prod(size for _, size in merged.merged(merged.groups(operation.problem.dims)).problem.dims)
        == 4 * 32 * 128 * 8
    )
