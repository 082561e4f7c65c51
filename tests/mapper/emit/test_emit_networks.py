"""C programs of whole networks: random segmentations, trees and addresses compute what numpy does."""

from __future__ import annotations

import ctypes
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emitted_networks import SANITIZED, as_library, built, needs_gcc, random_answer, self_checked
from small_networks import SMALL
from trees import random_tree

import tilewright as tw
from generators import random_architecture
from longer import TIMES
from tilewright.ir import Mapping, MappingError, TilewrightError
from tilewright.mapper.emit import emit_numpy
from tilewright.mapper.emit.lowering import bands
from tilewright.mapper.emit.lowering.lifetimes import arrays_of, live_buffers, tightened
from tilewright.mapper.emit.lowering.loop_program import Allocate, For, Statement
from tilewright.mapper.emit.lowering.lowering import lower
from tilewright.mapper.emit.network import (
    NetworkProgram,
    emit_c_network,
    network_program,
    network_weights,
    weights_bytes,
)
from tilewright.mapper.emit.network.c.group import threads_of
from tilewright.workloads import cascade_of, load_network
from tilewright.workloads.graph import NetworkGraph

ONE_BLOCK = SMALL["words"].replace("[h.0, h.1]", "[h.0]").replace(", repeat: 2", "")
NETWORKS = {
    "images": (SMALL["images"], "stem..head+b0.downsample"),
    "words": (ONE_BLOCK, "norm1..add2"),
    "queries": (SMALL["queries"], "q_proj+k_proj+v_proj+qk+softmax+av+o_proj"),
}

CASES = {"images": 1, "words": 1, "queries": 2}


def graph_of(folder: Path, name: str) -> NetworkGraph:
    path = folder / f"{name}.yaml"
    path.write_text(NETWORKS[name][0], encoding="utf-8")
    graph = load_network(path).wiring
    assert graph is not None
    return graph


def in_numpy(name: str, folder: Path, program: NetworkProgram, inputs: list[np.ndarray], weights: np.ndarray) -> Any:
    """All tensors of the network as one cascade, each operation done after the other."""
    whole = cascade_of(load_network(folder / f"{name}.yaml"), NETWORKS[name][1])
    arch = tw.load_arch("three_level")
    lines = [f"{arch.memories[0].name} keeps {' '.join(whole.tensors)}"]
    for operation in whole:
        lines += [f"branch {operation.name}", *(f"  for {dim} in {size}" for dim, size in operation.problem.dims)]
    reference: dict[str, Any] = {"__name__": "reference"}
    exec(compile(emit_numpy(Mapping.parse(whole, "\n".join(lines)), arch), "<program>", "exec"), reference)
    operands = {one.name.split(": ")[1]: weights[one.offset : one.offset + one.words] for one in program.weights}
    operands |= dict(zip(program.inputs, inputs, strict=True))
    shapes = reference["OPERANDS"]
    return reference["direct"]({key: operands[key].reshape(shape) for key, shape in shapes.items()})


def run_agrees(name: str, folder: Path, program: NetworkProgram, seed: int) -> None:
    """`run` beside the whole network as one cascade in numpy, on random words."""
    values = np.random.default_rng(seed)
    inputs = [values.standard_normal(program.words[key]) for key in program.inputs]
    weights = values.standard_normal(sum(weight.words for weight in program.weights))
    found = as_library(folder, program, inputs, weights)
    expected = in_numpy(name, folder, program, inputs, weights)
    last = next(reversed(program.calls)).cascade.operations[-1].output.name
    np.testing.assert_allclose(found, expected[last].ravel(), rtol=1e-9)


@pytest.mark.some(1)
@needs_gcc
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_computes_what_numpy_does(name: str, tmp_path: Path) -> None:
    """The program's own check, and `run` beside the whole network as one cascade in numpy."""
    planned = 0
    for seed in range(CASES[name] * TIMES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        rng = random.Random(seed)
        arch = random_architecture(rng, capacity=4000)
        program = network_program(random_answer(rng, graph_of(folder, name), arch))
        text = emit_c_network(program)
        assert "malloc" not in text.split("the check:")[0].replace("posix_memalign", "")
        done = self_checked(folder, program, text, seed)
        assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"
        assert "OK: all outputs agree" in done.stdout
        run_agrees(name, folder, program, seed)
        planned += sum(one.is_planned for group in program.programs for one in group.addresses.values())
    assert planned


@pytest.mark.long
@needs_gcc
@pytest.mark.parametrize("name", CASES)
def test_what_stays_on_chip_lies_at_one_planned_address(name: str, tmp_path: Path) -> None:
    """Programs of plans in which tensors stay between groups, under sanitizers, with every tile in the arena in turn.
    None of these tensors has a place in the outermost memory, and nothing overwrites them."""
    stay = 0
    for seed in range(CASES[name] * TIMES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        rng = random.Random(seed)
        arch = random_architecture(rng, capacity=4000)
        answer = random_answer(rng, graph_of(folder, name), arch, stays=True)
        program = network_program(answer)
        done = self_checked(folder, program, emit_c_network(program), seed, *(["-DPLANNED"] if seed % 2 == 0 else []))
        assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"
        for one in answer.staying:
            where = program.staying[one.name]
            assert one.name not in program.plan.offsets
            for number in range(one.first, one.last + 1):
                for call in (call for call in program.calls if call.number == number + 1):
                    found = call.program.addresses.get(where.arena)
                    for array, begin in found.offsets.items() if found is not None else ():
                        assert begin + array.elements <= where.offset or where.end <= begin
        stay += len(answer.staying)
    assert stay


@pytest.mark.long
@needs_gcc
@pytest.mark.parametrize("name", CASES)
def test_weights_that_lie_on_chip_are_loaded_once(name: str, tmp_path: Path) -> None:
    """Runs one after the other find them where they were brought once: nothing else ever lies there."""
    loaded = 0
    for seed in range(CASES[name] * TIMES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        rng = random.Random(seed)
        arch = random_architecture(rng, capacity=20_000)
        program = network_program(random_answer(rng, graph_of(folder, name), arch, stays=True, weights=True))
        text = emit_c_network(program)
        flags = ["-DPLANNED"] if seed % 2 else []
        done = self_checked(folder, program, text, seed, *flags, runs=3)
        assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"
        run = text.split("\nvoid run(")[1].split("\n}")[0]
        offsets = {weight.name: weight.offset for weight in program.weights}
        assert not any(f"weights + {offsets[key]}," in run for key in program.loaded)
        run_agrees(name, folder, program, seed)
        loaded += len(program.loaded)
    assert loaded


@pytest.mark.long
@needs_gcc
@pytest.mark.parametrize("level", ["-O2", *(["-O0", "-O1", "-O3", "-Os"] if TIMES > 1 else [])])
def test_compilers_keep_what_groups_write(level: str, tmp_path: Path) -> None:
    """gcc 12 lost stores of a group that it had made part of run(): restrict pointers were addresses in one arena."""
    for seed in range(3, 3 + TIMES):
        rng = random.Random(seed)
        arch = random_architecture(rng, capacity=rng.choice([600, 2000, 4000]))
        program = network_program(random_answer(rng, graph_of(tmp_path, "words"), arch, stays=True))
        (tmp_path / "weights.bin").write_bytes(weights_bytes(network_weights(program, seed)))
        file = built(tmp_path, emit_c_network(program), level, "-Wno-array-bounds")
        done = subprocess.run([file, str(seed), "1"], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"


@pytest.mark.some(1)
@needs_gcc
@pytest.mark.parametrize("seed", [1, 3])
def test_threads_share_instances(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops over instances that write apart, however little is in them; every tile at its address, each thread's apart
    from the others'."""
    monkeypatch.setattr(bands, "LEAST_PARALLEL_MACS", 1)
    rng = random.Random(seed)
    program = network_program(
        random_answer(rng, graph_of(tmp_path, "queries"), random_architecture(rng, capacity=4000))
    )
    loops = [loop for group in program.programs for loop in threads_of(group)]
    text = emit_c_network(program)
    assert text.count("#pragma omp parallel for") == len(loops) > 0
    assert " * THREADS];" in text
    done = self_checked(tmp_path, program, text, seed, "-DPLANNED", "-DTHREADS=5")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@needs_gcc
def test_floats_and_times_and_files(tmp_path: Path) -> None:
    """Elements of single precision; how long each step takes; inputs and expected outputs from files."""
    rng = random.Random(2)
    program = network_program(
        random_answer(rng, graph_of(tmp_path, "queries"), random_architecture(rng, capacity=4000))
    )
    text = emit_c_network(program, "float")
    assert "typedef float element;" in text
    done = self_checked(tmp_path, program, text, 0, "-DTIMES")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\nstep\t") == len(program.steps)
    weights = network_weights(program)
    inputs = [np.random.default_rng(0).uniform(-1, 1, program.words[key]) for key in program.inputs]
    expected = in_numpy("queries", tmp_path, program, inputs, weights)["o_proj"].ravel()
    (tmp_path / "weights.bin").write_bytes(weights.tobytes())
    np.concatenate(inputs).astype("<f4").tofile(tmp_path / "in.bin")
    file = built(tmp_path, emit_c_network(program), *SANITIZED)

    def ran(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([file, *options], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    expected.tofile(tmp_path / "good.bin")
    good = ran("--input", "in.bin", "--expected", "good.bin", "--output", "out.bin")
    assert "OK: all outputs agree" in good.stdout
    np.testing.assert_allclose(np.fromfile(tmp_path / "out.bin"), expected, rtol=1e-5)
    (expected * 1.01).tofile(tmp_path / "bad.bin")
    assert ran("--input", "in.bin", "--expected", "bad.bin").returncode == 1
    assert "weights.bin has" in ran("--input", "weights.bin").stderr
    assert ran("--input", "nowhere.bin").returncode == 2
    assert ran("--what").stderr.startswith("usage:")


@needs_gcc
def test_the_check_finds_what_is_wrong(tmp_path: Path) -> None:
    rng = random.Random(1)
    program = network_program(
        random_answer(rng, graph_of(tmp_path, "queries"), random_architecture(rng, capacity=4000))
    )
    text = emit_c_network(program)
    broken = text.replace("to[at] = 0", "to[at] = 1").replace("+= exp(", "+= 1 + exp(", 1)
    assert broken != text
    done = self_checked(tmp_path, program, broken, 0)
    assert done.returncode == 1
    assert "FAILED: outputs differ" in done.stdout
    (tmp_path / "weights.bin").write_bytes(b"12345678" * 3)
    program_file = built(tmp_path, text)
    done = subprocess.run([program_file], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "weights.bin has 24 bytes, expected 120 doubles or as many floats" in done.stderr
    (tmp_path / "weights.bin").unlink()
    done = subprocess.run([program_file], capture_output=True, text=True, check=False, timeout=60)
    assert "weights.bin\nThese are the parameters of the network" in done.stderr


def test_what_is_made_outside_is_named(tmp_path: Path) -> None:
    text = """
    network: odd
    graph:
      - first
      - {name: gather, op: outside, reads: first, shape: [4, 4]}
      - second
    layers:
      - {name: first, op: gemm, M: 4, N: 4, K: 4, weight: true}
      - {name: second, op: gemm, M: 4, N: 4, K: 4, weight: true}
    """
    path = tmp_path / "odd.yaml"
    path.write_text(text, encoding="utf-8")
    graph = load_network(path).wiring
    assert graph is not None
    rng = random.Random(0)
    answer = random_answer(rng, graph, random_architecture(rng))
    with pytest.raises(TilewrightError, match="how gather comes from what is read there is not stated"):
        network_program(answer)


def test_buffers_live_no_longer_than_they_are_used() -> None:
    """Statements stay the same ones, every buffer begins before it is used, and they live for a shorter time in all."""

    def flat(body: tuple[Statement, ...]) -> list[Statement]:
        return [s for each in body for s in (flat(each.body) if isinstance(each, For) else [each])]

    def check_begun(body: tuple[Statement, ...], begun: frozenset[object]) -> None:
        for each in body:
            if isinstance(each, Allocate):
                begun |= {each.buffer}
            elif isinstance(each, For):
                check_begun(each.body, begun)
            else:
                assert {array for array in arrays_of(each) if array.is_local} <= begun

    before = later = 0
    for seed in range(30):
        rng = random.Random(seed)
        whole = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "U[m,n] = exp(T[m,n])", "O[m,p] += U[m,n] * C[n,p]"], SIZES)
        arch = random_architecture(rng)
        try:
            body = lower(random_tree(rng, whole, arch), arch).body
        except MappingError:
            continue
        after = tightened(body)
        assert sorted(map(repr, flat(after))) == sorted(map(repr, flat(body)))
        check_begun(after, frozenset())
        before += sum(b.upper - b.lower for b in live_buffers(body).values())
        later += sum(b.upper - b.lower for b in live_buffers(after).values())
    assert 0 < later < before


SIZES = {"m": 4, "n": 4, "k": 3, "p": 2}


@needs_gcc
def test_threads_with_an_arena_each_call_it_side_by_side(tmp_path: Path) -> None:
    rng = random.Random(4)
    program = network_program(
        random_answer(rng, graph_of(tmp_path, "queries"), random_architecture(rng, capacity=4000))
    )
    library = ctypes.CDLL(str(built(tmp_path, emit_c_network(program), "-DNO_MAIN", "-shared", "-fPIC")))
    weights = network_weights(program)
    words = program.plan.height + 8 * sum(program.heights.values()) + 64

    def computed(seed: int) -> list[np.ndarray]:
        """Outputs of several calls, ctypes holding no lock meanwhile."""
        given = np.random.default_rng(seed)
        arena, found = np.full(words, np.nan), []
        for _ in range(50):
            inputs = [given.uniform(-1, 1, program.words[key]) for key in program.inputs]
            output = np.full(program.words[program.outputs[0]], np.nan)
            library.run(
                (ctypes.c_void_p * len(inputs))(*(one.ctypes.data for one in inputs)),
                ctypes.c_void_p(weights.ctypes.data),
                (ctypes.c_void_p * 1)(output.ctypes.data),
                ctypes.c_void_p(arena.ctypes.data),
            )
            found.append(output)
        return found

    alone = [computed(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(computed, range(4)))
    np.testing.assert_array_equal(together, alone)
    assert np.isfinite(alone).all()
