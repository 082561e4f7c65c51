"""Blocks that a network repeats, in the page of its plan: one of them, and how often."""

from __future__ import annotations

import tilewright as tw
from tilewright.report.networks.network_plan import network_plan_page, repeats_of
from tilewright.report.parts.text import plain_text

TABLE = """
network: mlp
dims: {layers: 4}
layers:
  - {name: up, op: gemm, M: 16, N: 64, K: 16, weight: true}
  - {name: down, op: gemm, M: 16, N: 16, K: 64, weight: true}
blocks:
  block: [up, down, {name: add, op: add, reads: [down, before]}]
graph:
  - {name: input, op: outside, shape: [16, 16]}
  - {block: block, blocks: layers}
"""


def compiled(folder, layers, **options):
    path = folder / "mlp.yaml"
    path.write_text(TABLE, encoding="utf-8")
    network = tw.load_network(path, {"layers": layers})
    return tw.compile(network, "three_level", tiling="perfect", most=3, workers=1, **options).answer


def test_equal_blocks_are_searched_once_and_stand_once_in_the_page(tmp_path):
    """What nothing of stays on chip is as often as dear; what does, is where the blocks are mapped alike."""
    one, many = (compiled(tmp_path, layers, stays=False) for layers in (1, 32))
    assert many.energy_pj == 32 * one.energy_pj
    assert many.searched == one.searched
    (repeat,) = repeats_of(many)
    assert (repeat.start, repeat.times) == (1, 32)
    page = plain_text(network_plan_page(many), 120)
    assert "x 32 in all" in page
    assert f"block.1.{many.segments[repeat.length + 1].names[0].split('.')[-1]} to block.31.add" in page
    assert "block.2." not in page


def test_a_tensor_that_stays_in_every_block_stands_once(tmp_path):
    answer = compiled(tmp_path, 8)
    page = plain_text(network_plan_page(answer), 120)
    (repeat,) = repeats_of(answer)
    shown = [line for line in page.splitlines() if line.strip().startswith("block.") and " GLB " in line]
    staying = {one.name: one.first for one in answer.staying}
    assert sum(f"(x {repeat.times})" in line for line in shown) == sum(
        repeat.start <= first < repeat.others.start for first in staying.values()
    )
    assert len(shown) == sum(first not in repeat.others for first in staying.values())


def test_two_blocks_stand_as_they_are(tmp_path):
    assert not repeats_of(compiled(tmp_path, 2, stays=False))
