"""Emitted C compiles without a warning and computes the layer, under sanitizers, with threads, whatever the names."""

from __future__ import annotations

import itertools
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from generators import memory, random_architecture, random_mapping, random_problem, tensor
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, load_arch
from tilewright.ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem
from tilewright.mapper.emit import emit_c
from tilewright.workloads import conv2d, gemm

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="no gcc")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
MAY = Keeps(input="may", weight="may", output="may")


def compiled(source: Path, *flags: str) -> Path:
    program = source.with_suffix("")
    done = subprocess.run(
        [str(GCC), *STRICT, *flags, str(source), "-o", str(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False, timeout=120)


def write(folder: Path, text: str, name: str = "schedule.c") -> Path:
    source = folder / name
    source.write_text(text, encoding="ascii")
    return source


def random_case(seed: int, **options: object) -> tuple[Mapping, Architecture, random.Random]:
    for attempt in range(100):
        rng = random.Random(seed * 100 + attempt)
        problem, arch = random_problem(rng), random_architecture(rng)
        try:
            mapping = random_mapping(rng, problem, arch)
            emit_c(mapping, arch)
        except MappingError:
            continue
        return mapping, arch, rng
    raise AssertionError("no mapping found")


def joined(programs: list[str]) -> str:
    """One file that runs the checks of many programs: their names are told apart, their common part is kept once."""
    head, checks = "", ""
    body = ""
    for number, text in enumerate(programs):
        begin, end = text.index("/* The schedule."), text.index("/* ---- main")
        head = text[text.index("#define _POSIX") : begin]
        own = text[begin:end]
        for name in ("run", "direct", "ELEMENTS", "MACS", "ARRAYS", "LARGEST", "RUN", "DIRECT"):
            own = re.sub(rf"\b{name}\b(?!\()|\b{name}(?=\()", f"{name}_{number}", own)
        own = own.replace("/* ", f"/* {number}: ")
        main = text[end:]
        for name in ("main", "ELEMENTS", "MACS", "ARRAYS", "LARGEST", "RUN", "DIRECT"):
            main = re.sub(rf"\b{name}\b", f"{name}_{number}", main)
        for name in ("random_element", "seconds", "difference"):
            main = re.sub(rf"\b{name}\b", f"{name}_{number}", main)
        body += own + main
        checks += f"    failed += main_{number}(argc, argv);\n"
    return f"{head}{body}\nint main(int argc, char **argv)\n{{\n    int failed = 0;\n{checks}    return failed;\n}}\n"


@needs_gcc
@pytest.mark.parametrize("block", range(4))
def test_random_mappings_compute_the_layer(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers on the stack and allocated ones, threads and none, all copies and some, in every type."""
    element = ("float", "double", "int32", "float")[block]
    monkeypatch.setattr("tilewright.mapper.emit.c_schedule.LARGEST_ON_STACK", 8 if block % 2 else 1024)
    monkeypatch.setattr("tilewright.mapper.emit.c_schedule.LEAST_PARALLEL_MACS", 1 if block >= 2 else 10**9)
    programs = []
    for seed in range(block * 25, block * 25 + 25):
        mapping, arch, rng = random_case(seed)
        names = [m.name for m in arch.memories]
        copied = None if seed % 3 else rng.sample(names, rng.randint(0, len(names)))
        programs.append(emit_c(mapping, arch, element, copied))  # type: ignore[arg-type]
    assert any("#pragma omp parallel" in text for text in programs) == (block >= 2)
    sanitized = ["-g0", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    threads = ["-fopenmp"] if block >= 2 else []
    program = compiled(write(tmp_path, joined(programs)), *sanitized, *threads)
    done = run(program, str(block), "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("OK: all") == 25
