"""A compiled network as one program.

words/   what words are, how they are stored, and what is done with them
groups/  groups one after the other, and where everything lies
c/       one C file
numpy/   one numpy program
"""

from .c.extern import extern_stub
from .c.network import c_network_header, emit_c_network
from .groups.assembly import network_program
from .groups.exact import exact_magnitude, own_element
from .groups.files import REFERENCE_FILE, WEIGHTS_FILE, NetworkElement
from .groups.program import NetworkProgram
from .groups.weights import network_weights, reference_bytes, stored_bytes, weights_bytes
from .groups.writable import check_writable, forms_of, linked
from .numpy.network import emit_numpy_network
from .words.widths import with_stored_widths

__all__ = [
    "REFERENCE_FILE",
    "WEIGHTS_FILE",
    "NetworkElement",
    "NetworkProgram",
    "c_network_header",
    "check_writable",
    "emit_c_network",
    "emit_numpy_network",
    "exact_magnitude",
    "extern_stub",
    "forms_of",
    "linked",
    "network_program",
    "network_weights",
    "own_element",
    "reference_bytes",
    "stored_bytes",
    "weights_bytes",
    "with_stored_widths",
]
