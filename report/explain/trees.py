"""Why a fused mapping costs what it costs: the facts with their page and picture."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...arch import Architecture, Memory
from ...cost_models.cascades import FusedCost, Held
from ...ir import Address, FusedMapping, Loop
from ...ir.display import Shown
from ...ir.tree import loop_of
from ..parts.html import document, picture, to_html
from ..parts.text import plain_text
from .energy import energy_parts
from .latency import latency_of
from .tree_facts import Lifetime, MemoryLoad, OperationFacts, SharedLoopFacts, TreeFacts
from .tree_page import tree_explanation_page
from .tree_picture import tree_svg


@dataclass(frozen=True)
class TreeExplanation(TreeFacts, Shown):
    """Why a fused mapping costs what it costs, as data, in words and as a picture."""

    def svg(self) -> str:
        """The tree with its branches, and what every bounded memory holds while each operation works."""
        return tree_svg(self)

    def html(self) -> str:
        """Page and picture as one HTML file, complete in itself."""
        shown = picture(self.svg(), "The tree, and what memories hold") + to_html(tree_explanation_page(self))
        return document(f"{self.mapping.cascade.name} on {self.arch.name}", shown)

    def text(self) -> str:
        """All of it in sentences and tables, as `tilewright explain` prints it; so is `str` of it."""
        return plain_text(tree_explanation_page(self))

    def __str__(self) -> str:
        return self.text()


def explain_tree(mapping: FusedMapping, arch: Architecture, cost: FusedCost) -> TreeExplanation:
    """All facts about a fused mapping that costs `cost`."""
    return TreeExplanation(
        mapping,
        arch,
        cost,
        tuple(_operation(mapping, arch, cost, name) for name in cost.operations),
        tuple(_shared_loops(mapping)),
        tuple(_lifetimes(mapping, cost)),
        tuple(_load(arch.level(use.name), cost) for use in cost.memories if use.capacity_bits is not None),
    )


def _operation(mapping: FusedMapping, arch: Architecture, cost: FusedCost, name: str) -> OperationFacts:
    part, operation = cost.operations[name], mapping.cascade.operation(name)
    machine = arch.model_copy(update={"mac": arch.mac.of(operation.kind)})
    energy, latency = energy_parts(part), latency_of(part, machine)
    return OperationFacts(name, str(operation), part.macs, part.energy_pj, part.latency_cycles, energy, latency)


def _shared_loops(mapping: FusedMapping) -> list[SharedLoopFacts]:
    found = []
    for address, tree in mapping.tree.walk():
        below = _operations_below(mapping, address)
        for item in tree.items if tree.branches else ():
            if isinstance(item, Loop):
                found.append(_shared_loop(mapping, item, below))
    return found


def _operations_below(mapping: FusedMapping, address: Address) -> tuple[str, ...]:
    return tuple(name for name, leaf in mapping.leaves.items() if leaf[: len(address)] == address)


def _shared_loop(mapping: FusedMapping, loop: Loop, below: tuple[str, ...]) -> SharedLoopFacts:
    moves: dict[str, bool] = {}
    adds = []
    for name in below:
        operation = mapping.cascade.operation(name)
        dim = loop_of(loop, name).dim
        for tensor in operation.problem.tensors:
            moves[tensor.name] = moves.get(tensor.name, False) or dim in tensor.dims
        if dim in operation.reduced_dims:
            adds.append(operation.output.name)
    moving = tuple(tensor for tensor, moved in moves.items() if moved)
    staying = tuple(tensor for tensor, moved in moves.items() if not moved)
    return SharedLoopFacts(str(loop), below, moving, staying, tuple(adds))


def _lifetimes(mapping: FusedMapping, cost: FusedCost) -> list[Lifetime]:
    outermost = cost.memories[0].name
    found: dict[tuple[str, str], list[tuple[str, Held]]] = {}
    for name, tiles in cost.occupancy.items():
        for tile in tiles:
            if tile.is_intermediate and tile.memory != outermost:
                found.setdefault((tile.tensor, tile.memory), []).append((name, tile))
    lives = []
    for (tensor, memory), held in found.items():
        largest = max((tile for _, tile in held), key=lambda tile: tile.bits)
        whole = prod(mapping.cascade.extents(tensor))
        lives.append(Lifetime(tensor, memory, held[0][0], held[-1][0], largest.words, largest.bits, whole))
    return lives


def _load(memory: object, cost: FusedCost) -> MemoryLoad:
    assert isinstance(memory, Memory)
    capacity = next(use.capacity_bits for use in cost.memories if use.name == memory.name) or 0
    held = tuple(
        (name, tuple((t.tensor, t.bits, t.is_intermediate) for t in tiles if t.memory == memory.name))
        for name, tiles in cost.occupancy.items()
    )
    return MemoryLoad(memory.name, int(capacity), held)
