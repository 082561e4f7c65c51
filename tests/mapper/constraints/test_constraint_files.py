"""What users write: the file, the dict and the one line mean the same, and mistakes are told at their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tilewright.arch import load_arch
from tilewright.ir import ConstraintError
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.constraints.files import load_constraints
from tilewright.mapper.constraints.inline import parse_inline
from tilewright.workloads import conv2d, gemm

MACHINE = load_arch("three_level")
GEMM = gemm(M=16, N=16, K=16)
CONV = conv2d(K=8, C=8, P=8, Q=8, R=3, S=3)


def loaded(source: Any, problem: Any = GEMM, arch: Any = MACHINE) -> Constraints:
    return load_constraints(source, problem, arch)


def refused(source: Any, problem: Any = GEMM, arch: Any = MACHINE) -> str:
    with pytest.raises(ConstraintError) as caught:
        load_constraints(source, problem, arch)
    return str(caught.value)


SAME = [
    ("GLB.temporal.K<=4", {"memories": {"GLB": {"temporal": {"K": {"max": 4}}}}}, {"temporal": {("GLB", "K"): (1, 4)}}),
    ("GLB.temporal.K=4", {"memories": {"GLB": {"temporal": {"K": 4}}}}, {"temporal": {("GLB", "K"): (4, 4)}}),
    (
        "DRAM.temporal.relevant(weight)>=2",
        {"memories": {"outermost": {"temporal": {"relevant(W)": {"min": 2}}}}},
        {"temporal": {("DRAM", "K"): (2, None), ("DRAM", "N"): (2, None)}},
    ),
    ("GLB.keep.weight=never", {"memories": {"GLB": {"keep": {"W": "avoid"}}}}, {"keeps": {("GLB", "W"): False}}),
    (
        "RF.keep=must",
        {"memories": {"pe": {"keep": {"output": "must", "others": "prefer"}}}},
        {"keeps": {("RF", "A"): True, ("RF", "W"): True, ("RF", "O"): True}},
    ),
    (
        "GLB.order=N>M,K",
        {"memories": {"GLB": {"order": ["N", ["K", "M"]]}}},
        {"orders": {"GLB": (frozenset("N"), frozenset("MK"))}},
    ),
    (
        "outside(weight).order=others>M",
        {"memories": {name: {"order": ["relevant(weight)", "irrelevant(weight)"]} for name in ("DRAM", "GLB")}},
        {"orders": {name: (frozenset("NK"), frozenset("M")) for name in ("DRAM", "GLB")}},
    ),
    ("array.x.dims=K,M", {"fanouts": {"innermost": {"x": ["all", "not N"]}}}, {"spatial": {("array", 0, "N"): (1, 1)}}),
    (
        "array.y.trips.K>=4",
        {"fanouts": {"array": {"y": {"trips": {"reduction": {"min": 4}}}}}},
        {"spatial": {("array", 1, "K"): (4, None)}},
    ),
    ("array.utilization>=0.5", {"fanouts": {"all": {"utilization": 0.5}}}, {"utilization": {"array": 0.5}}),
    ("utilization>=0.75", {"utilization": 0.75}, {"min_utilization": 0.75}),
]


@pytest.mark.parametrize(("line", "document", "expected"), SAME, ids=[line for line, _, _ in SAME])
def test_all_forms_are_the_same(line: str, document: dict[str, Any], expected: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "constraints.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    wanted = Constraints(**expected)
    assert not wanted.is_free
    for source in (line, parse_inline(line), document, path, str(path), [wanted, document]):
        assert loaded(source) == wanted
    assert loaded(line).name == line


def test_the_whole_form_is_read(tmp_path: Path) -> None:
    text = """
name: mine
description: everything at once
source: nowhere
optional: [Z, shared_buffer]
memories:
  shared_buffer: {temporal: 1}
  GLB:
    keep: {weight: never, others: must}
    temporal: {C: 1, K: {max: 16}, Z: 7, [N]: 1, others: {min: 1, max: 4}}
    order: [[relevant(weight), not K], Z, K]
fanouts:
  array:
    utilization: 0.5
    x: {dims: [K, C], trips: {K: 8}}
    y: irrelevant(weight)
utilization: 0.25
""".replace("[N]", "N")
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    found = loaded(path, CONV)
    assert found.name == "mine"
    assert found.keeps == {("GLB", "W"): False, ("GLB", "I"): True, ("GLB", "O"): True}
    ranges = {"C": (1, 1), "N": (1, 1), "K": (1, 16)} | dict.fromkeys("PQRS", (1, 4))
    assert found.temporal == {("GLB", dim): span for dim, span in ranges.items()}
    assert found.orders == {"GLB": (frozenset("CRS"), frozenset("K"))}
    on_x = dict.fromkeys("NPQRS", (1, 1)) | {"K": (8, 8)}
    expected = {("array", 0, dim): span for dim, span in on_x.items()}
    assert found.spatial == expected | {("array", 1, dim): (1, 1) for dim in "KCRS"}
    assert (found.utilization, found.min_utilization) == ({"array": 0.5}, 0.25)


def test_sources_add_up_and_may_contradict() -> None:
    both = loaded(["GLB.temporal.K<=8", {"memories": {"GLB": {"temporal": {"K": {"min": 2}}}}}, "utilization>=0.5"])
    assert both.temporal == {("GLB", "K"): (2, 8)}
    assert both.name == "GLB.temporal.K<=8 + constraints + utilization>=0.5"
    assert loaded(None).is_free
    assert loaded([]).is_free
    assert "at least 4 and at most 2" in refused(["GLB.temporal.K<=2", "GLB.temporal.K>=4"])
    assert "two orders" in refused(["GLB.order=N>M", "weight-stationary"])


def test_what_the_architecture_decides_is_no_constraint() -> None:
    eyeriss = load_arch("eyeriss")
    assert loaded("spad.keep=must", GEMM, eyeriss).is_free
    assert loaded("all.keep=avoid", GEMM, eyeriss).is_free
    text = refused("GLB.keep.weight=must", GEMM, eyeriss)
    assert "found must, but by the architecture GLB never keeps W" in text
    assert "write prefer" in text
    assert "DRAM must keep A" in refused("all.keep=never")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("GLD.temporal.K<=4", "three_level has no memory 'GLD'\nhint: did you mean 'GLB'?"),
        ("GLB.temporl.K<=4", "did you mean 'temporal'"),
        ("GLB.temporal.R<=4", "memories.GLB.temporal.R: gemm has no dimension 'R'"),
        ("GLB.temporal.relevent(weight)=1", "did you mean 'relevant(weight)'"),
        ("GLB.temporal.relevant(weigth)=1", "did you mean 'weight'"),
        ("innermost(wieght).keep=must", "did you mean 'weight'"),
        ("GLB.temporal.K<=0", "found '0', expected a number of trips"),
        ("GLB.temporal.K=few", "found 'few', expected a number of trips"),
        ("GLB.keep.weights=never", "did you mean 'weight'"),
        ("GLB.keep.weight=nevr", "did you mean 'never'"),
        ("GLB.keep.weight>=never", "found '>=', expected '='"),
        ("GLB.order=N", "found one group, expected groups of dimensions"),
        ("GLB.order=N>K,N", "has N in two of its groups"),
        ("arry.x.dims=K", "did you mean 'array'"),
        ("array.z.dims=K", "cannot read 'array.z.dims'"),
        ("array.utilization>=1.5", "expected a share of at most 1"),
        ("array.utilization<=0.5", "found '<=', expected '>='"),
        ("GLB.temporal.K", "no dataflow is named"),
        ("weight-stationery", "did you mean 'weight-stationary'"),
        ("none.yaml", "none.yaml: no such file, expected a constraints file"),
    ],
)
def test_a_bad_line_is_one_message(line: str, expected: str) -> None:
    assert expected in refused(line)


def test_text_that_is_no_expression_is_refused() -> None:
    with pytest.raises(ConstraintError, match="found no '='"):
        parse_inline("weight-stationary")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("memory: {}", "file.yaml:1: memory: unknown key 'memory'\nhint: did you mean 'memories'?"),
        ("name: x\nmemories:\n  GLB:\n    temporal: {X: 1}", "file.yaml:4: memories.GLB.temporal.X: gemm has no dim"),
        ("memories:\n  GLB: {temporal: {K: {mx: 1}}}", "did you mean 'max'"),
        ("memories:\n  GLB: {temporal: {K: {min: 4, max: 2}}}", "found at least 4 and at most 2 trips"),
        ("memories:\n  GLB: {temporal: {all: 1, K: 2}}", "the trips of K are given twice\nhint: write others"),
        ("memories:\n  GLB: {keep: {all: must, W: never}}", "GLB is to keep W, and is not to"),
        ("memories:\n  GLB: {order: K}", "found 'K', expected groups"),
        ("memories:\n  GLB: {order: [K, M]}\n  all: {order: [M, K]}", "file.yaml:3: memories.all: GLB is given two"),
        ("fanouts:\n  array: {x: {dims: [K], trips: {M: 4}}}", "M has 4 trips or more, and 'dims' leaves it out"),
        ("fanouts: [array]", "found a list, expected fanouts"),
        ("utilization: 80 %", "found '80 %', expected a share"),
        ("", "the file is empty, expected constraints"),
        ("- name: x", "found a list, expected a mapping with name"),
        ("a: *b", "file.yaml:1: the alias"),
    ],
)
def test_a_bad_file_is_one_message_with_its_line(
    text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert expected in refused("file.yaml")


def test_bad_data_is_one_message() -> None:
    assert "memories.GLB.temporal.K: found a NoneType" in refused({"memories": {"GLB": {"temporal": {"K": None}}}})
    assert "constraints: memories.GLB.keep: found 'maybe'" in refused({"memories": {"GLB": {"keep": "maybe"}}})


def test_what_is_optional_may_be_missing_everywhere() -> None:
    """A layer without a tensor Z, a dimension Z and a memory Z: whatever names them alone asks for nothing."""
    memories: dict[str, Any] = {
        "Z": {"keep": "must", "temporal": 1},
        "innermost(Z)": {"temporal": 1},
        "outside(Z)": {"temporal": 1},
        "GLB": {"keep": {"Z": "never"}, "temporal": {"Z": 4, "relevant(Z)": 2}, "order": ["Z", "all"]},
    }
    fanouts = {"Z": {"x": "K"}, "array": {"x": {"trips": {"Z": 4}}}}
    document = {"memories": memories, "fanouts": fanouts}
    assert loaded({"optional": ["Z"]} | document).is_free
    for section, entries in document.items():
        for name, entry in entries.items():
            assert "'Z'" in refused({section: {name: entry}})


def test_an_axis_that_is_not_there_has_to_be_optional() -> None:
    flat = MACHINE.model_copy(
        update={
            "levels": tuple(
                level.model_copy(update={"axes": level.axes[:1]}) if level.kind == "fanout" else level
                for level in MACHINE.levels
            )
        }
    )
    document = {"fanouts": {"array": {"y": "K"}}}
    assert "array has one axis, x" in refused(document, GEMM, flat)
    assert loaded({"optional": ["y"]} | document, GEMM, flat).is_free
