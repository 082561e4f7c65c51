"""Every key of the other tools' formats is read, refused by name, or named by a note: none is dropped in silence.

The keys are those of AccelForge (1c1929c2), ZigZag (3d12a96e) and Accelergy (0.4) themselves, each with a value that
is not its default.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from key_walks import dropped

from tilewright.mapper.importers import ImportedMachine, read_accelforge, read_zigzag, with_tables

ACCELFORGE = """\
arch:
  @arch@
  nodes:
  - !Memory
    name: Main
    size: inf
    actions: [{name: read, energy: 7e-12}, {name: write, energy: 7e-12}]
  - !Memory
    name: Buffer
    size: 1024*1024
    area: 1e-6
    leak_power: 1e-3
    tensors: {@tensors@}
    spatial: [{name: Z, fanout: 4, @axis@}]
    actions: [{name: read, energy: 64e-12, throughput: 1e9, @action@}, {name: write, energy: 3e-12, throughput: 1e9}]
    @memory@
  - !Container
    name: PE
    spatial: [{name: X, fanout: 16}]
    @container@
  - !Memory
    name: Estimated
    size: 4096
    component_class: SRAM
    extra_attributes_for_component_model: {tech_node: 65e-9, @attribute@}
    actions: [{name: read, @estimated@}]
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 1e-12, throughput: 1e9}]
    @compute@
  @node@
@top@
"""
ACCELFORGE_KEYS = {
    "arch": ["variables: {lanes: 4}", "extra_attributes_for_all_component_models: {cycle_time: 1e-9}", "title: chip"],
    "tensors": [
        "keep: input", "may_keep: weight", "back: output", "tile_shape: [{expression: All, operator: ==, value: 1}]",
        "no_refetch_from_above: input", "no_resend_to_below: input", "tensor_order_options: [[input, weight]]",
        "force_memory_hierarchy_order: false",
    ],
    "axis": [
        "reuse: input", "may_reuse: Nothing", "may_reuse: input", "min_usage: 0.5", "usage_scale: 2",
        "power_gateable: true", "loop_bounds: [{expression: All, operator: ==, value: 1}]",
    ],
    "action": [
        "energy_scale: 2", "throughput_scale: 2", "latency_scale: 2", "bits_per_action: 8",
        "values_per_action: {input: 2}", "extra_attributes_for_component_model: {a: 1}",
    ],
    "memory": [
        "component_class: ADC", "component_model: mine.Model", "component_modeling_log: [a]",
        "enabled: false", "enabled: len(All) == 3", "total_area: 1e-6", "area_scale: 2",
        "leak_power_scale: 2", "total_leak_power: 1e-3", "energy_scale: 2", "actions_scale: 2", "throughput_scale: 2",
        "latency_scale: 2", "total_latency: sum(a.n_calls for a in actions) / 1e6", "total_latency: 3",
        "total_latency: max(a.n_calls / 3 for a in actions)",
        "n_parallel_instances: 2", "bits_per_value: {input: 16}", "bits_per_value_scale: {input: 2}",
        "bits_per_action: 8", "values_per_action: {input: 2}", "separate_read_write_ports: true",
        "skip_initial_output_write: false", "direction: up", "topology: mesh",
    ],
    "container": ["enabled: false"],
    "attribute": ["width: 16", "n_rw_ports: 2", "n_banks: 4"],
    "estimated": ["energy: 1e-12", "latency: 1e-9", "throughput: 1e9"],
    "compute": ["leak_power: 1e-3", "area: 1e-6", "spatial: [{name: Y, fanout: 2}]", "enabled: len(All) == 3"],
    "node": [
        "- !Toll {name: t, direction: up}", "- !Fork {nodes: []}", "- !Array {name: a, nodes: []}",
        "- !Network {name: n}", "- !Hierarchical {nodes: [!Container {name: c, spatial: [{name: W, fanout: 2}]}]}",
    ],
    "top": [
        "workload: {einsums: []}", "mapping: {nodes: []}", "mapper: {metrics: ENERGY}", "renames: {einsums: []}",
        "config: {a: 1}", "model: {a: 1}", "variables: {lanes: 4}",
    ],
}  # fmt: skip

ZIGZAG = """\
name: small
memories:
  reg:
    size: 8
    r_cost: 0.01
    w_cost: 0.02
    operands: [I2]
    ports: [{name: r, type: read, bandwidth_max: 8, @port@}, {name: w, type: write, bandwidth_max: 8}]
    served_dimensions: []
    @memory@
  dram:
    size: 10000000000
    r_cost: 700
    w_cost: 750
    operands: [I1, I2, O]
    ports: [{name: rw, type: read_write, bandwidth_max: 64}]
    served_dimensions: [D1]
operational_array:
  unit_energy: 0.04
  dimensions: [D1]
  sizes: [4]
  @array@
@top@
"""
ZIGZAG_KEYS = {
    "port": ["bandwidth_min: 4", "allocation: [\"I2, tl\"]"],
    "memory": [
        "area: 3", "latency: 4", "mem_type: rram", "auto_cost_extraction: true", "double_buffering_support: true",
        "force_double_buffering: true", "min_r_granularity: 4", "min_w_granularity: 4", "shared_memory_group_id: 2",
    ],
    "array": ["unit_area: 3", "input_precision: [8, 8]", "is_imc: true", "imc_type: analog", "adc_resolution: 4",
              "bit_serial_precision: 2"],
    "top": ["dataflows: {D1: [\"K, 4\"]}", "cores: [a.yaml]", "accelerator_type: imc"],
}  # fmt: skip

TABLES = """\
ERT:
  version: 0.4
  tables:
  - {name: s.GLB, actions: [{name: read, energy: 1}, {name: write, energy: 1}, @action@]}
  - {name: s.mac, actions: [{name: compute, energy: 1}, @compute@]}
  @other@
"""
TABLE_KEYS = {
    "action": ["{name: update, energy: 2}", "{name: leak, energy: 0.1}", "{name: metadata_read, energy: 1}",
               "{name: read, arguments: {a: 1}, energy: 3}"],
    "compute": ["{name: leak, energy: 0.1}", "{name: gated_compute, energy: 0.1}"],
    "other": ["- {name: s.noc, actions: [{name: transfer, energy: 1}]}"],
}  # fmt: skip


def by_file(reader: Callable[[Path], ImportedMachine], folder: Path) -> Callable[[str], tuple[object, tuple[str, ...]]]:
    def read(text: str) -> tuple[object, tuple[str, ...]]:
        path = folder / "theirs.yaml"
        path.write_text(text, encoding="utf-8")
        found = reader(path)
        return found.arch.model_copy(update={"source": ""}), found.notes

    return read


def test_keys_of_accelforge(tmp_path: Path) -> None:
    assert not list(dropped(ACCELFORGE, ACCELFORGE_KEYS, by_file(read_accelforge, tmp_path)))


def test_keys_of_zigzag(tmp_path: Path) -> None:
    assert not list(dropped(ZIGZAG, ZIGZAG_KEYS, by_file(read_zigzag, tmp_path)))


def test_keys_of_accelergy(tmp_path: Path) -> None:
    assert not list(dropped(TABLES, TABLE_KEYS, by_file(lambda path: with_tables("eyeriss", [path]), tmp_path)))
