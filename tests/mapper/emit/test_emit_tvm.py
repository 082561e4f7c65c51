"""Emitted TensorIR is what TVM's script parser reads, and computes the layer when TVM has built it."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import longer
from emitted import Case, case_of, plain_cases, random_case
from generators import POISONS, hostile_mapping, memory
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac
from tilewright.ir import Loop, LoopNest, Mapping, MappingError
from tilewright.mapper.emit import emit_tvm
from tilewright.workloads import gemm

needs_tvm = pytest.mark.skipif(find_spec("tvm") is None, reason="TVM is not installed: pip install 'tilewright[tvm]'")

RUN = """
import importlib
import sys
import numpy as np
import tvm

sys.path.insert(0, ".")
for number in range(int(sys.argv[1])):
    module = importlib.import_module(f"layer{number}")
    (function,) = (value for value in vars(module).values() if isinstance(value, tvm.tirx.PrimFunc))
    built = tvm.compile(function, target="llvm")
    stored = np.load(f"layer{number}.npz")
    arrays = [tvm.runtime.tensor(stored[f"arr_{i}"]) for i in range(len(stored.files))]
    built[function.attrs["global_symbol"]](*arrays)
    np.save(f"layer{number}.npy", arrays[-1].numpy())
"""


def outputs(cases: list[Case], folder: Path) -> list[np.ndarray]:
    """What the functions compute: parsed, built for this processor and run by TVM, in a process of their own."""
    for number, case in enumerate(cases):
        (folder / f"layer{number}.py").write_text(emit_tvm(case.mapping, case.arch, **case.options))
        output = np.full_like(case.expected, 99)
        np.savez(folder / f"layer{number}.npz", *case.operands, output)
    command = [sys.executable, "-c", RUN, str(len(cases))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return [np.load(folder / f"layer{number}.npy") for number in range(len(cases))]


@needs_tvm
def test_tvm_computes_random_mappings_and_hostile_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With threads and vectors too, which such small mappings are not worth."""
    monkeypatch.setattr("tilewright.mapper.emit.lowering.bands.LEAST_PARALLEL_MACS", 1)
    monkeypatch.setattr("tilewright.mapper.emit.compilers.tvm.LANES", range(2, 65))
    hostile = [hostile_mapping([poison + str(i) * (i > 0) for i in range(12)]) for poison in POISONS[::4]]
    cases = [
        *(random_case(200 + seed) for seed in longer.seeds(7)),
        *plain_cases(),
        *(case_of(*pair) for pair in hostile),
    ]
    texts = [emit_tvm(case.mapping, case.arch, **case.options) for case in cases]
    assert all(any(f"T.{kind}(" in text for text in texts) for kind in ("parallel", "vectorized", "grid"))
    for case, found in zip(cases, outputs(cases, tmp_path), strict=True):
        np.testing.assert_array_equal(found, case.expected, err_msg=str(case.mapping))


PARALLEL = """
    DRAM keeps A W O
    parallel K in 2 on array.y
      parallel M in 4 on array.y
        parallel N in 4 on array.x
          reg keeps A O
          for M in 8
            for N in 8
              for K in 32
"""


def test_the_outermost_loop_over_outputs_is_parallel() -> None:
    may = Keeps(input="may", weight="may", output="may")
    array = Fanout(name="array", axes=(ArrayAxis(size=4), ArrayAxis(size=8)))
    levels = (memory("DRAM"), array, memory("reg", keeps=may))
    arch = Architecture(name="threads", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    text = emit_tvm(Mapping(gemm(M=32, N=32, K=64), LoopNest.parse(PARALLEL)), arch)
    assert 'for k0 in T.serial(2, annotations={"tilewright.axis": "array.y", "tilewright.reduces": 1}):' in text
    assert 'for m0 in T.parallel(4, annotations={"tilewright.axis": "array.y"}):' in text
    assert 'for n0 in T.serial(4, annotations={"tilewright.axis": "array.x"}):' in text


def statements(names: list[str]) -> list[type[ast.stmt]]:
    """Kinds of the statements of a module whose names are chosen by an enemy."""
    text = emit_tvm(*hostile_mapping(names))
    return [type(statement) for statement in ast.parse(text.encode("ascii")).body]


@pytest.mark.parametrize("poison", POISONS)
def test_hostile_names_leave_one_function(poison: str) -> None:
    names = [poison + str(i) * (i > 0) for i in range(12)]
    assert statements(names) == [ast.Expr, ast.ImportFrom, ast.FunctionDef]


@settings(max_examples=30)
@given(names=st.lists(st.text(max_size=12), min_size=12, max_size=12, unique=True))
def test_any_names_leave_one_function(names: list[str]) -> None:
    assert statements(names) == [ast.Expr, ast.ImportFrom, ast.FunctionDef]


def deep(loops: int) -> tuple[Mapping, Architecture]:
    """A matrix product of so many loops of two trips, each with a copy inside it."""
    may = Keeps(input="may", weight="may", output="may")
    levels = [memory("DRAM"), *(memory(f"L{i}", keeps=may) for i in range(loops))]
    arch = Architecture(name="deep", clock_hz=1e9, word_bits=8, levels=tuple(levels), mac=Mac(energy_pj=1.0))
    lines = ["DRAM keeps A W O", *(f"for M in 2\nL{i} keeps A" for i in range(loops))]
    return Mapping(gemm(M=2**loops, N=1, K=1), LoopNest.parse("\n".join(lines))), arch


def test_a_nest_that_is_deeper_than_pythons() -> None:
    compile(emit_tvm(*deep(19)), "layer", "exec")
    with pytest.raises(MappingError, match="Python nests 20 loops at most"):
        emit_tvm(*deep(21))


def test_loops_right_inside_each_other_are_one_grid() -> None:
    mapping, arch = deep(0)
    nest = LoopNest((*mapping.nest.items, *(Loop("M", 2) for _ in range(25))))
    text = emit_tvm(Mapping(gemm(M=2**25, N=1, K=1), nest), arch)
    assert text.count("\n    for ") == 2
    compile(text, "layer", "exec")


def test_loops_over_instances_are_marked() -> None:
    """Those that add to the same elements besides; none is parallel that holds next to no work."""
    for seed in range(201, 221, 2):
        case = random_case(seed)
        text = emit_tvm(case.mapping, case.arch)
        spatial = [loop for loop in case.mapping.nest.loops if loop.is_spatial and loop.trips > 1]
        apart = [loop for loop in spatial if loop.dim in case.mapping.problem.output.dims]
        assert "T.parallel(" not in text
        assert text.count("tilewright.axis") == len(spatial)
        assert text.count("tilewright.reduces") == len(spatial) - len(apart)


@pytest.mark.parametrize(
    ("loops", "expected"),
    [
        ("for K in 8; for N in 16; for M in 4", "m0 in T.vectorized(4)"),  # copies are packed: M moves last
        ("for M in 4; for K in 8; for N in 16", "n0 in T.vectorized(16)"),
        ("for M in 4; for N in 16; for K in 8", "m0, n0, k0 in T.grid"),  # adds to one element
        ("for M in 4; for K in 8; parallel N in 16 on array.x", "n0 in T.vectorized(16, annotations="),
    ],
)
def test_innermost_loops_over_neighbours_are_vectors(loops: str, expected: str) -> None:
    may = Keeps(input="may", weight="may", output="may")
    array = Fanout(name="array", axes=(ArrayAxis(size=16),))
    levels = (memory("DRAM"), memory("reg", keeps=may), array)
    arch = Architecture(name="lanes", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    nest = LoopNest.parse("\n".join(["DRAM keeps A W O", "reg keeps A W O", *loops.split("; ")]))
    assert f"for {expected}" in emit_tvm(Mapping(gemm(M=4, N=16, K=8), nest), arch)
    uncopied = emit_tvm(Mapping(gemm(M=4, N=16, K=8), nest), arch, copied=[])
    assert ("T.vectorized" in uncopied) == (" n0 in T.vectorized" in uncopied), "M is not the last axis of O"


def test_large_arrays_have_64_bit_loops() -> None:
    mapping, arch = deep(0)
    nest = LoopNest((*mapping.nest.items, Loop("M", 2**32)))
    text = emit_tvm(Mapping(gemm(M=2**32, N=1, K=1), nest), arch)
    assert "for m0 in T.serial(T.int64(4294967296)):" in text
    assert "T.int64" not in emit_tvm(*deep(3))
