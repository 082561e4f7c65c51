"""Programs whose operands are packed, 2:4 or with bitmasks, compute what direct ones do, exactly on whole numbers."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from test_emit_c import STRICT, compiled, needs_gcc, run, write

import longer
from generators import random_architecture, random_mapping, tensor
from tilewright.arch import Architecture, load_arch
from tilewright.cost_models.sparse import with_densities
from tilewright.ir import Mapping, Problem
from tilewright.mapper.emit import emit_c, emit_numpy, verify_numpy
from tilewright.mapper.emit.numpy.runtime_packed import PackedZeros, packed, unpacked, with_zeros
from tilewright.mapper.exact.search import search_exact
from tilewright.workloads import gemm


def random_packed(seed: int) -> tuple[Mapping, Architecture]:
    """A small product with a random mapping; weights of N:M, or with bitmasks, inputs with bitmasks."""
    rng = random.Random(seed)
    dims = (("M", rng.choice([1, 3, 4])), ("N", rng.choice([2, 5])), ("K", rng.choice([4, 6, 8])))
    tensors = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N"))
    weights = rng.choice(["2:4", "1:4", "2:3@N", "0.4"])
    problem = with_densities(Problem("gemm", dims, tensors), {"W": weights, "I": 0.5})
    arch = random_architecture(rng)
    formats = {"weight": ("blocks", "bitmask"), "input": ("bitmask",) if rng.random() < 0.5 else ("csr",)}
    outermost = arch.memories[0].model_copy(update={"formats": formats})
    arch = arch.model_copy(update={"levels": (outermost, *arch.levels[1:])})
    return random_mapping(rng, problem, arch, ragged=seed % 2 == 1), arch


@pytest.mark.some(2)
@needs_gcc
@pytest.mark.parametrize("seed", range(6))
def test_c_with_packed_operands(seed: int, tmp_path: Path) -> None:
    mapping, arch = random_packed(seed)
    text = emit_c(mapping, arch, "int32" if seed % 2 else "float")
    assert "w_at(" in text
    program = compiled(write(tmp_path, text), "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    done = run(program, str(seed), "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "OK" in done.stdout


@pytest.mark.parametrize("seed", longer.seeds(12))
def test_numpy_with_packed_operands(seed: int) -> None:
    mapping, arch = random_packed(seed)
    text = emit_numpy(mapping, arch)
    assert "PACKED" in text
    assert verify_numpy(mapping, arch, seed)
    assert verify_numpy(mapping, arch, seed, floats=True)


def test_what_is_packed_comes_back() -> None:
    """And more nonzero words than blocks have room for are refused."""
    array = np.random.default_rng(1).integers(-3, 4, (3, 10, 2))
    for zeros in (PackedZeros(0.4, 0, 0, 0), PackedZeros(0.0, 2, 4, 1), PackedZeros(0.0, 1, 3, 0)):
        sparse = with_zeros(array, zeros, 3)
        assert (unpacked(packed(sparse, zeros)) == sparse).all()
        assert (sparse != array).any()
    with pytest.raises(ValueError, match="more than 1 of 3"):
        packed(np.ones((3, 3)), PackedZeros(0.0, 1, 3, 0))


@pytest.mark.long
@needs_gcc
def test_two_of_four_as_searched(tmp_path: Path) -> None:
    problem = with_densities(gemm(32, 16, 32), {"W": "2:4"})
    mapping, _, _ = search_exact(problem, load_arch("sparse_tensor_core"))
    program = compiled(write(tmp_path, emit_c(mapping, load_arch("sparse_tensor_core"), "int32")), "-O2")
    assert run(program, "1", "1").returncode == 0
    assert STRICT
