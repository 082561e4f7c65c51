"""Hand-written mappings: what is read, what is written, and what errors say."""

from __future__ import annotations

import random

import pytest

import longer
from generators import random_architecture, random_mapping, random_problem, tensor
from tilewright.arch import Architecture, load_arch
from tilewright.cost_models import count_words
from tilewright.ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem
from tilewright.mapper.emit import emit_mapping_yaml
from tilewright.mapper.mapping_files import read_mapping_file
from tilewright.workloads import conv2d

LAYER = conv2d(K=4, C=2, P=6, Q=1, R=3, S=1)
TEXT = """\
levels:
  - memory: DRAM
    keep: [I, W, O]
    loops: [P=2]
  - memory: GLB
    keep: [I]
    loops: [R=3]
  - fanout: array
    y: [C=2]
    x: [K=4]
  - memory: spad
    keep: [I, W, O]
    loops: [P=3]
"""
NEST = """\
DRAM keeps I W O
for P in 2
GLB keeps I
for R in 3
parallel C in 2 on array.y
parallel K in 4 on array.x
spad keeps I W O
for P in 3
"""


def read(text: str, layer: Problem = LAYER, arch: Architecture | None = None) -> Mapping:
    return read_mapping_file(text, "mine.yaml").mapping(layer, arch or load_arch("eyeriss"))


def test_a_file_is_a_nest() -> None:
    assert read(TEXT).nest == LoopNest.parse(NEST)


def test_a_memory_may_keep_nothing() -> None:
    assert read(TEXT.replace("keep: [I]", "keep: []")).nest == LoopNest.parse(NEST.replace("GLB keeps I\n", ""))


def test_header() -> None:
    file = read_mapping_file("layer: resnet50:conv1\narch: eyeriss\n" + TEXT, "mine.yaml")
    assert file.header == {"layer": "resnet50:conv1", "arch": "eyeriss"}


def test_every_mapping_comes_back() -> None:
    """Even and uneven nests, ragged tiles, several fanouts, loops between nodes."""
    uneven = spatial = 0
    for seed in longer.seeds(300):
        rng = random.Random(seed)
        problem, arch = random_problem(rng), random_architecture(rng)
        mapping = random_mapping(rng, problem, arch)
        text = emit_mapping_yaml(mapping, arch.name)
        assert read(text, problem, arch) == mapping, text
        memories = [node.memory for node in mapping.nest.nodes]
        uneven += text.count("- memory:") > len(set(memories))
        spatial += "- fanout:" in text
    assert longer.occurs(uneven >= 100)
    assert longer.occurs(spatial >= 80)


def test_names_that_yaml_would_take_for_something_else() -> None:
    problem = Problem(
        "odd",
        (("y", 2), ("1e3", 3), ("a=b", 2)),
        (tensor("no", "input", "y", "1e3"), tensor("a, b", "weight", "1e3", "a=b"), tensor("~", "output", "y", "a=b")),
    )
    levels = tuple(Node("DRAM", t.name) for t in problem.tensors)
    loops = (Loop("y", 2), Loop("1e3", 3, Axis("array")), Loop("a=b", 2))
    mapping = Mapping(problem, LoopNest((*levels, *loops)))
    assert read(emit_mapping_yaml(mapping, "eyeriss"), problem) == mapping


WRONG = [
    ("loops: [P=2]", "loop: [P=2]", "mine.yaml:4: levels[0].loop: unknown key 'loop'", "did you mean 'loops'?"),
    ("keep: [I]", "keep: [A]", "mine.yaml:6: levels[1].keep[0]: unknown tensor 'A'", "known"),
    ("memory: GLB", "memory: GLBB", "mine.yaml:5: levels[1].memory: eyeriss has no memory 'GLBB'", "'GLB'"),
    (
        "memory: GLB",
        "memory: array",
        "mine.yaml:5: levels[1].memory: array is a fanout of eyeriss",
        "'- fanout: array'",
    ),
    ("R=3", "T=3", "mine.yaml:7: levels[1].loops[0]: unknown dimension 'T'", "known"),
    ("R=3", "R=0", "mine.yaml:7: levels[1].loops[0]: found 'R=0', expected a dimension and its trips", ""),
    ("P=2", "P=4", "mine.yaml:4: levels[0].loops[0]: dimension P has 6 elements, and its loops are 4 x 3", "2 trips"),
    ("R=3", "S=1", "mine.yaml:1: levels: dimension R has 3 elements, and its loops are no loop", "3 trips"),
    ("keep: [I]", "keep: [I, I]", "mine.yaml:6: levels[1].keep[1]: GLB keeps I twice, first in line 6", ""),
    ("x: [K=4]", "z: [K=4]", "mine.yaml:10: levels[2].z: unknown key 'z'", ""),
    ("  - memory: GLB\n    keep", "  - keep", "mine.yaml:5: levels[1].memory: missing", ""),
    ("levels:", "nest:", "mine.yaml:1: nest: unknown key 'nest'", ""),
]


@pytest.mark.parametrize(("right", "wrong", "message", "hint"), WRONG, ids=[wrong for _, wrong, _, _ in WRONG])
def test_errors_name_the_line(right: str, wrong: str, message: str, hint: str) -> None:
    assert TEXT.count(right) >= 1
    with pytest.raises(MappingError) as caught:
        read(TEXT.replace(right, wrong, 1))
    assert message in str(caught.value)
    assert hint in str(caught.value)


def test_reading_leaves_the_fit_to_others() -> None:
    """Where nodes may stand is checked when words are counted, against the architecture."""
    mapping = read(TEXT.replace("keep: [I]", "keep: [I, W, O]"))
    with pytest.raises(MappingError, match="GLB keeps W, but it must not keep weight tensors"):
        count_words(mapping, load_arch("eyeriss"))
