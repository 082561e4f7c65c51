"""Cascades on machines with lines: the tree in which nothing is fused, each operation mapped as is best with its lines.

Operations that exchange whole tensors in the outermost memory do not know of each other, but for the layouts of what
they exchange, which are stated, or agreed on afterwards. So each is an ordinary search with lines, and of objectives
that add up over operations the sum is the least of all such trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..arch import Architecture, Memory
from ..cost_models import Objective, evaluate_open
from ..cost_models.cascades.tensor_layouts import machine_for
from ..cost_models.cost import tensor_tile_words
from ..cost_models.least_cost import least_cost_of_cascade
from ..ir import Cascade, Mapping, MappingError, Node, Operation, Tree
from .exact.counting.lines import least_gaps
from .pareto.supported import PRODUCTS
from .pareto.weights import weights_of
from .question import NestQuestion, Question, TreeQuestion
from .several import best_of


def unfused_in_lines(question: TreeQuestion) -> tuple[Mapping, float]:
    """The tree, each of whose operations is best with layouts that it may choose where they are open; and what no tree
    costs less than in which nothing is fused: for objectives that do not add up, and where operations may share what
    they read, as far as is known without a search.

    Raises TilewrightError as a search of each operation does.
    """
    cascade, outermost = question.cascade, question.arch.memories[0].name
    branches, bound = [], 0.0
    for operation in cascade:
        machine = machine_for(question.arch, cascade, operation)
        seconds = None if question.limits.time_s is None else question.limits.time_s / len(cascade.operations)
        limits = replace(question.limits, time_s=seconds)
        asked: NestQuestion = Question(
            operation.problem, machine, question.objective, question.tiling, question.space, limits=limits
        )
        answer = best_of(asked)
        items = tuple(i for i in answer.mapping.nest.items if not (isinstance(i, Node) and i.memory == outermost))
        branches.append(Tree(items, (), operation.name))
        bound += answer.certificate.lower_bound
    tree = Tree(tuple(Node(outermost, tensor) for tensor in cascade.tensors), tuple(branches))
    adds_up = weights_of(question.objective) is not None and question.arch.overlap != "across_operations"
    adds_up &= all(len(readers) <= 1 for readers in cascade.consumers.values())
    least = least_cost_of_cascade(cascade, question.arch).value(question.objective)
    return Mapping(cascade, tree), max(least, bound if adds_up else 0.0)


def least_of_empty_lines(cascade: Cascade, arch: Architecture) -> float:
    """Energy in pJ that lines of the outermost memory which are not full cost any tree, at least, beyond its words.

    Every word that comes from outside is read there once at least, and every one that leaves is written; and no mapping
    of an operation moves words in fewer lines than `least_gaps` says. An operation's way through a tree is a nest of
    loops like that of a mapping, so that holds of trees; where several read a tensor, of the one that has least.
    """
    memory, found = arch.memories[0], 0.0
    for tensor in cascade.tensors if memory.line_bits is not None else ():
        if tensor not in cascade.intermediates:
            found += min(_empty(cascade, arch, operation, tensor) for operation in _users(cascade, tensor))
    return found


def _users(cascade: Cascade, tensor: str) -> list[Operation]:
    return [operation for operation in cascade if any(t.name == tensor for t in operation.problem.tensors)]


def _empty(cascade: Cascade, arch: Architecture, operation: Operation, name: str) -> float:
    """pJ that the outermost memory takes at least for what is empty in the lines of a tensor, if an operation moves
    every word once."""
    problem, memory, machine = operation.problem, arch.memories[0], machine_for(arch, cascade, operation)
    tensor = problem.tensor(name)
    gaps = least_gaps(problem, machine, machine.memories[0], tensor)
    bits = arch.width_bits(tensor) * (gaps.words - 1)
    each = memory.read_energy_pj
    if tensor.is_output:
        bits, each = min(bits, arch.partial_width_bits(tensor) * (gaps.sums - 1)), memory.write_energy_pj
    return float(tensor_tile_words(tensor, problem.sizes) * bits * each / memory.access_bits)


def in_lines(objective: Objective, bound: float, empty_pj: float, fewest_cycles: float) -> float:
    """What no tree has less of an objective than, if that is so with full lines, and lines that are not full cost so
    much energy at least.

    A tree of energy E and latency L with full lines has E + empty and L at least. For products E * L and E * L ** 2
    that is the bound at least, and `empty` times the factor that the fewest cycles make.
    """
    weights = weights_of(objective)
    if weights is not None:
        return bound + weights.energy * empty_pj
    power = PRODUCTS.get(objective.name)
    return bound if power is None else bound + empty_pj * fewest_cycles**power


def kept_on_chip(question: TreeQuestion, mapping: Mapping, memories: Sequence[Memory]) -> Mapping:
    """A tree in which nothing is fused, with each intermediate whole in one of some memories instead, one after the
    other, where that costs less with lines."""
    best = evaluate_open(mapping, question.arch)[0].objective(question.objective)
    for tensor in mapping.cascade.intermediates:
        for memory in memories:
            tried = _with_home(mapping, tensor, memory.name)
            try:
                value = evaluate_open(tried, question.arch)[0].objective(question.objective)
            except MappingError:  # it has no room there
                continue
            if value < best:
                best, mapping = value, tried
    return mapping


def _with_home(mapping: Mapping, tensor: str, memory: str) -> Mapping:
    """The tree with an intermediate whole in a memory, and no node of it there in any branch."""
    above = [item for item in mapping.tree.items if not (isinstance(item, Node) and item.tensor == tensor)]
    branches = tuple(
        Tree(tuple(item for item in branch.items if item != Node(memory, tensor)), (), branch.operation)
        for branch in mapping.tree.branches
    )
    return Mapping(mapping.cascade, Tree((*above, Node(memory, tensor)), branches))
