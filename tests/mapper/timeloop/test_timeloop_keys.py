"""Every key of Timeloop's v0.4 format is read, refused by name, or named by a note: none is dropped in silence.

The keys are those of Timeloop's front end and of the library that it calls, at the commits of docs/other-tools.md,
each with a value that is not its default.
"""

from __future__ import annotations

from key_walks import dropped

from tilewright.mapper.timeloop import read_parts

FILE = """\
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
    attributes: {datawidth: 8, @width@ vector_access_energy: 6, @memory_attribute@}
    constraints: {temporal: {@temporal@}, dataspace: {@dataspace@}, @group@}
    @component@
  - !Container
    name: PE
    spatial: {meshX: 8}
    attributes: {@container_attribute@}
    constraints: {spatial: {@spatial@}}
    @container@
  - !Component
    name: RF
    class: regfile
    attributes: {width: 8, datawidth: 8, depth: 4}
  - !Component
    name: MAC
    class: intmac
    attributes: {energy: 0.5, @compute_attribute@}
ERT:
  version: 0.4
  tables:
  - {name: "system.RF[1..8]", actions: [{name: read, energy: 1}, {name: write, energy: 1}, @action@]}
problem:
  version: 0.4
  shape:
    dimensions: [C, M]
    coefficients: [{name: step, default: 1}]
    data_spaces:
    - {name: Weights, projection: [[[C]], [[M]]], @data_space@}
    - {name: Inputs, projection: [[[C, step]]]}
    - {name: Outputs, projection: [[[M]]], read_write: true}
    @shape@
  instance: {C: 8, M: 16, @instance@}
@top@
"""
KEYS: dict[str, list[str]] = {
    "width": ["width: 16,", "memory_width: 16,", "data_storage_width: 16,"],
    "memory_attribute": [
        "depth: 64", "entries: 64", "sizeKB: 1", "block_size: 2", "cluster_size: 2", "word_bits: 16",
        "word_width: 16", "n_words: 2", "memory_depth: 8",
        "data_storage_depth: 8", "technology: 45nm", "n_banks: 4", "num_banks: 4", "n_ports: 1", "num_ports: 1",
        "reduction_supported: false", "multiple_buffering: 2", "min_utilization: 0.5", "shared_bandwidth: 2",
        "read_bandwidth: 2", "write_bandwidth: 2", "bandwidth: 2", "network_fill_latency: 3", "allow_overbooking: true",
        "network_drain_latency: 3", "per_dataspace_bandwidth_consumption_scale: {Weights: 2}", "addr_gen_energy: 1",
        "metadata_block_size: 2", "metadata_datawidth: 4", "metadata_word_bits: 4", "metadata_storage_width: 8",
        "metadata_width: 8", "metadata_storage_depth: 8", "metadata_depth: 8", "tile_partition_supported: true",
        "concordant_compressed_tile_traversal: true", "decompression_supported: true", "compression_supported: true",
        "has_power_gating: true", "power_gated_at: GLB", "cluster_area: 100", "instances: 4", "meshX: 4", "meshY: 4",
        "network_read: noc", "network_fill: noc", "network_drain: noc", "network_update: noc", "latency: 5",
        "global_cycle_seconds: 2e-9", "vector-access-width: 3",
    ],
    "container_attribute": ["global_cycle_seconds: 2e-9", "technology: 45nm", "has_power_gating: true", "meshX: 4"],
    "compute_attribute": [
        "datawidth: 8", "word_bits: 8", "area: 100", "network_operand: noc", "network_result: noc", "instances: 4",
        "meshX: 4", "meshY: 4", "multiplier_width: 8", "adder_width: 16", "width: 8", "global_cycle_seconds: 2e-9",
    ],
    "component": [
        "subclass: smartbuffer_RF", "required_actions: [read]", "area_scale: 2", "energy_scale: 2", "enabled: false",
        "sparse_optimizations: {action_optimization: [{type: gating}]}", "spatial: {meshY: 2}",
    ],
    "container": ["networks: [{name: noc}]", "enabled: false", "sparse_optimizations: {representation_format: {a: 1}}"],
    "temporal": [
        "factors: [C=2]", "permutation: [C]", "factors_only: [C=2]", "no_iteration_over_dataspaces: [Weights]",
        "must_iterate_over_dataspaces: [Inputs]", "maximize_dims: [[C]], maximize_dims_capacity: 4",
        "default_max_factor: 2", "default_min_factor: 2", "remainders: 3", "no_reuse: [Weights]",
        "no_temporal_reuse: [Weights]", "rmw_first_update: [Outputs]", "permutation_only: [C]",
    ],
    "spatial": [
        "factors: [C=2]", "permutation: [C, M], split: 1, factors: [C<=3]", "factors_only: [C=2]",
        "no_iteration_over_dataspaces: [Inputs]", "must_iterate_over_dataspaces: [Inputs]", "maximize_dims: [[C]]",
        "default_max_factor: 2", "default_min_factor: 2", "remainders: 3", "no_reuse: [Outputs]",
        "no_multicast_no_reduction: [Outputs]", "no_link_transfer: [Outputs]", "factors: [C<4]",
    ],
    "dataspace": ["keep: [Weights]", "bypass: [Weights]", "keep_only: [Weights]", "bypass_only: [Weights]",
                  "no_coalesce: [Weights]"],
    "group": ["utilization: {min: 0.5}", "max_overbooked_proportion: {proportion: 0.1}", "parallelism: {min: 0.5}"],
    "action": [
        "{name: update, energy: 2}", "{name: fill, energy: 2}", "{name: random_read, energy: 2}",
        "{name: leak, energy: 0.1}", "{name: metadata_read, energy: 1}", "{name: read, arguments: {a: 1}, energy: 3}",
    ],
    "data_space": ["read_write: true", "ranks: [c, m]"],
    "shape": ["name: product", "flatten: [{name: X, dimensions: [C, M]}]"],
    "instance": ["step: 2", "densities: {Weights: 0.5}", "commonDensity: 0.5", "Hpad: 1"],
    "top": [
        "mapper: {algorithm: random}", "mapspace: {template: ruby}", "globals: {environment_variables: {A: 1}}",
        "variables: {global_cycle_seconds: 2e-9}", "variables: {technology: 45nm}",
        "components: {classes: [{name: x}]}", "layout: [{target: GLB}]",
        "compound_components: {classes: [{name: x}]}", "sparse_optimizations: {targets: [{name: GLB}]}",
        "constraints: {targets: [{target: GLB, type: temporal, factors: C=2}]}",
        "architecture_constraints: {targets: [{target: GLB, type: datatype, keep: [Weights]}]}",
        "mapspace_constraints: {targets: [{target: GLB, type: bypass, bypass: [Weights]}]}",
        "mapping: [{target: DRAM, type: temporal, factors: C=8 M=16, permutation: CM}]",
        "mapping: [{target: DRAM, type: skew, modulo: 2}]", "ART: {version: 0.4, tables: [{name: a.RF, area: 10}]}",
    ],
}  # fmt: skip


def read(text: str) -> tuple[object, tuple[str, ...]]:
    parts = read_parts(texts=[("a.yaml", text)])
    return (parts.problem, parts.arch, parts.mapping, parts.constraints), parts.notes


def test_no_key_is_dropped() -> None:
    assert not list(dropped(FILE, KEYS, read))
