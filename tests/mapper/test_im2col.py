"""im2col: what is lowered, what that costs, and which form is taken."""

from __future__ import annotations

import contextlib
import itertools
import random

import numpy as np
import pytest

import brute_force
import longer
from generators import memory, random_architecture
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac, load_arch
from tilewright.cost_models import Cost, evaluate, parse_objective
from tilewright.ir import MappingError, Problem, ProblemError, TilewrightError
from tilewright.mapper.lowering import search_forms
from tilewright.mapper.question import Question
from tilewright.workloads import conv2d, gemm
from tilewright.workloads.lowering import lowered

ENERGY, LATENCY, EDP = map(parse_objective, ("energy", "latency", "edp"))


def test_a_word_for_each_tap_of_each_output() -> None:
    form = lowered(conv2d(K=8, C=4, P=5, Q=6, R=3, S=3))
    assert [rank[0][0] for rank in form.operand.ranks] == ["N", "P", "Q", "C", "R", "S"]
    assert form.image.name == "I"
    assert form.product.macs == 8 * 4 * 5 * 6 * 3 * 3


def test_the_product_computes_the_convolution() -> None:
    rng = np.random.default_rng(0)
    form = lowered(conv2d(K=2, C=3, P=4, Q=3, R=3, S=2, stride=2, dilation=(1, 2)))
    image, weights = rng.integers(0, 9, (1, 3, 12, 12)), rng.integers(0, 9, (2, 3, 3, 2))
    operand = np.zeros((1, 4, 3, 3, 3, 2), dtype=int)
    expected = np.zeros((1, 2, 4, 3), dtype=int)
    for p, q, c, r, s in itertools.product(range(4), range(3), range(3), range(3), range(2)):
        operand[0, p, q, c, r, s] = image[0, c, 2 * p + r, 2 * q + 2 * s]
        expected[0, :, p, q] += operand[0, p, q, c, r, s] * weights[:, c, r, s]
    letters = ["".join(rank[0][0] for rank in t.ranks) for t in (form.operand, form.product.tensor("W"))]
    output = "".join(rank[0][0] for rank in form.product.output.ranks)
    assert (np.einsum(f"{letters[0]},{letters[1]}->{output}", operand, weights) == expected).all()


def costs_of(problem: Problem, arch: Architecture) -> list[Cost]:
    """Of all mappings that fit."""
    found = []
    for mapping in brute_force.all_mappings(problem, arch, False):
        with contextlib.suppress(MappingError):
            found.append(evaluate(mapping, arch))
    return found


@pytest.mark.long
@pytest.mark.parametrize("seed", longer.seeds(4))
def test_the_best_of_both_forms(seed: int) -> None:
    """Against all mappings of both, with what lowering adds."""
    rng = random.Random(seed)
    problem = conv2d(K=2, C=rng.randint(1, 2), P=rng.randint(2, 3), Q=1, R=rng.randint(2, 3), S=1)
    arch = random_architecture(rng, memories=1, capacity=24)
    for objective in (ENERGY, EDP):
        forms = search_forms(Question(problem, arch, objective, "perfect"))
        spent = forms.lowering
        assert (spent.image_words, spent.lowered_words) == (
            problem.sizes["C"] * (problem.sizes["P"] + problem.sizes["R"] - 1),
            problem.sizes["C"] * problem.sizes["P"] * problem.sizes["R"],
        )
        costs = costs_of(forms.lowered.product, arch)
        values = [objective.value(c.energy_pj + spent.energy_pj, c.latency_cycles + spent.cycles) for c in costs]
        assert forms.value == pytest.approx(min(values), rel=1e-9)
        assert forms.proven
        direct = min(cost.objective(objective) for cost in costs_of(problem, arch))
        assert forms.direct.certificate.value == pytest.approx(direct, rel=1e-9)
        assert forms.wins == (min(values) < direct * (1 - 1e-9))


@pytest.mark.long
def test_it_is_taken_where_it_wins() -> None:
    """Sixteen MACs side by side along Q read every fourth word: of sixteen banks, four have all of them."""
    layer = conv2d(K=4, C=2, P=2, Q=16, R=3, S=3, stride=4)
    banks = {"line_bits": 8, "banks": 16, "layouts": {"I": "row-major"}}
    levels = (
        memory("DRAM", shared_bits_per_cycle=1e6),
        memory("GLB", size_bits=1 << 20, **banks),
        Fanout(name="array", axes=(ArrayAxis(size=16, dims=("Q",)),)),
    )
    arch = Architecture(name="m", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    forms = search_forms(Question(layer, arch, LATENCY, "perfect"))
    steps = layer.macs / 16
    assert forms.direct.cost.latency_cycles >= 4 * steps
    assert forms.product.cost.latency_cycles < 4 * steps
    assert forms.wins
    assert forms.proven
    assert forms.value == forms.product.cost.latency_cycles + forms.lowering.cycles


def test_what_cannot_be_lowered_is_named() -> None:
    with pytest.raises(ProblemError, match="only what reads one operand in windows"):
        lowered(gemm(4, 4, 4))
    limited = parse_objective("energy where latency <= 100")
    question = Question(conv2d(K=2, C=2, P=2, Q=2, R=2, S=2), load_arch("three_level"), limited, "perfect")
    with pytest.raises(TilewrightError, match="im2col knows no objective"):
        search_forms(question)
