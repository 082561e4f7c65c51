"""Nodes and parameters that no output depends on."""

from __future__ import annotations

from .edits import GraphEdit, names_read


def remove_unused(edit: GraphEdit) -> int:
    """Remove them; how many nodes."""
    used = set(edit.results)
    gone: dict[str, tuple[()]] = {}
    for node in reversed(edit.nodes):
        if used.isdisjoint(node.output):
            gone[node.name] = ()
        else:
            used.update(names_read(node))
    edit.replace(gone)
    graph = edit.model.graph
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    if len(kept) < len(graph.initializer):
        names = {tensor.name for tensor in graph.initializer} - {tensor.name for tensor in kept}
        inputs = [value for value in graph.input if value.name not in names]  # old models list parameters there
        del graph.initializer[:], graph.input[:]
        graph.initializer.extend(kept)
        graph.input.extend(inputs)
    return len(gone)
