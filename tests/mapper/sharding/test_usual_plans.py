"""Plans that people would choose, recognized by structure."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.ir.sharding import PARTIAL
from tilewright.mapper.sharding import ShardingSpace, UsualPlan, usual_plans


def plans(network: str, system: str, **options: object) -> tuple[ShardingSpace, dict[str, UsualPlan]]:
    graph = tw.load_network(network, **options).wiring  # type: ignore[arg-type]
    assert graph is not None
    space = ShardingSpace(graph, tw.load_system(system))
    return space, {one.name: one for one in usual_plans(space)}


def test_columns_and_rows_of_a_transformer_block() -> None:
    """Megatron's: products by columns, heads, rows, with two all-reduces; no other words move."""
    space, found = plans("llama3_8b_block", "h100x8")
    splits = {name: split for name, (split,) in found["Megatron"].splits.items() if split}
    columns = dict.fromkeys(("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"), "N")
    assert splits == {**columns, "qk": "G", "softmax": "A", "av": "G", "gated": "B", "o_proj": "K", "down_proj": "K"}
    made = {name: space.made(name, split) for name, split in found["Megatron"].splits.items()}
    moved = set()
    for name, split in found["Megatron"].splits.items():
        needed = ((read, space.needed(name, split, i)) for i, read in enumerate(space.reads(name)) if read in made)
        moved |= {read for read, own in needed if own != made[read]}
    assert moved == {"o_proj", "down_proj"}
    assert {made[name] for name in moved} == {(PARTIAL,)}


def test_data_parallel_deals_the_batch_or_tokens() -> None:
    _, found = plans("llama3_8b_block", "h100x8")
    assert found["data parallel"].why == "by tokens"
    assert all(any(split) for split in found["data parallel"].splits.values())
    _, found = plans("gpt3_6_7b", "h100x8", batch=8)
    assert found["data parallel"].why == "by the batch"
    assert found["data parallel"].splits["block.5.qk"] != (None,)
    assert not any(map(any, found["one device"].splits.values()))


def test_two_axes_are_columns_within_and_data_across() -> None:
    _, found = plans("gpt3_6_7b", "a100x8x4", batch=4)
    splits = found["Megatron"].splits
    assert (splits["block.0.ff1"], splits["block.0.ff2"]) == (("N", "M"), ("K", "M"))
    assert splits["block.0.norm1"][0] is None


@pytest.mark.parametrize(
    ("network", "why"),
    [
        ("resnet18", "no attention between products is found"),
        ("bert_base", "layer.0.qk cannot be divided as layer.0.q_proj is dealt to 8 devices"),
    ],
)
def test_networks_without_such_a_plan_say_why(network: str, why: str) -> None:
    """A convolutional network, and one of 12 heads."""
    _, found = plans(network, "h100x8")
    assert (found["Megatron"].splits, found["Megatron"].why) == ({}, why)
