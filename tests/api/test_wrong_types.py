"""Arguments of a wrong type are errors of ours that name the argument; numbers of numpy are numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from batches import NETWORK

WRONG: tuple[Any, ...] = (3, 1.5, None, [3], {3: 4}, b"x", object(), np.float64(1.5))
LAYER, ARCH = tw.gemm(4, 4, 4), tw.load_arch("three_level")
PAIR = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=2, n=2, k=2, p=2)
ONE: Any = {"workers": 1, "cache": False}


def mapping() -> tw.SearchResult:
    return tw.search(LAYER, ARCH)


# Argument -> a call with it, how messages name it, and values of a wrong type that it takes all the same.
CALLS: dict[str, tuple[Callable[[Any], object], str, tuple[object, ...]]] = {
    "bits": (lambda x: tw.gemm(4, 4, 4, bits=x), "bits", (None,)),
    "size": (lambda x: tw.gemm(x, 4, 4), "M is", (3,)),
    "spec": (lambda x: tw.einsum(x, m=4), "the spec is", ()),
    "sizes": (lambda x: tw.einsum("mk,kn->mn", x, m=4, k=4, n=4), "sizes", (None,)),
    "layer": (lambda x: tw.load_layer(x), "the layer is", ()),
    "network": (lambda x: tw.load_network(x), "the network is", ()),
    "dims": (lambda x: tw.load_network("alexnet", x), "dims is|given|unknown dimension", (None,)),
    "load_arch": (lambda x: tw.load_arch(x), "the architecture is", ()),
    "set": (lambda x: tw.load_arch("eyeriss", x), "set", (None,)),
    "load_mapping": (lambda x: tw.load_mapping(x), "the mapping is", ()),
    "operations": (lambda x: tw.cascade(x, m=2), "the operations|an operation is", ()),
    "operation": (lambda x: tw.cascade([x], m=2), "an operation is", ()),
    "cascade's sizes": (lambda x: tw.cascade(["T[m] += A[m,k]"], x), "sizes|size", ()),
    "cascade_of": (lambda x: tw.cascade_of(x, "conv1"), "the network is", ()),
    "cascade_of layers": (lambda x: tw.cascade_of("alexnet", x), "the layers", ()),
    "cascade's arch": (lambda x: tw.search(PAIR, x), "the architecture is", ()),
    "fuse": (lambda x: tw.search(PAIR, ARCH, fuse=x), "fuse", (None,)),
    "buffers": (lambda x: tw.plan_memory(x), "buffers|a buffer|the file", ()),
    "capacity": (lambda x: tw.plan_memory([("x", 0, 2, 8)], x), "the capacity is", (3, None)),
    "in_place": (lambda x: tw.plan_memory([("x", 0, 2, 8)], in_place=x), "in_place|a pair is", ()),
    "simulate": (lambda x: tw.simulate(x, ARCH), "the mapping is", ()),
    "simulate on": (lambda x: tw.simulate(mapping().mapping, x), "the architecture is", ()),
    "nest text": (lambda x: tw.LoopNest.parse(x), "the nest is", ()),
    "tree text": (lambda x: tw.Mapping.parse(PAIR, x), "the tree is", ()),
    "tree's cascade": (lambda x: tw.Mapping.parse(x, "for M in 4"), "the work of", ()),
    "Mapping": (lambda x: tw.Mapping(LAYER, x), "the nest of a mapping", ()),
    "Mapping's problem": (lambda x: tw.Mapping(x, mapping().mapping.nest), "the work of", ()),
    "Mapping's lines": (lambda x: tw.Mapping(LAYER, tw.LoopNest((x,))), "a line of the nest", ()),
    "Cascade": (lambda x: tw.Cascade("pair", x), "the operations of a cascade", ()),
    "Cascade's": (lambda x: tw.Cascade("pair", (x,)), "an operation of", ()),
    "Problem": (lambda x: tw.Problem("layer", x, ()), "the dimensions of", ()),
    "Problem's": (lambda x: tw.Problem("layer", (("M", 4),), (x,)), "a tensor of", ()),
    "Mapping's tree": (lambda x: tw.Mapping(PAIR, x), "the tree of", ()),
    "problem": (lambda x: tw.search(x, ARCH), "the problem is", ()),
    "arch": (lambda x: tw.search(LAYER, x), "the architecture is", ()),
    "objective": (lambda x: tw.search(LAYER, ARCH, x), "objective", ()),
    "tiling": (lambda x: tw.search(LAYER, ARCH, tiling=x), "tiling", (None,)),
    "space": (lambda x: tw.search(LAYER, ARCH, space=x), "space", ()),
    "strategy": (lambda x: tw.search(LAYER, ARCH, strategy=x), "strategy", ()),
    "seed": (lambda x: tw.search(LAYER, ARCH, strategy="random", seed=x, time_limit=0), "the seed is", (3, None)),
    "time_limit": (lambda x: tw.search(LAYER, ARCH, time_limit=x), "the time limit is", (3, 1.5, None)),
    "memory_limit": (lambda x: tw.search(LAYER, ARCH, memory_limit=x), "the memory limit is", (3,)),
    "constraints": (lambda x: tw.search(LAYER, ARCH, constraints=x), "constraint", (None,)),
    "store": (lambda x: tw.search(LAYER, ARCH, store=x), "the store is", (None,)),
    "top": (lambda x: tw.search_top(LAYER, ARCH, x), "the number of mappings is", (3,)),
    "layers": (lambda x: tw.search_many(x, ARCH, **ONE), "layers is|the problem is", ()),
    "workers": (lambda x: tw.search_many([LAYER], ARCH, workers=x, cache=False), "the number of workers is", (3, None)),
    "scheduler": (lambda x: tw.search_many([LAYER], ARCH, scheduler=x, cache=False), "the scheduler is", (None,)),
    "networks": (lambda x: tw.compare(x, ["eyeriss"], **ONE), "networks is|the network is", ()),
    "archs": (lambda x: tw.compare(["alexnet"], x, **ONE), "archs is|the architecture is", ()),
    "dataflows": (lambda x: tw.compare(["alexnet"], ["eyeriss"], x, **ONE), "dataflows is|a dataflow is", ()),
    "sweeps": (lambda x: tw.explore("alexnet", "eyeriss", x, **ONE), "sweeps is|a sweep is", ()),
    "explored": (lambda x: tw.explore("alexnet", x, ["array=2x2"], **ONE), "the architecture is", ()),
    "settings": (lambda x: tw.explore("alexnet", "eyeriss", ["array=2x2"], settings=x, **ONE), "set", (None,)),
    "evaluate": (lambda x: tw.evaluate(x), "the mapping is", ()),
    "evaluate on": (lambda x: tw.evaluate(mapping().mapping, x), "the architecture is|no architecture is", ()),
    "explain": (lambda x: tw.explain(x), "the mapping is", ()),
    "form": (lambda x: mapping().emit(x), "unknown form", ()),
    "element": (lambda x: mapping().emit("c", element=x), "element", (None,)),
    "copied": (lambda x: mapping().emit("c", copied=x), "copied is|cannot copy", (None,)),
    "folder": (lambda x: mapping().save(x), "the folder is", ()),
    "floats": (lambda x: mapping().verify(x), "the seed is", (3,)),
}


@pytest.mark.some(20)
@pytest.mark.parametrize("argument", CALLS)
def test_a_wrong_type_is_an_error_that_names_the_argument(argument: str) -> None:
    call, message, taken = CALLS[argument]
    for value in WRONG:
        if any(value is one or (type(value) is type(one) and value == one) for one in taken):
            continue
        if argument == "time_limit" and isinstance(value, float):
            continue
        with pytest.raises(tw.TilewrightError, match=message):
            call(value)


def test_numbers_of_numpy_are_numbers() -> None:
    layer = tw.gemm(np.int64(4), np.int32(4), np.uint8(4), bits={"weight": np.int8(4)})
    assert layer == tw.gemm(4, 4, 4, bits={"weight": 4})
    assert all(type(size) is int for _, size in layer.dims)
    strided = tw.conv2d(K=np.int64(4), C=2, P=4, Q=1, R=3, S=1, stride=np.int64(2))
    assert strided == tw.conv2d(K=4, C=2, P=4, Q=1, R=3, S=1, stride=2)
    assert tw.search(layer, ARCH, time_limit=np.float64(9), memory_limit=np.int64(2**28)).certificate.proven
    assert len(tw.search_top(layer, ARCH, np.int64(2))) == 2


@pytest.mark.long
def test_a_network_stands_for_its_layers(tmp_path: Path) -> None:
    path = tmp_path / "tiny.yaml"
    path.write_text(NETWORK.format(name="tiny"), encoding="utf-8")
    network = tw.load_network(path)
    expected = tw.search_many([layer.problem for layer in network.layers], ARCH, **ONE)
    assert len(expected) == 4
    for given in (network, path, str(path)):
        found = tw.search_many(given, ARCH, **ONE)
        assert [one.cost for one in found] == [one.cost for one in expected]  # type: ignore[union-attr]
    (alone,) = tw.search_many(f"{path}:conv", ARCH, **ONE)
    assert isinstance(alone, tw.SearchResult)
    assert alone.problem.name == "tiny:conv"
    with pytest.raises(tw.TilewrightError, match=r"unknown network 'resnet51'(.|\n)*did you mean 'resnet50'"):
        tw.search_many("resnet51", ARCH, **ONE)


@pytest.mark.parametrize("share", ["0.38095238095238093", "0.5", "0.00010000000000000000000001"])
def test_a_share_may_have_many_decimals(share: str) -> None:
    found = tw.search(tw.gemm(16, 16, 16), ARCH, constraints=f"array.utilization>={share}")
    assert (
        found.certificate.constraints
        == tw.search(
            tw.gemm(16, 16, 16), ARCH, constraints={"fanouts": {"array": {"utilization": float(share)}}}
        ).certificate.constraints
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": 3}, r"Architecture\.name: found 3, expected a valid string"),
        ({"name": "mine", "clok_hz": 1}, r"Architecture\.clok_hz: unknown field"),
        ({"name": "mine"}, r"Architecture\.clock_hz: missing"),
        (
            {"name": "mine", "clock_hz": 1, "word_bits": 8, "levels": (), "mac": {"energy_pj": 1}},
            "Architecture: the outermost level must be a memory",
        ),
    ],
)
def test_an_architecture_made_by_hand_says_what_is_wrong(fields: dict[str, object], message: str) -> None:
    with pytest.raises(tw.TilewrightError, match=f"^{message}$"):
        tw.Architecture(**fields)  # type: ignore[arg-type]


def test_an_architecture_is_made_of_named_fields() -> None:
    with pytest.raises(tw.TilewrightError, match="found 'eyeriss' without a name"):
        tw.Architecture("eyeriss")  # type: ignore[call-arg]


def test_nothing_is_saved_where_no_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = tw.search(tw.gemm(4, 4, 4), ARCH)
    with pytest.raises(tw.TilewrightError, match="the folder is '', expected the path of a folder"):
        result.save("")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tw.explain(tw.search(PAIR, ARCH, fuse="none"), objective="energy"), "objective: it is for searches"),
        (lambda: tw.explain(mapping(), changes=False, space="uneven"), "space: it is for searches"),
        (lambda: tw.explain(mapping(), ARCH), "a result has its own layer and architecture"),
        (lambda: tw.evaluate(mapping().mapping, "alexnet:conv1", ARCH), "the mapping is of gemm, and not of the layer"),
        (lambda: tw.load_network("alexnet", widths="arch"), "widths belong to ONNX files"),
        (lambda: tw.compare(["alexnet"], ["eyeriss"], widths="arch"), "only ONNX files have widths"),
        (lambda: tw.compare(["alexnet"], ["eyeriss"], store="x.sqlite3", cache=False), "a store is given, and without"),
        (lambda: tw.search_pareto(LAYER, ARCH, fuse="none"), "one layer has nothing to fuse"),
        (lambda: tw.load_layer("alexnet:conv3+conv4"), r"tw\.cascade_of\('alexnet', 'conv3\+conv4'\)"),
    ],
)
def test_nothing_is_passed_over_in_silence(call: Callable[[], object], message: str) -> None:
    with pytest.raises(tw.TilewrightError, match=message):
        call()


@pytest.mark.long
def test_more_workers_than_searches_are_no_harm() -> None:
    """They are made when there is something to do for them, and not a million at once."""
    found = tw.search_many([tw.gemm(2, 2, 2)], ARCH, workers=10**30, cache=False)
    assert isinstance(found[0], tw.SearchResult)
