"""Scalar programs compute the layer, stay inside their arrays, and copy the words that the cost model counts."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import longer
from generators import memory, random_architecture, random_mapping, random_problem, tensor
from point_by_point import computed
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import count_words
from tilewright.ir import Loop, LoopNest, Mapping, MappingError, Problem
from tilewright.mapper.emit.lowering.bands import writes_apart
from tilewright.mapper.emit.lowering.loop_program import (
    Access,
    Affine,
    Allocate,
    Array,
    Compute,
    Drain,
    Fill,
    For,
    Index,
    LoopProgram,
    Statement,
    Variable,
    Zero,
)
from tilewright.mapper.emit.lowering.lowering import lower
from tilewright.workloads import conv2d, gemm

MAY = Keeps(input="may", weight="may", output="may")


class Interpreter:
    """Runs a program on integers. What a buffer holds before it is filled is poison, an index out of range an error."""

    def __init__(self, program: LoopProgram, operands: dict[str, np.ndarray]) -> None:
        self.program = program
        self.known: dict[Variable, int] = {}
        self.memory = {a: operands.get(a.tensor.name, np.full(a.shape, POISON)) for a in program.arrays}
        self.copied: Counter[Array] = Counter()
        self.run(program.body)

    @property
    def result(self) -> np.ndarray:
        (output,) = self.program.outputs
        return self.memory[output]

    def run(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            getattr(self, type(statement).__name__)(statement)

    def For(self, loop: For) -> None:
        start, stop = loop.start.value(self.known), loop.stop.value(self.known)
        assert 0 < len(range(start, stop, loop.step)) <= loop.trips
        for at in range(start, stop, loop.step):
            self.known[loop.variable] = at
            if loop.count is not None:
                self.known[loop.count] = min(loop.step, loop.size - at)
            self.run(loop.body)

    def Allocate(self, statement: Allocate) -> None:
        self.memory[statement.buffer] = np.full(statement.buffer.shape, POISON)

    def Zero(self, statement: Zero) -> None:
        self.memory[statement.array][self.box(statement.array, None, statement.extents)] = 0

    def Fill(self, statement: Fill) -> None:
        box = self.box(statement.source, statement.at, statement.extents, statement.steps)
        tile = self.memory[statement.source][box]
        self.memory[statement.buffer][self.box(statement.buffer, None, statement.extents)] = tile
        self.copied[statement.buffer] += tile.size

    def Drain(self, statement: Drain) -> None:
        tile = self.memory[statement.buffer][self.box(statement.buffer, None, statement.extents)]
        self.memory[statement.target][self.box(statement.target, statement.at, statement.extents)] += tile
        self.copied[statement.buffer] += tile.size

    def Compute(self, statement: Compute) -> None:
        assert statement.operation.is_layer
        product = 1
        for factor in statement.operands:
            product *= self.memory[factor.array][self.element(factor)]
        self.memory[statement.target.array][self.element(statement.target)] += product

    def box(
        self, array: Array, at: Index | None, extents: Index, steps: tuple[int, ...] | None = None
    ) -> tuple[slice, ...]:
        steps = steps or (1,) * len(extents)
        first = [a.value(self.known) for a in at] if at is not None else [0] * len(extents)
        last = [a + s * (e.value(self.known) - 1) + 1 for a, e, s in zip(first, extents, steps, strict=True)]
        assert all(0 <= a < b <= size for a, b, size in zip(first, last, array.shape, strict=True))
        return tuple(slice(a, b, s) for a, b, s in zip(first, last, steps, strict=True))

    def element(self, access: Access) -> tuple[int, ...]:
        found = tuple(a.value(self.known) for a in access.index)
        assert all(0 <= a < size for a, size in zip(found, access.array.shape, strict=True))
        return found


POISON = 10**9


def operands_of(program: LoopProgram, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {a.tensor.name: rng.integers(-4, 5, a.shape) for a in program.inputs}


def direct(problem: Problem, operands: dict[str, np.ndarray]) -> np.ndarray:
    return computed(problem, [operands[tensor.name] for tensor in problem.operands])


def random_case(seed: int) -> tuple[Mapping, Architecture, random.Random]:
    for attempt in range(100):
        rng = random.Random(seed * 100 + attempt)
        problem, arch = random_problem(rng, largest=4), random_architecture(rng)
        try:
            mapping = random_mapping(rng, problem, arch)
            lower(mapping, arch)
        except MappingError:
            continue
        return mapping, arch, rng
    raise AssertionError("no mapping found")


def two_level() -> Architecture:
    axes = (ArrayAxis(size=16), ArrayAxis(size=16))
    levels = (memory("DRAM"), memory("GLB", keeps=MAY), Fanout(name="array", axes=axes), memory("reg", keeps=MAY))
    return Architecture(name="two_level", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))


def mapping_of(problem: Problem, text: str) -> Mapping:
    return Mapping(problem, LoopNest.parse(text))


@pytest.mark.parametrize("seeds", longer.blocks(150, 30))
def test_random_mappings_compute_the_layer(seeds: range) -> None:
    for seed in seeds:
        mapping, arch, rng = random_case(seed)
        names = [m.name for m in arch.memories]
        for copied in (None, rng.sample(names, rng.randint(0, len(names)))):
            program = lower(mapping, arch, copied)
            operands = operands_of(program, seed)
            found = Interpreter(program, operands).result
            expected = direct(mapping.problem, operands)
            np.testing.assert_array_equal(found, expected, err_msg=f"seed {seed}, {copied}: {mapping}")


def in_time(mapping: Mapping) -> Mapping:
    """The same nest with loops in time alone."""
    items = [replace(item, axis=None) if isinstance(item, Loop) else item for item in mapping.nest]
    return Mapping(mapping.problem, LoopNest(tuple(items)))


def test_copies_move_the_words_that_the_model_counts() -> None:
    """Without halos and instances, of which the model knows more: every tile is copied when, and only when, it changes.
    What lies between the elements of a strided window is copied only where no common step leaves it out."""
    compared = 0
    for seed in longer.seeds(150):
        mapping, arch, _ = random_case(seed)
        mapping = in_time(mapping)
        levels = tuple(m.model_copy(update={"halo": "none"}) if isinstance(m, Memory) else m for m in arch.levels)
        boxes, exact = (arch.model_copy(update={"footprint": f, "levels": levels}) for f in ("box", "exact"))
        program = lower(mapping, arch)
        run = Interpreter(program, operands_of(program))
        most, least = (count_words(mapping, machine).total for machine in (boxes, exact))
        for one in mapping.problem.tensors:
            positions = mapping.nest.node_positions(one.name)
            for outer, buffer in zip(positions, (b for b in program.buffers if b.tensor is one), strict=False):
                name = mapping.nest.items[outer].memory, one.name  # type: ignore[union-attr]
                low, high = (w.writes - w.fills if one.is_output else w.reads for w in (least[name], most[name]))
                found = run.copied[buffer]
                assert low <= found <= high, f"seed {seed}: {buffer.memory} {one}\n{mapping}"
                assert found == high or set(buffer.steps) != {1}, f"seed {seed}: {buffer.memory} {one}\n{mapping}"
                compared += 1
    assert longer.occurs(compared > 200)


def test_a_tile_that_stays_in_an_array_is_copied_once() -> None:
    mapping = mapping_of(
        gemm(M=8, N=16, K=6),
        """
        DRAM keeps A W O
        for K in 3
          for M in 8
            parallel N in 4 on array.x
              reg keeps W
              for N in 4
                for K in 2
        """,
    )
    program = lower(mapping, two_level())
    (buffer,) = program.buffers
    assert buffer.shape == (2, 16)
    run = Interpreter(program, operands_of(program))
    assert run.copied[buffer] == 6 * 16
    assert run.copied[buffer] == count_words(mapping, two_level()).total["DRAM", "W"].reads


def test_ragged_windows_end_with_their_tile() -> None:
    problem = conv2d(K=3, C=2, P=7, Q=5, R=3, S=2, stride=2, dilation=3)
    mapping = mapping_of(
        problem,
        """
        DRAM keeps I W O
        for P in 2
          for R in 2
            GLB keeps I O
            for C in 2
              for Q in 5
                parallel P in 4 on array.x
                  parallel R in 2 on array.y
                    reg keeps O
                    for S in 2
                      for K in 3
        """,
    )
    program = lower(mapping, two_level())
    operands = operands_of(program)
    run = Interpreter(program, operands)
    np.testing.assert_array_equal(run.result, direct(problem, operands))
    window = next(b for b in program.buffers if b.tensor.name == "I")
    assert window.shape[-2:] == (1 + 2 * 3 + 3 * 1, 1 + 2 * 4 + 3 * 1)
    ragged = [loop for loop in program.loops() if loop.count]
    assert [loop.variable for loop in ragged] == [Variable("P", 0), Variable("R", 0)]


def test_a_stride_larger_than_the_window_leaves_out_what_lies_between() -> None:
    problem = conv2d(K=1, C=2, P=4, Q=6, R=1, S=1, stride=2)
    mapping = mapping_of(
        problem,
        """
        DRAM keeps I W O
        for P in 2
          GLB keeps I
          for Q in 2
            reg keeps I
            for C in 2
              for Q in 3
                for P in 2
        """,
    )
    program = lower(mapping, two_level())
    glb, reg = program.buffers
    assert glb.shape == (1, 2, 2, 6)
    assert reg.shape == (1, 2, 2, 3)
    assert glb.order[-2:] == reg.order[-2:] == (3, 2), "P is moved by the innermost loop"
    run = Interpreter(program, operands := operands_of(program))
    np.testing.assert_array_equal(run.result, direct(problem, operands))
    assert run.copied[glb] == 2 * 4 * 6 == count_words(mapping, two_level()).total["DRAM", "I"].reads


@pytest.mark.parametrize("operands", [("IK",), ("I", "K", "K", "IK"), ("I",)])
def test_any_number_of_operands_and_a_dimension_that_none_has(operands: tuple[str, ...]) -> None:
    named = [tensor(f"T{i}", "input", *dims) for i, dims in enumerate(operands)]
    problem = Problem("any", (("I", 5), ("J", 3), ("K", 4)), (*named, tensor("O", "output", "I", "J")))
    tensors = " ".join(t.name for t in problem.tensors)
    text = f"""
        DRAM keeps {tensors}
        for I in 2
          for K in 2
            GLB keeps {tensors}
            parallel J in 3 on array.x
              reg keeps {tensors}
              for K in 2
                for I in 3
    """
    program = lower(mapping_of(problem, text), two_level())
    values = operands_of(program)
    np.testing.assert_array_equal(Interpreter(program, values).result, direct(problem, values))


def test_only_loops_over_outputs_write_apart() -> None:
    mapping = mapping_of(
        gemm(M=4, N=4, K=4),
        """
        DRAM keeps A W O
        parallel K in 4 on array.x
          parallel N in 4 on array.y
            reg keeps O
            for M in 4
        """,
    )
    program = lower(mapping, two_level())
    assert {loop.variable.dim: writes_apart(loop, program.cascade.operations[0]) for loop in program.loops()} == {
        "K": False,
        "N": True,
        "M": True,
    }


def test_only_memories_can_be_copied_into() -> None:
    mapping = mapping_of(gemm(M=1, N=1, K=1), "DRAM keeps A W O")
    assert lower(mapping, two_level(), ["GLB"]).buffers == ()
    kept = mapping_of(gemm(M=2, N=1, K=1), "DRAM keeps A W O\nfor M in 2\nGLB keeps A W O\nreg keeps A W O")
    named = [(b.memory, b.tensor.name) for b in lower(kept, two_level(), ["GLB", "reg.O"]).buffers]
    assert named == [("GLB", "A"), ("GLB", "W"), ("GLB", "O"), ("reg", "O")]
    with pytest.raises(MappingError, match="cannot copy into 'GBL'") as error:
        lower(mapping, two_level(), ["GBL"])
    assert "GLB" in str(error.value.hint)


def test_affine_expressions_add_up() -> None:
    x, y = Variable("X", 0), Variable("Y", 1)
    sum_ = Affine.of(x).times(3) + Affine.of(y) + Affine.of(2)
    assert sum_ - Affine.of(y) == Affine(((x, 3),), 2)
    assert sum_.times(0) == Affine()
    assert sum_.times(2).value({x: 5, y: 7}) == 2 * (15 + 7 + 2)
