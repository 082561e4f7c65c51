"""Random programs of whole networks: segmentations, trees and addresses without a search; and how to run them."""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from trees import random_tree

from generators import random_architecture
from onnx_models import saved
from tilewright.arch import Architecture
from tilewright.cost_models import ENERGY, evaluate
from tilewright.ir import Cascade, Mapping, MappingError, Node, NoPlanError, Tree
from tilewright.mapper.answer import Answer
from tilewright.mapper.certificate import Certificate
from tilewright.mapper.emit.lowering.loop_program import WholeLying
from tilewright.mapper.emit.lowering.lowering import lower
from tilewright.mapper.emit.network import (
    NetworkProgram,
    emit_c_network,
    emit_numpy_network,
    network_program,
    network_weights,
    stored_bytes,
)
from tilewright.mapper.emit.network.words.stored import DTYPES
from tilewright.mapper.segmentation import NetworkAnswer, NetworkQuestion, Segment, StayingTensor, WeightsIn
from tilewright.mapper.segmentation.arenas import Resident, WorkingGroup, arenas_of, arenas_of_run
from tilewright.mapper.segmentation.residency import residency_of, rooms_of
from tilewright.mapper.segmentation.resident_weights import ResidentWeights
from tilewright.workloads import load_network
from tilewright.workloads.graph import GraphReading, NetworkGraph, OperationGroup, operation_groups

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="no gcc")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fopenmp"]
SANITIZED = ["-fsanitize=address,undefined"]


def random_answer(
    rng: random.Random,
    graph: NetworkGraph,
    arch: Architecture,
    most: int = 3,
    stays: bool = False,
    weights: bool = False,
) -> NetworkAnswer:
    """Some groups, some tree for each that a C program can be written for, and addresses of its tiles.

    stays    whether some of what may stay on chip between groups does
    weights  whether some weights lie there all the time
    """
    groups = operation_groups(graph, most)
    certificate = Certificate.__new__(Certificate)  # nothing is proven, and programs ask for no proof
    question = NetworkQuestion(graph, arch, ENERGY, "perfect", most=most)
    while True:
        chosen = random_groups(rng, graph, groups)
        residents = random_residents(rng, graph, groups, chosen, arch) if stays else [() for _ in chosen]
        loaded = random_weights(rng, graph, chosen, arch) if weights else [() for _ in chosen]
        residents = [(*each, *others) for each, others in zip(loaded, residents, strict=True)]
        costs: list[Answer | None] = []
        for group, lying in zip(chosen, residents, strict=True):
            own = [(one.own, one.memory) for one in lying if one.own is not None]
            mapping = None if group.cascade is None else written_tree(rng, group.cascade, arch, own)
            if mapping is None and group.cascade is not None:
                break  # other groups may have one
            cost = None if mapping is None else evaluate(mapping, arch, [tensor for tensor, _ in own])
            costs.append(None if mapping is None or cost is None else Answer(mapping, cost, certificate))
        else:
            working = [
                WorkingGroup(None if one is None else one.cost, lying)
                for one, lying in zip(costs, residents, strict=True)
            ]
            try:
                arenas = arenas_of_run(working, arch)
            except NoPlanError:
                continue
            segments = [
                Segment(group.names, one, own, number, tuple((r.own, r.memory) for r in lying if r.own is not None))
                for number, (group, one, own, lying) in enumerate(zip(chosen, costs, arenas, residents, strict=True))
            ]
            names = {one.name for lying in loaded for one in lying}
            staying = tuple(replace(one, is_weight=one.name in names) for one in staying_tensors(residents))
            return NetworkAnswer(question, tuple(segments), None, certificate, len(groups), 0, staying)


def random_groups(rng: random.Random, graph: NetworkGraph, groups: Sequence[OperationGroup]) -> list[OperationGroup]:
    """Some groups, one after the other, that have all operations."""
    found: list[OperationGroup] = []
    start = 0
    while start < len(graph.occurrences):
        found.append(rng.choice([group for group in groups if group.start == start]))
        start = found[-1].end
    return found


def random_residents(
    rng: random.Random,
    graph: NetworkGraph,
    groups: Sequence[OperationGroup],
    chosen: Sequence[OperationGroup],
    arch: Architecture,
) -> list[tuple[Resident, ...]]:
    """What stays on chip while each group works: most of what may and passes between groups."""
    reading = GraphReading(graph)
    residency = residency_of(reading, groups, arch)
    found: list[list[Resident]] = [[] for _ in chosen]
    for place, candidate in residency.candidates.items():
        name = reading.occurrences[place].name
        users = [
            i for i, group in enumerate(chosen) if place in group.places or reading.readers[place] & group_bits(group)
        ]
        first, last = users[0], users[-1]
        if first == last or rng.random() < 0.2:
            continue
        memory = residency.memories[rng.choice(candidate.memories)]
        for number in range(first, last + 1):
            own = chosen[number].tensors[name] if number in users else None
            found[number].append(Resident(name, memory, candidate.bits, own))
    return [tuple(sorted(one, key=lambda resident: resident.name)) for one in found]


def random_weights(
    rng: random.Random, graph: NetworkGraph, chosen: Sequence[OperationGroup], arch: Architecture
) -> list[tuple[Resident, ...]]:
    """The weights of most operations in a memory that may hold them, while each group works."""
    memories = rooms_of(arch).memories
    asked: dict[str, list[str]] = {}
    for occurrence in graph.occurrences:
        if memories and rng.random() < 0.7:
            asked.setdefault(rng.choice(memories), []).append(occurrence.name)
    wanted = []
    for memory, names in asked.items():
        for name in names:  # one by one: some have no weights, or the memory may not hold them, or has no room
            try:
                one = WeightsIn(memory, (name,))
                ResidentWeights(GraphReading(graph), chosen, arch, [*wanted, one], memories)
                wanted.append(one)
            except MappingError:
                continue
    found = ResidentWeights(GraphReading(graph), chosen, arch, wanted, memories)
    residents = []
    for number in range(len(chosen)):
        (weights,) = found.choices(number)
        own = {weight.name: tensor for tensor, weight in weights.items()}
        every = (Resident(one.name, memories[one.memory], one.bits, own.get(one.name)) for one in found.every)
        residents.append(tuple(every))
    return residents


def group_bits(group: OperationGroup) -> int:
    """The places of a group's operations, as bits."""
    return sum(1 << place for place in group.places)


def staying_tensors(residents: Sequence[tuple[Resident, ...]]) -> Iterator[StayingTensor]:
    """What stays, from the first group in which it does to the last."""
    for name in dict.fromkeys(resident.name for lying in residents for resident in lying):
        among = {i: one for i, lying in enumerate(residents) for one in lying if one.name == name}
        one = next(iter(among.values()))
        yield StayingTensor(
            name, one.memory, one.bits, min(among), max(among), tuple(each.buffer for each in among.values())
        )


def written_tree(
    rng: random.Random, cascade: Cascade, arch: Architecture, stays: Sequence[tuple[str, str]] = ()
) -> Mapping | None:
    """A tree that a program can be written for, if one of sixty is.

    stays  tensors that lie whole in some memory
    """
    shapes = {tensor: cascade.extents(tensor) for tensor, _ in stays}
    lying = {tensor: WholeLying(shape, (0,) * len(shape)) for tensor, shape in shapes.items()}
    for _ in range(60):
        mapping = random_tree(rng, cascade, arch)
        try:
            for tensor, memory in stays:
                mapping = Mapping(cascade, kept_whole(mapping.tree, tensor, memory, arch))
            lower(mapping, arch, with_margins=True, lying=lying)
            arenas_of(evaluate(mapping, arch, list(shapes)), arch)
        except MappingError:
            continue
        return mapping
    return None


def kept_whole(tree: Tree, tensor: str, memory: str, arch: Architecture) -> Tree:
    """The tree with a tensor whole in a memory, just inside the outermost one's node."""
    outermost = Node(arch.memories[0].name, tensor)

    def without(tree: Tree) -> Tree:
        kept = (
            item
            for item in tree.items
            if not isinstance(item, Node) or item.tensor != tensor or arch.depth[item.memory] > arch.depth[memory]
        )
        return Tree(tuple(kept), tuple(map(without, tree.branches)), tree.operation)

    found = without(tree)
    return Tree((outermost, Node(memory, tensor), *found.items), found.branches, found.operation)


def built(folder: Path, text: str, *flags: str) -> Path:
    """The program of a text, or the library."""
    source, made = folder / "network.c", folder / f"made{len(list(folder.iterdir()))}"
    source.write_text(text, encoding="ascii")
    command = [str(GCC), *FLAGS, *flags, str(source), "-lm", "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return made


def self_checked(
    folder: Path, program: NetworkProgram, text: str, seed: int, *flags: str, runs: int = 1
) -> subprocess.CompletedProcess[str]:
    """What the program says of itself, under sanitizers."""
    weights = network_weights(program, seed)
    made = built(folder, text, *SANITIZED, *flags)
    (folder / "weights.bin").write_bytes(stored_bytes(program, weights))
    return subprocess.run([made, str(seed), str(runs)], capture_output=True, text=True, check=False, timeout=120)


def as_library(folder: Path, program: NetworkProgram, inputs: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """What `run` computes for these inputs, as the first output."""
    library = ctypes.CDLL(str(built(folder, emit_c_network(program), "-DNO_MAIN", "-shared", "-fPIC")))
    outputs = [np.zeros(program.words[key], DTYPES[program.kind(key).type]) for key in program.outputs]
    library.arena_bytes.restype = ctypes.c_int64
    arena = np.full(library.arena_bytes() // 8 + 1, np.nan)
    pointers = ctypes.c_void_p * max(len(inputs), 1)
    kinds = [DTYPES[program.kind(key).type] for key in program.inputs]
    flat = [np.ascontiguousarray(one, kind) for one, kind in zip(inputs, kinds, strict=True)]
    weights = np.frombuffer(stored_bytes(program, weights), np.uint8)
    library.load(ctypes.c_void_p(weights.ctypes.data), ctypes.c_void_p(arena.ctypes.data))
    library.run(
        pointers(*(one.ctypes.data for one in flat)),
        ctypes.c_void_p(weights.ctypes.data),
        (ctypes.c_void_p * len(outputs))(*(one.ctypes.data for one in outputs)),
        ctypes.c_void_p(arena.ctypes.data),
    )
    return outputs[0].astype(float)


def agrees_with_onnx(model: onnx.ModelProto, folder: Path, seed: int) -> None:
    """The program of a model, cut into some groups on some machine, computes what ONNX's reference implementation does,
    within the precision of the reference, which is single; with every second seed tensors stay on chip, and with two of
    three weights lie there."""
    rng = random.Random(seed)
    graph = load_network(saved(folder, model)).wiring
    assert graph is not None
    arch = random_architecture(rng, capacity=8000)
    program = network_program(random_answer(rng, graph, arch, stays=seed % 2 == 1, weights=seed % 3 > 0))
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


def run_by_numpy(program: NetworkProgram, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of the numpy program, each as a row."""
    names: dict[str, Any] = {"__name__": "network"}
    exec(compile(emit_numpy_network(program, "weights.bin"), "<network>", "exec"), names)
    given = [np.asarray(inputs[key], np.float64) for key in program.inputs]
    return list(names["run"](given, network_weights(program))[0])
