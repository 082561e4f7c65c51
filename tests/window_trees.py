"""Random trees in which operations read each other through windows along shared loops."""

from __future__ import annotations

import random
from dataclasses import replace

from generators import random_trips
from tilewright.arch import Architecture
from tilewright.cost_models.cascades import ways_of
from tilewright.cost_models.cascades.windows import made_by_visits
from tilewright.ir import Axis, Cascade, Loop, Mapping, MappingError, Node, Renews, SharedLoop, Tree, ceil_div
from tilewright.workloads import cascade
from tilewright.workloads.operations import read_statement

Dims = tuple[dict[str, str], ...]

KINDS: dict[str, tuple[tuple[str, ...], Dims]] = {
    "rows": (
        ("T[k,y] += X[c,y+s] * W[k,c,s]", "O[l,p] += T[k,A*p+B*r] * V[l,k,r] pad T[0,L:H]"),
        ({"T": "Y", "O": "P"}, {"T": "K", "O": "K"}),
    ),
    "rows and columns": (
        ("T[y,x] += X[c,y,x] * W[c]", "O[p,q] += T[A*p+r,q+s] * V[r,s] pad T[L:H,L:H]"),
        ({"T": "Y", "O": "P"}, {"T": "X", "O": "Q"}),
    ),
    "three in a row": (
        ("T[y] += X[y,c] * W[c]", "U[z] += T[z+r] * V[r] pad T[1:1]", "O[p] += U[A*p+s] * Z[s] pad U[L:H]"),
        ({"T": "Y", "U": "Z", "O": "P"},),
    ),
    "a function between": (
        ("T[k,y] += X[c,y] * W[k,c]", "U[k,y] = max(T[k,y], 0)", "O[k,p] += U[k,A*p+r] * V[k,r] pad U[0,L:H]"),
        ({"T": "Y", "U": "Y", "O": "P"}, {"T": "K", "U": "K", "O": "K"}),
    ),
    "two readers": (
        (
            "T[k,y] += X[c,y] * W[k,c]",
            "U[p] += T[k,A*p+r] * V[k,r] pad T[0,L:H]",
            "O[p] += T[k,A*p+r] * Z[k,r] pad T[0,L:H]",
        ),
        ({"T": "Y", "U": "P", "O": "P"}, {"T": "K", "U": "K", "O": "K"}),
    ),
}


def random_windows(rng: random.Random, arch: Architecture) -> Mapping:
    """A cascade and a tree on a machine: shared loops in any order, exchanges anywhere among them, rows kept or not."""
    while True:
        whole, dims = _cascade(rng)
        try:
            return _tree(rng, whole, dims, arch)
        except MappingError:
            continue


def _cascade(rng: random.Random) -> tuple[Cascade, Dims]:
    kind = rng.choice(list(KINDS))
    lines, dims = KINDS[kind]
    stride, dilation, before = rng.randint(1, 2), rng.randint(1, 2), rng.randint(0, 1)
    sizes = {"p": rng.randint(2, 5), "q": rng.randint(2, 4), "r": rng.randint(1, 3), "s": rng.randint(1, 3)}
    sizes |= {name: rng.randint(1, 3) for name in "kcl"}
    texts = [line.replace("A*", f"{stride}*").replace("B*", f"{dilation}*") for line in lines]
    if "B*" not in lines[-1]:
        dilation = 1
    after = rng.randint(0, 1)
    texts = [text.replace("L:H", f"{before}:{after}") for text in texts]
    reach = stride * (sizes["p"] - 1) + 1 - before - after
    sizes["y"] = max(1, reach + (sizes["s"] - 1 if kind == "three in a row" else dilation * (sizes["r"] - 1)))
    sizes["x"] = max(1, sizes["q"] + sizes["s"] - 1 - before - after)
    if kind == "three in a row":
        sizes |= {"z": sizes["y"], "r": 3}
    used = {letter for text in texts for letter in read_statement(text).indices()}
    return cascade(texts, {name: size for name, size in sizes.items() if name in used}, name=kind), dims


def _tree(rng: random.Random, whole: Cascade, dims: Dims, arch: Architecture) -> Mapping:
    last = whole.operations[-1].name
    outermost = arch.memories[0].name
    shared: list[Loop | Node] = []
    tiles = {(op.name, dim): size for op in whole for dim, size in op.problem.dims}
    for group in rng.sample(dims, len(dims)):
        if group is not dims[0] and rng.random() < 0.4:
            continue
        size = tiles[last, group[last]]
        trips = rng.randint(2, max(2, size))
        tile = ceil_div(size, trips)
        if ceil_div(size, tile) == 1:
            continue
        renamed = tuple((name, dim) for name, dim in group.items() if dim != group[last])
        trips = ceil_div(size, tile)
        shared.append(SharedLoop(group[last], trips, renamed=renamed) if renamed else Loop(group[last], trips))
        for name, dim in group.items():
            if whole.operation(name).problem.sizes[dim] == size:
                tiles[name, dim] = tile
    inner = [memory.name for memory in arch.memories[1:]]
    for tensor in whole.intermediates:
        if inner and rng.random() < 0.8:
            kind = Renews if rng.random() < 0.25 else Node
            shared.insert(rng.randint(0, len(shared)), kind(rng.choice(inner), tensor))
    exchanged = {item.tensor for item in shared if isinstance(item, Node)}
    top = [Node(outermost, tensor) for tensor in whole.tensors if tensor not in exchanged]
    leaves = {op.name: [Loop(d, tiles[op.name, d]) for d in op.problem.dim_names] for op in whole}
    draft = _fused(whole, [*top, *shared], leaves)
    made = made_by_visits(draft, arch)
    for name, loops in leaves.items():
        leaves[name] = []
        for loop in loops:
            size = made[name][loop.dim].most if loop.dim in made[name] else loop.trips
            whole_size = whole.operation(name).problem.sizes[loop.dim]
            ragged = loop.dim in made[name] or size == whole_size
            leaves[name] += [Loop(loop.dim, trips) for trips in random_trips(rng, size, ragged)]
        order = {loop.dim: iter([x for x in leaves[name] if x.dim == loop.dim]) for loop in loops}
        rng.shuffle(leaves[name])
        leaves[name] = [next(order[loop.dim]) for loop in leaves[name]]
    fused = _fused(whole, [*top, *shared], leaves)
    ways_of(fused, arch)
    return _with_nodes(rng, whole, arch, fused)


def _fused(whole: Cascade, items: list[Loop | Node], leaves: dict[str, list[Loop]]) -> Mapping:
    branches = tuple(Tree(tuple(loops), (), name) for name, loops in leaves.items())
    return Mapping(whole, Tree(tuple(items), branches))


def _with_nodes(rng: random.Random, whole: Cascade, arch: Architecture, fused: Mapping) -> Mapping:
    """More nodes, in the branches and above them, and parallel loops in the branches, where they may stand."""
    for _ in range(12):
        number = rng.randrange(-2, len(fused.tree.branches))
        tree = fused.tree if number < 0 else fused.tree.branches[number]
        items = list(tree.items)
        position = rng.randint(0, len(items))
        here = items[position] if position < len(items) else None
        if arch.fanouts and number >= 0 and rng.random() < 0.3 and isinstance(here, Loop):
            items[position] = replace(here, axis=Axis(rng.choice(arch.fanouts).name))
        else:
            items.insert(position, Node(rng.choice(arch.memories[1:]).name, rng.choice(whole.tensors)))
        changed = replace(tree, items=tuple(items))
        if number >= 0:
            branches = [changed if i == number else branch for i, branch in enumerate(fused.tree.branches)]
            changed = replace(fused.tree, branches=tuple(branches))
        try:
            trial = Mapping(whole, changed)
            ways_of(trial, arch)
        except MappingError:
            continue
        fused = trial
    return fused
