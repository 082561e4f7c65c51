"""Networks from ONNX files: dense operations become problems, everything else is counted and listed.

branches.py      If nodes whose condition is known
unrolled.py      short loops and scans, step by step
new_tensors.py   new tensors under names that no other has
files.py         reading, symbolic dimensions
expanded.py      operators that are several standard ones, written out
contrib_attention.py those of com.microsoft: attentions
contrib_words.py the same: functions of words, norms, what is quantized
shapes.py        shapes and types of all tensors
graph.py         nodes, their names, producers and consumers
rewrites/        a graph with the same outputs and less to do
edges.py         which layer reads which, for cascades
views.py         how the words of a tensor lie in what a node makes
computed.py      operators that no mapping has, computed apart
between_nodes.py what nodes that do not multiply are as operations
apart.py         what is done between groups: moves of data, tensors that are broadcast
reductions.py    reductions, pooling, softmax and norms there
lies.py          how the tensors lie that are read there
resized.py       sums of neighbours in images that are made larger or smaller
finished_words.py what is done with words as they are written, with the parameters in it
word_forms.py    in which forms the words of each tensor are read
words.py         what is done word by word, as expressions
integers.py      the same, of whole numbers
quantized.py     the same, of quantized words
values.py        stored parameters
referenced.py    what onnx's reference implementation makes of random inputs
weights.py       the weights of one layer, whose zeros are counted
nodes.py         what an operator sees, and what it returns
convolutions.py  Conv, ConvInteger, QLinearConv
transposed.py    ConvTranspose
products.py      MatMul, Gemm, MatMulInteger, QLinearMatMul
einsums.py       Einsum
attention.py     Attention
recurrent.py     LSTM, GRU, RNN
deformed.py      DeformConv
passed.py        all other operators, counted
wiring.py        graphs that are none: cycles, tensors that nothing makes
unknown.py       why the shape of a tensor is not known
network.py       the whole file as a network
"""

from .files import FixedInput
from .network import OPERATORS, OnnxNetwork, load_onnx
from .passed import PassedThrough

__all__ = ["OPERATORS", "FixedInput", "OnnxNetwork", "PassedThrough", "load_onnx"]
