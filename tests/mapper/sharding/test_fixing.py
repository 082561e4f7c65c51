"""Splits that users fix, in words, and what is refused."""

from __future__ import annotations

from functools import cache

import pytest

import tilewright as tw
from tilewright.cost_models import LATENCY
from tilewright.ir import ProblemError
from tilewright.mapper.sharding import ShardingQuestion, fixed_splits


@cache
def question(network: str = "llama3_8b_block", system: str = "a100x8x4") -> ShardingQuestion:
    graph = tw.load_network(network).wiring
    assert graph is not None
    return ShardingQuestion(graph, tw.load_system(system), LATENCY, "perfect")


def test_names_are_of_operations_blocks_or_rows() -> None:
    """`*` stands for any letters; of what a pattern means, operations with that dimension are fixed."""
    found = fixed_splits(
        question("llama3_8b"), ["q_proj: n@node", "block.3.qk: g@node, q@cluster", "lm_*: n @ cluster"]
    )
    assert len(found) == 32 + 1 + 1
    assert found["block.31.q_proj"] == ("N", None)
    assert found["block.3.qk"] == ("G", "Q")
    assert found["lm_head"] == (None, "N")
    every = fixed_splits(question(), ["*: g@node"])
    assert set(every) == {"qk", "av"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q_proj", "found 'q_proj', expected operations, dimension and axis"),
        ("q_proj: n", "expected operations, dimension and axis"),
        ("q_porj: n@node", "no operation is named 'q_porj'"),
        ("q_proj: n@nodes", "there is no axis 'nodes', expected one of node, cluster"),
        ("q_proj: n@node, m@node", "node deals two dimensions"),
        ("q_proj: x@node", r"has no dimension x, expected some of m \(2,048\), n \(4,096\), k \(4,096\)"),
        ("softmax: d@node", "d of softmax cannot be dealt, expected one of"),
        ("qk: g@node, g@cluster", r"g of .*qk has 8 points, and is dealt to more devices: node \(8\) x cluster \(4\)"),
    ],
)
def test_what_cannot_be_fixed_is_named(line: str, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        fixed_splits(question(), [line])


def test_an_operation_is_fixed_once() -> None:
    with pytest.raises(ProblemError, match="q_proj is fixed already"):
        fixed_splits(question(), ["q_proj: n@node", "q_proj: m@node"])
    assert fixed_splits(question(), ["q_proj: n@node", "q*: n@node"])["q_proj"] == ("N", None)
