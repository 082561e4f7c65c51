"""Cascades on machines with lines: the tree in which nothing is fused, each operation mapped as is best with its lines.

Operations that exchange whole tensors in the outermost memory do not know of each other, but for the layouts of what
they exchange, which are stated, or agreed on afterwards. So each is an ordinary search with lines, and of objectives
that add up over operations the sum is the least of all such trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..arch import Memory
from ..cost_models.cascades import evaluate_open_tree
from ..cost_models.cascades.tensor_layouts import machine_for
from ..ir import FusedMapping, MappingError, Node, Tree
from .cascades import CascadeQuestion
from .cascades.weights import weights_of
from .question import Question
from .several import best_of


def unfused_in_lines(question: CascadeQuestion) -> tuple[FusedMapping, float]:
    """The tree, each of whose operations is best with layouts that it may choose where they are open; and what no tree
    costs less than in which nothing is fused: 0 for objectives that do not add up, and where operations may share what
    they read.

    Raises TilewrightError as a search of each operation does.
    """
    cascade, outermost = question.cascade, question.arch.memories[0].name
    branches, bound = [], 0.0
    for operation in cascade:
        machine = machine_for(question.arch, cascade, operation)
        seconds = None if question.limits.time_s is None else question.limits.time_s / len(cascade.operations)
        limits = replace(question.limits, time_s=seconds)
        asked = Question(operation.problem, machine, question.objective, question.tiling, question.space, limits=limits)
        answer = best_of(asked)
        items = tuple(i for i in answer.mapping.nest.items if not (isinstance(i, Node) and i.memory == outermost))
        branches.append(Tree(items, (), operation.name))
        bound += answer.certificate.lower_bound
    tree = Tree(tuple(Node(outermost, tensor) for tensor in cascade.tensors), tuple(branches))
    adds_up = weights_of(question.objective) is not None and question.arch.overlap != "across_operations"
    adds_up &= all(len(readers) <= 1 for readers in cascade.consumers.values())
    return FusedMapping(cascade, tree), bound if adds_up else 0.0


def kept_on_chip(question: CascadeQuestion, mapping: FusedMapping, memories: Sequence[Memory]) -> FusedMapping:
    """A tree in which nothing is fused, with each intermediate whole in one of some memories instead, one after the
    other, where that costs less with lines."""
    best = evaluate_open_tree(mapping, question.arch)[0].objective(question.objective)
    for tensor in mapping.cascade.intermediates:
        for memory in memories:
            tried = _with_home(mapping, tensor, memory.name)
            try:
                value = evaluate_open_tree(tried, question.arch)[0].objective(question.objective)
            except MappingError:  # it has no room there
                continue
            if value < best:
                best, mapping = value, tried
    return mapping


def _with_home(mapping: FusedMapping, tensor: str, memory: str) -> FusedMapping:
    """The tree with an intermediate whole in a memory, and no node of it there in any branch."""
    above = [item for item in mapping.tree.items if not (isinstance(item, Node) and item.tensor == tensor)]
    branches = tuple(
        Tree(tuple(item for item in branch.items if item != Node(memory, tensor)), (), branch.operation)
        for branch in mapping.tree.branches
    )
    return FusedMapping(mapping.cascade, Tree((*above, Node(memory, tensor)), branches))
