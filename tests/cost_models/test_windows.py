"""Windows along shared loops: rows that are kept, or computed again; closed form, simulator, and counts by hand."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import pytest
from tree_simulator import TreeWalk, simulate_tree
from window_trees import KINDS, random_windows
from windowed_walk import WindowedWalk

import longer
from generators import random_architecture
from tilewright.arch import Architecture, parse_arch
from tilewright.cost_models import evaluate
from tilewright.cost_models.cascades import count_tree
from tilewright.cost_models.cascades.asks import exchanged_words
from tilewright.ir import Mapping, MappingError, Renews
from tilewright.workloads import cascade

SEEDS = longer.blocks(320, 80)


@cache
def random_case(seed: int) -> tuple[Mapping, Architecture]:
    rng = random.Random(seed)
    arch = random_architecture(rng, rng.randint(1, 3), reuse="across_levels" if seed % 3 else "at_node")
    switches = {"inner_drain_read": rng.random() < 0.7, "first_read_elision": rng.random() < 0.8}
    arch = arch.model_copy(update=switches)
    return random_windows(rng, arch), arch


@pytest.mark.parametrize("seeds", SEEDS)
def test_closed_form_equals_simulator(seeds: range) -> None:
    for seed in seeds:
        fused, arch = random_case(seed)
        assert count_tree(fused, arch) == simulate_tree(fused, arch), f"seed {seed}\n{fused.cascade}\n{fused}"


class _Watched(WindowedWalk):
    most = 0

    def make(self, values: dict[tuple[tuple[int, ...], int], int]) -> None:
        super().make(values)
        self.most = max(self.most, len(self.held))


@pytest.mark.long
def test_a_node_holds_as_many_words_as_its_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tree_simulator.WindowedWalk", _Watched)
    exact = 0
    for seed in range(120):
        fused, arch = random_case(seed)
        walk = TreeWalk(fused, arch)
        walk.run()
        for each in walk.walks.values():
            if isinstance(each, _Watched):
                spans = {dim: made.span for dim, made in each.way.made.items()}
                words = exchanged_words(fused, each.exchange, arch, spans)
                assert each.most <= words, f"seed {seed}\n{fused}"
                exact += each.most == words
    assert exact > 40


def test_random_trees_hold_everything() -> None:
    found: Counter[str] = Counter()
    for seeds in SEEDS:
        for seed in seeds:
            fused, arch = random_case(seed)
            found[fused.cascade.name] += 1
            found[arch.reuse] += 1
            found["renews"] += any(isinstance(item, Renews) for item in fused.tree.items)
            found["two windows"] += any(len(path.windows) > 1 for path in fused.paths.values())
            found["several windowed"] += sum(bool(path.windows) for path in fused.paths.values()) > 1
            found["exchange in DRAM"] += all(
                item.memory == "DRAM" for item in fused.tree.items if hasattr(item, "memory")
            )
    assert longer.occurs(set(KINDS) <= set(found)), found
    assert longer.occurs(min(found.values()) >= 10), found


CHIP = """
name: chip
clock: 1 GHz
word: 8 bit
levels:
  - {memory: DRAM, access: 8 bit, read: 200 pJ, write: 200 pJ}
  - {memory: GLB, size: unbounded, access: 8 bit, read: 6 pJ, write: 6 pJ, keep: may, halo: innermost}
mac: {energy: 1 pJ}
"""
CONVOLUTIONS = cascade(
    ["T[k,y] += X[c,y+s] * W[k,c,s] pad X[0,1]", "O[l,p] += T[k,p+r] * V[l,k,r] pad T[0,1]"],
    {"k": 3, "c": 2, "s": 3, "y": 8, "p": 8, "r": 3, "l": 2},
)
TREE = """
DRAM keeps X W V O
GLB keeps W
for P,T.Y in 4
  GLB keeps T
  branch T
    GLB keeps X
    for Y in 3
      for K in 3
        for C in 2
          for S in 3
  branch O
    GLB keeps O
    for P in 2
      for L in 2
        for K in 3
          for R in 3
"""


def test_rows_that_are_kept_are_made_once() -> None:
    """Four visits make 3, 2, 2 and 1 of the 8 rows: each once; GLB holds 4 of them, two for the next visit."""
    cost = evaluate(Mapping.parse(CONVOLUTIONS, TREE), parse_arch(CHIP, "chip"))
    assert cost.operations["T"].macs == 8 * 18
    words = {(t.memory, t.tensor): (t.reads, t.writes) for t in cost.operations["T"].traffic}
    assert words["DRAM", "X"] == (2 * (5 + 4 + 4 + 3), 0)
    assert words["GLB", "T"][1] == 8 * 18
    held = {tile.tensor: tile.words for tile in cost.occupancy["O"] if tile.memory == "GLB"}
    assert held == {"W": 18, "T": 3 * 4, "O": 4}
    assert cost.utilization == 1


def test_rows_that_are_computed_again() -> None:
    """The visits make 3, 4, 4 and 3 rows, 14 in place of 8."""
    text = TREE.replace("GLB keeps T", "GLB renews T").replace("for Y in 3", "for Y in 4")
    cost = evaluate(Mapping.parse(CONVOLUTIONS, text), parse_arch(CHIP, "chip"))
    assert cost.operations["T"].macs == 14 * 18
    assert cost.macs == 8 * 18 + 8 * 18
    assert cost.utilization == 16 * 18 / (14 * 18 + 8 * 18)
    words = {(t.memory, t.tensor): (t.reads, t.writes) for t in cost.operations["T"].traffic}
    assert words["DRAM", "X"] == (2 * (5 + 6 + 6 + 5), 0)
    forgetful = evaluate(
        Mapping.parse(CONVOLUTIONS, TREE.replace("for Y in 3", "for Y in 4")),
        parse_arch(CHIP.replace("halo: innermost", "halo: none"), "chip"),
    )
    assert forgetful.operations["T"].macs == cost.operations["T"].macs


def test_a_node_above_the_loop_holds_every_row() -> None:
    text = TREE.replace("  GLB keeps T\n", "").replace("GLB keeps W", "GLB keeps W T")
    cost = evaluate(Mapping.parse(CONVOLUTIONS, text), parse_arch(CHIP, "chip"))
    assert cost.operations["T"].macs == 8 * 18
    assert {t.tensor: t.words for t in cost.occupancy["O"]}["T"] == 3 * 10


def test_heads_are_windows_that_do_not_overlap() -> None:
    """K = 4*h + d: a step of the shared loop over heads is four positions of K."""
    whole = cascade(
        ["T[m,k] += X[m,c] * W[c,k]", "S[h,m] += T[m,4*h+d] * V[h,d]"], {"m": 3, "k": 8, "c": 2, "h": 2, "d": 4}
    )
    text = """
    DRAM keeps X W V S
    for H,T.K in 2
      GLB keeps T
      branch T
        for M in 3
          for K in 4
            for C in 2
      branch S
        for M in 3
          for D in 4
    """
    fused, arch = Mapping.parse(whole, text), parse_arch(CHIP, "chip")
    assert simulate_tree(fused, arch) == count_tree(fused, arch)
    cost = evaluate(fused, arch)
    assert cost.operations["T"].macs == 3 * 8 * 2
    assert {t.tensor: t.words for t in cost.occupancy["S"]}["T"] == 3 * 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("for Y in 3", "for Y in 4"),
            "a visit makes up to 3 positions of T along Y, and the branch's loops over it are 4",
        ),
        (("  GLB keeps T", "  GLB keeps T X"), "'GLB keeps X' stands between shared loops and split: not counted yet"),
        (("for P,T.Y in 4", "for P,T.C in 2"), "has both as the same rank"),
        (("for P,T.Y in 4", "for L,T.Y in 2"), "has both as the same rank"),
    ],
)
def test_what_is_refused(change: tuple[str, str], message: str) -> None:
    text = TREE.replace(*change)
    text = text.replace("    GLB keeps X\n", "") if "T X" in change[1] else text
    with pytest.raises(MappingError) as caught:
        evaluate(Mapping.parse(CONVOLUTIONS, text), parse_arch(CHIP, "chip"))
    assert message in str(caught.value)
