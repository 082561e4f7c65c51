"""Timeloop's files: what is read, what is written, and that nothing is lost on the way."""

from __future__ import annotations

from typing import Any

import pytest

from generators import memory
from tilewright import search
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory, load_arch
from tilewright.cost_models import count_words, evaluate
from tilewright.ir import LoopNest, Mapping, MappingError
from tilewright.mapper.emit import emit_timeloop
from tilewright.mapper.timeloop import Imported, read_parts, read_timeloop
from tilewright.workloads import conv2d, gemm

ARCHITECTURE = """\
architecture:
  version: 0.4
  nodes:
  - !Container
    name: System
    attributes: {technology: "40nm", global_cycle_seconds: 1e-9}
  - !Component
    name: MainMemory
    class: DRAM
    attributes: {width: 256, datawidth: 8, vector_access_energy: 2048}
  - !Container
    name: PE
    spatial: {meshX: 16}
  - !Component
    name: GlobalBuffer
    class: SRAM
    attributes: {depth: 32768, width: 64, datawidth: 8}
  - !Parallel
    nodes:
    - !Component
      name: RegisterFile
      class: regfile
      attributes: {depth: 64, width: 8, datawidth: 8, vector_access_energy: 0.5}
      constraints: {dataspace: {keep: [Weights, Inputs, Outputs]}}
  - !Component
    name: MACC
    class: intmac
    attributes: {datawidth: 8, energy: 1}
ERT:
  version: 0.4
  tables:
  - name: System.GlobalBuffer[1..16]
    actions:
    - {name: read, arguments: {}, energy: 40.5}
    - {name: write, arguments: {}, energy: 30}
    - {name: update, arguments: {}, energy: 30}
    - {name: leak, arguments: {}, energy: 0.1}
"""
PROBLEM = """\
problem:
  version: 0.4
  shape:
    name: Conv1D_OC
    dimensions: [C, K, R, P]
    coefficients:
    - {name: Pstride, default: 2}
    data_spaces:
    - name: Weights
      projection: [[[C]], [[K]], [[R]]]
    - name: Inputs
      projection: [[[C]], [[R], [P, Pstride]]]
    - name: Outputs
      projection: [[[K]], [[P]]]
      read_write: True
  instance: {C: 32, K: 32, R: 3, P: 16, Pstride: 1}
"""
MAPPING = """\
mapping:
- target: MainMemory
  type: temporal
  factors: R=1,P=1,K=1,C=1
  permutation: PRKC
- {target: inter_PE_spatial, type: spatial, factors: "R=1,P=1,K=1,C=16", permutation: PRKC}
- {target: PE, type: bypass, bypass: [Weights, Inputs, Outputs]}
- target: GlobalBuffer
  type: temporal
  factors: R3 P1 K32 C2
  permutation: [P, R, K, C]
- {target: RegisterFile, type: temporal, factors: [P=16], permutation: P}
"""


def read(*texts: str) -> Imported:
    return read_timeloop(texts=[(f"{'abc'[i]}.yaml", text) for i, text in enumerate(texts)])


def test_exercise_04() -> None:
    """The published case of that name, in the form of the v0.4 examples."""
    mapping, arch = read(ARCHITECTURE, PROBLEM, MAPPING)
    assert mapping.nest == LoopNest.parse(
        """\
        MainMemory keeps Weights Inputs Outputs
        parallel C in 16 on inter_PE_spatial.x
        GlobalBuffer keeps Weights Inputs Outputs
        for C in 2
        for K in 32
        for R in 3
        RegisterFile keeps Weights Inputs Outputs
        for P in 16
        """
    )
    assert str(mapping.problem.tensor("Inputs")) == "Inputs[c, r+p]", "the instance overrides the stride's default"
    busiest = count_words(mapping, arch).busiest
    assert (busiest["GlobalBuffer", "Inputs"].reads, busiest["GlobalBuffer", "Outputs"].writes) == (1152, 1024)
    assert evaluate(mapping, arch).macs == 32 * 32 * 3 * 16


def test_figures_of_the_architecture() -> None:
    _, arch = read(ARCHITECTURE, PROBLEM, MAPPING)
    main, array, buffer, registers = arch.levels
    assert (main.size_bits, main.access_bits, main.read_energy_pj) == (None, 256, 2048)  # type: ignore[union-attr]
    assert array == Fanout(name="inter_PE_spatial", axes=(ArrayAxis(size=16), ArrayAxis(size=1)))
    assert (buffer.size_bits, buffer.access_bits) == (32768 * 64, 64)  # type: ignore[union-attr]
    assert (buffer.read_energy_pj, buffer.write_energy_pj) == (40.5, 30)  # type: ignore[union-attr]
    assert (registers.size_bits, arch.mac.energy_pj, arch.clock_hz) == (512, 1, 1e9)  # type: ignore[union-attr]
    assert (arch.footprint, arch.inner_drain_read) == ("box", False)


WRONG = [
    (0, "class: SRAM", "klass: SRAM", "a.yaml:16: architecture.nodes[3].klass: unknown key 'klass'"),
    (0, "depth: 32768", "dept: 3", "attributes.dept: unknown key 'dept'"),
    (0, "energy: 1}", "energy: one}", "found 'one', expected a number"),
    (0, ", energy: 1}", "}", "no energy is given for MACC"),
    (0, "!Parallel", "!Pipelined", "!Pipelined has no equal here"),
    (0, "name: update, arguments: {}, energy: 30", "name: update, arguments: {}, energy: 31", "differ in energy"),
    (0, "depth: 64,", "depth: 64, multiple_buffering: 3,", "3 copies of a tile have no equal here"),
    (0, "width: 64, datawidth: 8}", "width: 60, datawidth: 8}", "60 bits are no whole number of words of 8 bits"),
    (1, "[P, Pstride]", "[P, stride]", "unknown coefficient 'stride'"),
    (1, "P: 16, Pstride", "P: 16, Pstrid", "instance.Pstrid: unknown key 'Pstrid'"),
    (1, "      read_write: True\n", "", "found 0 data spaces with read_write, expected one"),
    (1, "C: 32, ", "", "problem.instance.C: missing"),
    (2, "R=1,P=1,K=1,C=16", "R=1,P=1,K=1,C=0", "dimension C has 32 elements, and its loops are 32 x 2"),
    (2, "R=1,P=1,K=1,C=16", "R=1,P=1,K=1,C<=16", "a mapping needs one number of trips of C, found a range"),
    (2, "R=1,P=1,K=1,C=16", "R=1,P=1,K=1,C=8", "dimension C has 32 elements, and its loops are 8 x 2"),
    (2, "target: GlobalBuffer", "target: GlobalBuffr", "the architecture has no 'GlobalBuffr'"),
    (2, "permutation: [P, R, K, C]", "permutation: [P, R]", "the permutation does not place C, K"),
    (2, "type: bypass", "type: skip", "found 'skip'"),
]


@pytest.mark.parametrize(("which", "right", "wrong", "message"), WRONG, ids=[wrong for _, _, wrong, _ in WRONG])
def test_errors_name_what_cannot_be_read(which: int, right: str, wrong: str, message: str) -> None:
    texts = [ARCHITECTURE, PROBLEM, MAPPING]
    assert right in texts[which]
    texts[which] = texts[which].replace(right, wrong, 1)
    with pytest.raises(MappingError) as caught:
        read(*texts)
    assert message in str(caught.value)


def test_parts_that_are_missing_or_there_twice() -> None:
    with pytest.raises(MappingError, match=r"missing: problem \(Timeloop's problem.*mapping"):
        read(ARCHITECTURE)
    with pytest.raises(MappingError, match=r"b.yaml:1: problem: a second problem, the first is in a.yaml:1: problem"):
        read(PROBLEM, PROBLEM)


def test_private_parts_become_memories() -> None:
    """Row-stationary on a machine whose scratchpads have a part for each tensor."""
    eyeriss = load_arch("eyeriss")
    levels = [
        level.model_copy(update={"shared_bits_per_cycle": None}) if level.kind == "memory" else level
        for level in eyeriss.levels
    ]
    arch = eyeriss.model_copy(update={"levels": tuple(levels), "inner_drain_read": False, "footprint": "box"})
    nest = """\
        DRAM keeps I W O
        for P in 2
        GLB keeps I O
        for C in 2
        for Q in 8
        parallel S in 3 on array.y
        parallel P in 4 on array.x
        spad keeps I W O
        for R in 3
        """
    mapping = Mapping(conv2d(K=1, C=2, P=8, Q=8, R=3, S=3, stride=2), LoopNest.parse(nest))
    text = emit_timeloop(mapping, arch)
    assert "name: spad_I" in text
    back = read(text)
    ours, theirs = count_words(mapping, arch), count_words(back.mapping, back.arch)
    for (name, which), accesses in ours.total.items():
        assert theirs.total[f"{name}_{which}" if name == "spad" else name, which] == accesses
    assert evaluate(back.mapping, back.arch).energy_pj == pytest.approx(evaluate(mapping, arch).energy_pj)


def levels(latency_cycles: float = 0.0, **inner: Any) -> tuple[Memory | Fanout, ...]:
    may = Keeps(input="may", weight="may", output="may")
    axis = ArrayAxis(size=4, latency_cycles=latency_cycles)
    return memory("DRAM"), Fanout(name="array", axes=(axis,)), memory("L1", keeps=may, **inner)


def machine(**changes: object) -> Architecture:
    fields = {"name": "machine", "clock_hz": 1e9, "word_bits": 8, "levels": levels(), "mac": Mac(energy_pj=1.0)}
    return Architecture.model_validate(fields | changes)


EVEN = "DRAM keeps A W O\nfor M in 2\nparallel N in 2 on array.x\nL1 keeps W O\nfor K in 3\nfor N in 2"
BEYOND = [
    ("DRAM keeps A W O\nL1 keeps W\nfor M in 2\nL1 keeps O\nfor K in 3\nfor N in 4", {}, "the mapping is uneven"),
    ("DRAM keeps A W O\nfor M in 2\nfor K in 3\nparallel N in 2 on array.x\nL1 keeps O\nfor N in 3", {}, "ragged"),
    ("DRAM keeps A W O\nfor N in 2\nfor M in 2\nfor N in 2\nfor K in 3", {}, "two loops over N stand at DRAM"),
    ("DRAM keeps A W O\nparallel N in 4 on array.x\nfor M in 2\nL1 keeps O\nfor K in 3", {}, "stands between"),
    (EVEN, {"mac": Mac(energy_pj=1.0, per_cycle=2)}, "2 operations in a cycle"),
    (EVEN, {"latency": "with_fill"}, "the time of the first and last tiles"),
    (EVEN, {"levels": levels(latency_cycles=1.0)}, "the latency of a hop along array.x"),
    (EVEN, {"levels": levels(overlaps=False)}, "L1 does not overlap its transfers"),
    (EVEN, {"levels": levels(weight_bits_per_cycle=8.0)}, "L1 has ports of one role each"),
    (EVEN, {"leakage_pj_per_cycle": 1.0}, "leakage"),
    (EVEN, {"partial_sum_bits": 32}, "partial sums of O are wider"),
]


@pytest.mark.parametrize(("nest", "changes", "message"), BEYOND, ids=[message for _, _, message in BEYOND])
def test_what_the_files_cannot_say_is_named(nest: str, changes: dict[str, object], message: str) -> None:
    with pytest.raises(MappingError, match=message):
        emit_timeloop(Mapping(gemm(M=2, N=4, K=3), LoopNest.parse(nest)), machine(**changes))


def test_one_dimension_on_both_axes_names_the_constraint_that_helps() -> None:
    axes = (ArrayAxis(size=4), ArrayAxis(size=4))
    dram, array, registers = machine().levels
    arch = machine(levels=(dram, array.model_copy(update={"axes": axes}), registers))
    problem = gemm(M=1, N=16, K=1)
    nest = "DRAM keeps A W O\nparallel N in 4 on array.x\nparallel N in 2 on array.y\nL1 keeps W O\nfor N in 2"
    with pytest.raises(MappingError, match="N is spread over both axes of array, 4 x 2") as raised:
        emit_timeloop(Mapping(problem, LoopNest.parse(nest)), arch)
    assert raised.value.hint == 'search with --constraint "array.y.trips.N=1"'
    found = search(problem, arch, "edp", constraints="array.y.trips.N=1")
    assert "array.y" not in str(found.mapping.nest)
    assert "N=4" in emit_timeloop(found.mapping, arch)


def test_one_port_for_both_directions_comes_back() -> None:
    mapping = Mapping(gemm(M=2, N=4, K=3), LoopNest.parse(EVEN))
    dram, array, registers = machine().levels
    shared = dram.model_copy(update={"shared_bits_per_cycle": 12.0})
    arch = machine(levels=(shared, array, registers))
    text = emit_timeloop(mapping, arch)
    assert "shared_bandwidth: 1.5" in text
    back = read_timeloop(texts=[("case.yaml", text)])
    assert back.arch.memories[0].shared_bits_per_cycle == 12.0
    assert evaluate(back.mapping, back.arch).latency_cycles == evaluate(mapping, arch).latency_cycles
    both = text.replace("shared_bandwidth: 1.5", "shared_bandwidth: 1.5, read_bandwidth: 1")
    with pytest.raises(MappingError, match="a bandwidth for both directions and one for each have no equal here"):
        read_timeloop(texts=[("case.yaml", both)])


def test_levels_that_the_files_cannot_say() -> None:
    mapping = Mapping(gemm(M=2, N=4, K=3), LoopNest.parse(EVEN))
    dram, array, registers = machine().levels
    for levels, message in (
        ((dram, array, registers.model_copy(update={"overlaps": False})), "L1 does not overlap"),
        ((dram, array.model_copy(update={"multicast": False}), registers), "array does not share words"),
        ((dram, array.model_copy(update={"hop_pj_per_bit": 0.1}), registers), "the hops of array have an energy"),
        ((dram, array, registers.model_copy(update={"block_bits": 32})), "L1 has blocks of another width"),
        ((dram, array, registers.model_copy(update={"access_bits": 12})), "no whole number of words of 8 bit"),
        ((dram, array, registers.model_copy(update={"size_bits": 100, "access_bits": 16})), "size of 100 bit"),
    ):
        with pytest.raises(MappingError, match=message):
            emit_timeloop(mapping, machine(levels=levels))


CONSTRAINED = """\
architecture:
  version: 0.4
  nodes:
  - !Component
    name: DRAM
    class: DRAM
    attributes: {width: 8, datawidth: 8, vector_access_energy: 100}
    constraints: {dataspace: {keep: [Weights]}}
  - !Container
    name: PE
    spatial: {meshX: 4, meshY: 2}
    constraints: {spatial: {permutation: [C, K, R, P], split: 1, factors: [R=1, P<=2]}}
  - !Parallel
    nodes:
    - !Component
      name: spad
      class: regfile
      attributes: {width: 8, datawidth: 8, depth: 16, vector_access_energy: 1, nports: 2}
      constraints:
        dataspace: {keep: [Inputs], bypass: [Outputs]}
        temporal: {permutation: RPK, factors: "R=3, K<=4"}
    - !Nothing {constraints: {dataspace: {keep: [Weights, Outputs]}}}
  - !Component
    name: MAC
    class: intmac
    attributes: {datawidth: 8, energy: 1}
ART:
  version: 0.4
  tables:
  - {name: "system.spad[1..8]", area: 500}
  - {name: "system.MAC[1..8]", area: 100}
"""


def test_parts_alone_with_their_constraints_and_areas() -> None:
    parts = read_parts(texts=[("arch.yaml", CONSTRAINED)])
    assert (parts.problem, parts.mapping) == (None, None)
    assert parts.arch is not None
    assert [memory.area_mm2 for memory in parts.arch.memories] == [0, pytest.approx(500e-6)]
    assert parts.arch.mac.area_mm2 == pytest.approx(100e-6)
    assert parts.constraints == {
        "memories": {
            "spad": {
                "keep": {"input": "must", "output": "never", "weight": "never"},
                "temporal": {"R": 3, "K": {"max": 4}},
                "order": ["others", "K", "P", "R"],
            }
        },
        "fanouts": {
            "inter_PE_spatial": {
                "x": {"trips": {"R": 1, "P": 1, "K": 1, "others": 1}},
                "y": {"trips": {"R": 1, "P": {"max": 2}, "C": 1}},
            }
        },
    }
    assert read_parts(texts=[("problem.yaml", PROBLEM)]).problem is not None
    with pytest.raises(MappingError, match="missing: problem"):
        read_timeloop(texts=[("arch.yaml", CONSTRAINED)])
    for old, new, message in (
        ("K<=4", "K!=4", "found 'K!=4', expected a dimension and its factor"),
        ("area: 500", "area: large", "found 'large', expected a number"),
    ):
        with pytest.raises(MappingError, match=message):
            read_parts(texts=[("arch.yaml", CONSTRAINED.replace(old, new))])
