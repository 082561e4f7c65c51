"""The best few trees that are fused in different ways: those that a brute force over all trees finds."""

from __future__ import annotations

import pytest

import longer
import tilewright as tw
from cascade_brute_force import Placed, Trees
from cascade_cases import CHEAP, Case, random_case
from cascade_skeletons import Skeleton, Skeletons
from tilewright.cost_models import ENERGY
from tilewright.ir import TilewrightError, UndecidedError
from tilewright.mapper import fusings
from tilewright.mapper.answer import Answer
from tilewright.mapper.fusing import answer_undiagnosed
from tilewright.mapper.fusings import Passing, answer_fusings, fusing_of
from tilewright.mapper.question import Question, TreeQuestion

SEEDS = longer.seeds(8) if longer.TIMES > 1 else (0, 2, 12, 18)
COUNT = 4

Fusing = tuple[Passing, ...]


def fusing_in(skeleton: Skeleton, placed: dict[str, Placed], trees: Trees) -> Fusing:
    """How a tree is fused, from what the brute force knows of it."""
    leaves = {part.names[0]: address for address, part in skeleton.walk() if not part.branches}
    found = []
    for tensor in trees.cascade.intermediates:
        producer = trees.cascade.producers[tensor].name
        common = []
        for reader in trees.cascade.consumers[tensor]:
            both = zip(leaves[producer], leaves[reader.name], strict=False)
            common.append(next(i for i, (one, other) in enumerate(both) if one != other))
        splits = [leaves[producer][:depth] for depth in range(min(common) + 1)]
        sites = [memory for where, _, memory in placed[tensor].sites if where in splits]
        loops = (loop for address in splits for loop in skeleton.at(address).loops if loop.trips > 1)
        along = frozenset(loop.of(producer) for loop in loops)
        found.append(Passing(tensor, sites[-1] if sites else trees.upper[0].name, along))
    return tuple(found)


def question_of(case: Case) -> TreeQuestion:
    return Question(case.cascade, case.arch, ENERGY, case.tiling, case.space, fuse=case.fuse)


def least_by_fusing(case: Case) -> dict[Fusing, float]:
    """The least energy of every fusing that fits."""
    trees, found = case.trees, dict[Fusing, float]()
    leakage = case.arch.total_leakage_pj_per_cycle
    for skeleton in Skeletons(trees.cascade, trees.upper[0].name, trees.fuse, trees.wider, trees.tiling):
        for placed, fronts in trees.fronts_of(skeleton):
            fusing = fusing_in(skeleton, placed, trees)
            least = sum(min(energy + leakage * cycles for energy, cycles, *_ in front) for front in fronts)
            found[fusing] = min(least, found.get(fusing, least))
    return found


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_few_are_those_of_brute_force(seed: int) -> None:
    case = random_case(seed, CHEAP)
    least = least_by_fusing(case)
    if case.arch.partial_sum_bits is not None or not least:
        pytest.skip("nothing fits, or sums are wide: the search knows bounds only there")
    found = answer_fusings(question_of(case), COUNT)
    values = [answer.cost.energy_pj for answer in found]
    assert all(answer.certificate.proven for answer in found)
    assert values == pytest.approx(sorted(least.values())[:COUNT], rel=1e-9), case
    fusings = [fusing_of(answer.mapping) for answer in found]
    assert len(set(fusings)) == len(fusings)
    assert [least[fusing] for fusing in fusings] == pytest.approx(values, rel=1e-9)


def test_what_is_not_known_in_time_is_not_called_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[TreeQuestion] = []

    def late(question: TreeQuestion) -> Answer:
        asked.append(question)
        if len(asked) == 2:
            raise UndecidedError("no time")
        return answer_undiagnosed(question)

    monkeypatch.setattr(fusings, "answer_undiagnosed", late)
    found = answer_fusings(question_of(random_case(18, CHEAP)), 3)
    assert found[0].certificate.proven
    assert not any(answer.certificate.gap == 0 for answer in found[1:])
    assert len(asked) == 2


def test_what_cannot_be_listed_is_refused() -> None:
    pair = tw.cascade(["T[m] += A[m,k]", "O[m] = exp(T[m])"], m=2, k=2)
    with pytest.raises(TilewrightError, match="need one value each"):
        tw.search_top(pair, "eyeriss", 2, "latency,energy")
    with pytest.raises(TilewrightError, match="expected 1 or more"):
        tw.search_top(pair, "eyeriss", 0)
    with pytest.raises(TilewrightError, match="one layer has nothing to fuse"):
        tw.search_top("resnet50:conv1", "eyeriss", 2, fuse="none")
