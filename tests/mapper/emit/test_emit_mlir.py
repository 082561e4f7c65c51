"""Emitted MLIR is what other people's tools read as MLIR, and computes the layer when they run it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import longer
from emitted import Case, case_of, plain_cases, random_case
from generators import POISONS, hostile_mapping
from tilewright.mapper.emit import emit_mlir


def names_of(text: str) -> tuple[str, list[str]]:
    """The function's name, and its memref types."""
    header = next(line for line in text.splitlines() if line.startswith("func.func @"))
    name = header.removeprefix("func.func @").partition("(")[0]
    arguments = header.partition("(")[2].partition(")")[0].split(", ")
    return name, [argument.partition(": ")[2] for argument in arguments]


# ---- xDSL: parses, verifies, interprets ----------------------------------------------------------------------------


def interpreted(text: str, case: Case) -> np.ndarray:
    """The output of the function, whose every operation xDSL verifies and runs."""
    pytest.importorskip("xdsl")
    from xdsl.context import Context
    from xdsl.dialects import affine, arith, builtin, func, memref
    from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
    from xdsl.interpreters import register_implementations
    from xdsl.interpreters.shaped_array import ShapedArray
    from xdsl.interpreters.utils.ptr import TypedPtr
    from xdsl.parser import Parser

    def values(data: Any, arguments: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(data.eval(list(arguments[: data.num_dims]), list(arguments[data.num_dims :])))

    @register_impls
    class Affine(InterpreterFunctions):  # type: ignore[misc]
        """xDSL 0.74 runs loops of constant bounds and indices without symbols, and reads more than these."""

        @impl(affine.ForOp)
        def run_for(self, interpreter: Interpreter, op: affine.ForOp, args: tuple[Any, ...]) -> tuple[()]:
            lower = len(op.lowerBoundOperands)
            first = max(values(op.lowerBoundMap.data, args[:lower]))
            last = min(values(op.upperBoundMap.data, args[lower:]))
            for index in range(first, last, op.step.value.data):
                interpreter.run_ssacfg_region(op.body, (index,))
            return ()

        @impl(affine.LoadOp)
        def run_load(self, interpreter: Interpreter, op: affine.LoadOp, args: tuple[Any, ...]) -> tuple[float]:
            array, *arguments = args
            return (array.load(values(op.map.data, tuple(arguments))),)

        @impl(affine.StoreOp)
        def run_store(self, interpreter: Interpreter, op: affine.StoreOp, args: tuple[Any, ...]) -> tuple[()]:
            value, array, *arguments = args
            array.store(values(op.map.data, tuple(arguments)), value)
            return ()

    context = Context()
    for dialect in (affine.Affine, arith.Arith, builtin.Builtin, func.Func, memref.MemRef):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    interpreter = Interpreter(module)
    register_implementations(interpreter, context)
    interpreter.register_implementations(Affine(), override=True)
    output = np.full_like(case.expected, 99)
    kind = {"float": builtin.f32, "double": builtin.f64, "int32": builtin.i32}[case.element]
    arrays = [
        ShapedArray(TypedPtr.new(array.ravel().tolist(), xtype=kind), list(array.shape))
        for array in (*case.operands, output)
    ]
    interpreter.call_op(names_of(text)[0], tuple(arrays))
    return np.reshape(arrays[-1].data, output.shape)


@pytest.mark.parametrize("seeds", longer.blocks(40, 10))
def test_xdsl_computes_random_mappings(seeds: range) -> None:
    for seed in seeds:
        case = random_case(seed)
        found = interpreted(emit_mlir(case.mapping, case.arch, **case.options), case)
        np.testing.assert_array_equal(found, case.expected, err_msg=f"seed {seed}: {case.mapping}")


def test_xdsl_computes_what_random_problems_do_not_have() -> None:
    for case in plain_cases():
        found = interpreted(emit_mlir(case.mapping, case.arch, **case.options), case)
        np.testing.assert_array_equal(found, case.expected, err_msg=str(case.mapping))


@pytest.mark.parametrize("poison", POISONS)
def test_hostile_names_stay_names(poison: str) -> None:
    mapping, arch = hostile_mapping([poison + str(i) * (i > 0) for i in range(12)])
    case = case_of(mapping, arch)
    text = emit_mlir(mapping, arch)
    text.encode("ascii")
    np.testing.assert_array_equal(interpreted(text, case), case.expected)


@pytest.mark.long
@settings(max_examples=10)
@given(names=st.lists(st.text(max_size=12), min_size=12, max_size=12, unique=True))
def test_any_names_are_spelled_safely(names: list[str]) -> None:
    mapping, arch = hostile_mapping(names)
    case = case_of(mapping, arch)
    np.testing.assert_array_equal(interpreted(emit_mlir(mapping, arch), case), case.expected)


# ---- MLIR 16: mlir-opt lowers to LLVM, mlir-cpu-runner runs --------------------------------------------------------

OPT, RUNNER = shutil.which("mlir-opt-16"), shutil.which("mlir-cpu-runner-16")
needs_mlir = pytest.mark.skipif(not (OPT and RUNNER), reason="mlir-opt-16 and mlir-cpu-runner-16 are not installed")
TO_LLVM = [
    "-affine-parallelize",
    "-lower-affine",
    "-convert-scf-to-cf",
    "-expand-strided-metadata",
    "-convert-memref-to-llvm",
    "-convert-arith-to-llvm",
    "-convert-func-to-llvm",
    "-convert-cf-to-llvm",
    "-reconcile-unrealized-casts",
]


def with_main(text: str, case: Case) -> str:
    """The module with a `main` that calls the function and returns how many elements differ from those expected."""
    name, types = names_of(text)
    arrays = [*case.operands, case.expected]
    constants = "\n".join(
        f'memref.global "private" constant @constant{i} : {kind} = dense<{array.tolist()}>'
        for i, (array, kind) in enumerate(zip(arrays, types, strict=True))
    )
    values = "\n".join(f"  %v{i} = memref.get_global @constant{i} : {kind}" for i, kind in enumerate(types))
    arguments = ", ".join([f"%v{i}" for i in range(len(types) - 1)] + ["%out"])
    axes = [f"%i{i}" for i in range(case.expected.ndim)]
    index = ", ".join(axes)
    kind, compare = {"float": ("f32", "cmpf une"), "double": ("f64", "cmpf une"), "int32": ("i32", "cmpi ne")}[
        case.element
    ]
    loops = "\n".join(
        f"  affine.for {axis} = 0 to {size} {{" for axis, size in zip(axes, case.expected.shape, strict=True)
    )
    return f"""{text}
{constants}
func.func @main() -> i32 {{
{values}
  %none = arith.constant 0 : i32
  %wrong = memref.alloc() : memref<i32>
  affine.store %none, %wrong[] : memref<i32>
  %out = memref.alloc() : {types[-1]}
  call @{name}({arguments}) : ({", ".join(types)}) -> ()
{loops}
    %found = affine.load %out[{index}] : {types[-1]}
    %expected = affine.load %v{len(types) - 1}[{index}] : {types[-1]}
    %differs = arith.{compare}, %found, %expected : {kind}
    %one = arith.extui %differs : i1 to i32
    %before = affine.load %wrong[] : memref<i32>
    %after = arith.addi %before, %one : i32
    affine.store %after, %wrong[] : memref<i32>
{"  }" * len(axes)}
  %count = affine.load %wrong[] : memref<i32>
  return %count : i32
}}
"""


def mismatches(text: str, case: Case, folder: Path) -> int:
    """Elements of the output that are not as expected, when MLIR compiles and runs the function."""
    assert OPT is not None
    assert RUNNER is not None
    (folder / "layer.mlir").write_text(with_main(text, case))
    lowered = subprocess.run([OPT, "layer.mlir", *TO_LLVM], capture_output=True, text=True, cwd=folder, check=False)
    assert lowered.returncode == 0, lowered.stderr
    command = [RUNNER, "-e", "main", "-entry-point-result=i32"]
    done = subprocess.run(command, input=lowered.stdout, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@needs_mlir
@pytest.mark.parametrize("seed", range(100, 112))
def test_mlir_computes_random_mappings(seed: int, tmp_path: Path) -> None:
    case = random_case(seed)
    assert mismatches(emit_mlir(case.mapping, case.arch, **case.options), case, tmp_path) == 0


@needs_mlir
def test_a_wrong_output_is_noticed(tmp_path: Path) -> None:
    case = random_case(100)
    text = emit_mlir(case.mapping, case.arch, **case.options)
    assert mismatches(text.replace("arith.add", "arith.sub"), case, tmp_path) > 0


@needs_mlir
def test_loops_that_reduce_are_not_parallel_for_mlir() -> None:
    """Of the loops over instances, MLIR's own analysis takes none that adds up, and some of the others."""
    assert OPT is not None
    before = after = 0
    for seed in range(101, 121, 2):
        case = random_case(seed)
        text = emit_mlir(case.mapping, case.arch, **case.options)
        done = subprocess.run([OPT, "-affine-parallelize"], input=text, capture_output=True, text=True, check=True)
        assert done.stdout.count("tilewright.reduces") == text.count("tilewright.reduces")
        before, after = before + text.count("tilewright.axis"), after + done.stdout.count("tilewright.axis")
    assert after < before
