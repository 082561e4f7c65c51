"""The activations of a network as steps and buffers: how much is live without fusion, in which order least."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...ir import MemoryPlanError
from ...workloads.graph import OUTSIDE, NetworkGraph
from .buffers import BufferSet, InPlace, LiveBuffer
from .order import TensorStep


@dataclass(frozen=True)
class ActivationSteps:
    """A network as steps that each write one activation.

    steps     in the network's order; what comes from outside of the network is the caller's, and not among them
    sizes     bytes of every activation
    kept      those that nobody reads: they stay to the end
    in_place  (source, result) of steps that go word by word
    """

    steps: tuple[TensorStep, ...]
    sizes: Mapping[str, int]
    kept: tuple[str, ...]
    in_place: tuple[tuple[str, str], ...]

    @property
    def bytes_in_all(self) -> int:
        """Bytes of all activations, each at addresses of its own."""
        return sum(self.sizes.values())


def activation_steps(
    graph: NetworkGraph, element_bytes: int, batch: int = 1, after_convolutions: Sequence[str] = ()
) -> ActivationSteps:
    """The steps of a network: one for each operation, with all of its operations alone.

    batch         inputs at once: all sizes are so many times those of the graph
    after_convolutions  what is done word by word after each layer whose output has four axes or more, such as `norm`
                  and `relu`: each is a step that writes an activation of its own, as large

    Raises MemoryPlanError where the shape of an activation is not known.
    """
    steps: list[TensorStep] = []
    sizes: dict[str, int] = {}
    in_place: list[tuple[str, str]] = []
    written: dict[str, str] = {}  # by occurrence, what its readers read
    for occurrence in graph:
        shape = graph.shape(occurrence.name)
        known = tuple(dict.fromkeys(written[name] for name in occurrence.reads if name in written))
        if occurrence.kind == OUTSIDE and not known:
            continue
        if shape is None:
            hint = "state its shape by an entry of the graph: op: outside, shape: [...]"
            raise MemoryPlanError(f"the shape of {occurrence.name} is not known", where=graph.network, hint=hint)
        size = element_bytes * batch * math.prod(shape)
        if not occurrence.multiplies:
            in_place += [(name, occurrence.name) for name in known if sizes[name] == size]
        name = occurrence.name
        steps.append(TensorStep(name, known, (name,)))
        sizes[name] = size
        is_image = len(shape) >= 4  # batch, channels, height and width
        for what in after_convolutions if occurrence.multiplies and is_image else ():
            later = f"{occurrence.name} {what}"
            steps.append(TensorStep(later, (name,), (later,)))
            sizes[later] = size
            in_place.append((name, later))
            name = later
        written[occurrence.name] = name
    read = {name for step in steps for name in step.reads}
    kept = tuple(name for name in sizes if name not in read)
    return ActivationSteps(tuple(steps), sizes, kept, tuple(in_place))


def activation_buffers(activations: ActivationSteps, order: Iterable[str], in_place: bool = False) -> BufferSet:
    """What has to lie where while the steps are done in an order: each activation from the step that writes it to the
    last that reads it.

    order     names of steps
    in_place  whether steps that go word by word may write over what they read, where nobody reads it later
    """
    by_name = {step.name: step for step in activations.steps}
    moments = {name: moment for moment, name in enumerate(order)}
    last = {name: len(moments) - 1 for name in activations.kept}
    for step in by_name.values():
        for name in step.reads:
            last[name] = max(last.get(name, 0), moments[step.name])
    buffers = tuple(
        LiveBuffer(name, moments[step.name], last[name] + 1, activations.sizes[name])
        for step in sorted(by_name.values(), key=lambda step: moments[step.name])
        for name in step.writes
    )
    begins = {buffer.name: buffer.lower for buffer in buffers}
    ends = {buffer.name: buffer.upper for buffer in buffers}
    pairs = [InPlace(a, b) for a, b in activations.in_place if in_place and ends[a] == begins[b] + 1 <= ends[b]]
    return BufferSet(buffers, tuple(pairs))
