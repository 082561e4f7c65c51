"""Emitted C compiles without a warning and computes the layer, under sanitizers, with threads, whatever the names."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from emitted import random_case
from generators import memory, tensor
from tilewright import search
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory, load_arch
from tilewright.ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem, Tensor
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


OWN = """run direct direct0 main random_element agree seconds difference ELEMENTS GENERATIONS IS_INPUT TENSORS
OUTPUTS OUTPUT EXACT LARGEST POINTS RATE RUN""".split()  # noqa: SIM905


def joined(programs: list[str]) -> str:
    """One file that runs the checks of many programs: what each defines gets a number, what all share is kept once."""
    shared = max((text[text.index("#define _POSIX") : text.index("/* The schedule.")] for text in programs), key=len)
    head = "".join(text[: text.index("#define _POSIX")] for text in programs) + shared
    body = checks = ""
    for number, text in enumerate(programs):
        own = text[text.index("/* The schedule.") :]
        body += re.sub(rf"\b({'|'.join(OWN)})\b", rf"\1_{number}", own)
        checks += f"    failed += main_{number}(argc, argv);\n"
    return f"{head}{body}\nint main(int argc, char **argv)\n{{\n    int failed = 0;\n{checks}    return failed;\n}}\n"


@pytest.mark.some(1)
@needs_gcc
@pytest.mark.parametrize("block", range(4))
def test_random_mappings_compute_the_layer(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers on the stack and allocated ones, threads and none, all copies and some, in every type."""
    element = ("float", "double", "int32", "float")[block]
    monkeypatch.setattr("tilewright.mapper.emit.c.schedule.LARGEST_ON_STACK", 8 if block % 2 else 1024)
    monkeypatch.setattr("tilewright.mapper.emit.lowering.bands.LEAST_PARALLEL_MACS", 1 if block >= 2 else 10**9)
    programs = []
    for seed in range(block * 12, block * 12 + 12):
        case = random_case(seed)
        programs.append(emit_c(case.mapping, case.arch, element, case.copied))  # type: ignore[arg-type]
    assert any("#pragma omp parallel" in text for text in programs) == (block >= 2)
    sanitized = [f"-O{block % 2}", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    threads = ["-fopenmp"] if block >= 2 else []
    program = compiled(write(tmp_path, joined(programs)), *sanitized, *threads)
    done = run(program, str(block), "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("OK: all") == 12


@pytest.mark.long
@needs_gcc
def test_a_real_layer_on_a_real_machine(tmp_path: Path) -> None:
    result = search("resnet50:layer1.0.conv1", "eyeriss")
    text = emit_c(result.mapping, result.arch)
    assert "#pragma omp simd" in text
    program = compiled(write(tmp_path, text), "-O3", "-fopenmp")
    done = run(program, "7", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    first, schedule, plain = done.stdout.splitlines()
    assert first == "OK: all 200704 outputs agree"
    assert re.fullmatch(r"schedule +\S+ s +\S+ GMAC/s", schedule)
    assert re.fullmatch(r"plain loops +\S+ s +\S+ GMAC/s", plain)


def cores() -> Architecture:
    levels = (
        memory("DRAM"),
        Fanout(name="cores", axes=(ArrayAxis(size=4),)),
        memory("L2", keeps=MAY),
        memory("L1", keeps=MAY),
    )
    return Architecture(name="cores", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))


@pytest.mark.some(1)
@needs_gcc
@pytest.mark.parametrize("flags", [(), ("-fopenmp",)])
def test_threads_have_buffers_of_their_own(
    flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilewright.mapper.emit.c.schedule.LARGEST_ON_STACK", 256)
    problem = conv2d(K=16, C=8, P=13, Q=14, R=3, S=3, stride=2, groups=2)
    text = """
        DRAM keeps I W O
        for G in 2
          parallel P in 4 on cores.x
            for C in 2
              L2 keeps I W O
              for K in 2
                L1 keeps I O
                for R in 3
                  for S in 3
                    for C in 2
                      for P in 4
                        for K in 4
                          for Q in 14
    """
    emitted = emit_c(Mapping(problem, LoopNest.parse(text)), cores(), "int32")
    loop = emitted[emitted.index("#pragma omp parallel for") :]
    assert "allocate(" in loop[: loop.index("The same operation")]
    done = run(compiled(write(tmp_path, emitted), "-O2", "-fsanitize=address,undefined", *flags))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("OK: all 2912 outputs")


@pytest.mark.parametrize(
    ("dim", "trips", "expected"),
    [
        ("N", 4, "#pragma omp parallel for"),
        ("K", 4, "the instances of every spatial loop add to the same outputs"),
        ("N", 1, "no loop of the mapping is spatial"),
    ],
)
def test_the_loop_that_threads_share(dim: str, trips: int, expected: str) -> None:
    inner = 64 // trips
    nest = f"DRAM keeps A W O\nparallel {dim} in {trips} on cores.x\nfor {dim} in {inner}\nfor M in 64"
    other = "K" if dim == "N" else "N"
    mapping = Mapping(gemm(M=64, N=64, K=64), LoopNest.parse(f"{nest}\nfor {other} in 64"))
    assert expected in emit_c(mapping, cores())


def test_little_work_is_not_shared() -> None:
    nest = "DRAM keeps A W O\nfor M in 64\nparallel N in 4 on cores.x\nfor N in 16\nfor K in 64"
    text = emit_c(Mapping(gemm(M=64, N=64, K=64), LoopNest.parse(nest)), cores())
    assert "One thread: the spatial loops hold too little work." in text


@needs_gcc
def test_a_wrong_schedule_fails(tmp_path: Path) -> None:
    case = random_case(3)
    mapping, arch = case.mapping, case.arch
    text = emit_c(mapping, arch)
    head, end = text.split("/* The same operation", 1)
    at = head.rindex(" += ")
    program = compiled(write(tmp_path, f"{head[:at]} -= {head[at + 4 :]}/* The same operation{end}"))
    done = run(program, "1")
    assert done.returncode == 1
    assert done.stdout.startswith("FAILED: element ")


@needs_gcc
def test_run_can_be_called_from_another_file(tmp_path: Path) -> None:
    mapping = Mapping(gemm(M=2, N=2, K=2), LoopNest.parse("DRAM keeps A W O\nfor M in 2\nfor N in 2\nfor K in 2"))
    write(tmp_path, emit_c(mapping, cores()))
    text = """
        #define NO_MAIN
        #include "schedule.c"
        int main(void)
        {
            const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
            float c[4];
            run(a, b, c);
            return !(c[0] == 19 && c[1] == 22 && c[2] == 43 && c[3] == 50);
        }
    """
    assert run(compiled(write(tmp_path, text, "caller.c"))).returncode == 0


HOSTILE = [
    "x */ int main(void) { return 3; } /*",
    "*//",
    "/*/ ??/",
    "trailing \\",
    "%s%n",
    "naïve \u2603 \ud800",
    '"',
    "x\n#error enemy",
    "int",
    "run",
    "errno",
    "???/",
    "",
]


@needs_gcc
def test_hostile_names_stay_names(tmp_path: Path) -> None:
    """Every name of everything, one enemy after the other; names that differ in case or punctuation alone, too."""
    programs = []
    for poison in HOSTILE:
        name = [poison + str(i) * (i > 0) for i in range(12)]
        problem = Problem(
            name[0],
            ((name[1], 4), (name[2], 3), (name[3], 2)),
            (
                tensor(name[4], "input", name[1], name[3]),
                tensor(name[5], "weight", name[3], name[2]),
                tensor(name[6], "output", name[1], name[2]),
            ),
        )
        levels = (memory(name[9]), Fanout(name=name[10], axes=(ArrayAxis(size=4),)), memory(name[11], keeps=MAY))
        fields = {"name": name[7], "description": name[8], "clock_hz": 1e9, "word_bits": 8, "levels": levels}
        arch = Architecture.model_validate({**fields, "mac": Mac(energy_pj=1.0)})
        top, low = ([Node(name[i], tensor) for tensor in name[4:7]] for i in (9, 11))
        loops = (Loop(name[2], 3), Loop(name[1], 2, Axis(name[10])))
        nest = LoopNest((*top, *loops, *low, Loop(name[1], 2), Loop(name[3], 2)))
        programs.append(emit_c(Mapping(problem, nest), arch))
    done = run(compiled(write(tmp_path, joined(programs))), "1", "1")
    assert done.returncode == 0, done.stdout + done.stderr


def test_sums_that_no_check_can_hold_are_refused() -> None:
    problem = gemm(M=1, N=1, K=2**29)
    mapping = Mapping(problem, LoopNest.parse(f"DRAM keeps A W O\nfor K in {2**29}"))
    with pytest.raises(MappingError, match="not exact in elements of type float") as error:
        emit_c(mapping, cores())
    assert "double" in str(error.value.hint)
    assert "#define LARGEST 4" in emit_c(mapping, cores(), "double")
    assert "#define LARGEST 1" in emit_c(mapping, cores(), "int32")
    with pytest.raises(MappingError, match="unknown kind of element 'half'"):
        emit_c(mapping, cores(), "half")  # type: ignore[arg-type]


def test_emission_is_deterministic() -> None:
    case = random_case(5)
    mapping, arch = case.mapping, case.arch
    assert emit_c(mapping, arch) == emit_c(mapping, arch)


@pytest.mark.long
@needs_gcc
def test_arrays_lie_in_the_layouts_that_a_machine_states(tmp_path: Path) -> None:
    """Those of the caller and packed tiles, in random orders of their ranks, blocks last."""
    programs = []
    for seed in range(16):
        case, rng = random_case(seed), random.Random(seed)
        problem = case.mapping.problem
        levels = [
            level.model_copy(
                update={"line_bits": 64 * 8, "layouts": {t.name: random_layout(rng, t) for t in problem.tensors}}
            )
            if isinstance(level, Memory) and not level.block_bits
            else level
            for level in case.arch.levels
        ]
        arch = case.arch.model_copy(update={"levels": tuple(levels)})
        programs.append(emit_c(case.mapping, arch, "int32", case.copied))
    assert any("Layouts" in text for text in programs)
    program = compiled(write(tmp_path, joined(programs)), "-O1", "-fsanitize=address,undefined")
    done = run(program, "3", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("OK: all") == 16


def random_layout(rng: random.Random, of: Tensor) -> str:
    names = [rank[0][0] for rank in of.ranks]
    rng.shuffle(names)
    blocks = [f"{rng.choice(names)}{rng.choice([2, 3])}" for _ in range(rng.choice([0, 1]))]
    return ",".join([*names, *blocks]) if len(names) + len(blocks) > 1 else names[0]


def test_the_caller_packs_by_layout(tmp_path: Path) -> None:
    """The output of run() lies channels last where the outermost memory says so."""
    arch = load_arch("three_level", {"DRAM.line": "64 B"})
    problem = conv2d(K=4, C=2, P=3, Q=5, R=1, S=1)
    found = search(problem, arch, tiling="perfect", layout={"O": "NHWC"})
    text = emit_c(found.mapping, found.arch)
    assert "DRAM keeps O[n, k, p, q]: 1 x 3 x 5 x 4" in text
    assert "DRAM keeps I[n, c, p+r, q+s]: 1 x 2 x 3 x 5" in text
    assert "Layouts       O NHWC" in text
