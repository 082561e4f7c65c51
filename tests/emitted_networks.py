"""Random programs of whole networks: segmentations, trees and addresses without a search; and how to run them."""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from trees import random_tree

from generators import random_architecture
from onnx_models import saved
from tilewright.arch import Architecture
from tilewright.cost_models import ENERGY
from tilewright.cost_models.cascades import evaluate_tree
from tilewright.ir import Cascade, FusedMapping, MappingError
from tilewright.mapper.certificate import Certificate
from tilewright.mapper.emit.network import (
    NetworkProgram,
    emit_c_network,
    network_program,
    network_weights,
    weights_bytes,
)
from tilewright.mapper.emit.tree_lowering import lower_tree
from tilewright.mapper.fusing import FusedAnswer
from tilewright.mapper.segmentation import NetworkAnswer, NetworkQuestion, Segment
from tilewright.mapper.segmentation.arenas import arenas_of
from tilewright.workloads import load_network
from tilewright.workloads.graph import NetworkGraph, operation_groups

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="no gcc")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fopenmp"]
SANITIZED = ["-fsanitize=address,undefined"]


def random_answer(rng: random.Random, graph: NetworkGraph, arch: Architecture, most: int = 3) -> NetworkAnswer:
    """Some groups, some tree for each that a C program can be written for, and addresses of its tiles."""
    groups = operation_groups(graph, most)
    certificate = Certificate.__new__(Certificate)  # nothing is proven, and programs ask for no proof
    segments: list[Segment] = []
    start = 0
    while start < len(graph.occurrences):
        group = rng.choice([group for group in groups if group.start == start])
        if group.cascade is None:
            segments.append(Segment(group.names, None, (), len(segments)))
        else:
            mapping = written_tree(rng, group.cascade, arch)
            if mapping is None:
                continue  # another group may have one
            cost = evaluate_tree(mapping, arch)
            answer = FusedAnswer(mapping, cost, certificate)
            segments.append(Segment(group.names, answer, arenas_of(cost, arch), len(segments)))
        start = group.end
    question = NetworkQuestion(graph, arch, ENERGY, "perfect", most=most)
    return NetworkAnswer(question, tuple(segments), None, certificate, len(groups), 0)


def written_tree(rng: random.Random, cascade: Cascade, arch: Architecture) -> FusedMapping | None:
    """A tree that a program can be written for, if one of sixty is."""
    for _ in range(60):
        mapping = random_tree(rng, cascade, arch)
        try:
            lower_tree(mapping, arch, with_margins=True)
            arenas_of(evaluate_tree(mapping, arch), arch)
        except MappingError:
            continue
        return mapping
    return None


def built(folder: Path, text: str, *flags: str) -> Path:
    """The program of a text, or the library."""
    source, made = folder / "network.c", folder / f"made{len(list(folder.iterdir()))}"
    source.write_text(text, encoding="ascii")
    command = [str(GCC), *FLAGS, *flags, str(source), "-lm", "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return made


def self_checked(
    folder: Path, program: NetworkProgram, text: str, seed: int, *flags: str
) -> subprocess.CompletedProcess[str]:
    """What the program says of itself, under sanitizers."""
    weights = network_weights(program, seed)
    made = built(folder, text, *SANITIZED, *flags)
    (folder / "weights.bin").write_bytes(weights_bytes(weights))
    return subprocess.run([made, str(seed), "1"], capture_output=True, text=True, check=False, timeout=120)


def as_library(folder: Path, program: NetworkProgram, inputs: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """What `run` computes for these inputs, as the first output."""
    library = ctypes.CDLL(str(built(folder, emit_c_network(program), "-DNO_MAIN", "-shared", "-fPIC")))
    output = np.full(program.words[program.outputs[0]], np.nan)
    threads = 8  # as many as an arena has parts for, where threads share loops
    arena = np.full(program.plan.height + threads * sum(program.heights.values()) + 64, np.nan)
    pointers = ctypes.c_void_p * max(len(inputs), 1)
    flat = [np.ascontiguousarray(one, float) for one in inputs]
    library.run(
        pointers(*(one.ctypes.data for one in flat)),
        ctypes.c_void_p(weights.ctypes.data),
        (ctypes.c_void_p * 1)(output.ctypes.data),
        ctypes.c_void_p(arena.ctypes.data),
    )
    return output


def agrees_with_onnx(model: onnx.ModelProto, folder: Path, seed: int) -> None:
    """The program of a model, cut into some groups on some machine, computes what ONNX's reference implementation does,
    within the precision of the reference, which is single."""
    rng = random.Random(seed)
    graph = load_network(saved(folder, model)).wiring
    assert graph is not None
    program = network_program(random_answer(rng, graph, random_architecture(rng, capacity=8000)))
    done = self_checked(folder, program, emit_c_network(program), seed)
    assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"
    inputs = model_inputs(model, seed, dict(zip(program.inputs, program.rows_named, strict=True)))
    given = [inputs[key].astype(np.float64) for key in program.inputs]
    found = as_library(folder, program, given, network_weights(program))
    (expected,) = ReferenceEvaluator(model).run(None, inputs)
    np.testing.assert_allclose(found, expected.ravel(), rtol=2e-4, atol=2e-5)


def model_inputs(model: onnx.ModelProto, seed: int, rows: dict[str, int]) -> dict[str, np.ndarray]:
    """Random inputs of a model; rows has, of indices, how many rows they choose among, counted from either end."""
    rng = np.random.default_rng(seed)
    found = {}
    for given in model.graph.input:
        shape = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
        count = rows[given.name]
        words = rng.integers(-count, count, shape) if count else rng.standard_normal(shape)
        found[given.name] = words.astype(onnx.helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type))
    return found
