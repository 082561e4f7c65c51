from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import longer
from generators import memory, random_problem, tensor
from tilewright import search
from tilewright.arch import Architecture, Keeps, Mac, Memory, load_arch
from tilewright.cost_models import evaluate
from tilewright.cost_models.sparse import with_densities
from tilewright.ir import InfeasibleError, Loop, LoopNest, Mapping, MappingError, Node, Problem, TilewrightError
from tilewright.mapper.diagnosis import diagnose
from tilewright.workloads import gemm

GEMM = gemm(4, 4, 4)


def machine(*inner: Memory, **changes: Any) -> Architecture:
    fields: dict[str, Any] = {"name": "tiny", "clock_hz": 1e9, "word_bits": 8, "mac": Mac(energy_pj=1.0)}
    return Architecture.model_validate(fields | changes | {"levels": (memory("DRAM"), *inner)})


def test_shared_capacity() -> None:
    error = diagnose(GEMM, machine(memory("RF", size_bits=16)))
    assert isinstance(error, InfeasibleError)
    assert error.where == "RF"
    assert str(error) == (
        "RF: one word of A, W and O needs 3 B, capacity is 2 B: 1 B too small\n"
        "hint: let RF bypass A, W or O (keep: may), give it at least 3 B or use narrower words"
    )


def test_partial_sums_are_wider() -> None:
    error = diagnose(GEMM, machine(memory("GLB", size_bits=8 * 64), memory("RF", size_bits=40), partial_sum_bits=32))
    assert str(error) == (
        "RF: one word of A, W and O (A 1 B, W 1 B, O 4 B) needs 6 B, capacity is 5 B: 1 B too small\n"
        "hint: let RF bypass A, W or O (keep: may), give it at least 6 B or use narrower partial sums (32 bit now)"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"RF.size": "4 B", "RF.line": "8 B", "RF.keep": "must"},
            "RF: one line of A, W and O needs 24 B, capacity is 4 B: 20 B too small\n"
            "hint: let RF bypass A, W or O (keep: may), give it at least 24 B or use shorter lines (8 B now)",
        ),
        (
            {"GLB.size": "128 B", "GLB.line": "64 B", "GLB.keep": "must"},
            "GLB: one line of A, W and O needs 192 B, capacity is 128 B: 64 B too small\n"
            "hint: let GLB bypass A, W or O (keep: may), give it at least 192 B or use shorter lines (64 B now)",
        ),
    ],
)
def test_lines_take_room_whole(changes: dict[str, str], message: str) -> None:
    """A search of some seconds ended in an assertion, or in nothing found."""
    with pytest.raises(InfeasibleError) as error:
        search(GEMM, load_arch("three_level", changes), tiling="perfect")
    assert str(error.value) == message


def test_private_part() -> None:
    spad = memory("spad", partition_bits={"input": 12, "weight": 8, "output": 64})
    error = diagnose(GEMM, machine(spad, word_bits=16))
    assert str(error) == (
        "spad: one word of W needs 2 B, the weight part is 1 B: 1 B too small\n"
        "and spad: one word of A needs 2 B, the input part is 1.5 B: 0.5 B too small\n"
        "hint: let spad bypass W (keep: {weight: may}), give it at least 2 B or use narrower words"
    )


def test_what_is_left_beside_a_private_part() -> None:
    keeps = Keeps(input="must", weight="must", output="may")
    spad = memory("spad", partition_bits={"output": 8}, size_bits=8, keeps=keeps)
    error = diagnose(GEMM, machine(spad))
    assert error.message == "one word of A and W needs 2 B, the shared part is 1 B: 1 B too small"
    assert error.hint is not None
    assert error.hint.startswith("let spad bypass A or W (keep: may), ")


def test_double_buffering() -> None:
    keeps = Keeps(input="never", weight="must", output="never")
    error = diagnose(GEMM, machine(memory("register", size_bits=8, double_buffered=True, keeps=keeps)))
    assert str(error) == (
        "register: two words of W (double buffered) need 2 B, capacity is 1 B: 1 B too small\n"
        "hint: let register bypass W (keep: {weight: may}), drop its second copy (double_buffered: false), "
        "give it at least 2 B or use narrower words"
    )


def test_second_copy_is_not_the_reason() -> None:
    keeps = Keeps(input="never", weight="must", output="never")
    arch = machine(memory("register", size_bits=8, double_buffered=True, keeps=keeps), word_bits=16)
    assert "double_buffered" not in str(diagnose(GEMM, arch).hint)


def test_every_memory_that_is_too_small_is_named_worst_first() -> None:
    error = diagnose(GEMM, machine(memory("GLB", size_bits=16), memory("RF", size_bits=8)))
    assert error.where == "RF"
    assert error.message.splitlines() == [
        "one word of A, W and O needs 3 B, capacity is 1 B: 2 B too small",
        "and GLB: one word of A, W and O needs 3 B, capacity is 2 B: 1 B too small",
    ]


def test_layer_widths_count() -> None:
    tensors = (tensor("A", "input", "M"), tensor("O", "output", "M"))
    wide = (replace(tensors[0], bits=64), tensors[1])
    arch = machine(memory("RF", size_bits=16))
    with pytest.raises(AssertionError):
        diagnose(Problem("narrow", (("M", 2),), tensors), arch)
    assert "A 8 B, O 1 B" in diagnose(Problem("wide", (("M", 2),), wide), arch).message


def test_optional_tensors_are_no_reason() -> None:
    arch = machine(memory("RF", size_bits=1, keeps=Keeps(input="may", weight="never", output="may")))
    with pytest.raises(AssertionError, match="tiny has room for one word of everything, so gemm has a mapping"):
        diagnose(GEMM, arch)


def test_metadata_takes_room() -> None:
    """One word fits, and not where its row begins: an AssertionError once."""
    level = memory("RF", partition_bits={"weight": 8}, formats={"weight": ("csr", "bitmask")})
    error = diagnose(with_densities(GEMM, {"W": 0.5}), machine(level))
    assert "one word of W in bitmask needs 1.125 B, the weight part is 1 B: 0.125 B too small" in str(error)


def smallest(problem: Problem, arch: Architecture) -> Mapping:
    """All loops in time directly below the outermost memory, and nothing kept that may be bypassed."""
    names = [Node(arch.memories[0].name, t.name) for t in problem.tensors]
    loops = [Loop(dim, size) for dim, size in problem.dims if size > 1]
    inner = [Node(m.name, t.name) for m in arch.memories[1:] for t in problem.tensors if m.keeps[t.role] == "must"]
    return Mapping(problem, LoopNest((*names, *loops, *inner)))


@pytest.mark.parametrize("seed", longer.seeds(60))
def test_there_is_a_diagnosis_exactly_when_the_smallest_mapping_does_not_fit(seed: int) -> None:
    rng = random.Random(seed)
    problem = random_problem(rng)
    levels = []
    for i in range(rng.randint(1, 3)):
        keeps = Keeps.model_validate({r: rng.choice(["must", "may", "never"]) for r in ("input", "weight", "output")})
        parts = {"weight": rng.randint(4, 40)} if rng.random() < 0.4 else {}
        doubled = rng.random() < 0.4
        size = rng.randint(4, 90)
        level = memory(f"L{i}", keeps=keeps, size_bits=size, partition_bits=parts, double_buffered=doubled)
        levels.append(level)
    arch = machine(*levels, partial_sum_bits=rng.choice([None, 24]))
    try:
        evaluate(smallest(problem, arch), arch)
        too_small = None
    except MappingError as refusal:
        too_small = refusal.where
    if too_small is None:
        with pytest.raises(AssertionError):
            diagnose(problem, arch)
    else:
        named = [line.removeprefix("and ").split(":")[0] for line in str(diagnose(problem, arch)).splitlines()]
        assert too_small in named


def test_a_line_without_room_for_a_word_is_no_shortage_of_room() -> None:
    """A memory that is too small as well was said to need more room, or still shorter lines."""
    arch = load_arch(
        "three_level", {"partial_sum": "24 bit", "GLB.size": "1 B", "GLB.line": "16 bit", "GLB.keep": "must"}
    )
    with pytest.raises(TilewrightError, match="a word of O has 24 bit, a line 16") as error:
        search(GEMM, arch)
    assert not isinstance(error.value, InfeasibleError)
