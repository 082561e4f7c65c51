"""Nodes that compute with sizes (Shape, Gather, Range, ...), as what they compute."""

from __future__ import annotations

from ..shapes import folded
from .edits import GraphEdit


def fold_sizes(edit: GraphEdit) -> int:
    """Replace nodes that depend on known shapes and on parameters alone by what they make; how many."""
    found, constants = folded(edit.model)[1], edit.constants()
    gone = {
        node.name: ()
        for node in edit.nodes
        if any(node.output) and not constants.issuperset(node.output) and all(n in found for n in node.output if n)
    }
    kept = [name for node in edit.nodes if node.name in gone for name in node.output if name]
    edit.model.graph.initializer.extend(found[name] for name in kept)
    edit.replace(gone)
    return len(gone)
