"""Wrong input of every kind: each reader reads it, or refuses it with a message; none crashes, hangs or prints."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

import tilewright as tw
from fuzzing import as_yaml, from_tagged, read_or_refused, some, to_tagged
from generators import memory
from mutations import HOSTILE_TEXTS, mangled, mutated
from onnx_models import model_of
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac
from tilewright.arch.loader import parse_arch
from tilewright.arch.sweeps import parse_sweep
from tilewright.arch.system import parse_system
from tilewright.cost_models import parse_objective
from tilewright.cost_models.gpu.machine import parse_gpu
from tilewright.ir.limits import check_countable
from tilewright.mapper.constraints.files import load_constraints
from tilewright.mapper.emit import emit_timeloop
from tilewright.mapper.mapping_files import read_mapping_file
from tilewright.mapper.timeloop import read_timeloop
from tilewright.workloads import conv_from_text, einsum_from_text, gemm_from_text, load_network

ROOT = Path(__file__).parent.parent.parent
ARCHS = [(ROOT / "arch" / "library" / f"{name}.yaml").read_text() for name in ("eyeriss", "simba", "systolic")]
SYSTEMS = [(ROOT / "arch" / "systems" / f"{name}.yaml").read_text() for name in ("h100_pcie_x8", "tpu_v4")]
NETWORKS = [(ROOT / "workloads" / "networks" / f"{name}.yaml").read_text() for name in ("alexnet", "bert_base")]
DATAFLOWS = [path.read_text() for path in sorted((ROOT / "mapper" / "constraints" / "dataflows").glob("*.yaml"))]
GPU = (ROOT / "cost_models" / "gpu" / "machines" / "a100.yaml").read_text()
MAPPING = """\
conv: K=4,C=4,P=6,Q=6,R=3,S=3
arch: eyeriss
levels:
  - memory: DRAM
    keep: [I, W, O]
    loops: [P=6, K=4]
  - memory: GLB
    keep: [I, O]
    loops: [C=2]
  - fanout: array
    y: [C=2, S=3]
    x: [Q=6]
  - memory: spad
    keep: [I, W, O]
    loops: [R=3]
"""
LAYER = tw.conv2d(K=4, C=4, P=6, Q=6, R=3, S=3)


@cache
def found() -> tw.SearchResult:
    return tw.search(LAYER, "eyeriss")


@cache
def timeloop_case() -> str:
    fanout = Fanout(name="array", axes=(ArrayAxis(size=4), ArrayAxis(size=3)))
    levels = (memory("DRAM"), memory("GLB", size_bits=2**16), fanout, memory("spad", size_bits=2**10))
    arch = Architecture(
        name="simple", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0), footprint="box"
    )
    return emit_timeloop(tw.search(tw.gemm(M=8, N=6, K=4), arch).mapping, arch)


def trees_and_texts(*texts: str) -> st.SearchStrategy[str]:
    """YAML files made wrong: by their structure, and by their characters."""
    trees = [from_tagged(text) for text in texts]
    return st.sampled_from(trees).flatmap(mutated).map(as_yaml) | st.sampled_from(texts).flatmap(mangled)


@some(60)
@given(trees_and_texts(*ARCHS))
def test_architectures(text: str) -> None:
    arch = read_or_refused(lambda: parse_arch(text))
    if arch is not None:
        assert parse_arch(text) == arch


@some(60)
@given(trees_and_texts(*SYSTEMS))
def test_systems(text: str) -> None:
    system = read_or_refused(lambda: parse_system(text))
    if system is not None:
        assert parse_system(text) == system


@some(50)
@given(trees_and_texts(*NETWORKS))
def test_networks(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("n") / "net.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    network = read_or_refused(lambda: load_network(path))
    if network is not None:
        assert network.macs > 0


@some(60)
@given(trees_and_texts(*DATAFLOWS))
def test_constraints(text: str) -> None:
    def read() -> Any:
        from tilewright.mapper.constraints.files import _read, resolve

        return resolve(_read(text, "mine.yaml"), LAYER, tw.load_arch("eyeriss"))

    read_or_refused(read)


@some(60)
@given(trees_and_texts(MAPPING))
def test_mapping_files(text: str) -> None:
    read_or_refused(
        lambda: tw.evaluate(read_mapping_file(text, "m.yaml").mapping(LAYER, tw.load_arch("eyeriss")), "eyeriss")
    )


@some(60)
@given(mutated(from_tagged(timeloop_case())).map(as_yaml))
def test_timeloop_trees(text: str) -> None:
    read_or_refused(lambda: read_timeloop(texts=[("case.yaml", to_tagged(text))]))


@some(60)
@given(mangled(timeloop_case()))
def test_timeloop_texts(text: str) -> None:
    imported = read_or_refused(lambda: read_timeloop(texts=[("case.yaml", text)]))
    if imported is not None:
        read_or_refused(lambda: tw.evaluate(imported.mapping, imported.arch))


@some(60)
@given(trees_and_texts(GPU))
def test_gpus(text: str) -> None:
    read_or_refused(lambda: parse_gpu(text, "gpu.yaml"))


@some(80)
@given(st.data())
def test_documents(data: st.DataObject) -> None:
    import json

    original = found().emit("json")
    text = data.draw(mangled(original) | mutated(json.loads(original)).map(json.dumps))
    loaded = read_or_refused(lambda: tw.load_mapping("{" + text.lstrip("{")))
    if loaded is not None:
        read_or_refused(lambda: tw.evaluate(loaded.mapping, loaded.arch))


@some(60)
@given(mangled(str(found().mapping)))
def test_nests(text: str) -> None:
    nest = read_or_refused(lambda: tw.LoopNest.parse(text))
    if nest is not None:
        mapping = read_or_refused(lambda: tw.Mapping(LAYER, nest))
        if mapping is not None:
            read_or_refused(lambda: tw.evaluate(mapping, "eyeriss"))


WORDS = (
    *("K=64,C=64,P=56,Q=56,R=3,S=3,stride=2", "M=512,N=768,K=3072", "mk,kn->mn", "m=64,n=64,k=32", "bhqd,bhkd->bhqk"),
    *(
        "energy * latency ** 0.5",
        "max(energy, 2 * latency)",
        "latency,energy",
        "energy where latency <= 20000 and energy<=3",
    ),
    *("GLB.temporal.K<=16", "GLB.order=N>K,C>P", "array.x.trips.K>=4", "innermost(output).temporal.reduction=1"),
    *("GLB.size=32KiB:1MiB:x2", "array=8x8,12x14,16x16", "clock=200 MHz:1 GHz:+200 MHz", "[1, 2]", "{a: 1}", "108 KiB"),
)


@some(250)
@given(st.sampled_from(WORDS).flatmap(mangled))
def test_words_of_the_command_line(text: str) -> None:
    eyeriss = tw.load_arch("eyeriss")
    for read in (conv_from_text, gemm_from_text, parse_objective, parse_sweep):
        read_or_refused(lambda read=read: read(text))
    read_or_refused(lambda: einsum_from_text(text, "m=4,n=4,k=4"))
    read_or_refused(lambda: einsum_from_text("mk,kn->mn", text))
    read_or_refused(lambda: load_constraints([{"name": text}, text] if "\n" in text else text, LAYER, eyeriss))
    read_or_refused(lambda: tw.load_arch("eyeriss", set={"GLB.size": text, "array": text}))
    if text and "\x00" not in text and len(text) < 200:
        read_or_refused(lambda: tw.load_arch("eyeriss", set={text: "4"}))
        read_or_refused(lambda: tw.load_layer(text))


@some(60)
@given(st.lists(st.tuples(st.text(max_size=3) | st.sampled_from(HOSTILE_TEXTS), st.integers(-1, 2**70)), max_size=4))
def test_problems_of_any_size(dims: list[tuple[str, int]]) -> None:
    def make() -> None:
        names = [name for name, _ in dims]
        ranks = tuple(((name, 1),) for name in names)
        tensors = (tw.gemm(M=1, N=1, K=1).tensors[0].__class__("A", ranks, "input"),)
        problem = tw.Problem("p", tuple(dims), (*tensors, tensors[0].__class__("O", ranks[:1], "output")))
        check_countable(problem)

    read_or_refused(make)


NODES = [
    helper.make_node("Conv", ["x", "w"], ["a"], "conv", strides=[2, 2], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["a"], ["b"], "relu"),
    helper.make_node("Reshape", ["b", "shape"], ["c"], "flat"),
    helper.make_node("MatMul", ["c", "v"], ["d"], "product"),
    helper.make_node("Einsum", ["d", "v"], ["y"], "einsum", equation="ij,ki->kj"),
]


@cache
def model_bytes() -> bytes:
    import numpy as np

    stored = {"w": [8, 3, 3, 3], "v": [128, 128], "shape": np.array([1, -1])}
    model = model_of(NODES, {"x": [1, 3, 8, 8]}, stored=stored)
    data: bytes = model.SerializeToString()
    return data


@st.composite
def damaged(draw: st.DrawFn, original: bytes) -> bytes:
    data = bytearray(original)
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, len(data) - 1))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            data[place] = draw(st.integers(0, 255))
        elif kind == 1:
            del data[place : place + draw(st.integers(1, 20))]
        elif kind == 2:
            data[place:place] = draw(st.binary(min_size=1, max_size=6))
        else:
            data[place] ^= 1 << draw(st.integers(0, 7))
        if not data:
            return b""
    return bytes(data)


@settings(some(60), suppress_health_check=[HealthCheck.too_slow])
@given(damaged(model_bytes()))
def test_onnx_files(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("o") / "model.onnx"
    path.write_bytes(data)
    network = read_or_refused(lambda: load_network(path))
    if network is not None:
        for layer in network.layers:
            read_or_refused(lambda layer=layer: check_countable(layer.problem))
