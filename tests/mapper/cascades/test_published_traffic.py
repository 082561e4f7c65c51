"""Published words between operations, of element-by-element layers and of attention, by search and by hand.

ReLU, batch norm and scale over 1024 x 1024 words of 32 bit: 25,165,824 bytes one after the other, 8,388,608 as one;
conv, batch norm and ReLU: six traversals of the tensor, then two. FuseMax (Nayak et al., MICRO 2024): keys that stream
past a block of 32,768 queries move 2LE + 2LE x ceil(L / 32768) words a head, where qk, softmax and av one after the
other move 4LE + 4L x L.
"""

from __future__ import annotations

import pytest

from longer import TIMES
from tilewright.arch import Architecture, Mac, Memory
from tilewright.arch.spec import Keeps
from tilewright.cost_models import ENERGY, evaluate
from tilewright.ir import Mapping
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.question import Fuse, Question
from tilewright.workloads import cascade

APART: Fuse = "none"
FUSED: Fuse = "all"


TWO_PASSES = [
    "S[m,n] += Q[m,e] * K[n,e]",
    "L[m] max= S[m,n]",
    "P[m,n] = exp(S[m,n] - L[m])",
    "D[m] += P[m,n]",
    "Y[m,n] = P[m,n] / D[m]",
    "O[m,f] += Y[m,n] * V[n,f]",
]
ONE_PASS = [
    "S[m,i,j] += Q[m,e] * K[i,j,e]",
    "L[m,i] max= S[m,i,j]",
    "C[m,i] = exp(R[m,i] - max(R[m,i], L[m,i]))",
    "R[m,i+1] = max(R[m,i], L[m,i]) start -inf",
    "P[m,i,j] = exp(S[m,i,j] - R[m,i+1])",
    "B[m,i] += P[m,i,j]",
    "U[m,f,i] += P[m,i,j] * V[i,j,f]",
    "D[m,i+1] = D[m,i] * C[m,i] + B[m,i] start 0",
    "A[m,f,i+1] = A[m,f,i] * C[m,i] + U[m,f,i] start 0",
    "O[m,f] = A[m,f,-1] / D[m,-1]",
]


def words_cost(buffer_words: int) -> Architecture:
    """A machine on which a word of DRAM costs 1 pJ, and nothing else does."""
    free = {"read_energy_pj": 0.0, "write_energy_pj": 0.0}
    may = Keeps(input="may", weight="may", output="may")
    return Architecture(
        name="words",
        clock_hz=1e9,
        word_bits=32,
        levels=(
            Memory(name="DRAM", access_bits=32, read_energy_pj=1.0, write_energy_pj=1.0),
            Memory(name="GLB", size_bits=32 * buffer_words, access_bits=32, keeps=may, **free),
        ),
        mac=Mac(energy_pj=0.0),
    )


def least_words(operations: list[str], fuse: Fuse, **sizes: int) -> float:
    question = Question(cascade(operations, **sizes), words_cost(2**14), ENERGY, "perfect", "uneven", fuse=fuse)
    answer = search_cascade(question)
    assert answer.certificate.proven
    return answer.cost.energy_pj


@pytest.mark.parametrize(("fuse", "traffic"), [(APART, 25_165_824), (FUSED, 8_388_608)])
def test_relu_batch_norm_and_scale(fuse: Fuse, traffic: int) -> None:
    operations = ["R[m,n] = max(X[m,n], 0)", "B[m,n] = R[m,n] - 0.5", "S[m,n] = B[m,n] * 2"]
    assert 4 * least_words(operations, fuse, m=1024, n=1024) == traffic


@pytest.mark.parametrize(("fuse", "traversals"), [(APART, 6), (FUSED, 2)])
def test_convolution_batch_norm_and_relu(fuse: Fuse, traversals: int) -> None:
    """The weights and the channels' offsets come besides, once each."""
    operations = [
        "Y[k,p,q] += X[c,p,q] * W[k,c]",
        "B[k,p,q] = Y[k,p,q] - M[k]",
        "R[k,p,q] = max(B[k,p,q], 0)",
    ]
    words = least_words(operations, fuse, k=16, c=16, p=16, q=16)
    assert words - 16 * 16 - 16 == traversals * 16 * 16 * 16


@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_keys_stream_past_blocks_of_queries(blocks: int) -> None:
    """Q and O above the loop over keys, K and V below: without the corrections of a running maximum, which stay."""
    rows, features = 32_768, 64
    length = blocks * rows
    operations = ["S[m,n] += Q[m,e] * K[n,e]", "P[m,n] = exp(S[m,n])", "O[m,f] += P[m,n] * V[n,f]"]
    attention = cascade(operations, m=length, n=length, e=features, f=features)
    tree = f"""
    DRAM keeps Q K V O
    for M in {blocks}
    GLB keeps Q O
    for N in {length}
      GLB keeps K V S P
      branch S
        for M in {rows}
          for E in {features}
      branch P
        for M in {rows}
      branch O
        for M in {rows}
          for F in {features}
    """
    text = "\n".join(line[4:] for line in tree.splitlines() if line.strip() and line.strip() != "for M in 1")
    cost = evaluate(Mapping.parse(attention, text), words_cost(2**24))
    assert cost.energy_pj == 2 * length * features + 2 * length * features * blocks


@pytest.mark.parametrize("blocks", [2, *([1, 4] if TIMES > 1 else [])])
def test_attention_in_one_pass(blocks: int) -> None:
    """The search finds it: queries and outputs above the loop over keys, keys and values below, which come once for
    each block of queries that the buffer has room for. Generations of maximum, sum and output stay."""
    rows, features = 32_768, 64
    length = blocks * rows
    sizes = {"m": length, "i": length // 16, "j": 16, "e": features, "f": features}
    question = Question(cascade(ONE_PASS, sizes), words_cost(2**22 + 2**18), ENERGY, "perfect", "uneven")
    answer = search_cascade(question)
    assert answer.certificate.proven
    assert answer.cost.energy_pj == 2 * length * features + 2 * length * features * blocks


def test_attention_one_after_the_other() -> None:
    """Each reads from the outermost memory and writes there; the parts of the softmax are on chip together."""
    length, features = 256, 16
    keys = {"m": length, "n": length}
    qk = least_words(TWO_PASSES[:1], FUSED, **keys, e=features)
    softmax = least_words(TWO_PASSES[1:5], FUSED, **keys)
    av = least_words(TWO_PASSES[5:], FUSED, **keys, f=features)
    assert qk + softmax + av == 4 * length * features + 4 * length * length
