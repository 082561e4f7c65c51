"""Proofs of legality, on random mappings, and on schedules that are wrong in one known way."""

from __future__ import annotations

import random

import pytest

from generators import memory, random_architecture, random_mapping, random_problem
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, load_arch
from tilewright.cost_models import integer_sets
from tilewright.cost_models.integer_sets import Schedule
from tilewright.ir import Digit, LoopNest, Mapping
from tilewright.mapper import legality
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.legality import Claim, prove, prove_schedule, tile_sets
from tilewright.workloads import conv2d, gemm, load_layer

MAY = Keeps(input="may", weight="may", output="may")
NAMES = ["every point", "once", "order", "parallel", "held", "tiles"]

PRODUCT = gemm(M=4, N=6, K=8)
NEST = """
DRAM keeps A W O
for K in 2
  for M in 2
    buffer keeps A W O
    parallel K in 2 on array.x
      parallel N in 3 on array.x
        for M in 2
          for N in 2
            for K in 2
"""


def machine(spatial_reduction: bool = True) -> Architecture:
    array = Fanout(name="array", axes=(ArrayAxis(size=8),), spatial_reduction=spatial_reduction)
    levels = (memory("DRAM"), memory("buffer", keeps=MAY), array)
    return Architecture(name="small", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))


def nest(*left_out: str) -> LoopNest:
    """The nest of this file without some of its lines."""
    return LoopNest.parse("\n".join(line for line in NEST.splitlines() if line.strip() not in left_out))


def refuted(claims: list[Claim]) -> dict[str, str]:
    return {claim.name: claim.text for claim in claims if not claim.proven}


@pytest.mark.long
def test_every_random_mapping_is_legal() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        problem, arch = random_problem(rng), random_architecture(rng, reuse=rng.choice(["across_levels", "at_node"]))
        mapping = random_mapping(rng, problem, arch)
        claims = prove(mapping, arch)
        assert [claim.name for claim in claims] == NAMES
        assert not refuted(claims), f"seed {seed}: {refuted(claims)}\n{mapping}"


def test_a_layer_of_real_size() -> None:
    arch = load_arch("eyeriss")
    mapping, _, _ = search_exact(load_layer("resnet50:layer1.0.conv2"), arch)
    claims = prove(mapping, arch)
    assert not refuted(claims)
    assert claims[0].text.endswith("visit all 115,605,504 points")
    assert claims[2].text == "points depend on each other only by additions to O along C, R, S"


# ---- wrong schedules -------------------------------------------------------------------------------------------


def test_a_lost_loop_leaves_points_out() -> None:
    """Without its outer loop over K, the nest ends at K=3; the first point that is missing is named."""
    claims = prove_schedule(Schedule.of(PRODUCT, nest("for K in 2")))
    assert refuted(claims) == {"every point": "the point M=0, N=0, K=2 is never visited"}


def test_an_inner_loop_that_is_lost() -> None:
    lost = LoopNest(tuple(item for item in nest() if str(item) != "parallel N in 3 on array.x"))
    assert refuted(prove_schedule(Schedule.of(PRODUCT, lost))) == {
        "every point": "the point M=0, N=2, K=0 is never visited"
    }


def with_tile(dim: str, position: int, tile: int) -> Schedule:
    """The schedule of the nest with another step along one loop."""
    digits = dict(Schedule.of(PRODUCT, nest()).digits)
    digits[dim] = tuple(
        Digit(d.position, d.trips, tile, d.spatial) if d.position == position else d for d in digits[dim]
    )
    return Schedule(PRODUCT, digits)


def test_overlapping_tiles_visit_points_twice() -> None:
    """Tiles of 2 along N, dealt out in steps of 1: N=1 is computed by two instances, N=4 and 5 by none."""
    found = refuted(prove_schedule(with_tile("N", 9, 1)))
    assert found["every point"] == "the point M=0, N=4, K=0 is never visited"
    assert found["once"].startswith("the point M=0, N=1, K=0 is visited twice: by ")
    assert "N in steps of 1=0" in found["once"]


def test_a_loop_that_repeats_itself() -> None:
    """A step of 0: all points of the first tile again, and the second never."""
    found = refuted(prove_schedule(with_tile("M", 4, 0)))
    assert found["every point"] == "the point M=2, N=0, K=0 is never visited"
    assert found["once"].startswith("the point M=0, N=0, K=0 is visited twice")


def test_a_ragged_last_tile_is_legal() -> None:
    """Instances beyond the edge visit nothing."""
    ragged = gemm(M=3, N=5, K=7)
    assert not refuted(prove_schedule(Schedule.of(ragged, nest())))


# ---- the other claims ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reduced", "where"), [(True, "by array"), (False, "as they reach buffer")])
def test_who_adds_up_parallel_sums(reduced: bool, where: str) -> None:
    claims = {c.name: c for c in prove(Mapping(PRODUCT, nest()), machine(reduced))}
    assert claims["parallel"].text == f"the sums of 'parallel K in 2 on array.x' are added up {where}"


def test_no_dependences_without_a_reduction() -> None:
    layer = conv2d(K=2, C=1, P=3, Q=1, R=1, S=1)
    text = "DRAM keeps I W O\nfor K in 2\nparallel P in 3 on array.x"
    claims = {c.name: c for c in prove(Mapping(layer, LoopNest.parse(text)), machine())}
    assert claims["order"].text == "no two points update the same word of O"
    assert claims["parallel"].text == "no two instances update the same word of O in a step"


def test_a_transfer_that_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the buffer were served by the outer loop alone, it would lack the words that the inner one asks for."""
    served = integer_sets.serving_loops
    monkeypatch.setattr(legality, "serving_loops", lambda *at: served(*at)[:1])
    assert refuted(prove(Mapping(PRODUCT, nest()), machine())) == {
        "held": "buffer uses words of A that its last transfer did not bring"
    }


def test_instances_that_get_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = with_tile("N", 9, 0)
    monkeypatch.setattr(Schedule, "of", lambda *at: wrong)
    found = refuted(prove(Mapping(PRODUCT, nest()), machine()))
    assert found["parallel"] == "instances of 'parallel N in 3 on array.x' update the same word"


def test_a_cost_model_that_counts_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legality, "tile_words", lambda mapping, footprint: dict.fromkeys(tiles(mapping, footprint), 24))
    found = refuted(prove(Mapping(PRODUCT, nest()), machine()))
    assert found == {"tiles": "the tile of A in DRAM has 32 words, the cost model 24"}


tiles = legality.tile_words


def test_first_and_next_tiles() -> None:
    layer = conv2d(K=2, C=3, P=8, Q=8, R=3, S=3)
    loops = ["for C in 3", "for P in 2", "for Q in 8", "for R in 3", "for S in 3"]
    text = "\n".join(["DRAM keeps I W O", "for P in 4", "for K in 2", "buffer keeps I W", *loops])
    found = {
        (t.memory, t.tensor): (t.words, t.next_words, t.next_loop)
        for t in tile_sets(Mapping(layer, LoopNest.parse(text)), machine())
    }
    assert found["DRAM", "I"] == (3 * 10 * 10, None, "")
    assert found["buffer", "I"] == (3 * 4 * 10, 3 * 2 * 10, "for P in 4")
    assert found["buffer", "W"] == (27, 27, "for K in 2")
