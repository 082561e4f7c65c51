"""What a network computes beyond what its operations cost: stored parameters, and what is done with words as they are
written (biases, batch norms, functions of one word). Tables say nothing of these; files of models do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from ...ir import Expression

if TYPE_CHECKING:
    import numpy as np

    Index = np.ndarray[Any, np.dtype[np.int64]]
    Factors = np.ndarray[Any, np.dtype[np.float64]]

WORD = "X"
"""What the expression of a finish calls the word."""

Values = Callable[[], Mapping[str, "np.ndarray[Any, Any]"]]
"""Reads the stored parameters of a model, by name."""


@dataclass(frozen=True)
class FinishParameter:
    """A stored parameter of what is done with words.

    value  its name
    own    its shape, as it is broadcast
    shape  in which it is broadcast
    runs   of the axes of that shape, in the words of what is finished: how many, and how far apart
    """

    value: str
    own: tuple[int, ...]
    shape: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class WordFinish:
    """What is done with every word of a tensor as it is written.

    expression  of the word, WORD, and of parameters
    parameters  by what the expression calls them
    """

    expression: Expression
    parameters: tuple[tuple[str, FinishParameter], ...] = ()


@dataclass(frozen=True)
class StoredOperand:
    """A stored parameter that a layer multiplies with.

    value  its name
    order  letters of the layer's dimensions, in the order in which they lie in it, slowest first
    zero   what is subtracted from its words, if anything: the name of a parameter of one word,
    along  or of one word for each position of the dimension with this letter
    taken  of some of its axes, by the letter of their dimensions, how many positions it has there and which the layer
           multiplies with, in the layer's order; of the others all
    """

    value: str
    order: tuple[str, ...]
    zero: str | None = None
    along: str | None = None
    taken: tuple[tuple[str, int, tuple[int, ...]], ...] = ()


Apart = Callable[[], "ApartOperation"]
"""Works out, with stored parameters, what is done apart."""


@dataclass(frozen=True)
class ApartRead:
    """A tensor as an operation apart reads it.

    name       in the operation's expression
    source     who makes it; None: it is stored
    value      the name of what is stored; None: it is made
    extents    axes of the output, as this tensor is read for it
    positions  for each of these axes, the positions of the output that are made of this tensor
    offsets    for each axis and these positions, where the words lie that are taken there: an array (positions, taken).
               The word is at the sum over all axes; below zero means that there is none
    """

    name: str
    source: str | None
    value: str | None
    extents: tuple[int, ...]
    positions: tuple[Index, ...]
    offsets: tuple[Index, ...]


ApartReduction = Literal["sum", "mean", "max", "product", "argmax", "log_sum_exp"]
ApartKind = Literal["move", "words", ApartReduction, "weighted", "softmax", "log_softmax", "norm", "gather", "computed"]
"""How the words of an output are made of others; see `ApartOperation`."""

NORMALIZING = frozenset(("softmax", "log_softmax", "norm"))
"""What makes a word of every word that it takes."""

REDUCING: frozenset[str] = frozenset(get_args(ApartReduction))
"""What makes one word of all that it takes, each after the expression."""


@dataclass(frozen=True)
class ComputedTensor:
    """A whole tensor that a computed operation reads or makes: its name in the operation's model, the type of its
    elements as ONNX names it, and its shape."""

    name: str
    type: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Computed:
    """An operator that no mapping has, as a model of its own.

    name       by which programs call it
    operators  types of its nodes
    model      an ONNX file of it alone
    operands   what it reads, in the order of the operation's reads
    positions  of the operands among the inputs of the operator
    results    what it makes: their words stand one tensor behind the other
    outputs    of the results among the outputs of the operator
    attributes its own
    numbers    by the position of an input, the whole numbers that are stored for it: they stand in the model
    missing    why onnx's reference implementation does not compute it; empty: it does
    """

    name: str
    operators: tuple[str, ...]
    model: bytes
    operands: tuple[ComputedTensor, ...]
    positions: tuple[int, ...]
    results: tuple[ComputedTensor, ...]
    outputs: tuple[int, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    numbers: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    missing: str = ""


@dataclass(frozen=True)
class ApartOperation:
    """What is done between groups, in the outermost memory, and is no operation that a mapping has.

    how         "move": each word of the output is one word of one of the tensors, or `fill`; "words": the expression of
                one word of each; "sum", "mean", "max", "product": over what is taken of the only one, each word after
                the expression; "argmax": how many were taken before the largest; "log_sum_exp": the logarithm of the
                sum of their exponentials; "weighted": the sum, each word times
                its factors of all axes; "softmax", "log_softmax", "norm": every word that is taken of the first, beside
                all that are taken with it, and then the expression of it and of one word of each other; "gather": rows
                of the first along `axis`, those that the words of the second name, in place of that axis; "computed":
                what an operator of the model makes of whole tensors
    shape       of the output
    reads       what it is made of
    expression  of the names of `reads`
    fill        what is nowhere else
    scale       the result is multiplied with it
    factors     for each axis, a factor for each position and all that is taken for it
    axis        along which rows are gathered
    after       what is done with the result of a reduction, WORD
    epsilon     what a norm adds to the variance
    computed    the operator
    """

    how: ApartKind
    shape: tuple[int, ...]
    reads: tuple[ApartRead, ...]
    expression: Expression | None = None
    fill: float = 0.0
    scale: float = 1.0
    factors: tuple[Factors, ...] = ()
    axis: int = 0
    after: Expression | None = None
    epsilon: float = 0.0
    computed: Computed | None = None


@dataclass(frozen=True)
class ModelTensor:
    """What a model is given, or hands out: its name there, who makes it here, its shape, and what numpy calls the type
    of its elements."""

    name: str
    key: str
    shape: tuple[int, ...]
    dtype: str


ReferenceRows = tuple[Mapping[str, "np.ndarray[Any, Any]"], list["np.ndarray[Any, Any]"]]
Reference = Callable[[Mapping[str, int]], ReferenceRows | None]
"""Inputs and outputs as the definition of a model has them."""


@dataclass(frozen=True)
class NetworkMeaning:
    """All of it.

    finishes  by occurrence, of those whose words are changed
    stored    by occurrence and operand
    inputs    occurrences that stand for what it is given, in order
    outputs   occurrences that make what the network hands out
    unknown   what cannot be computed, each with its place and why
    values    reads the parameters
    apart     by occurrence, those that are done between groups; by form, copies of tensors that are read both before
              and after functions of their words, each of which is a form of its own
    copies    by what is made, its other forms
    forms     by reader and what it reads, the form that it reads, where that is not what is made
    types     of inputs and outputs, as the model names them: INT8, FLOAT
    is_quantized  whether some operators are those of quantized models
    computed  by occurrence, the operators that no mapping has
    reference  for how many rows words of an input choose among, by input: random inputs, by their occurrences, and
               what the model's own definition makes of them; None where that is not known
    given      every input under the model's name for it
    handed     every output, likewise
    """

    finishes: Mapping[str, WordFinish]
    stored: Mapping[tuple[str, str], StoredOperand]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    unknown: tuple[str, ...]
    values: Values
    apart: Mapping[str, Apart] = field(default_factory=dict)
    copies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    forms: Mapping[tuple[str, str], str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    is_quantized: bool = False
    computed: Mapping[str, Computed] = field(default_factory=dict)
    reference: Reference | None = None
    given: tuple[ModelTensor, ...] = ()
    handed: tuple[ModelTensor, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """What searches in other processes ask for: what programs are made of stays here, with the file."""
        return {**vars(self), "values": _elsewhere, "apart": {}, "reference": None}


def _elsewhere() -> Mapping[str, np.ndarray[Any, Any]]:
    raise AssertionError("programs are made in the process that has read the model")
