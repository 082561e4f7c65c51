"""Ranks of several dimensions and one for each: the same mappings, which cost the same."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from cascade_cases import random_case
from longer import blocks
from tilewright.arch import load_arch
from tilewright.cost_models import EDP, ENERGY, evaluate
from tilewright.ir import InfeasibleError, Operation
from tilewright.mapper.cascades.terms.apart_ranks import slides, with_apart_ranks
from tilewright.mapper.exact.search import ExactSearch
from tilewright.workloads import cascade

HEADS = {
    "S[b,m,n] += Q[m,{d}*b+k] * K[n,{d}*b+k]": "bmnk",
    "O[m,n] += S[b,m,n] * V[{d}*b+k]": "bmnk",
    "T[b,k] = exp(X[{d}*b+k])": "bk",
    "U[m] max= X[m,{d}*b+k]": "bmk",
}
"""Readers of heads that lie side by side, and their letters."""


def _operation(rng: random.Random) -> Operation:
    text, letters = rng.choice(list(HEADS.items()))
    depth = rng.choice([2, 3, 4])
    sizes = {"b": rng.choice([2, 3]), "m": rng.choice([1, 2]), "n": rng.choice([2, 4]), "k": depth}
    apart = depth + rng.choice([0, 0, 2])
    return next(iter(cascade([text.format(d=apart)], {letter: sizes[letter] for letter in letters})))


@pytest.mark.parametrize("seeds", blocks(60, 20))
def test_mappings_cost_the_same(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        arch, operation = random_case(seed).arch, _operation(rng)
        apart = with_apart_ranks(operation, arch)
        assert apart != operation
        assert all(len(rank) < 2 for tensor in apart.problem.tensors for rank in tensor.ranks)
        for objective in (ENERGY, EDP):
            one, other = (
                ExactSearch(each.problem, arch, objective, "perfect", "uneven") for each in (operation, apart)
            )
            try:
                mapping, cost, proof = one.run()
            except InfeasibleError:
                with pytest.raises(InfeasibleError):
                    other.run()
                continue
            assert other.run()[2].value == pytest.approx(proof.value, rel=1e-9), seed
            same = evaluate(replace(mapping, problem=apart.problem), arch)
            assert same.energy_pj == pytest.approx(cost.energy_pj, rel=1e-12), seed
            assert same.latency_cycles == pytest.approx(cost.latency_cycles, rel=1e-12), seed


def test_what_is_left_as_it_is() -> None:
    arch = load_arch("three_level")
    heads, sliding = (next(iter(cascade([text], b=2, k=4))) for text in ("T[b,k] = exp(X[4*b+k])", "T[b] += X[b+k]"))
    assert not slides(heads.problem.tensor("X").ranks[0], heads.problem.sizes)
    assert slides(sliding.problem.tensor("X").ranks[0], sliding.problem.sizes)
    assert with_apart_ranks(sliding, arch) == sliding
    assert with_apart_ranks(heads, arch) != heads
    assert with_apart_ranks(heads, arch.model_copy(update={"footprint": "box"})) == heads
