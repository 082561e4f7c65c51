"""Hostile files and absurd sizes: refused, or dealt with in little time and memory, measured in another process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright as tw
from generators import memory
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac
from tilewright.arch.loader import parse_arch
from tilewright.arch.sweeps import MOST_POINTS, parse_sweep
from tilewright.ir import MappingError, ProblemError
from tilewright.mapper.constraints.files import load_constraints
from tilewright.mapper.emit import emit_timeloop
from tilewright.mapper.timeloop import read_timeloop
from tilewright.run.documents.mappings import load_mapping

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
YAML = {
    "bomb": (BOMB, "the alias '*a0' is not allowed"),
    "code": ("network: !!python/object/apply:os.system ['echo evil']\n", "the tag"),
    "own tag": ("network: !evil x\n", "the tag '!evil' is not allowed"),
    "deep": ("[" * 3000 + "]" * 3000, "nested more than 20 deep"),
    "deep mappings": ("".join(f"{' ' * n}a:\n" for n in range(200)), "nested more than 20 deep"),
    "twice": ("levels: [x]\nlevels: [y]\n", "twice"),
    "merged": ("levels:\n  - <<: {memory: DRAM}\n", "<<"),
    "documents": ("a: 1\n---\nb: 2\n", "a second document"),
    "character": ("name: a\x07b\n", "found the character"),
    "large": ("#" * 2**20 + "\na: 1\n", "larger than 1 MiB"),
    "not text": ("\ud800", "not"),
}


@pytest.mark.parametrize("kind", YAML)
@pytest.mark.parametrize("what", ["arch", "network", "constraints", "mapping", "timeloop"])
def test_hostile_yaml_is_refused_by_every_reader(tmp_path: Path, what: str, kind: str) -> None:
    path = tmp_path / "file.yaml"
    text, expected = YAML[kind]
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    readers = {
        "arch": lambda: tw.load_arch(path),
        "network": lambda: tw.load_network(path),
        "constraints": lambda: load_constraints(path, tw.gemm(M=2, N=2, K=2), tw.load_arch("eyeriss")),
        "mapping": lambda: tw.evaluate(path, tw.gemm(M=2, N=2, K=2), "eyeriss"),
        "timeloop": lambda: read_timeloop([path]),
    }
    with pytest.raises(tw.TilewrightError) as refused:
        readers[what]()
    known = ("unknown key", "missing", "expected") if kind in ("merged", "not text") else ()
    assert any(word in str(refused.value) for word in (expected, *known))


def test_numbers_that_are_none_are_refused() -> None:
    text = (Path(tw.load_arch.__globals__["_LIBRARY"]) / "three_level.yaml").read_text()
    for number in ("nan", ".inf", "1e999", "-1", "0x10", "9" * 4400, "1_000", "٣"):
        with pytest.raises(tw.TilewrightError):
            parse_arch(text.replace("clock: ", f"clock: {number} MHz #"))
    with pytest.raises(MappingError, match="cannot read"):
        tw.LoopNest.parse(f"for K in {'9' * 5000}")
    assert len(parse_sweep("clock=1MHz:900000000MHz:+1MHz").values) == MOST_POINTS + 1  # which `points` refuses
    with pytest.raises(MappingError):
        tw.evaluate("levels: [" + "9" * 5000 + "]\n", tw.gemm(M=2, N=2, K=2), "eyeriss")
    with pytest.raises(MappingError, match="larger than 16 MiB"):
        load_mapping(Path("/dev/zero"))


def simple_machine() -> Architecture:
    fanout = Fanout(name="array", axes=(ArrayAxis(size=4), ArrayAxis(size=3)))
    levels = (memory("DRAM"), memory("GLB"), fanout)
    return Architecture(name="a", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0), footprint="box")


def test_two_levels_of_one_name_in_timeloops_files() -> None:
    text = emit_timeloop(tw.search(tw.gemm(M=4, N=3, K=2), simple_machine()).mapping, simple_machine())
    with pytest.raises(MappingError, match="two levels are named DRAM"):
        read_timeloop(texts=[("case.yaml", text.replace("GLB", "DRAM"))])


@pytest.mark.parametrize("split", ["-0.5", "1e3", "x", "", "9" * 5000])
def test_a_split_of_timeloop_that_is_no_number(split: str) -> None:
    arch = simple_machine()
    text = emit_timeloop(tw.search(tw.gemm(M=4, N=3, K=2), arch).mapping, arch)
    assert re.search(r"split: \d+", text)
    with pytest.raises(MappingError, match="expected a number of dimensions"):
        read_timeloop(texts=[("case.yaml", re.sub(r"split: \d+", f"split: {split}", text))])
    with pytest.raises(MappingError, match="expected a dimension and its factor"):
        read_timeloop(texts=[("case.yaml", re.sub(r"factors: \[M=\d+", f"factors: [M={'9' * 5000}", text))])


ABSURD = {
    "many divisors": "tw.gemm(M=166320, N=166320, K=166320)",
    "long": "tw.gemm(M=2**50, N=2, K=2)",
    "many dimensions": "tw.einsum('abcdefgh,abcdefgh->ab', **{c: 60 for c in 'abcdefgh'})",
    "windows": "tw.conv2d(K=1, C=1, P=10**7, Q=10**7, R=3, S=3, stride=2, dilation=3)",
    "stride": "tw.conv2d(K=4, C=4, P=8, Q=8, R=3, S=3, stride=10**15)",
}
PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
import tilewright as tw
from tilewright.ir import TilewrightError
for tiling in ("perfect", "ragged"):
    for problem in ({problems}):
        for run in (tw.search, lambda *words, **how: tw.search(*words, strategy="random", **how)):
            try:
                print(run(problem, "three_level", tiling=tiling, time_limit=0.3))
            except TilewrightError as error:
                print(error.message.splitlines()[0])
# Not ru_maxrss: that begins with what the process which started this one had.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are those of Linux")
def test_absurd_layers_are_refused_in_little_memory() -> None:
    program = PROGRAM.format(problems=", ".join(ABSURD.values()))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    *answers, most_kib = done.stdout.splitlines()
    assert len(answers) == 2 * 2 * len(ABSURD)
    assert int(most_kib) < 2**20


def test_batches_refuse_absurd_layers() -> None:
    with pytest.raises(ProblemError, match=r"expected 2\^22"):
        tw.search_many([tw.conv2d(K=1, C=1, P=10**7, Q=10, R=3, S=3)], "three_level", cache=False)


@pytest.mark.long
def test_four_million_combinations_of_divisors_are_searched_on_coarse_tables() -> None:
    found = tw.search(tw.gemm(M=166320, N=166320, K=166320), "eyeriss", "edp", "perfect", time_limit=120.0)
    assert found.certificate.proven
