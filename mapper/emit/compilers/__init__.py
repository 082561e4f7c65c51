"""Mappings for other tools.

mlir.py          MLIR
tvm.py           TVM's TensorIR
offsets.py       loops that begin at 0, for both
timeloop.py      Timeloop's problem, architecture and mapping
mapping_yaml.py  mapping files
"""
