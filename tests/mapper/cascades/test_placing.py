"""Where tensors pass for sure, and where their nodes may stand: trees by hand that no proof may contradict."""

from __future__ import annotations

import pytest

from tilewright.arch import Architecture, parse_arch
from tilewright.cost_models import ENERGY, evaluate
from tilewright.ir import Cascade, Mapping
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.question import Question
from tilewright.mapper.space import Space
from tilewright.workloads import cascade
from tilewright.workloads.operations import read_statement

READ_ALONE = """
name: read_alone
clock: 1 GHz
word: 8 bit
levels:
  - {memory: DRAM, access: 8 bit, read: 200 pJ, write: 200 pJ}
  - {memory: L2, size: 4 KiB, access: 8 bit, read: 50 pJ, write: 50 pJ, keep: may}
  - {memory: L1, size: 1 KiB, access: 8 bit, read: 1 pJ, write: 1 pJ, keep: {input: may, weight: may, output: never}}
mac: {energy: 0.1 pJ}
"""
SLIDING = """
name: sliding
clock: 1 GHz
word: 8 bit
levels:
  - {memory: DRAM, access: 8 bit, read: 200 pJ, write: 200 pJ}
  - {memory: GLB, size: 40 B, access: 8 bit, read: 1 pJ, write: 1 pJ, keep: may, halo: innermost}
mac: {energy: 0.1 pJ}
"""
SHARED = """
DRAM keeps A O R
for M in 2
  L2 keeps T
  branch T
    for N in 4
      for M in 2
  branch
    for M in 2
      L1 keeps T
      branch O
        for N in 4
      branch R
        for N in 4
"""
ROWS_KEPT = """
DRAM keeps X O
for P in 16
  GLB keeps T X
  branch T
    for R in 3
      for C in 4
        for P in 4
  branch O
    for P in 4
"""
TRANSPOSED = """
DRAM keeps X O
GLB keeps X
for M in 4
  GLB keeps T
  branch T
    for N in 4
  branch O
    for N in 4
"""
BETWEEN_WINDOWS = """
DRAM keeps X O
for Q in 8
  GLB keeps X
  for P in 8
    GLB keeps T
    branch T
      for R in 3
        for S in 3
    branch O
"""
LESS_FIRST = """
DRAM keeps X O
GLB keeps T U X
branch U
  for P in 8
branch T
  for R in 3
    for P in 8
branch O
  for P in 8
"""
READ_AGAIN_LATER = """
DRAM keeps X R T
GLB keeps S
branch
  for K in 8
    GLB keeps T O
    branch T
      for Y in 4
    branch O
      for Y in 4
        for R in 3
    branch S
      for Y in 4
branch R
  for K in 8
    for Y in 4
"""
LET_GO = """
DRAM keeps X V W T R
for M in 2
  branch
    for K in 2
      GLB keeps T U
      branch U
        for J in 4
          for M in 2
            GLB keeps X V
            for K in 2
      branch T
        for M in 2
          GLB keeps W
          for K in 2
  branch R
    for M in 2
"""
IN_TWO_MEMORIES = """
name: in_two_memories
clock: 1 GHz
word: 8 bit
levels:
  - {memory: DRAM, access: 8 bit, read: 200 pJ, write: 200 pJ}
  - {memory: L2, size: 16 B, access: 8 bit, read: 20 pJ, write: 20 pJ, keep: may}
  - {memory: L1, size: 14 B, access: 8 bit, read: 1 pJ, write: 1 pJ, keep: may}
mac: {energy: 0.1 pJ}
"""
ZEROS_FURTHER_IN = """
DRAM keeps X R
L2 keeps T
L1 keeps S
branch
  for K in 4
    L1 keeps T O
    branch T
      for Y in 4
    branch O
      for Y in 4
        for R in 3
    branch S
      for Y in 4
branch R
  for K in 4
    for Y in 4
"""


def check_found(whole: Cascade, arch: Architecture, tree: str, space: Space) -> None:
    """A search proves a tree as good as one by hand, and no bound lies above it."""
    known = evaluate(Mapping.parse(whole, tree), arch).energy_pj
    asked = Question(whole, arch, ENERGY, "perfect", space)
    answer = search_cascade(asked)
    assert answer.certificate.lower_bound == pytest.approx(answer.cost.energy_pj, rel=1e-9)
    assert answer.cost.energy_pj == pytest.approx(known, rel=1e-9)


@pytest.mark.parametrize("space", ["even", "uneven"])
def test_a_reader_may_find_a_tensor_where_another_one_has_left_it(space: Space) -> None:
    """R reads T from L1, which O has filled from L2: both were charged for L2, and 12,004.8 pJ were called proven."""
    lines = ["T[m,n] = exp(A[m,n])", "O[m,n] = exp(T[m,n])", "R[m,n] = exp(T[m,n])"]
    check_found(cascade(lines, m=4, n=4), parse_arch(READ_ALONE), SHARED, space)


@pytest.mark.parametrize("space", ["even", "uneven"])
def test_rows_that_two_steps_have_in_common_stay_above_a_branch(space: Space) -> None:
    """In the uneven space such a node was left out for one inside the branch, where nothing goes on from visit to
    visit; and bounds by single operations took all of X again in every step: 69,859.2 pJ were called proven."""
    check_found(
        cascade(["T[p] += X[c,p+r]", "O[p] = exp(T[p])"], p=64, c=4, r=3), parse_arch(SLIDING), ROWS_KEPT, space
    )


@pytest.mark.some(3)
@pytest.mark.parametrize("space", ["even", "uneven"])
@pytest.mark.parametrize(
    ("lines", "tree", "room"),
    [
        (["T[m,n] = exp(X[m,n])", "O[m,n] = T[m,n] + X[n,m]"], TRANSPOSED, 24),
        (["T[p,q] += X[p+r,q+s]", "O[p,q] = exp(T[p,q])"], BETWEEN_WINDOWS, 31),
        (["T[p] += X[2*p+r]", "U[p] += X[p+t]", "O[p] = T[p] + U[p]"], LESS_FIRST, 48),
        (
            ["T[k,y] = exp(X[k,y])", "O[k,y] += T[k,y+r] pad T[0,1:1]", "S[y] max= O[k,y]", "R[k,y] = T[k,y] - S[y]"],
            READ_AGAIN_LATER,
            14,
        ),
    ],
)
def test_what_stays_above_a_loop_that_moves_it(lines: list[str], tree: str, room: int, space: Space) -> None:
    """Where a loop further in moves it otherwise for another reader, where what two steps have in common would be lost
    below the second of two windows, where readers ask for different parts, and where zeros lie around what another one
    reads later: 9,635.2, 38,712, 6,709 and 35,647.2 pJ were called proven."""
    text = SLIDING.replace("40 B", f"{room} B")
    sizes = {"k": 8, "y": 4, "m": 4, "n": 4, "p": 8, "q": 8, "r": 3, "s": 3, "t": 1}
    letters = {letter for line in lines for letter in read_statement(line).indices()}
    check_found(cascade(lines, {k: n for k, n in sizes.items() if k in letters}), parse_arch(text), tree, space)


@pytest.mark.some(1)
@pytest.mark.parametrize("space", ["even", "uneven"])
def test_a_node_below_a_loop_that_does_not_move_it_is_let_go_sooner(space: Space) -> None:
    """T takes room while U works above the loop over k, and not below it: 18,792.4 pJ were called proven."""
    lines = ["U[m,k] += X[m,j] * V[j,k]", "T[m] += U[m,k] * W[k]", "R[m] = exp(T[m])"]
    text = (
        SLIDING.replace("40 B", "8 B").replace(", halo: innermost", "").replace("word:", "reuse: across_levels\nword:")
    )
    check_found(cascade(lines, m=4, k=4, j=4), parse_arch(text), LET_GO, space)


@pytest.mark.some(1)
@pytest.mark.parametrize("space", ["even", "uneven"])
def test_zeros_lie_at_the_node_at_which_they_are_read(space: Space) -> None:
    """O reads T with zeros around it in L1, and R all of T later in L2, which has room for T alone: 13,029.6 pJ were
    called proven."""
    lines = ["T[k,y] = exp(X[k,y])", "O[k,y] += T[k,y+r] pad T[0,1:1]", "S[y] max= O[k,y]", "R[k,y] = T[k,y] - S[y]"]
    check_found(cascade(lines, k=4, y=4, r=3), parse_arch(IN_TWO_MEMORIES), ZEROS_FURTHER_IN, space)


def test_loops_further_out_keep_readers_apart() -> None:
    """Blocks of rows and columns, of which one reader sees a block and the other the transposed one: no common node."""
    lines = ["T[m,n] = exp(X[m,n])", "O[m,n] = T[m,n] + X[n,m]", "R[m,n] = exp(O[m,n])"]
    asked = Question(cascade(lines, m=4, n=4), parse_arch(SLIDING.replace("40 B", "10 B")), ENERGY, "perfect")
    answer = search_cascade(asked)
    assert answer.certificate.lower_bound == pytest.approx(answer.cost.energy_pj, rel=1e-9)
    assert answer.cost.energy_pj == pytest.approx(9_668.8)


def test_parts_of_one_size_may_be_kept_apart_by_different_loops() -> None:
    """P and R see X alike and Y transposed. Loops further out over rows of both cut X alike, and those over rows of one
    and columns of the other cut Y alike; below, all sizes are equal: what may stand there was taken from one for the
    other, and a tree was found that there is not."""
    lines = ["P[a,b] = X[a,b] * Y[a,b]", "R[c,d] = X[c,d] * Y[d,c]", "Z[e,f] = exp(P[e,f])"]
    text = SLIDING.replace("40 B", "10 B").replace("clock", "reuse: at_node\nclock")
    sizes = dict.fromkeys("abcdef", 4)
    answer = search_cascade(Question(cascade(lines, sizes), parse_arch(text), ENERGY, "perfect", "uneven"))
    assert answer.certificate.lower_bound == pytest.approx(answer.cost.energy_pj, rel=1e-9)
