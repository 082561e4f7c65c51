"""A compiled network as one program.

program.py    groups one after the other, and where everything lies in the outermost memory
assembly.py   from the answer of a segmentation to that
writable.py   whether one can be written, before groups are known
operands.py   what groups are given: tensors and parameters
parameters.py  all parameters, one after the other
finishes.py   what is done with words as they are written
addresses.py  where the buffers of a group lie in the other memories
weights.py    parameters, as a file
widths.py     how wide words are stored, asked before the search
stored_values.py  those that a model states
stored.py     types in which words are stored in C programs of quantized networks
kinds.py      which of them each tensor has
known_words.py  between which numbers words are
leaving.py    where words are finished that are stored in another way than sums
exact.py      with which of them results are exact
numpy_network.py  one numpy program
runtime_network.py  what all such have in common
steps.py      tables of whole numbers at equal distances
c_network.py  one C file
c_group.py    one group in it
c_between.py  what is done between groups: functions and calls
c_apart.py    one such function
c_reduced.py  reductions, softmax and norms there
c_places.py   where words lie there
c_finish.py   what is done with words there
c_check.py    its check: plain loops, constants
c_runtime.py  the text of its check that is the same everywhere
"""

from .assembly import network_program
from .c_check import REFERENCE_FILE, WEIGHTS_FILE, NetworkElement
from .c_network import emit_c_network
from .exact import exact_magnitude
from .numpy_network import emit_numpy_network
from .program import NetworkProgram
from .weights import network_weights, reference_bytes, stored_bytes, weights_bytes
from .widths import with_stored_widths
from .writable import check_writable

__all__ = [
    "REFERENCE_FILE",
    "WEIGHTS_FILE",
    "NetworkElement",
    "NetworkProgram",
    "check_writable",
    "emit_c_network",
    "emit_numpy_network",
    "exact_magnitude",
    "network_program",
    "network_weights",
    "reference_bytes",
    "stored_bytes",
    "weights_bytes",
    "with_stored_widths",
]
