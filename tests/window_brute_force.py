"""Trees of tiny cascades whose operations read each other through windows along a shared loop: the oracle that the
search is compared with.

Written from docs/cascades.md. A tree has one split, shared loops in any order above it, one of which makes visits
uneven, and branches of single operations; rows of an intermediate pass in any memory, kept or made again; other tensors
have nodes anywhere among the loops. There are too many: where nodes stand is drawn, and all branches are tried for each
choice. What an operation costs, and what it holds beside the others, depends on its own branch alone.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

import brute_force
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keep, Mac, Memory
from tilewright.cost_models.cascades import Way, check_capacity, count_way, occupancy, ways_of
from tilewright.cost_models.cascades.visits import points_made
from tilewright.cost_models.cascades.windows import Made, Windows, made_by_visits
from tilewright.cost_models.cost import cost_of
from tilewright.ir import (
    Cascade,
    Loop,
    Mapping,
    MappingError,
    Node,
    Operation,
    Problem,
    Renews,
    SharedLoop,
    Tensor,
    Tree,
    ceil_div,
)
from tilewright.mapper.space import Space
from tilewright.workloads import cascade

Items = tuple[Loop | Node, ...]
Dims = dict[str, str]

KINDS: dict[str, tuple[tuple[str, ...], tuple[Dims, ...]]] = {
    "rows": (
        ("T[y] += X[y,c] * W[c]", "O[p] += T[A*p+r] * V[r] pad T[L:H]"),
        ({"T": "Y", "O": "P"},),
    ),
    "channels": (
        ("T[k,y] += X[y] * W[k]", "O[p] += T[k,p+r] * V[k,r] pad T[0,L:H]"),
        ({"T": "Y", "O": "P"}, {"T": "K", "O": "K"}),
    ),
    "depthwise": (
        ("T[k,y] += X[y] * W[k]", "U[k,p] += T[k,p+r] * V[k,r] pad T[0,L:H]", "O[p] += U[k,p] * Z[k]"),
        ({"T": "Y", "U": "P", "O": "P"}, {"T": "K", "U": "K", "O": "K"}),
    ),
    "three in a row": (
        ("T[y] += X[y] * W[y]", "U[z] += T[z+r] * V[r] pad T[1:1]", "O[p] += U[A*p+s] * Z[s] pad U[L:H]"),
        ({"T": "Y", "U": "Z", "O": "P"},),
    ),
    "a function between": (
        ("T[y] += X[y,c] * W[c]", "U[y] = max(T[y], 0)", "O[p] += U[p+r] * V[r] pad U[L:H]"),
        ({"T": "Y", "U": "Y", "O": "P"},),
    ),
}


@dataclass(frozen=True)
class WindowCase:
    """A cascade whose first shared dimension is read through windows, and a machine."""

    kind: str
    cascade: Cascade
    dims: tuple[Dims, ...]
    arch: Architecture
    space: Space

    def __str__(self) -> str:
        return f"{self.cascade}\n{self.space}\n{self.arch.model_dump_json(indent=1)}"


def random_window_case(seed: int) -> WindowCase:
    rng = random.Random(seed)
    kind = rng.choice(list(KINDS))
    lines, dims = KINDS[kind]
    stride, before, after = rng.choice([1, 1, 2]), rng.randint(0, 1), rng.randint(0, 1)
    sizes = {"p": rng.choice([2, 4, 4, 6]), "r": rng.randint(2, 3), "s": 2, "k": 2, "c": rng.choice([1, 2])}
    texts = [line.replace("A*", f"{stride}*").replace("L:H", f"{before}:{after}") for line in lines]
    stride = stride if "A*" in lines[-1] else 1
    reach = stride * (sizes["p"] - 1) + 1 - before - after
    if kind == "three in a row":
        sizes["z"] = sizes["y"] = max(1, reach + sizes["s"] - 1)
        sizes["r"] = 3
    else:
        sizes["y"] = max(1, reach + sizes["r"] - 1)
    letters = {letter for text in texts for letter in text if letter.islower()}
    whole = cascade(texts, {name: size for name, size in sizes.items() if name in letters}, name=kind)
    return WindowCase(kind, whole, dims, _machine(rng), rng.choice(["even", "uneven"]))


def _machine(rng: random.Random) -> Architecture:
    levels: list[Memory | Fanout] = [_memory(rng, "DRAM", None, rng.choice([20, 100]))]
    levels.append(_memory(rng, "GLB", rng.randint(4, 16), rng.randint(2, 8)))
    if rng.random() < 0.4:
        levels.append(Fanout(name="array", axes=(ArrayAxis(size=2),), multicast=rng.random() < 0.6))
    return Architecture(
        name="tiny",
        clock_hz=1e9,
        levels=tuple(levels),
        mac=Mac(energy_pj=0.5),
        word_bits=8,
        first_read_elision=rng.random() < 0.8,
        inner_drain_read=rng.random() < 0.8,
        reuse=rng.choice(["at_node", "across_levels"]),
        leakage_pj_per_cycle=rng.choice([0.0, 0.0, 3.0]),
    )


def _memory(rng: random.Random, name: str, words: int | None, energy: float) -> Memory:
    return Memory.model_validate(
        {
            "name": name,
            "access_bits": 8,
            "read_energy_pj": energy,
            "write_energy_pj": energy + rng.choice([0, 1]),
            "halo": rng.choice(["none", "innermost", "innermost", "exact"]),
            "shared_bits_per_cycle": float(rng.choice([4, 8, 32])),
            "size_bits": None if words is None else 8 * words,
            "keeps": {} if words is None else {"input": "may", "weight": "may", "output": "may"},
            "double_buffered": words is not None and rng.random() < 0.2,
        }
    )


# ---- all trees ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sites:
    """Items above the split, and the memory of every tensor's innermost node."""

    items: Items
    stored: tuple[str, ...]


def best_windowed(case: WindowCase, rng: random.Random, draws: int) -> dict[str, float]:
    """The least energy, latency and EDP of trees with a windowed loop, over as many draws of nodes above for each
    choice of loops; infinite where nothing fits."""
    best = dict.fromkeys(("energy", "latency", "edp"), math.inf)
    for loops in _all_loops(case):
        for _ in range(draws):
            sites = _drawn(case, rng, loops)
            try:
                trees = _fitting(case, sites)
            except MappingError:
                continue
            for energy, latency in trees:
                values = {"energy": energy, "latency": latency, "edp": energy * latency}
                best = {name: min(best[name], value) for name, value in values.items()}
    return best


def _all_loops(case: WindowCase) -> Iterator[tuple[Loop, ...]]:
    last = case.cascade.operations[-1]
    for count in range(1, len(case.dims) + 1):
        for chosen in itertools.permutations(case.dims, count):
            if case.dims[0] not in chosen:
                continue
            sizes = [last.problem.sizes[dims[last.name]] for dims in chosen if last.name in dims]
            for trips in itertools.product(*([n for n in range(2, s + 1) if s % n == 0] for s in sizes)):
                yield tuple(_loop(dims, n) for dims, n in zip(chosen, trips, strict=True))


def _loop(dims: Dims, trips: int) -> Loop:
    first = next(iter(dims.values()))
    renamed = tuple((name, dim) for name, dim in dims.items() if dim != first)
    return SharedLoop(first, trips, renamed=renamed) if renamed else Loop(first, trips)


def _drawn(case: WindowCase, rng: random.Random, loops: tuple[Loop, ...]) -> _Sites:
    """Nodes above the split, each drawn on its own; of intermediates directly above it."""
    outermost, nodes = case.arch.memories[0].name, [list[Node]() for _ in range(len(loops) + 1)]
    stored = [t for t in case.cascade.tensors if t not in case.cascade.intermediates]
    for tensor in case.cascade.tensors:
        if tensor in case.cascade.intermediates:
            way = rng.choice([Node, Node, Renews, None])
            if way is None:
                stored.append(tensor)
            else:
                nodes[-1].append(way("GLB", tensor))
        elif rng.random() < 0.5:
            nodes[rng.randint(0, len(loops))].append(Node("GLB", tensor))
    items: list[Loop | Node] = []
    for depth, here in enumerate(nodes):
        items += [*sorted(here, key=lambda node: node.tensor), *loops[depth : depth + 1]]
    return _Sites((*(Node(outermost, t) for t in stored), *items), tuple(stored))


def _fitting(case: WindowCase, sites: _Sites) -> list[tuple[float, float]]:
    """Energy and latency of all choices of branches that fit; what a branch holds beside others, it holds alone."""
    whole, leakage = case.cascade, case.arch.total_leakage_pj_per_cycle
    start = {op.name: _tile_loops(op, dict(op.problem.dims), sites) for op in whole}
    made = made_by_visits(_fused(whole, sites, start), case.arch)
    first = {op.name: _cover(start[op.name], op, made[op.name]) for op in whole}
    sums = {(0.0, 0.0)}
    for op in whole:
        costs = set()
        for items in _branches(case, op, sites, made):
            fused = _fused(whole, sites, first | {op.name: items})
            ways = ways_of(fused, case.arch)
            held = occupancy(fused, case.arch, ways)
            try:
                check_capacity({op.name: held[op.name]}, case.arch)
            except MappingError:
                continue
            cost = cost_of(
                ways[op.name].mapping, case.arch, count_way(ways[op.name], case.arch), _points(ways[op.name])
            )
            costs.add((cost.energy_pj - cost.leakage_pj, cost.latency_cycles))
        sums = {(e + energy, c + cycles) for e, c in sums for energy, cycles in costs}
    return [(energy + leakage * cycles, cycles) for energy, cycles in sums]


def _points(way: Way) -> int:
    return points_made(way.path, way.made) if way.made else way.mapping.problem.macs


def _tile_loops(op: Operation, sizes: dict[str, int], sites: _Sites) -> Items:
    """One loop for each dimension: what the shared loops leave of it."""
    return tuple(Loop(dim, size // _trips(op, dim, sites)) for dim, size in sizes.items())


def _trips(op: Operation, dim: str, sites: _Sites) -> int:
    trips = 1
    for item in sites.items:
        if isinstance(item, Loop):
            own = dict(item.renamed).get(op.name, item.dim) if isinstance(item, SharedLoop) else item.dim
            trips *= item.trips if own == dim else 1
    return trips


def _cover(items: Items, op: Operation, made: dict[str, Made]) -> Items:
    return tuple(Loop(i.dim, made[i.dim].most) if i.dim in made else i for i in items if isinstance(i, Loop))


def _branches(case: WindowCase, op: Operation, sites: _Sites, every: Windows) -> Iterator[Items]:
    """All branches of an operation: perfect tiles of an even visit; one more loop, or a longer one, where a visit makes
    more."""
    loops = [item for item in sites.items if isinstance(item, Loop)]
    made, steps = every[op.name], _steps(case, loops, {name for name, one in every.items() if one})
    step = dict.fromkeys(made, steps[op.name])
    sizes = tuple((dim, step.get(dim, size // _trips(op, dim, sites))) for dim, size in op.problem.dims)
    outermost = case.arch.memories[0]
    above = {item.tensor: item.memory for item in sites.items if isinstance(item, Node)}

    def keep(memory: Memory, tensor: Tensor) -> Keep:
        if memory is outermost:
            return "must"
        return "never" if above[tensor.name] == "GLB" else memory.keeps[tensor.role]

    problem = Problem("tile", sizes, op.problem.tensors)
    if case.space == "even":
        found = brute_force.all_mappings(problem, case.arch, False, keep)
    else:
        found = brute_force.uneven_mappings(problem, case.arch, "perfect", keep)
    for mapping in found:
        items = mapping.nest.items[len(problem.tensors) :]
        yield from _covering(items, made, step)


def _steps(case: WindowCase, loops: list[Loop], uneven: set[str]) -> dict[str, int]:
    """Positions by which the windowed loop moves every operation on."""
    dims, found = case.dims[0], dict[str, int]()
    for op in reversed(case.cascade.operations):
        own = dims[op.name]
        if op.name not in uneven:
            trips = next(loop.trips for loop in loops if _is_over(loop, op, own))
            found[op.name] = op.problem.sizes[own] // trips
            continue
        reader = case.cascade.consumers[op.output.name][0]
        ranks = reader.problem.tensor(op.output.name).ranks
        rank = next(rank for rank in ranks if dims[reader.name] in {dim for dim, _ in rank})
        found[op.name] = min(dict(rank)[dims[reader.name]] * found[reader.name], op.problem.sizes[own])
    return found


def _is_over(loop: Loop, op: Operation, dim: str) -> bool:
    return (dict(loop.renamed).get(op.name, loop.dim) if isinstance(loop, SharedLoop) else loop.dim) == dim


def _covering(items: Items, made: dict[str, Made], step: dict[str, int]) -> Iterator[Items]:
    if not made:
        yield items
        return
    ((dim, one),) = made.items()
    own = [i for i, item in enumerate(items) if isinstance(item, Loop) and item.dim == dim and item.trips > 1]
    first = own[0] if own else len(items)
    if one.most == step[dim]:
        yield items
    if one.most > step[dim]:
        spatial = next((i for i, item in enumerate(items) if isinstance(item, Loop) and item.is_spatial), len(items))
        for at in range(min(first, spatial) + 1):
            yield (*items[:at], Loop(dim, ceil_div(one.most, step[dim])), *items[at:])
    if own and not items[first].is_spatial:  # type: ignore[union-attr]
        inner = math.prod(items[i].trips for i in own[1:])  # type: ignore[union-attr]
        trips = ceil_div(one.most, inner)
        if trips > 1:
            yield (*items[:first], Loop(dim, trips), *items[first + 1 :])


def _fused(whole: Cascade, sites: _Sites, leaves: dict[str, Items]) -> Mapping:
    branches = tuple(Tree(leaves[op.name], (), op.name) for op in whole)
    return Mapping(whole, Tree(sites.items, branches))
