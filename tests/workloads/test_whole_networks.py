"""Language models whole: blocks that repeat, phases, a batch, caches, experts; and what is wrong with them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tilewright.ir import ProblemError
from tilewright.workloads import load_layer, load_network

WHOLE = ("gpt3_6_7b", "llama3_8b", "mixtral_8x7b")

SMALL = """
network: small
dims: {batch: 1, seq: 8, layers: 3}
phases:
  prefill: {new: seq}
  decode: {new: 1}
layers:
  - {name: k_proj, op: gemm, M: batch*new, N: 4, K: 4, weight: true}
  - {name: qk, op: einsum, spec: 'bqd,bkd->bqk', sizes: {b: batch, q: new, k: seq, d: 4}, weight: false}
  - {name: up, op: gemm, M: batch*new, N: 4, K: 8, weight: true, experts: 4, top_k: 2}
blocks:
  block:
    - {name: k_proj, reads: before}
    - {name: cache, op: outside, role: cache, reads: k_proj, shape: [batch, seq, 4]}
    - {name: qk, reads: [k_proj as b q d, cache as b k d]}
    - {name: mixed, op: outside, role: view, reads: qk, shape: [2*batch*new, 8]}
    - up
    - {name: out, op: outside, reads: up, shape: [batch*new, 4]}
graph:
  - {name: embedding, op: outside, shape: [batch*new, 4]}
  - {block: block, blocks: layers}
"""


def small(folder: Path, **changes: str) -> str:
    text = SMALL
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    path = folder / "small.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", WHOLE)
def test_a_batch_multiplies_the_work_and_the_caches_alone(name):
    for phase in ("prefill", "decode"):
        one, four = (load_network(name, phase=phase, batch=batch) for batch in (1, 4))
        assert (four.macs, four.cached) == (4 * one.macs, 4 * one.cached)
        assert (four.weights, four.active_weights) == (one.weights, one.active_weights)


@pytest.mark.parametrize("name", ["gpt3_6_7b", "llama3_8b"])
def test_a_network_is_its_block_as_often_as_it_has_layers(name):
    """Beside the logits of one token."""
    whole, block = load_network(name), load_network(f"{name}_block")
    head = whole.layer("lm_head")
    assert head.macs == head.weights
    assert whole.macs - head.macs == 32 * block.macs
    assert whole.weights - head.weights == 32 * block.weights
    assert whole.layer("qk").repeat == 32
    decode = load_network(name, phase="decode")
    context = 2 * 32 * 32 * 2048 * 128
    assert decode.macs == decode.weights + context
    assert load_layer(f"{name}:k_proj", phase="decode").macs == block.layer("k_proj").macs // 2048


def test_llama_decodes_as_its_block_does():
    whole, block = load_network("llama3_8b", phase="decode"), load_network("llama3_8b_decode_block")
    assert whole.macs - whole.layer("lm_head").macs == 32 * block.macs
    assert whole.cached == 32 * 2 * 2048 * 1024


def test_of_several_experts_those_work_that_have_tokens():
    """Two of eight experts for each token of Mixtral, dealt out evenly."""
    for phase, batch, at_work, tokens in (("decode", 1, 2, 1), ("decode", 4, 8, 1), ("prefill", 2, 8, 1024)):
        layer = load_network("mixtral_8x7b", phase=phase, batch=batch).layer("gate_proj")
        assert layer.problem.macs == at_work * tokens * 14336 * 4096
        assert layer.weights == 32 * 8 * 14336 * 4096
        assert layer.active_weights == 32 * 2 * 14336 * 4096


def test_what_repeats_may_be_fewer_blocks_and_other_sizes(tmp_path):
    path = small(tmp_path)
    network = load_network(path, {"layers": 5, "seq": 16}, phase="decode", batch=2)
    assert network.phase == ("decode", (("batch", 2), ("seq", 16), ("layers", 5), ("new", 1)))
    assert [layer.repeat for layer in network.layers] == [5, 5, 5]
    assert network.cached == 5 * 2 * 16 * 4
    assert network.wiring is not None
    assert [one.name for one in network.wiring][-1] == "block.4.out"
    assert load_network(path, {"new": 4}).layer("qk").macs == 3 * 4 * 8 * 4
    assert load_network(path).layers == load_network(path, phase="prefill").layers


def test_a_cache_and_a_view_move_no_words(tmp_path):
    graph = load_network(small(tmp_path)).wiring
    assert graph is not None
    moved = {one.local: graph.moved(one) for one in graph}
    assert not any((*moved["cache"], *moved["mixed"]))
    assert moved["out"].written == math.prod((8, 4))


REFUSED = {
    "a phase that the network lacks": (
        {},
        {"phase": "train"},
        "no phase 'train'\nhint: known: prefill",
    ),
    "a phase that is no text": ({}, {"phase": 3}, "phase is 3, expected the name of one"),
    "a batch twice": ({}, {"batch": 2, "dims": {"batch": 2}}, "the batch is given twice"),
    "a batch of 0": ({}, {"batch": 0}, "batch is 0, expected 1 or more"),
    "a size unset": (
        {"phase": ("decode: {new: 1}", "decode: {}")},
        {"phase": "decode"},
        "phase decode leaves new unset",
    ),
    "a size without a value": ({"seq": ("seq: 8", "seq: null")}, {}, "phase prefill leaves seq unset"),
    "no phases": (
        {"phases": ("phases:\n  prefill: {new: seq}\n  decode: {new: 1}\n", "")},
        {"phase": "a"},
        "no phases",
    ),
    "a batch that is fixed": (
        {"a": ("batch: 1, ", ""), "b": ("b: batch", "b: 1"), "c": ("batch*", ""), "d": ("[batch, ", "[1, ")},
        {"batch": 2},
        "unknown dimension 'batch': the table fixes the batch, at 1",
    ),
    "no blocks": ({"blocks": ("blocks: layers", "blocks: 0")}, {}, "graph entry 2: blocks is 0, expected 1 or more"),
    "names and blocks": ({"blocks": ("blocks: layers", "blocks: 2, names: [a, b]")}, {}, "either names or blocks"),
    "neither": ({"blocks": (", blocks: layers", "")}, {}, "either names or blocks"),
    "too many of the experts": ({"k": ("top_k: 2", "top_k: 5")}, {}, "top_k is 5, and there are 4 experts"),
    "experts alone": ({"k": (", top_k: 2", "")}, {}, "layer up: expected experts and top_k, both"),
    "uneven experts": ({}, {"phase": "decode", "batch": 3}, "3 tokens of 2 experts each are not dealt out evenly to 4"),
    "a short cache": ({}, {"dims": {"new": 10}}, "a cache of 32 words, and block.0.k_proj writes 40"),
    "an unknown role": (
        {"role": ("role: cache", "role: cash")},
        {},
        "role is 'cash', unknown\nhint: did you mean 'cache'",
    ),
    "a cache of no size": ({"shape": (", shape: [batch, seq, 4]", "")}, {}, "a cache without a shape"),
    "an unknown symbol": ({"m": ("M: batch*new, N: 4, K: 4", "M: batch*nwe, N: 4, K: 4")}, {}, "M is 'batch*nwe'"),
    "a phase that is no table": ({"phase": ("decode: {new: 1}", "decode: 1")}, {}, "key decode is 1, expected keys"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(tmp_path, what):
    changes, given, told = REFUSED[what]
    path = small(tmp_path, **changes)
    with pytest.raises(ProblemError) as error:
        load_network(path, **given)
    assert told in str(error.value)
