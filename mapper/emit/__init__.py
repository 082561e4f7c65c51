"""A mapping as text for others: executable programs and other tools' files."""

from .c_program import emit_c
from .c_tree import emit_c_tree
from .elements import Element
from .mapping_yaml import emit_mapping_yaml
from .mlir import emit_mlir
from .numpy_program import emit_numpy, program_steps
from .timeloop import emit_timeloop
from .tree_program import emit_tree
from .tvm import emit_tvm
from .verify import Verification, verify_numpy, verify_tree

__all__ = [
    "Element",
    "Verification",
    "emit_c",
    "emit_c_tree",
    "emit_mapping_yaml",
    "emit_mlir",
    "emit_numpy",
    "emit_timeloop",
    "emit_tree",
    "emit_tvm",
    "program_steps",
    "verify_numpy",
    "verify_tree",
]
