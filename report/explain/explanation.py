"""An explanation: the facts about a mapping, and what they look like in words and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...arch import Architecture, Memory
from ...cost_models import Cost
from ...cost_models.cascades import Held, ways_of
from ...cost_models.closed_form import Nest
from ...cost_models.crossings import Crossing, crossings_in, crossings_of
from ...cost_models.padding import counted_mapping
from ...ir import Loop, Mapping
from ...ir.display import Shown
from ...ir.tree import loop_of
from ...ir.units import energy, percent, seconds
from ..parts.leaves import OperationNest, leaves_of
from ..parts.text import plain_text
from ..web import Page, drawn, page_html, rendered
from .distance import distance_of
from .energy import energy_parts, energy_sentences
from .facts import Facts, Lifetime, MemoryLoad, OperationFacts, SharedLoopFacts
from .latency import latency_of, latency_sentences
from .loops import loops_of
from .page import explanation_page
from .picture import nest_svg
from .reuse import reuse_of
from .tree_picture import tree_svg
from .utilization import utilization_of


@dataclass(frozen=True)
class Explanation(Facts, Shown):
    """Why a mapping costs what it costs, and what would help, as data and in words; docs/explain.md goes through it."""

    def svg(self) -> str:
        """The picture: of a layer the nest, memories with their tiles and the loops between them; of a cascade the tree
        with its branches, and what every bounded memory holds while each operation works."""
        if not self.mapping.is_of_cascade:
            return nest_svg(self.mapping, self.arch, self.loops)
        return tree_svg(self, self.mapping)

    @property
    def caption(self) -> str:
        """What the picture shows."""
        return "The tree, and what memories hold" if self.mapping.is_of_cascade else "Levels, tiles and loops"

    def html(self, command: str = "") -> str:
        """Page and picture as one HTML file, complete in itself, with a shell command that makes it again, if given."""
        return explanation_html(self, self.svg(), self.caption, command)

    def text(self) -> str:
        """All of it in sentences and tables, as `tilewright explain` prints it; so is `str` of it."""
        return plain_text(explanation_page(self))

    def __str__(self) -> str:
        return self.text()


def explain_mapping(mapping: Mapping, arch: Architecture, cost: Cost) -> Explanation:
    """All facts about a mapping that costs `cost`, except what searching again would say."""
    mapping = counted_mapping(mapping, arch)
    leaves = leaves_of(mapping, arch, cost)
    if not mapping.is_of_cascade:
        crossings = crossings_of(mapping, arch)
        operation = _operation(leaves[0], str(mapping.problem), crossings)
        distance = distance_of(mapping.problem, arch, cost, crossings) if cost.zeros is None else None
        reuse = reuse_of(mapping.problem, crossings)
        return Explanation(mapping, arch, cost, (operation,), reuse, distance)
    ways = ways_of(mapping, arch)
    operations = []
    for leaf in leaves:
        way, start = ways[leaf.name], mapping.paths[leaf.name].starts[-1]
        nest = Nest.of(leaf.mapping, leaf.arch, way.path.starts)
        found = () if way.made else crossings_in(nest, way.boundaries)  # visits differ where windows step
        operations.append(_operation(leaf, str(way.operation), found, start))
    return Explanation(
        mapping,
        arch,
        cost,
        tuple(operations),
        shared_loops=tuple(_shared_loops(mapping)),
        lifetimes=tuple(_lifetimes(mapping, cost)),
        memories=tuple(_load(arch.level(use.name), cost) for use in cost.memories if use.capacity_bits is not None),
    )


def _operation(leaf: OperationNest, text: str, crossings: tuple[Crossing, ...], start: int = 0) -> OperationFacts:
    """All facts about one operation, whose own loops begin at a position of its nest."""
    cost = leaf.cost
    return OperationFacts(
        name=leaf.name,
        text=text,
        points=cost.macs,
        energy_pj=cost.energy_pj,
        cycles=cost.latency_cycles,
        energy=energy_parts(cost),
        latency=latency_of(cost, leaf.arch),
        utilization=utilization_of(leaf.mapping, leaf.arch, cost),
        loops=loops_of(leaf.mapping, leaf.arch, crossings, start) if crossings else (),
    )


def _shared_loops(mapping: Mapping) -> list[SharedLoopFacts]:
    found = []
    for address, tree in mapping.tree.walk():
        below = tuple(name for name, leaf in mapping.leaves.items() if leaf[: len(address)] == address)
        for item in tree.items if tree.branches else ():
            if isinstance(item, Loop):
                found.append(_shared_loop(mapping, item, below))
    return found


def _shared_loop(mapping: Mapping, loop: Loop, below: tuple[str, ...]) -> SharedLoopFacts:
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


def _lifetimes(mapping: Mapping, cost: Cost) -> list[Lifetime]:
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


def _load(memory: object, cost: Cost) -> MemoryLoad:
    assert isinstance(memory, Memory)
    capacity = next(use.capacity_bits for use in cost.memories if use.name == memory.name) or 0
    held = tuple(
        (name, tuple((t.tensor, t.bits, t.is_intermediate) for t in tiles if t.memory == memory.name))
        for name, tiles in cost.occupancy.items()
    )
    return MemoryLoad(memory.name, int(capacity), held)


def explanation_html(e: Facts, svg: str, caption: str, command: str) -> str:
    """The page as the text of an HTML file, complete in itself."""
    page = Page(
        title=f"{e.mapping.work.name} on {e.arch.name}, explained",
        asked=[("Energy", energy(e.cost.energy_pj)), ("Latency", seconds(e.cost.latency_s))],
        findings=_findings(e),
        picture=drawn(svg, caption),
        sections=[rendered(explanation_page(e))],
        command=command,
    )
    return page_html(page)


def _findings(e: Facts) -> list[str]:
    """Of a layer what takes its energy and what bounds its latency; of a cascade its costliest operation."""
    if len(e.operations) == 1:
        one = e.operations[0]
        return [next(energy_sentences(one.energy, one.points)), next(latency_sentences(one.latency))]
    most = max(e.operations, key=lambda one: one.energy_pj)
    slowest = max(e.operations, key=lambda one: one.cycles)
    time = sum(one.cycles for one in e.operations)
    return [
        f"{most.name} takes {percent(most.energy_pj, e.cost.energy_pj)} of the energy.",
        f"{slowest.name} takes {percent(slowest.cycles, time)} of the time; it waits for {slowest.latency.waits_for}.",
    ]
