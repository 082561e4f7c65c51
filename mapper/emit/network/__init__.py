"""A compiled network as one program.

program.py    groups one after the other, and where everything lies in the outermost memory
addresses.py  where the buffers of a group lie in the other memories
weights.py    parameters, as a file
c_network.py  one C file
c_group.py    one group in it
c_runtime.py  its check
"""

from .c_network import WEIGHTS_FILE, emit_c_network, exact_magnitude
from .program import NetworkProgram, network_program
from .weights import seeded_weights, weights_bytes

__all__ = [
    "WEIGHTS_FILE",
    "NetworkProgram",
    "emit_c_network",
    "exact_magnitude",
    "network_program",
    "seeded_weights",
    "weights_bytes",
]
