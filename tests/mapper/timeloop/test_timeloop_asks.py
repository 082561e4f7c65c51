"""What Timeloop's files ask of mappings: read as constraints, with the problem's names or without a problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from cases import CASES
from tilewright.imported import timeloop_files
from tilewright.ir import MappingError
from tilewright.mapper.timeloop import Parts, read_parts, read_timeloop
from tilewright.workloads import load_layer

CONV = """\
problem:
  version: 0.4
  shape:
    name: conv
    dimensions: [C, M, R, P]
    data_spaces:
    - {name: Weights, projection: [[[C]], [[M]], [[R]]]}
    - {name: Inputs, projection: [[[C]], [[R], [P]]]}
    - {name: Outputs, projection: [[[M]], [[P]]], read_write: true}
  instance: {C: 8, M: 16, R: 3, P: 32}
"""
NODES = """\
architecture:
  version: 0.4
  nodes:
  - !Component
    name: DRAM
    class: DRAM
    attributes: {width: 8, datawidth: 8, vector_access_energy: 100}
  - !Component
    name: GLB
    class: SRAM
    attributes: {depth: 4096, width: 8, datawidth: 8, vector_access_energy: 6}
    constraints: {GLB}
  - !Container
    name: PE
    spatial: {meshX: 8, meshY: 4}
    constraints: {PE}
  - !Component
    name: MAC
    class: intmac
    attributes: {energy: 0.5}
"""


def machine(glb: str = "", pe: str = "") -> str:
    return NODES.replace("{GLB}", "{" + glb + "}").replace("{PE}", "{" + pe + "}")


def parts(*texts: str) -> Parts:
    return read_parts(texts=[(f"{'abc'[i]}.yaml", text) for i, text in enumerate(texts)])


def at_glb(asked: str, *texts: str) -> dict[str, Any]:
    found: dict[str, Any] = parts(machine(asked), *texts).constraints.get("memories", {}).get("GLB", {})
    return found


CASE_ROWS = {
    "k_dram_temporal": {"memories": {"DRAM": {"temporal": {"C": 2, "M": 1, "R": 1, "P": 1}}}},
    "k_factors_only": {"memories": {"RF": {"temporal": {"C": 1, "M": 1, "R": 3, "P": 1}}}},
    "k_perm_partial1": {"memories": {"GLB": {"order": ["others", "P"]}}},
    "k_keep_alone": {"memories": {"GLB": {"keep": {"input": "must"}}}},
}


@pytest.mark.parametrize("name", CASE_ROWS)
def test_constraints_that_once_were_dropped_or_changed(name: str) -> None:
    assert read_parts([CASES / "timeloop" / f"{name}.yaml"]).constraints == CASE_ROWS[name]


def test_what_is_imported_is_searched_under_the_constraints(tmp_path: Path) -> None:
    found = read_parts([CASES / "timeloop" / "k_dram_temporal.yaml"])
    for name, text in timeloop_files(found, ["k.yaml"]).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    layer, arch = load_layer(f"{tmp_path}/network.yaml:layer"), tw.load_arch(tmp_path / "machine.yaml")
    result = tw.search(layer, arch, "energy", constraints=str(tmp_path / "constraints.yaml"), tiling="perfect")
    outside = str(result.mapping.nest).split("GLB keeps")[0].split("RF keeps")[0]
    assert [line.strip() for line in outside.splitlines() if "for" in line] == ["for C in 2"]


def test_a_tensor_that_is_not_reused_is_an_error() -> None:
    with pytest.raises(MappingError, match="no_reuse: no_reuse has no equal here: a tile of Weights stays"):
        read_parts([CASES / "timeloop" / "k_no_reuse.yaml"])


def test_data_spaces_of_other_names() -> None:
    """Without a problem they keep their names; with one they are its tensors, by role."""
    alone = read_parts([CASES / "timeloop" / "stc.yaml"]).constraints
    assert alone["memories"]["SMEM"] == {
        "keep": {"A": "must", "B": "must", "Z": "never"},
        "temporal": {"K": 1, "M": {"max": 8}, "N": {"max": 8}},
    }
    assert alone["fanouts"]["inter_Sub_spatial"] == {"y": {"trips": {"K": 1, "N": 1, "M": 4}}}
    product = """\
problem:
  version: 0.4
  shape:
    name: gemm
    dimensions: [M, N, K]
    data_spaces:
    - {name: A, projection: [M, K]}
    - {name: B, projection: [N, K]}
    - {name: Z, projection: [M, N], read_write: true}
  instance: {M: 64, N: 128, K: 64}
"""
    text = (CASES / "timeloop" / "stc.yaml").read_text(encoding="utf-8")
    both = parts(text, product)
    assert both.constraints["memories"]["SMEM"]["keep"] == {"input": "must", "weight": "must", "output": "never"}
    assert "order" not in both.constraints["memories"]["RF"], "one dimension alone has no order"
    with pytest.raises(MappingError, match="keep: the problem has no data space 'B'"):
        parts(text, product.replace("name: B", "name: W"))


def test_three_operands_are_named_one_by_one(tmp_path: Path) -> None:
    """Two of them have one role, so a role would say too much; the row of an einsum has names of its own."""
    product = """\
problem:
  version: 0.4
  shape:
    name: mttkrp
    dimensions: [I, J, K, L]
    data_spaces:
    - {name: A, projection: [I, K, L]}
    - {name: B, projection: [K, J]}
    - {name: C, projection: [L, J]}
    - {name: Z, projection: [I, J], read_write: true}
  instance: {I: 4, J: 4, K: 4, L: 4}
"""
    found = parts(machine("dataspace: {keep: [B], bypass: [C]}"), product)
    assert found.constraints["memories"]["GLB"]["keep"] == {"B": "must", "C": "never"}
    for name, text in timeloop_files(found, ["a.yaml"]).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    layer, arch = load_layer(f"{tmp_path}/network.yaml:layer"), tw.load_arch(tmp_path / "machine.yaml")
    result = tw.search(layer, arch, "energy", constraints=str(tmp_path / "constraints.yaml"), tiling="perfect")
    kept = {node.tensor for node in result.mapping.nest.nodes if node.memory == "GLB"}
    by_dims = {layer.tensor(name).dims: name for name in ("A", "B", "C")}
    assert by_dims[frozenset("KJ")] in kept
    assert by_dims[frozenset("LJ")] not in kept


@pytest.mark.parametrize(("name", "macs"), [("pdw", 64 * 9 * 14 * 14), ("p3d", 4 * 8 * 27 * 5 * 49)])
def test_depthwise_and_three_dimensional_problems(name: str, macs: int, tmp_path: Path) -> None:
    """They are rows of a network file; the sums are those of the problem that was read."""
    found = read_parts([CASES / "timeloop" / f"{name}.yaml"])
    assert found.problem is not None
    (tmp_path / "n.yaml").write_text(timeloop_files(found, ["p.yaml"])["network.yaml"], encoding="utf-8")
    layer = load_layer(f"{tmp_path / 'n.yaml'}:layer")
    assert layer.macs == found.problem.macs == macs
    words = sorted(sorted(found.problem.sizes[d] for d in t.dims) for t in found.problem.tensors)
    assert sorted(sorted(size for d in t.dims if (size := layer.sizes[d]) > 1) for t in layer.tensors) == words


ASKED: list[tuple[str, dict[str, Any]]] = [
    ("temporal: {permutation: [P, M]}", {"order": ["others", "M", "P"]}),
    ("temporal: {permutation: PM}", {"order": ["others", "M", "P"]}),
    ("temporal: {permutation: [P, M, C, R]}", {"order": ["R", "C", "M", "P"]}),
    ("temporal: {permutation: [R, _, C]}", {"order": ["C", "others", "R"]}),
    ("temporal: {permutation: [R, C, P]}", {"order": ["M", "P", "C", "R"]}),
    ("temporal: {permutation: [P], factors: [P=1]}", {"temporal": {"P": 1}}),
    ("temporal: {factors: C=0 M>=2}", {"temporal": {"C": 8, "M": {"min": 2}}}),
    ("temporal: {factors: [M16, P<=4, P>=2]}", {"temporal": {"M": 16, "P": {"min": 2, "max": 4}}}),
    ("temporal: {factors: [M=99]}", {}),
    ("temporal: {factors_only: []}", {"temporal": {"C": 1, "M": 1, "R": 1, "P": 1}}),
    ("temporal: {factors_only: [P<=4]}", {"temporal": {"C": 1, "M": 1, "R": 1, "P": {"max": 4}}}),
    ("temporal: {no_iteration_over_dataspaces: [Weights]}", {"temporal": {"C": 1, "M": 1, "R": 1}}),
    ("temporal: {must_iterate_over_dataspaces: [Weights]}", {"temporal": {"P": 1}}),
    ("temporal: {default_max_factor: 4, factors: [C=2]}",
     {"temporal": {"C": 2, "M": {"max": 4}, "R": {"max": 4}, "P": {"max": 4}}}),
    ("temporal: {maximize_dims: [[M, C], [P]], maximize_dims_capacity: 32}", {"temporal": {"M": 16, "C": 2, "P": 1}}),
    ("dataspace: {keep: [Inputs], bypass: [Weights]}", {"keep": {"input": "must", "weight": "never"}}),
    ("dataspace: {keep_only: [Inputs]}", {"keep": {"input": "must", "weight": "never", "output": "never"}}),
    ("dataspace: {bypass_only: [Inputs]}", {"keep": {"input": "never", "weight": "must", "output": "must"}}),
    ("dataspace: {keep: '*'}", {"keep": {"weight": "must", "input": "must", "output": "must"}}),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "found"), ASKED, ids=[asked for asked, _ in ASKED])
def test_what_is_asked_of_a_memory(asked: str, found: dict[str, Any]) -> None:
    assert at_glb(asked, CONV) == found


def test_what_is_asked_of_a_memory_without_a_problem() -> None:
    assert at_glb("temporal: {factors_only: [R=3]}") == {"temporal": {"R": 3, "others": 1}}
    assert at_glb("temporal: {no_iteration_over_dataspaces: [Weights]}") == {"temporal": {"relevant(weight)": 1}}
    assert at_glb("dataspace: {keep_only: [Inputs]}") == {"keep": {"input": "must", "others": "never"}}
    assert at_glb("dataspace: {keep: '*', bypass: [Weights]}") == {"keep": {"others": "must", "weight": "never"}}
    with pytest.raises(MappingError, match="which dimensions these data spaces have is in the problem"):
        at_glb("temporal: {no_iteration_over_dataspaces: '*'}")
    assert at_glb("temporal: {permutation: [R, S]}") == {"order": ["others", "S", "R"]}


def test_the_same_in_lists_of_constraints() -> None:
    """Lists are of files of their own, and add to what nodes ask for."""
    listed = "mapspace_constraints: {targets: [{target: GLB, type: temporal, factors: C=2}]}"
    assert at_glb("temporal: {factors: [M=4]}", CONV, listed) == {"temporal": {"M": 4, "C": 2}}
    with pytest.raises(MappingError, match="the factors of C contradict each other: 4 and 2"):
        at_glb("temporal: {factors: [C=4]}", CONV, listed)
    with pytest.raises(MappingError, match="the architecture has no 'GLBB'"):
        at_glb("", CONV, listed.replace("GLB", "GLBB"))
    with pytest.raises(MappingError, match="expected the file with the architecture as well"):
        parts(listed)
    least = "constraints: {version: 0.4, targets: [{target: GLB, type: utilization, min: 0.5}]}"
    assert parts(machine(), CONV, least).constraints == {"utilization": 0.5}


ON_ARRAY: list[tuple[str, dict[str, Any]]] = [
    ("permutation: [C, M], split: 1", {"x": {"M": 1, "R": 1, "P": 1}, "y": {"C": 1}}),
    ("permutation: [C, M, R, P], split: 0, factors: [M=4]",
     {"x": {"M": 1, "C": 1, "R": 1, "P": 1}, "y": {"M": 4}}),
    ("permutation: [C, M], split: 999, factors: [R=1]", {"x": {"R": 1}, "y": {"R": 1, "C": 1, "M": 1, "P": 1}}),
    ("factors: [M=8, P=1]", {"x": {"M": 8, "P": 1}, "y": {"M": 1, "P": 1}}),
    ("maximize_dims: [[M, C]], factors: [P=1, R=1], permutation: [M, C], split: 1",
     {"x": {"M": 16, "C": 1, "P": 1, "R": 1}, "y": {"M": 1, "C": 2, "P": 1, "R": 1}}),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "found"), ON_ARRAY, ids=[asked for asked, _ in ON_ARRAY])
def test_what_is_asked_of_an_array(asked: str, found: dict[str, Any]) -> None:
    axes = parts(machine(pe=f"spatial: {{{asked}}}"), CONV).constraints["fanouts"]["inter_PE_spatial"]
    assert {axis: each["trips"] for axis, each in axes.items()} == found


def test_a_split_that_the_front_end_counts_otherwise_is_noted() -> None:
    """It inserts dimensions of factor 1 before the permutation; the file's author did not."""

    def of_split(asked: str) -> list[str]:
        return [note for note in parts(machine(pe=f"spatial: {{{asked}}}"), CONV).notes if "split" in note]

    (note,) = of_split("permutation: [C, M], split: 1, factors: [R=1, P=1]")
    assert "puts R, P of factor 1 before it" in note
    assert not of_split("permutation: [R, P, C, M], split: 3, factors: [R=1, P=1]")


def test_names_of_no_problem_must_exist(tmp_path: Path) -> None:
    alone = timeloop_files(parts(machine("temporal: {factors: [M=4]}")), ["a.yaml"])["constraints.yaml"]
    assert alone.startswith("# no file has the problem")
    (tmp_path / "c.yaml").write_text(alone, encoding="utf-8")
    with pytest.raises(tw.TilewrightError, match="has no dimension 'M'"):
        tw.search(tw.conv2d(4, 4, 4, 4, 1, 1), "three_level", constraints=str(tmp_path / "c.yaml"))


def test_what_instances_do_not_share() -> None:
    def array(asked: str) -> tuple[bool, bool]:
        arch = parts(machine(pe=f"spatial: {{{asked}}}"), CONV).arch
        assert arch is not None
        return arch.fanouts[0].multicast, arch.fanouts[0].spatial_reduction

    assert array("no_reuse: [Weights, Inputs]") == (False, True)
    assert array("no_multicast_no_reduction: [Outputs]") == (True, False)
    assert array("no_reuse: '*'") == (False, False)
    assert array("no_link_transfer: [Weights]") == (True, True), "there are no links between neighbours here"
    with pytest.raises(MappingError, match="share Inputs, not Weights; here they share all operands"):
        array("no_reuse: [Weights]")


def test_branches_of_a_parallel() -> None:
    """What one branch keeps the others do not, whoever says so."""
    spads = """\
  - !Parallel
    nodes:
    - !Component
      name: one
      class: regfile
      attributes: {depth: 4, width: 8, datawidth: 8, vector_access_energy: 1}
      constraints: {dataspace: {keep: [Inputs]}}
    - !Component
      name: two
      class: regfile
      attributes: {depth: 4, width: 8, datawidth: 8, vector_access_energy: 1}
      constraints: {dataspace: {keep: [Weights]}}
    - !Nothing {constraints: {dataspace: {keep: [Outputs]}}}
"""
    text = machine().replace("  - !Component\n    name: MAC", f"{spads}  - !Component\n    name: MAC")
    asked = parts(text, CONV).constraints["memories"]
    assert asked["one"]["keep"] == {"input": "must", "weight": "never", "output": "never"}
    assert asked["two"]["keep"] == {"weight": "must", "input": "never", "output": "never"}
    with pytest.raises(MappingError, match="no branch of this !Parallel keeps Outputs"):
        parts(text.replace("keep: [Outputs]", "keep: []"), CONV)
    with pytest.raises(MappingError, match="Inputs kept in branches 1 and 2 of a !Parallel"):
        parts(text.replace("keep: [Weights]", "keep: [Weights, Inputs]"), CONV)


def test_a_mapping_takes_from_the_nodes_what_it_does_not_say() -> None:
    """As Timeloop's front end adds constraints of nodes to a mapping; what nobody names is kept."""
    mapping = """\
mapping:
- {target: DRAM, type: temporal, factors: [M=2, P=32], permutation: [P, M]}
- {target: GLB, type: temporal, factors: [C=0, R=3, M=1], permutation: [R, C]}
- {target: PE, type: spatial, factors: [M=8], permutation: [M]}
"""
    nodes = machine("dataspace: {keep: [Weights], bypass: [Inputs]}")
    found = read_timeloop(texts=[("a", nodes), ("b", CONV), ("c", mapping)])
    assert [str(item) for item in found.mapping.nest] == [
        "DRAM keeps Weights", "DRAM keeps Inputs", "DRAM keeps Outputs", "for M in 2", "for P in 32",
        "GLB keeps Weights", "GLB keeps Outputs", "for C in 8", "for R in 3",
        "parallel M in 8 on inter_PE_spatial.x",
    ]  # fmt: skip
    bypass = mapping + "- {target: GLB, type: bypass, bypass: [Inputs]}\n"
    asked = "dataspace: {keep: [Inputs]}, temporal: {factors: [C<=4], permutation: [C]}"
    assert parts(machine(asked), CONV, bypass).notes == (
        "the mapping breaks constraints of the files: GLB does not keep Inputs, expected it to; "
        "8 trips of C at GLB, expected at most 4 trips; "
        "at GLB a loop over C stands outside one over R, expected inside",
    )


VERSIONS = [
    (machine().replace("version: 0.4", "version: 0.3"), "this architecture is of Timeloop's version 0.3, expected"),
    (machine().replace("  version: 0.4\n", ""), "architecture.version: no version is stated, expected version 0.4"),
    ("architecture: {version: 0.3, subtree: [{name: system}]}", "is of Timeloop's version 0.3"),
    ("architecture: {version: 0.2, subtree: [{name: system}]}", "is of Timeloop's version 0.2"),
    ("architecture: {version: 0.4, subtree: [{name: system}]}", "subtree is how versions 0.2 and 0.3 of Timeloop"),
    ("architecture: {arithmetic: {}, storage: []}", "arithmetic is how versions 0.1 of Timeloop write it"),
    ("arch: {arithmetic: {}, storage: []}", "arch is how version 0.1 of Timeloop calls an architecture"),
    (CONV.replace("data_spaces", "data-spaces"), "data-spaces is how versions 0.1 to 0.3 of Timeloop write it"),
    ("problem: {shape: cnn-layer, C: 3}", "shape as a name is how versions 0.1 to 0.3 of Timeloop write it"),
    ("{{add_to_spec('x')}}\n" + CONV, "this is a template, expected plain YAML"),
    (CONV.replace("version: 0.4", "version: 0.3"), "this problem is of Timeloop's version 0.3, expected version 0.4"),
    (CONV.replace("  version: 0.4\n", ""), "problem.version: no version is stated"),
    ("constraints: {version: 0.3, targets: []}", "this constraints is of Timeloop's version 0.3"),
    ("dumped_by_timeloop_front_end: true\narchitecture: {}", "this is what Timeloop's front end made of its input"),
    ("ERT: {version: 0.2, tables: []}\n" + machine(), "this is version 0.2 of Accelergy's tables, expected 0.3 or 0.4"),
]


@pytest.mark.parametrize(("text", "message"), VERSIONS, ids=[message[:40] for _, message in VERSIONS])
def test_files_of_another_version_are_not_read_as_of_this(text: str, message: str) -> None:
    with pytest.raises(MappingError) as caught:
        parts(text)
    assert message in str(caught.value)


def test_a_compute_unit_that_is_none() -> None:
    with pytest.raises(MappingError, match="MAC stands innermost and is of class storage, expected a compute unit"):
        parts(machine().replace("class: intmac", "class: storage"))
    with pytest.raises(MappingError, match="found the class 'multiplier', expected storage"):
        parts(machine().replace("class: intmac", "class: multiplier"))
