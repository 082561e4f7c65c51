"""A mapping as text for others: executable programs and other tools' files.

parts/      what programs in all languages have in common
lowering/   a mapping as a scalar program, in no language yet
numpy/      programs that count the words they move
c/          programs in C99
compilers/  MLIR and TVM, Timeloop's files, mapping files
network/    whole networks in numpy and C
sharded/    plans for several devices in numpy
"""

from .c.program import emit_c
from .compilers.mapping_yaml import emit_mapping_yaml
from .compilers.mlir import emit_mlir
from .compilers.timeloop import emit_timeloop
from .compilers.tvm import emit_tvm
from .numpy.program import emit_numpy, program_steps
from .numpy.verify import Verification, verify_numpy
from .parts.exactness import Element

__all__ = [
    "Element",
    "Verification",
    "emit_c",
    "emit_mapping_yaml",
    "emit_mlir",
    "emit_numpy",
    "emit_timeloop",
    "emit_tvm",
    "program_steps",
    "verify_numpy",
]
