"""What a network is: layers, with how often each occurs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ..inputs import checks
from ..ir import Problem, ProblemError, did_you_mean
from ..ir.display import Shown

if TYPE_CHECKING:
    from .graph import NetworkGraph

ONNX = ".onnx"
"""What the names of ONNX files end in."""
Widths = Literal["file", "arch"]
WIDTHS = ("file", "arch")
"""Where widths of words come from: the element types in an ONNX file, or the architecture."""

PHASE, BATCH = "phase", "batch"
"""Among the sizes of a network, the name of the phase that sets others; and the size that `--batch` gives."""
Sizes: TypeAlias = Mapping[str, int | str]
"""Sizes of a network's symbols by name, its phase among them."""
NO_SIZES: Final[Sizes] = {}
"""A network as its file has it."""


def sizes_asked(dims: Mapping[str, int] | None, phase: str | None, batch: int | None) -> Sizes:
    """The sizes that a call gives, with its phase and its batch; ProblemError for a batch that is given twice."""
    if dims is not None:
        checks.mapping(dims, "dims", 'a dict such as {"batch": 1}', ProblemError)
    if phase is not None:
        checks.text(phase, "phase", "the name of one, such as decode", ProblemError)
    if batch is not None:
        checks.whole(batch, "batch", 1, ProblemError)
        if BATCH in (dims or {}):
            raise ProblemError("the batch is given twice", where="batch", hint="leave out one of the two")
    given = {PHASE: phase, BATCH: batch}
    return {**(dims or {}), **{name: one for name, one in given.items() if one is not None}}


def microbatch(sizes: Sizes, count: int) -> Sizes:
    """Sizes of a network for one of so many microbatches; ProblemError for a batch that is not given or not divided."""
    if count == 1:
        return sizes
    batch = sizes.get(BATCH)
    if not isinstance(batch, int):
        raise ProblemError(
            "microbatches are parts of a batch, and none is given", where="batch", hint="say how large it is"
        )
    if batch % count:
        raise ProblemError(f"a batch of {batch:,} is not divided by {count:,}", where="microbatches")
    return {**sizes, BATCH: batch // count}


@dataclass(frozen=True)
class Uncounted:
    """What a network is known to ask for, and its graph does not have: no plan counts it.

    macs   of its layers
    names  of these, and of operators of which nothing is known
    """

    macs: int = 0
    names: tuple[str, ...] = ()

    def beside(self, counted: int) -> str:
        """In words, beside the MACs that are counted."""
        if not self.names:
            return f"{counted:,}"
        every = f" of {counted + self.macs:,}" if self.macs else ""
        return f"{counted:,}{every} MACs, not counted: {', '.join(self.names)}"


@dataclass(frozen=True)
class Experts:
    """The experts of a layer, to which tokens are dealt out evenly.

    every    that there are, each with its own weights
    top_k    that each token goes to
    at_work  that have tokens at all, each as many
    """

    every: int
    top_k: int
    at_work: int


@dataclass(frozen=True)
class NetworkLayer:
    """One row of a network.

    problem    one occurrence of the layer, named "network:layer"
    repeat     occurrences in the network, each with its own weights
    is_weight  the weight-role operand is a stored parameter (False: an activation, as in attention)
    name       unique in its network
    shared     occurrences without weights of their own: they use those of another one
    nodes      names of the occurrences, where they have names of their own (as in an ONNX file)
    experts    whose weights they are; the problem is of those that have tokens
    """

    problem: Problem
    repeat: int
    is_weight: bool
    name: str
    shared: int = 0
    nodes: tuple[str, ...] = ()
    experts: Experts | None = None

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all occurrences."""
        return self.repeat * self.problem.macs

    @property
    def weights(self) -> int:
        """Stored parameters, in words, of all occurrences."""
        if not self.is_weight:
            return 0
        words = (
            math.prod(self.problem.sizes[dim] for dim in tensor.dims)
            for tensor in self.problem.operands
            if tensor.role == "weight"
        )
        own = (self.repeat - self.shared) * sum(words)
        return own if self.experts is None else own // self.experts.at_work * self.experts.every

    @property
    def active_weights(self) -> int:
        """Those of them that one token meets: of experts, its own ones alone."""
        return self.weights if self.experts is None else self.weights // self.experts.every * self.experts.top_k


@dataclass(frozen=True)
class Network(Shown):
    """A network.

    name    of the network
    source  where the shapes come from
    layers  in order; equal ones may stand once, with `repeat`. Only what multiplies is a layer
    phase   which of its phases it is, and the sizes of its symbols in it; None where it has none
    wiring  which occurrence of a layer reads which, and what is done between them; None where that is not known
    """

    name: str
    source: str
    layers: tuple[NetworkLayer, ...]
    phase: tuple[str, tuple[tuple[str, int], ...]] | None = field(default=None, kw_only=True, repr=False)
    wiring: NetworkGraph | None = field(default=None, kw_only=True, repr=False, compare=False, hash=False)

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates of the whole network, repeats counted."""
        return sum(layer.macs for layer in self.layers)

    @cached_property
    def weights(self) -> int:
        """Stored parameters of the whole network, in words, repeats counted."""
        return sum(layer.weights for layer in self.layers)

    @cached_property
    def active_weights(self) -> int:
        """Stored parameters that one token meets, in words: all, but for experts that it does not go to."""
        return sum(layer.active_weights for layer in self.layers)

    @cached_property
    def cached(self) -> int:
        """Words of all caches, which are kept from run to run."""
        caches = (one.shape or () for one in self.wiring or () if one.role == "cache")
        return sum(map(math.prod, caches))

    @cached_property
    def uncounted(self) -> Uncounted:
        """Layers that its graph lacks."""
        if self.wiring is None:
            return Uncounted(self.macs, tuple(layer.name for layer in self.layers))
        counted: dict[str, int] = {}
        for occurrence in self.wiring:
            counted[occurrence.layer] = counted.get(occurrence.layer, 0) + occurrence.macs
        names = list[str]()
        for layer in self.layers:
            if layer.macs != counted.get(layer.name, 0):
                names += [node for node in layer.nodes if node not in self.wiring.by_name] or [layer.name]
        return Uncounted(self.macs - sum(counted.values()), tuple(names))

    def __str__(self) -> str:
        layers = sum(layer.repeat for layer in self.layers)
        counts = f"{layers:,} layers, {len(self.layers):,} of them distinct"
        return f"{self.name}: {counts}, {self.macs:,} MACs, {self.weights:,} weights"

    def layer(self, name: str) -> NetworkLayer:
        """The layer of that name; ProblemError names the nearest one otherwise."""
        checks.text(name, "the layer", "the name of one", ProblemError)
        for layer in self.layers:
            if layer.name == name:
                return layer
        found = self._occurrence(name)
        if found is not None:
            return found
        names = [layer.name for layer in self.layers]
        raise ProblemError(f"unknown layer {name!r}", where=f"network {self.name}", hint=did_you_mean(name, names))

    def _occurrence(self, name: str) -> NetworkLayer | None:
        """The row of an occurrence that has a name of its own; ProblemError where it multiplies nothing."""
        occurrence = self.wiring.by_name.get(name) if self.wiring else None
        if occurrence is None and self.wiring and self.wiring.knows(name):
            occurrence = self.wiring.find(name)
        if occurrence is None:
            return None
        if not occurrence.multiplies:
            message = f"{name} ({occurrence.kind}) multiplies nothing"
            hint = "it is a part of cascades: write it with others, joined by +"
            raise ProblemError(message, where=f"network {self.name}", hint=hint)
        return self.layer(occurrence.layer)
