"""How wide a program of a quantized network stores its words, asked before groups are searched.

The types that a model states need not hold what its operators make: sums are of 32 bits, words of a softmax are floats.
A plan in the stated widths would have too little room for them.
"""

from __future__ import annotations

from dataclasses import replace

from .....arch import Architecture
from .....workloads.graph import NetworkGraph, OperationGroup, cascade_parameters, cascade_tensors, operation_groups
from .kinds import NetworkKinds
from .operands import Weight
from .parameters import ParameterRow


def with_stored_widths(graph: NetworkGraph, arch: Architecture) -> tuple[NetworkGraph, dict[str, tuple[int, int]]]:
    """The graph with the widths in which a C program stores tensors, where these are more than the machine would plan
    with; and those tensors: bits as planned, and as stored."""
    if graph.meaning is None or not graph.meaning.is_quantized:
        return graph, {}
    walk = _StoredWidths(graph, arch)
    for group in operation_groups(graph, 1):
        walk.add(group)
    widths = {key: stored for key, (_, stored) in walk.wider.items()}
    return replace(graph, widths=widths), walk.wider


class _StoredWidths:
    """Tensors in the order in which they are made, each operation a group of its own."""

    def __init__(self, graph: NetworkGraph, arch: Architecture) -> None:
        assert graph.meaning is not None
        self.graph, self.arch, self.meaning = graph, arch, graph.meaning
        self.kinds = NetworkKinds(self.meaning)
        self.parameters = ParameterRow(graph, is_narrow=True)
        self.wider: dict[str, tuple[int, int]] = {}

    def add(self, group: OperationGroup) -> None:
        """What a group makes, and the forms of it that are read."""
        made = [group.names[0]]
        if group.cascade is not None:
            made = self._mapped(group)
        elif made[0] in self.meaning.apart:
            self._apart(made[0], group)
        for form in (form for key in made for form in self.meaning.copies.get(key, ())):
            self._apart(form, group)

    def _apart(self, name: str, group: OperationGroup) -> None:
        operation = self.meaning.apart[name]()
        inputs = [
            read.source if read.source is not None else self.parameters.of_apart(name, read) for read in operation.reads
        ]
        self.kinds.of_apart(name, operation, inputs, self.parameters.of_finish(name, group.names, operation.shape))

    def _mapped(self, group: OperationGroup) -> list[str]:
        cascade = group.cascade
        assert cascade is not None
        members = [self.graph.by_name[name] for name in group.names]
        parameters = cascade_parameters(self.graph, members, cascade)
        uses = {source.name: (member.name, source.name) for member in members for source in member.sources}
        keys, weights = {}, dict[str, Weight]()
        for name, tensor in cascade_tensors(self.graph, members, cascade).items():
            read = self.meaning.forms.get(uses.get(tensor.key, ("", "")), tensor.key)
            keys[name] = tensor.key if name in cascade.producers else read
        for name in cascade.tensors:
            if name not in keys:
                weights[name] = self.parameters.of_operand(cascade, name, group.names, parameters[name])
                keys[name] = weights[name].name
        finished = {
            name: self.parameters.of_finish(keys[name], group.names, cascade.extents(name))
            for name in cascade.producers
        }
        known = {name: one for name, one in finished.items() if one is not None}
        stored = self.kinds.of_group(cascade, keys, weights, known)
        for operation in cascade:
            name, output = operation.output.name, operation.output
            planned, bits = self.arch.width_bits(output), 8 * stored.whole[name].bytes
            if bits > planned:
                self.wider[keys[name]] = planned, bits
        return [keys[operation.output.name] for operation in cascade]
