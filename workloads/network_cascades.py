"""Cascades from networks: layers and what is done between them, joined by `+`, or a range of them.

mobilenet_v2:b3.expand+b3.dw+b3.project
resnet50:layer1.0.conv1..layer1.0.conv3
gpt2_small:qk+softmax+av                  in two passes or in one, whichever a search finds to be better
gpt2_small:qk+softmax.two-pass+av         in two passes, as softmax is written
gpt2_small:qk+softmax.divided-last+av     the same, with outputs divided in the place of weights
gpt2_small:qk+softmax.one-pass+av         in one pass over blocks of keys
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, cast

from ..inputs import checks
from ..ir import Cascade, ProblemError
from ..ir.files import beginning_of
from .cascades import load_cascade
from .graph import chosen, is_joined, joined
from .network import NO_SIZES, Network, Sizes, Widths
from .networks import load_network, network_at, split_reference
from .softmax_forms import in_any_way, in_one_pass_alone, last_divided

_YAML = (".yaml", ".yml")

SoftmaxChoice = Literal["any", "two-pass", "divided-last", "one-pass", "one"]
SOFTMAX_CHOICES: tuple[SoftmaxChoice, ...] = ("any", "two-pass", "divided-last", "one-pass", "one")
_IN_A_NAME = re.compile(r"\.(any|two-pass|divided-last|one-pass)(?=\+|\.\.|$)")


def cascade_of(network: Network | str | os.PathLike[str], layers: str, *, softmax: SoftmaxChoice = "any") -> Cascade:
    """The cascade of some layers of a network: cascade_of("mobilenet_v2", "b3.expand+b3.dw+b3.project").

    network  a network, its name or the path of its file
    layers   names joined by `+`, in any order; `a..b` are all operations on a way from a to b. A row that occurs more
             often than once stands for its first occurrence; the others have names of their own (`layer1.2.conv1`,
             `h.3.qk`). An exact name wins over `+` and `..`
    softmax  "two-pass": a softmax is four operations (maximum, exponential, sum, division), two passes over its rows;
             between two products it may be "divided-last", outputs divided in the place of weights, or "one-pass", a
             running maximum and sum over blocks of keys, with a form for every size of blocks. "any" is all these
             forms there, of which a search takes the best, and two passes elsewhere; "one": one operation, of every
             word. As a part of the names, `qk+softmax.one-pass+av` and the like say so too

    Biases, batch norms and functions of one word (ReLU, GELU, ...) are done as outputs are written, and are no
    operations.

    Raises ProblemError for unknown names, layers that do not connect, and a network whose edges are not known.
    """
    found = network if isinstance(network, Network) else load_network(network)
    checks.text(layers, "the layers", "names such as b3.expand+b3.dw", ProblemError)
    if not isinstance(softmax, str) or softmax not in SOFTMAX_CHOICES:
        raise ProblemError(f"softmax is {softmax!r}, expected {' or '.join(SOFTMAX_CHOICES)}")
    if named := _IN_A_NAME.search(layers):
        return cascade_of(found, _IN_A_NAME.sub("", layers), softmax=cast("SoftmaxChoice", named[1]))
    if found.wiring is None:
        hint = "add a graph to its table, as workloads/networks/README.md says, or write the operations down"
        raise ProblemError("which layer reads which is not known", where=f"network {found.name}", hint=hint)
    occurrences, name = chosen(found.wiring, layers), f"{found.name}:{layers}"
    whole = joined(found.wiring, occurrences, name, softmax="one" if softmax == "one" else "parts")
    return _FORMS[softmax](whole) if softmax in _FORMS else whole


_FORMS: Final[dict[SoftmaxChoice, Callable[[Cascade], Cascade]]] = {
    "any": in_any_way,
    "divided-last": last_divided,
    "one-pass": in_one_pass_alone,
}


def resolve_cascade(
    text: str | os.PathLike[str],
    dims: Sizes = NO_SIZES,
    widths: Widths = "file",
    *,
    softmax: SoftmaxChoice = "any",
) -> Cascade:
    """The cascade that a text names: a YAML file of operations, or layers of a network, `resnet50:conv1+pool`.

    dims, widths  as of `network_at`
    softmax       as of `cascade_of`

    Raises ProblemError where it names none.
    """
    name = checks.path(
        text, "the cascade", "layers such as gpt2_small:qk+softmax+av, or the path of a file", ProblemError
    )
    if name.endswith(_YAML):
        return load_cascade(name)
    network, layers = split_reference(name)
    if not network or not layers:
        hint = "write NETWORK:LAYER+LAYER, NETWORK:FIRST..LAST, or the path of a YAML file with operations and sizes"
        raise ProblemError(f"{name!r} names no cascade", hint=hint)
    return cascade_of(network_at(network, dims, widths), layers, softmax=softmax)


def names_cascade(text: str, dims: Sizes = NO_SIZES) -> bool:
    """Whether a text names a cascade rather than one layer: a file of operations, several layers of a network, or
    something between its layers. A layer of exactly that name wins."""
    if text.endswith(_YAML):
        return is_cascade_file(Path(text))
    network, layers = split_reference(text)
    if not network or not layers:
        return False
    found = network_at(network, dims)
    if any(layers in (layer.name, *layer.nodes) for layer in found.layers):
        return False
    if found.wiring is not None and found.wiring.knows(layers):
        return not found.wiring.find(layers).multiplies
    return is_joined(layers)


def is_cascade_file(path: Path) -> bool:
    """Whether a YAML file has the key `operations`; one that cannot be read is for its reader to refuse."""
    return re.search("^operations:", beginning_of(path), re.MULTILINE) is not None
