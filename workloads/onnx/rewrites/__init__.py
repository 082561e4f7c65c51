"""Rewrites of an ONNX graph that keep its outputs, each a pass of its own.

passes.py       all of them, in order
edits.py        what passes have in common: who makes and reads a tensor, new names, new nodes
writer.py       the nodes that take the place of another one
sizes.py        nodes that compute with sizes, as what they compute
responses.py    local response normalization, as a pooling of squares
unused.py       nodes and parameters that no output depends on
unmoved.py      nodes that pass on what they read: identities, reshapes and transposes that move nothing
equal.py        common subexpressions
batch_norms.py  batch norms into the parameters of convolutions
later.py        dequantizing behind what moves words
integers.py     quantized and dequantized products as operations on integers

Passes look at the graph, and at small parameters; what they need of large ones they add as nodes that depend on
parameters alone, which are computed when parameters are read (`values.py`). Two of the usual rewrites are no passes:
such nodes are constants, and functions of one word are done as words are written (`edges.py`).
"""

from .passes import REWRITES, rewritten

__all__ = ["REWRITES", "rewritten"]
