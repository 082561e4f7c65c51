"""Files of machines that tests read, and make wrong: with formulas, with estimates, and of other tools."""

from __future__ import annotations

FORMULAS = """\
name: toy
description: $lanes lanes, $GLB.size, $GLB.read
clock: base * 2
word: 16 bit
partial_sum: 2 * word
parameters:
  base: 100 MHz
  lanes: 8
  banks: lanes / 2
  process: TSMC (65 nm)
  style: row-stationary
technology: $process, $style
levels:
  - memory: DRAM
    access: 1 word
    read: 200 pJ
    write: read
    bandwidth: array.x words/cycle
  - memory: GLB
    size: 27 KiB * banks
    access: 4 word
    read: 6 pJ * (size / 108 KiB)**0.5
    write: 1.25 * read
    bandwidth: {read: banks * 8 B/cycle, write: GLB.bandwidth.read / 2}
    area: 0.01 mm2 * (size / 1 KiB)
    leakage: 1 uW * (size / 1 KiB)
  - fanout: array
    x: {size: lanes * 2, dims: [C]}
    y: lanes / 2
  - memory: spad
    size: {input: 24 B, weight: 2 * size.input, shared: size.input + size.weight}
    access: 1 word
    read: 1 pJ
    write: 1 pJ
mac: {energy: 1 pJ, per_cycle: lanes / 4, area: 900 um2 * per_cycle}
"""

ESTIMATED = """\
name: toy
clock: 1 GHz
word: 8 bit
source: nowhere
parameters: {node: 45 nm}
levels:
  - memory: DRAM
    access: 64 bit
    estimate: {kind: dram, type: LPDDR4}
  - memory: GLB
    size: 64 KiB
    access: 8 bit
    write: 3 pJ
    estimate: {kind: sram, node: $node, width: 64 bit, ports: 2}
  - fanout: array
    x: 4
  - memory: spad
    size: {input: 24 B, weight: 448 B, shared: 4 B}
    access: 8 bit
    read: 1 pJ
    write: 1 pJ
    estimate: {kind: {input: registers, weight: sram, shared: registers}, node: $node, only: [area]}
mac: {estimate: {format: int8, node: $node}}
"""

ZIGZAG = """\
name: small
memories:
  reg_W:
    size: 8
    r_cost: 0.016
    w_cost: 0.032
    area: 0
    latency: 1
    operands: [I2]
    ports:
    - {name: r, type: read, bandwidth_min: 8, bandwidth_max: 8, allocation: ["I2, tl"]}
    - {name: w, type: write, bandwidth_min: 8, bandwidth_max: 8, allocation: ["I2, fh"]}
    served_dimensions: [D2, D3]
  reg_O:
    size: 16
    r_cost: 0.02
    w_cost: 0.02
    operands: [O]
    ports:
    - {name: r1, type: read, bandwidth_max: 16}
    - {name: r2, type: read, bandwidth_max: 16}
    - {name: w, type: write, bandwidth_max: 16}
    served_dimensions: [D1]
  sram:
    size: 65536
    r_cost: 10
    w_cost: 12
    operands: [I1, I2, O]
    double_buffering_support: true
    ports:
    - {name: rw, type: read_write, bandwidth_max: 128}
    served_dimensions: [D1, D2, D3]
  dram:
    size: 10000000000
    r_cost: 700
    w_cost: 750
    operands: [I1, I2, O]
    ports:
    - {name: rw, type: read_write, bandwidth_max: 64}
    served_dimensions: [D1, D2, D3]
operational_array:
  unit_energy: 0.04
  unit_area: 1
  dimensions: [D1, D2, D3]
  sizes: [4, 8, 2]
"""

ACCELFORGE = """\
arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    leak_power: 0
    area: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions:
    - {name: read, energy: 7.03e-12, throughput: 8 * 614e9}
    - {name: write, energy: 7.03e-12, throughput: 8 * 614e9}
  - !Memory
    name: Buffer
    spatial: [{name: Z, fanout: 4, may_reuse: Nothing}]
    size: 1024*1024*8
    leak_power: 1e-3
    area: 2e-6
    total_latency: max(a.n_calls / a.throughput for a in actions)
    actions:
    - {name: read, energy: 64e-12, bits_per_action: 64, throughput: 1e9}
    - {name: write, energy: 32e-12, bits_per_action: 32, throughput: inf}
    tensors: {keep: input | output, may_keep: All}
  - !Compute
    name: Scalar
    actions: [{name: compute, energy: 0, throughput: 1e9}]
  - !Container
    name: PE
    spatial:
    - {name: X, fanout: 16, reuse: input}
    - {name: Y, fanout: 8, reuse: output}
  - !Memory
    name: Register
    size: weight.bits_per_value if weight else 1
    component_class: Dummy
    tensors: {keep: weight}
  - !Compute
    name: MAC
    area: 1e-9
    actions: [{name: compute, energy: 0.084e-12, throughput: 2e9}]
"""

ACCELFORGE_CLASSES = """\
arch:
  extra_attributes_for_all_component_models: {tech_node: 65e-9}
  nodes:
  - !Memory
    name: Main
    component_class: LPDDR4
    size: inf
    tensors: {keep: ~Intermediates, may_keep: All}
  - !Memory
    name: Buffer
    component_class: SmartBufferSRAM
    size: 1024 * 1024
    total_latency: sum(a.n_calls for a in actions) / 32 / 200e6
    extra_attributes_for_component_model: {n_banks: 32}
    energy_scale: 2
    n_parallel_instances: 3
    actions:
    - {name: read, bits_per_action: 64}
    - {name: write, bits_per_action: 32, energy: 9e-12}
    tensors: {keep: ~Main, may_keep: All}
  - !Fanout
    name: PE
    spatial: [{name: X, fanout: 14, reuse: weight}]
  - !Memory
    name: Register
    component_class: Register
    size: 128
    leak_power: 0
    actions: [{name: read, latency: 1e-9}, {name: write, throughput: 1e9}]
    tensors: {keep: output}
  - !Compute
    name: MAC
    component_class: IntMAC
    total_latency: compute_actions / 200e6
    extra_attributes_for_component_model: {multiplier_width: 8, adder_width: 16}
"""

ERT = """\
ERT:
  version: '0.4'
  tables:
  - name: system.GLB[1..1]
    actions:
    - {name: read, arguments: {}, energy: 18.5}
    - {name: write, arguments: {}, energy: 14.25}
    - {name: leak, arguments: {}, energy: 0.005}
  - name: system.mac[1..168]
    actions: [{name: compute, arguments: {}, energy: 0.2}]
  - name: system.other[1..1]
    actions: [{name: read, energy: 1}]
"""

ART = """\
ART_summary:
  version: '0.4'
  table_summary:
  - {name: "system.GLB[1..1]", area: 217363.5, primitive_estimations: [{name: storage, estimator: CactiSRAM}]}
  - {name: "system.mac[1..168]", area: 191.82}
"""

TIMELOOP = """\
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
    attributes: {depth: 2 * banks, width: 8, datawidth: 8, vector_access_energy: 6}
    constraints:
      temporal: {permutation: [P, M], factors: [C=2, R>=1]}
      dataspace: {keep: [Inputs], bypass: [Weights]}
      utilization: {min: 0.5}
  - !Container
    name: PE
    spatial: {meshX: 8, meshY: 4}
    constraints: {spatial: {permutation: [C, M], split: 1, maximize_dims: [[M]], no_reuse: [Outputs]}}
  - !Parallel
    nodes:
    - !Component
      name: spad
      class: regfile
      attributes: {depth: 4, width: 8, datawidth: 8, vector_access_energy: 1}
      constraints:
        dataspace: {keep_only: [Inputs]}
        temporal: {permutation: [R, _, C], factors: [M<=4], default_max_factor: 8}
    - !Nothing {constraints: {dataspace: {keep: [Weights, Outputs]}}}
  - !Component
    name: MAC
    class: intmac
    attributes: {energy: 0.5}
variables: {version: 0.4, banks: 8}
constraints: {targets: [{target: DRAM, type: temporal, factors: C=1}]}
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
ERT: {version: 0.4, tables: [{name: "s.MAC[1..32]", actions: [{name: compute, energy: 3}]}]}
"""
