"""What is left aside, since others stand for it: mirror images of branches, and loops with more steps than others that
weigh too much. What is found and proven stays the same."""

from __future__ import annotations

import math
import random

import pytest

from longer import blocks
from tilewright.arch import Architecture, load_arch, parse_arch
from tilewright.cost_models import EDP, ENERGY
from tilewright.ir import Cascade, Loop
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.cascades.branches.oracle import ExactBranches
from tilewright.mapper.cascades.branches.shared_branches import KnownOperations
from tilewright.mapper.cascades.space.fewer_steps import FewerSteps
from tilewright.mapper.cascades.terms.branch import BranchQuestion
from tilewright.mapper.cascades.terms.sharing import LoopAbove, Passage, SharedDim
from tilewright.mapper.cascades.terms.upper_memories import UpperMemories
from tilewright.mapper.means import Means
from tilewright.mapper.pareto.weights import Weights
from tilewright.mapper.question import Question
from tilewright.workloads import cascade

IMAGES = {
    "T": "T[k,p,q] += I[c,p+r,q+s] * W[k,c,r,s]",
    "plain": "T[k,p,q] += I[c,p,q] * W[k,c]",
    "wide": "T[k,p,q] += I[c,2*p+r,q+s] * W[k,c,r,s]",
}


def _machine(rng: random.Random) -> Architecture:
    """A small buffer, with an array below it or without."""
    array = f"  - {{fanout: array, x: {rng.choice([2, 4])}}}\n" if rng.random() < 0.7 else ""
    return parse_arch(
        f"""
name: small
clock: 1 GHz
word: 8 bit
levels:
  - {{memory: DRAM, access: 8 bit, read: 50 pJ, write: 50 pJ, bandwidth: {rng.choice([8, 32])} bit/cycle}}
  - {{memory: GLB, size: {rng.choice([48, 96, 160])} B, access: 8 bit, read: 2 pJ, write: 2 pJ, keep: may,
      bandwidth: {rng.choice([16, 64])} bit/cycle}}
{array}  - {{memory: RF, size: 16 B, access: 8 bit, read: 0.2 pJ, write: 0.2 pJ}}
mac: {{energy: 1 pJ}}
"""
    )


def _images(rng: random.Random) -> Cascade:
    """Two operations on small square images."""
    first = rng.choice([IMAGES["plain"], IMAGES["T"]])
    sizes = {"k": 2, "c": 2, "p": 4, "q": 4} | ({"r": 2, "s": 2} if first == IMAGES["T"] else {})
    if rng.random() < 0.5:
        return cascade([first, "O[k,p,q] = exp(T[k,p,q])"], sizes)
    return cascade([first, "O[m,p,q] += T[k,p,q] * V[m,k]"], sizes | {"m": 3})


@pytest.mark.parametrize("seeds", blocks(6, 3))
def test_searches_find_as_much_with_what_is_left_aside(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        asked = Question(_images(rng), _machine(rng), rng.choice([EDP, ENERGY]), "perfect", "even")
        found = search_cascade(asked).certificate
        with monkeypatch.context() as patch:
            patch.setattr(KnownOperations, "mirror", lambda *_: None)
            every = search_cascade(asked).certificate
        assert found.gap == every.gap == 0, seed
        assert found.value == pytest.approx(every.value, rel=1e-9), seed


def _images_of(statement: str, arch: Architecture, **sizes: int) -> dict[str, str]:
    known, (operation, *_) = KnownOperations(arch), cascade([statement], **sizes)
    mirror = known.mirror(known.first(operation).name)
    return {} if mirror is None else dict(mirror.dims)


def test_dimensions_that_change_places() -> None:
    arch = load_arch("three_level")
    sizes = {"k": 4, "c": 2, "p": 6, "q": 6, "r": 3, "s": 3}
    images = _images_of(IMAGES["T"], arch, **sizes)
    assert images == {"K": "K", "C": "C", "P": "Q", "Q": "P", "R": "S", "S": "R"}
    assert not _images_of(IMAGES["T"], arch, **sizes | {"q": 5})
    assert not _images_of(IMAGES["wide"], arch, **sizes)


def test_one_search_answers_for_a_tile_and_its_mirror_image() -> None:
    whole = cascade([IMAGES["T"]], k=4, c=2, p=6, q=6, r=3, s=3)
    arch, (operation,) = load_arch("eyeriss"), whole
    memories, weights = UpperMemories(arch), Weights(1.0, 100.0)
    homes = tuple((name, memories.outermost) for name in "ITW")
    tiles = [
        dict(operation.problem.sizes) | {"P": p, "Q": q, "R": r, "S": s} for p, q, r, s in ((2, 6, 1, 3), (6, 2, 3, 1))
    ]
    asked = [BranchQuestion("T", tuple(tile.items()), homes, memories.room, cut=frozenset(tile)) for tile in tiles]
    solver = ExactBranches(whole, arch, "even", "perfect", Means())
    first = solver.least(asked[0], weights)
    searches = solver.searches
    second = solver.least(asked[1], weights)
    assert solver.searches == searches
    assert first.bound == second.bound
    assert first.mapping is not None
    assert second.mapping is not None
    for question, answer in zip(asked, (first, second), strict=True):
        fresh = ExactBranches(whole, arch, "even", "perfect", Means())
        assert answer.bound == pytest.approx(fresh.least(question, weights).bound, rel=1e-9)
        assert answer.mapping is not None
        for dim, size in question.sizes:
            loops = [item.trips for item in answer.mapping.items if isinstance(item, Loop) and item.dim == dim]
            assert math.prod(loops) == size, "a mapping of the tile that was asked about"


def _loops(*trips: int, passes: tuple[Passage, ...] = (), tile: int | None = None) -> tuple[LoopAbove, ...]:
    dims = (SharedDim((("T", "M"), ("O", "M"))), SharedDim((("T", "N"), ("O", "N"))))
    return tuple(LoopAbove(dim, n, passes, tile=tile) for dim, n in zip(dims, trips, strict=False))


def test_multiples_of_trips_are_ruled_out_and_nothing_else() -> None:
    every = [_loops(2, 3), _loops(4, 3), _loops(4, 6), _loops(3, 3), _loops(2), _loops(4)]
    fewer = FewerSteps.of(every)
    assert [fewer.stand_for_others(loops) for loops in every] == [True, True, False, False, True, False]
    assert not any(map(fewer.are_ruled_out, every))
    fewer.rule_out(_loops(2, 3))
    assert [fewer.are_ruled_out(loops) for loops in every] == [True, True, True, False, False, False]
    assert not fewer.are_ruled_out(_loops(4, 6, passes=(Passage("T", "GLB", "all"),)))
    assert not fewer.are_ruled_out(_loops(4, 6, tile=5)), "the last step is shorter"
