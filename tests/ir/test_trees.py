"""Trees and their text, and the rules that a fused mapping keeps on every machine."""

from __future__ import annotations

import random

import pytest

from generators import random_architecture, random_mapping, random_problem
from tilewright.ir import (
    Loop,
    LoopNest,
    Mapping,
    MappingError,
    Node,
    Operation,
    Problem,
    Renews,
    SharedLoop,
    Tensor,
    Tree,
    loop_of,
)
from tilewright.workloads import cascade

RESIDUAL = """\
DRAM keeps I W1 W2 W3 O
GLB keeps I O
for E in 48
  GLB keeps T
  branch T
    GLB keeps W1
    for C in 8
  branch
    GLB keeps W2 W3
    for X in 14
      parallel Y in 14 on array.x
        GLB renews U
        branch U
          for R in 9
        branch O
          for K in 8"""

CHAIN = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=8, k=4, n=4, p=2)
SOUND = """\
DRAM keeps A B C O
for M in 4
  GLB keeps T
  branch T
    for M in 2
      for K in 4
        for N in 4
  branch O
    GLB keeps T2
    for M in 2
      for N in 4
        for P in 2""".replace("    GLB keeps T2\n", "")


def test_text_form_parses_back() -> None:
    tree = Tree.parse(RESIDUAL)
    assert str(tree) == RESIDUAL
    assert Tree.parse(str(tree)) == tree
    assert list(tree.leaves().items()) == [("T", (0,)), ("U", (1, 0)), ("O", (1, 1))]
    assert tree.at((1,)).items[-1] == Renews("GLB", "U")
    assert tree.at((1,)).items[:2] == (Node("GLB", "W2"), Node("GLB", "W3"))


def test_indentation_outside_branch_lines_is_for_the_eye() -> None:
    shifted = RESIDUAL.replace("    for X", " for X").replace("    GLB keeps W1", "            GLB keeps W1")
    assert Tree.parse(shifted) == Tree.parse(RESIDUAL)


def test_an_ordinary_nest_is_a_tree_without_splits() -> None:
    nest = LoopNest.parse("DRAM keeps A\nfor M in 4\n  GLB keeps A")
    tree = Tree.of(nest, "T")
    assert tree == Tree.parse(str(nest), "T")
    assert str(tree) == str(nest)


@pytest.mark.parametrize("seed", range(5))
def test_a_nest_is_a_tree_of_one_operation(seed: int) -> None:
    """Of any roles and number of operands; its way through the tree is the mapping itself."""
    rng = random.Random(seed)
    problem = random_problem(rng)
    mapping = random_mapping(rng, problem, random_architecture(rng))
    assert Mapping(problem, mapping.tree) == mapping
    assert Mapping.parse(problem, str(mapping)) == mapping
    assert (mapping.problem, mapping.nest.items, mapping.is_of_cascade) == (problem, mapping.tree.items, False)
    (path,) = mapping.paths.values()
    assert path.mapping == mapping
    assert path.operation.is_layer


def test_a_nest_is_asked_of_one_operation_alone() -> None:
    mapping = Mapping.parse(CHAIN, SOUND)
    assert mapping.is_of_cascade
    for name in ("problem", "nest"):
        with pytest.raises(MappingError, match="has several operations\nhint: look at one of `paths`"):
            getattr(mapping, name)
    with pytest.raises(MappingError, match="T: found branches, and one operation"):
        Mapping(CHAIN.operation("T").problem, mapping.tree)


def test_one_operand_alone_is_summed_like_a_product() -> None:
    weight, output = Tensor("W", ((("K", 1),),), "weight"), Tensor("O", (), "output")
    operation = Operation.of(Problem("sum", (("K", 4),), (weight, output)))
    assert operation.contracts
    assert not operation.multiplies
    assert not cascade(["O[m] += 2 * A[m,k] * B[k]"], m=2, k=2).operations[0].is_layer


def test_a_loop_may_have_another_name_in_some_operations() -> None:
    tree = Tree.parse("for M,b3.K.N in 4\n  branch Q\n    for E in 2\n  branch b3.K\n    for E in 2")
    loop = tree.items[0]
    assert loop == SharedLoop("M", 4, renamed=(("b3.K", "N"),))
    assert isinstance(loop, Loop)
    assert (loop_of(loop, "Q"), loop_of(loop, "b3.K")) == (Loop("M", 4), Loop("N", 4))
    assert Tree.parse(str(tree)) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("branch A\n  for M in 2", "a split has the branches that begin here, expected two branches or more"),
        ("  branch A\n   for M in 2\n  branch B\n branch C\n   for M in 2", "an indentation of 1"),
        ("branch A\n  for M in 2\n branch B\n   for M in 2", "expected no further split"),
        ("branch A B\n  for M in 2\nbranch C", "cannot read 'branch A B'"),
        ("branch A\n  for M in 2\nbranch\n  for M in 2", "a branch without an operation"),
        ("branch A\n  branch B\n  branch C\nbranch D", "branch A has the branches that begin here"),
        ("fro M in 2", "cannot read 'fro M in 2'"),
        ("for M,K in 2", "cannot read 'for M,K in 2'"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(text: str, message: str) -> None:
    with pytest.raises(MappingError, match="line ") as caught:
        Tree.parse(text)
    assert message in str(caught.value)


def test_a_sound_tree_gives_each_operation_its_way() -> None:
    fused = Mapping.parse(CHAIN, SOUND)
    assert str(fused) == SOUND
    producer, consumer = fused.paths["T"], fused.paths["O"]
    assert fused.exchange("T", "O") == ((), 5)
    assert producer.starts == (0, 4)
    assert consumer.starts == (0, 4)
    assert str(consumer.mapping.nest).splitlines()[0] == "DRAM keeps C O"
    assert [loop.dim for loop in consumer.shared_loops] == ["M"]
    assert consumer.start(3) == 0
    assert consumer.start(4) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("  branch T\n", "  branch X\n"), "branch X, but no operation has that name"),
        (("branch O\n", "branch T\n"), "operation T has 2 branches, expected one"),
        (("DRAM keeps A B C O", "DRAM keeps A B C O D"), "DRAM keeps unknown tensor 'D'"),
        (("  branch T\n", "  branch T\n    GLB keeps C\n"), "GLB keeps C, which no operation below uses"),
        (("  branch T\n", "  branch T\n    GLB keeps T\n"), "GLB keeps T twice on one path"),
        (("  GLB keeps T\n", ""), "no memory keeps T above the split at which T and O part"),
        (("DRAM keeps A B C O", "DRAM keeps A B C O T"), "'DRAM keeps T' has no reader"),
        (("for M in 4", "for K in 4"), "O has no dimension K: it would be computed again"),
        (("for M in 4", "for N,O.P in 2"), "no tensor that they use below it has both as the same rank"),
        (("    for M in 2\n      for N in 4", "    for M in 1\n      for N in 4"), "dimension M has 8 elements"),
        (("DRAM keeps A B C O", "DRAM keeps A B C"), "no memory keeps tensor O"),
    ],
)
def test_rules_that_are_broken_are_explained(change: tuple[str, str], message: str) -> None:
    text = SOUND.replace(*change)
    assert text != SOUND
    with pytest.raises(MappingError) as caught:
        Mapping.parse(CHAIN, text)
    assert message in str(caught.value)


def test_a_consumer_is_not_done_before_its_producer() -> None:
    head, first, second = SOUND.partition("  branch O")
    branches = head.index("  branch T")
    with pytest.raises(MappingError, match="O reads T before T writes it"):
        Mapping.parse(CHAIN, head[:branches] + first + second + "\n" + head[branches:])


def test_what_is_not_finished_is_not_read() -> None:
    """N is a rank of T for T, and above the split O would need all of it: but it is one for O, too; K is not."""
    whole = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,k] += T[m,n] * C[n,k]"], m=2, k=2, n=2)
    text = """
    DRAM keeps A B C O
    GLB keeps T
    for K in 2
    branch T
      for M in 2
        for N in 2
    branch O
      for M in 2
        for N in 2
    """
    with pytest.raises(MappingError, match="has both as the same rank"):
        Mapping.parse(whole, text)


def test_sums_that_go_on_from_visit_to_visit_have_a_node_above() -> None:
    text = """
    DRAM keeps A B C
    for N in 4
      GLB keeps T
      branch T
        for M in 8
          for K in 4
      branch O
        DRAM keeps O
        for M in 8
          for P in 2
    """
    with pytest.raises(MappingError, match="adds to O, which no memory keeps above it"):
        Mapping.parse(CHAIN, text)
    assert Mapping.parse(CHAIN, text.replace("        DRAM keeps O\n", "").replace("A B C", "A B C O"))
