"""Common subexpressions: nodes that do the same with the same tensors."""

from __future__ import annotations

from ..shapes import RANDOM
from .edits import GraphEdit, subgraphs


def merge_equal(edit: GraphEdit) -> int:
    """Let the first of equal nodes stand for all; how many others are removed. One that makes an output of the graph
    stays."""
    first: dict[object, list[str]] = {}
    renamed: dict[str, str] = {}
    gone: dict[str, tuple[()]] = {}
    for node in edit.nodes:
        if node.op_type in RANDOM or any(True for _ in subgraphs(node)):
            continue
        reads = tuple(renamed.get(name, name) for name in node.input)
        done = tuple(sorted(attribute.SerializeToString(deterministic=True) for attribute in node.attribute))
        key = (node.domain, node.op_type, reads, done, tuple(map(bool, node.output)))
        made = first.setdefault(key, list(node.output))
        if made != list(node.output) and edit.results.isdisjoint(node.output):
            renamed.update(zip(node.output, made, strict=True))
            gone[node.name] = ()
    edit.rename_reads(renamed)
    edit.replace(gone)
    return len(gone)
