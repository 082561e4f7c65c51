"""C programs of networks on machines with caches: tiles of registers, copies in the order in which they are read, and
tensors that lie as who makes them has it compute what numpy does, to the last bit."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from emitted_networks import built, needs_gcc, random_answer, self_checked
from test_emit_networks import NETWORKS, graph_of, run_agrees

import tilewright
from generators import random_architecture
from longer import TIMES
from tilewright.arch import Architecture, Memory, load_arch
from tilewright.mapper.emit.lowering.loop_program import RegisterTile, statements_of
from tilewright.mapper.emit.network import NetworkProgram, emit_c_network, network_program
from tilewright.mapper.emit.network.c import group


def with_caches(arch: Architecture, rng: random.Random) -> Architecture:
    """The machine with some memories that are caches."""
    inner = arch.memories[1:]
    caches = {memory.name for memory in inner[: rng.randint(1, len(inner))]}
    levels = (
        level.model_copy(update={"is_cache": True}) if isinstance(level, Memory) and level.name in caches else level
        for level in arch.levels
    )
    return arch.model_copy(update={"levels": tuple(levels)})


def register_tiles(program: NetworkProgram) -> list[RegisterTile]:
    every = (one for group in program.programs for one in statements_of(group.body))
    return [one for one in every if isinstance(one, RegisterTile)]


@needs_gcc
@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(4 * TIMES))
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_computes_what_numpy_does(name: str, seed: int, tmp_path: Path) -> None:
    """The program's own check under sanitizers, and `run` beside the whole network as one cascade in numpy."""
    rng = random.Random(seed)
    arch = with_caches(random_architecture(rng, capacity=4000), rng)
    program = network_program(random_answer(rng, graph_of(tmp_path, name), arch, most=1 + seed % 2 * 2, stays=True))
    done = self_checked(tmp_path, program, emit_c_network(program), seed)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "OK: all outputs agree" in done.stdout
    run_agrees(name, tmp_path, program, seed)
    assert seed % 2 or register_tiles(program)


@pytest.mark.long
@needs_gcc
def test_threads_share_the_outermost_tiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However little is in them; the outputs stay equal."""
    monkeypatch.setattr(group, "LEAST_PARALLEL_MACS", 1)
    rng = random.Random(0)
    arch = with_caches(random_architecture(rng, capacity=4000), rng)
    program = network_program(random_answer(rng, graph_of(tmp_path, "images"), arch, most=1))
    text = emit_c_network(program)
    assert text.count("#pragma omp parallel for") >= sum(bool(group.tiles_shared(one)) for one in program.programs) > 0
    done = self_checked(tmp_path, program, text, 0, "-DTHREADS=3")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@needs_gcc
def test_compilers_without_vectors_take_arrays(tmp_path: Path) -> None:
    rng = random.Random(2)
    arch = with_caches(random_architecture(rng, capacity=4000), rng)
    program = network_program(random_answer(rng, graph_of(tmp_path, "images"), arch, most=1))
    text = emit_c_network(program).replace(
        "#ifdef __GNUC__\ntypedef element lanes", "#ifdef NOTHING\ntypedef element lanes"
    )
    assert "#ifdef NOTHING" in text
    done = self_checked(tmp_path, program, text, 0)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_gcc
@pytest.mark.parametrize(("lanes", "says"), [(16, True), (4, False)])
def test_a_program_planned_for_wider_vectors_says_so(lanes: int, says: bool, tmp_path: Path) -> None:
    """Both for processors of 128 bits, which gcc takes unless it is told more."""
    path = tmp_path / "one.yaml"
    up = "{name: up, op: gemm, M: 4, N: 32, K: 8, weight: true}"
    path.write_text(f"network: one\nlayers: [{up}]\ngraph: [up]\n", encoding="utf-8")
    arch = load_arch("cpu", set={"lanes": lanes})
    tilewright.compile(path, arch, tiling="perfect", fuse="none", workers=1).save_program(tmp_path, element="float")
    made = built(tmp_path, (tmp_path / "network.c").read_text(encoding="ascii"))
    done = subprocess.run([made], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    note = "note: planned for vectors of 16 elements, compiled for 4"
    assert done.stdout.startswith(note) == ("--set lanes=4 --set vectors=" in done.stdout) == says
