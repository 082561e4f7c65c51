"""A compiled network run on arrays: by its C program, where there is a compiler, or by its numpy program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from .ir import MappingError, ProblemError, did_you_mean

if TYPE_CHECKING:
    from .workloads.graph import ModelTensor

Array = np.ndarray[Any, Any]
Words = list[Array]

FLAGS = ("-O2", "-march=native")


def compiler() -> str | None:
    """The C compiler: that of the variable CC, or cc, gcc or clang; None where there is none."""
    names = [os.environ["CC"]] if os.environ.get("CC") else ["cc", "gcc", "clang"]
    return next((found for name in names if (found := shutil.which(name))), None)


def folder_of(owner: object) -> Path:
    """A new folder that is removed with its owner."""
    folder = mkdtemp(prefix="tilewright-")
    finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def compiled_program(command: str, folder: Path) -> Path:
    """The executable of the C program in a folder.

    Raises MappingError with the compiler's first words where it refuses the program.
    """
    program = folder / "network"
    call = [command, *FLAGS, str(folder / "network.c"), "-lm", "-o", str(program)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MappingError(f"the compiler refuses it: {_first_line(done.stderr)}", where=command)
    return program


def run_executable(program: Path, sizes: Sequence[int], inputs: Words) -> Words:
    """The outputs of an executable.

    sizes  words of its outputs

    Raises MappingError where it ends with an error.
    """
    with TemporaryDirectory(dir=program.parent) as folder:
        given, made = Path(folder) / "inputs.bin", Path(folder) / "outputs.bin"
        given.write_bytes(b"".join(words.astype("<f8").tobytes() for words in inputs))
        call = [str(program), "--input", str(given), "--output", str(made)]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MappingError(f"the program ends with {done.returncode}: {_first_line(done.stderr)}", where="run")
        words = np.fromfile(made, "<f8")
    return [words[end - size : end] for end, size in zip(np.cumsum(sizes), sizes, strict=True)]


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "it says nothing")


def run_text(text: str, weights: Array, inputs: Words) -> Words:
    """The outputs of a numpy program."""
    program: dict[str, Any] = {"__name__": "tilewright_network"}
    exec(compile(text, "<network program>", "exec"), program)
    with np.errstate(all="ignore"):  # beyond ragged edges anything may come out, and counts nothing
        outputs, _ = program["run"]([words.astype(np.float64) for words in inputs], weights)
    return list(outputs)


def words_given(named: Mapping[str, Any], expected: Iterable[ModelTensor], where: str) -> dict[str, Array]:
    """The words of all inputs, by who makes them here.

    Raises ProblemError for names that are unknown or missing, and for arrays of another shape.
    """
    every = {one.name: one for one in expected}
    for name in named:
        if name not in every:
            raise ProblemError(f"unknown input {name!r}", where=where, hint=did_you_mean(name, every))
    found = {}
    for name, one in every.items():
        if name not in named:
            message = f"the input {name} is not given; expected numbers of shape {list(one.shape)}"
            raise ProblemError(message, where=where, hint=f'give all of them: run({{"{name}": array, ...}})')
        array = np.asarray(named[name])
        if array.shape != one.shape or array.dtype.kind not in "biuf":
            message = f"the input {name} is {list(array.shape)} of {array.dtype}, expected {list(one.shape)} of numbers"
            raise ProblemError(message, where=where)
        found[one.key] = array.reshape(-1)
    return found


def arrays_made(words: Mapping[str, Array], made: Iterable[ModelTensor]) -> dict[str, Array]:
    """Outputs under the model's names for them, in its shapes and types."""
    return {one.name: words[one.key].reshape(one.shape).astype(np.dtype(one.dtype)) for one in made}
