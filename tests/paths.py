"""The way that the search takes to a given mapping: its states, rows and charges, one loop or node after the other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from brute_force import regions_of
from tilewright.arch import Architecture
from tilewright.cost_models import ENERGY, Objective
from tilewright.ir import Axis, Loop, LoopNest, Mapping, Node, Problem, ceil_div
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.effort import EFFORT, Effort
from tilewright.mapper.exact.bounds.bounds import Bounds
from tilewright.mapper.exact.bounds.loop_charges import LoopCharges
from tilewright.mapper.exact.bounds.table_columns import TableColumns
from tilewright.mapper.exact.counting.charges import BoundaryCosts
from tilewright.mapper.exact.counting.cost_columns import CostColumns
from tilewright.mapper.exact.counting.fill_point import FillPoint
from tilewright.mapper.exact.counting.footprints import Footprints
from tilewright.mapper.exact.from_scratch import FREE
from tilewright.mapper.exact.growing.context import SearchContext
from tilewright.mapper.exact.question.hierarchy import MAC, Hierarchy, MemoryBoundary, NodeGroup, Path, State
from tilewright.mapper.exact.question.limits import SearchLimits
from tilewright.mapper.exact.rows import Floats, Ints, Rows
from tilewright.mapper.exact.tiles.lattice import Lattice
from tilewright.mapper.exact.tiles.visits import VisitTiles
from tilewright.mapper.space import Space
from tilewright.mapper.tilings import Tiling, linear_growth

FillPoints = tuple[tuple[MemoryBoundary, FillPoint | None], ...]


def context_of(
    problem: Problem,
    arch: Architecture,
    tiling: Tiling,
    space: Space,
    rate: float | None = None,
    objective: Objective = ENERGY,
    most_cells: int = 100_000,
    effort: Effort = EFFORT,
    constraints: Constraints = FREE,
) -> SearchContext:
    """What a search of a problem has at hand."""
    follows = tiling == "perfect" and arch.reuse != "at_node"
    hierarchy, cost_columns = Hierarchy(problem, arch, space, follows_halos=follows), CostColumns.of(arch, rate)
    even = tuple(linear_growth(problem, dim) for dim in problem.dim_names)
    group_cells = (effort.group_cells, effort.first_cells)
    lattice = Lattice([size for _, size in problem.dims], tiling, even, most_cells, group_cells=group_cells)
    footprints, limits = Footprints(hierarchy), SearchLimits(hierarchy, constraints)
    moves = LoopCharges(hierarchy, limits)
    bounds = Bounds(hierarchy, footprints, lattice, TableColumns.of(cost_columns), moves=moves)
    costs = BoundaryCosts(hierarchy, cost_columns, ragged=tiling == "ragged")
    return SearchContext(
        hierarchy,
        footprints,
        bounds,
        costs,
        limits,
        objective,
        VisitTiles.of(problem, tiling, {}),
        even,
        Counter(),
        effort=effort,
    )


@dataclass(frozen=True)
class Step:
    """A growing mapping, as one row.

    tile     (1, dims) the tile so far
    charges  all boundaries charged so far
    stage    (1, dims) the tile at the last charge, node, fanout or turn to other loops: since then, loops were free
    """

    path: Path
    state: State
    rows: Rows
    tile: Ints
    fill_points: FillPoints
    stage: Ints

    def costs(self, context: SearchContext) -> Floats:
        """(columns, 1) what the charges cost, as far as that is known here."""
        costs = np.zeros((context.costs.cost_columns.count, 1))
        context.costs.cost_columns.book_energy(
            costs, context.hierarchy.problem.macs * context.hierarchy.arch.mac.energy_pj
        )
        return costs + sum(context.book(self.path, self.rows, *charged) for charged in self.fill_points)


def steps_to(mapping: Mapping, context: SearchContext) -> Iterator[Step]:
    """The steps from the MAC to a mapping whose loops have more than one trip; the last one is complete."""
    hierarchy, problem = context.hierarchy, mapping.problem
    step = _start(mapping, hierarchy)
    yield (step := _past_fanouts(step, hierarchy))
    dims = list(problem.dim_names)
    for node_group in _node_groups(mapping, hierarchy):
        if isinstance(node_group, Loop):
            step = _looped(step, context, dims.index(node_group.dim), node_group.trips)
        else:
            step = _past_fanouts(_placed(step, hierarchy, node_group), hierarchy)
        yield step


def _start(mapping: Mapping, hierarchy: Hierarchy) -> Step:
    names = [memory.name for memory in hierarchy.memories]
    nodes = mapping.nest.nodes[::-1]
    placement = tuple(
        tuple(names.index(node.memory) for node in nodes if node.tensor == t.name) for t in mapping.problem.tensors
    )
    ones = np.ones((1, len(mapping.problem.dims)), dtype=np.int64)
    fill_points = tuple((MemoryBoundary(t, MAC, held[0]), None) for t, held in enumerate(placement))
    rows = Rows(1, [], _arrays(mapping, hierarchy))
    return Step(Path(hierarchy, placement), hierarchy.start(placement), rows, ones, fill_points, ones)


def _arrays(mapping: Mapping, hierarchy: Hierarchy) -> list[Ints]:
    """Per fanout, innermost first, instances per dimension."""
    sizes, dims = [size for _, size in mapping.problem.dims], list(mapping.problem.dim_names)
    tile, before = [1] * len(sizes), {}
    found = {fanout.name: [1] * len(sizes) for fanout in hierarchy.fanouts}
    for loop in (item for item in reversed(mapping.nest.items) if isinstance(item, Loop)):
        d = dims.index(loop.dim)
        if loop.axis is not None:
            left = before.setdefault((loop.axis.fanout, d), ceil_div(sizes[d], tile[d]))
            found[loop.axis.fanout][d] = min(found[loop.axis.fanout][d] * loop.trips, left)
        tile[d] = min(tile[d] * loop.trips, sizes[d])
    return [np.array([found[fanout.name]], dtype=np.int64) for fanout in hierarchy.fanouts]


def _node_groups(mapping: Mapping, hierarchy: Hierarchy) -> Iterator[Loop | NodeGroup]:
    """Temporal loops and node groups, from the inside out."""
    names = [memory.name for memory in hierarchy.memories]
    tensors = [t.name for t in mapping.problem.tensors]
    open_block: NodeGroup | None = None
    for item in reversed(mapping.nest.items):
        if isinstance(item, Loop):
            if open_block is not None:
                yield open_block
                open_block = None
            if item.axis is None:
                yield item
            continue
        memory, tensor = names.index(item.memory), tensors.index(item.tensor)
        joined = open_block is not None and open_block.memory == memory
        if joined and (hierarchy.space == "even" or memory == hierarchy.outermost):
            open_block = NodeGroup(memory, tuple(sorted((*open_block.tensors, tensor))))
        else:
            if open_block is not None:
                yield open_block
            open_block = NodeGroup(memory, (tensor,))
    assert open_block is not None
    yield open_block


def _past_fanouts(step: Step, hierarchy: Hierarchy) -> Step:
    while hierarchy.at_fanout(step.state):
        sizes = [size for _, size in hierarchy.problem.dims]
        tile = np.minimum(step.tile * step.rows.arrays[step.state.passed], sizes)
        step = replace(step, path=step.path.passing(), state=hierarchy.passing(step.state), tile=tile, stage=tile)
    return step


def _looped(step: Step, context: SearchContext, d: int, trips: int) -> Step:
    """With a temporal loop more; it charges the waiting boundaries that it moves, at the tile below it. Where it is not
    the turn of its dimension yet, groups of an ordered level are left behind."""
    before = step.state
    while not context.limits.in_order(before, d):
        assert context.limits.has_next_group(before), "loops out of order"
        before = before.at_next_group()
    assert context.limits.may_loop(before, d)
    above = step.tile.copy()
    above[:, d] = np.minimum(above[:, d] * trips, context.sizes[d])
    moved = [c for c in step.state.waiting if d in context.bounds.moves.moving[c.tensor]]
    fill_points = list(step.fill_points)
    for boundary in moved:
        slide = (d, above[:, d]) if d in context.hierarchy.sliding(boundary) else None
        fill_points.append((boundary, FillPoint(step.path.band, step.tile, slide)))
    still = tuple(c for c in step.state.waiting if c not in moved)
    state = before._replace(waiting=still)
    stage = above if moved else step.stage if before == step.state else step.tile
    return replace(step, state=state, tile=above, fill_points=tuple(fill_points), stage=stage)


def _placed(step: Step, hierarchy: Hierarchy, node_group: NodeGroup) -> Step:
    fill_points = step.fill_points
    still = step.state.waiting
    if hierarchy.is_last(node_group):
        fill_points, still = (
            (*fill_points, *((c, FillPoint(step.path.band, step.tile, at_end=True)) for c in still)),
            (),
        )
    return replace(
        step,
        path=step.path.placing(node_group),
        state=hierarchy.place(step.state, node_group, still),
        rows=Rows(1, [*step.rows.tiles, step.tile], step.rows.arrays),
        fill_points=fill_points,
        stage=step.tile,
    )


# ---- random mappings ---------------------------------------------------------------------------------------


def random_uneven(rng: random.Random, problem: Problem, arch: Architecture, ragged: bool) -> Mapping:
    """Any mapping of the uneven space, capacities left aside."""
    places: list[Axis | list[Node] | None] = [[Node(arch.memories[0].name, t.name) for t in problem.tensors], None]
    for region in regions_of(arch):
        places += region.axes
        for node in _region_nodes(rng, problem, region.memories):
            places += [[node], None]
    left = problem.sizes.copy() if isinstance(problem.sizes, dict) else dict(problem.sizes)
    room = {Axis(f.name, i): axis.size for f in arch.fanouts for i, axis in enumerate(f.axes)}
    limits = {Axis(f.name, i): axis for f in arch.fanouts for i, axis in enumerate(f.axes)}
    items: list[Loop | Node] = []
    for i, place in reversed(list(enumerate(places))):
        if isinstance(place, list):
            items += place
            continue
        loops = []
        for dim in problem.dim_names:
            trips = left[dim]
            if i > 1:
                most = left[dim] if place is None else room[place] if limits[place].allows(problem, dim) else 1
                options = [f for f in range(1, left[dim] + 1) if f <= most and (ragged or left[dim] % f == 0)]
                trips = rng.choice(options) if rng.random() < 0.6 else 1
            if place is not None:
                room[place] //= trips
            left[dim] = ceil_div(left[dim], trips)
            loops += [Loop(dim, trips, place)] if trips > 1 else []
        rng.shuffle(loops)
        items += loops
    return Mapping(problem, LoopNest(tuple(reversed(items))))


def _region_nodes(rng: random.Random, problem: Problem, memories: tuple) -> list[Node]:
    """Nodes of a region, outermost first, in any order that keeps each tensor's memories in the hierarchy's."""
    chains = []
    for t in problem.tensors:
        keeps = {"must": 1.0, "may": 0.6, "never": 0.0}
        chains.append([Node(m.name, t.name) for m in memories if rng.random() < keeps[m.keeps[t.role]]])
    nodes: list[Node] = []
    while any(chains):
        nodes.append(rng.choice([chain for chain in chains if chain]).pop(0))
    return nodes
