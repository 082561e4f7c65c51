"""Blocks that a network repeats: their groups are searched once, and cost what they do under each name."""

from __future__ import annotations

import tilewright as tw
from tilewright.cost_models import evaluate

TABLE = """
network: mlp
layers:
  - {name: up, op: gemm, M: 16, N: 64, K: 16, weight: true}
  - {name: down, op: gemm, M: 16, N: 16, K: 64, weight: true}
blocks:
  block: [up, down, {name: add, op: add, reads: [down, before]}]
graph:
  - {name: input, op: outside, shape: [16, 16]}
  - {block: block, blocks: 4}
"""


def test_a_plan_has_the_costs_of_its_trees(tmp_path):
    """Of groups that were found under other names, with less room, or both."""
    path = tmp_path / "mlp.yaml"
    path.write_text(TABLE, encoding="utf-8")
    answer = tw.compile(path, "three_level", tiling="perfect", most=3, workers=1).answer
    assert {segment.alike for segment in answer.segments} != set(range(len(answer.segments)))
    assert answer.staying
    for segment in answer.segments:
        if segment.answer is not None:
            stays = [tensor for tensor, _ in segment.stays]
            assert segment.answer.cost == evaluate(segment.answer.mapping, answer.question.arch, stays)
