"""Random cascades and trees, small enough for the simulator."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from generators import random_trips
from tilewright.arch import Architecture, Fanout
from tilewright.cost_models.cascades import ways_of
from tilewright.ir import (
    Address,
    Axis,
    Cascade,
    Loop,
    Mapping,
    MappingError,
    Node,
    Operation,
    SharedLoop,
    Tree,
    ceil_div,
    plain_rank,
)
from tilewright.workloads import cascade
from tilewright.workloads.operations import read_statement

KINDS: dict[str, tuple[str, ...]] = {
    "chain of two": ("T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"),
    "chain of three": ("T[m,n] += A[m,k] * B[k,n]", "U[m,p] += T[m,n] * C[n,p]", "O[m,q] += U[m,p] * D[p,q]"),
    "other letters": ("T[m,n] += A[m,k] * B[k,n]", "O[i,p] += T[i,j] * C[j,p]"),
    "two consumers": ("T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]", "U[m,q] += T[m,n] * D[n,q]"),
    "diamond": (
        "T[m,n] += A[m,k] * B[k,n]",
        "U[m,n] = max(T[m,n], 0)",
        "V[m,p] += U[m,n] * C[n,p]",
        "O[m,n] = T[m,n] + U[m,n]",
    ),
    "two producers": ("G[m,n] += A[m,k] * B[k,n]", "U[m,n] += E[m,k] * C[k,n]", "H[m,n] = G[m,n] * U[m,n]"),
    "gated": (
        "G[m,n] += X[m,k] * B[k,n]",
        "U[m,n] += X[m,k] * C[k,n]",
        "H[m,n] = G[m,n] * U[m,n]",
        "O[m,p] += H[m,n] * D[n,p]",
    ),
    "scores": ("Q[m,e] += X[m,d] * V[d,e]", "K[n,e] += X[n,d] * W[d,e]", "S[m,n] += Q[m,e] * K[n,e]"),
    "softmax": ("L[m] max= S[m,n]", "P[m,n] = exp(S[m,n] - L[m])", "D[m] += P[m,n]", "Y[m,n] = P[m,n] / D[m]"),
    "attention": ("S[m,n] += Q[m,e] * K[n,e]", "P[m,n] = exp(S[m,n])", "O[m,f] += P[m,n] * V[n,f]"),
    "convolution, then points": ("T[k,p] += X[c,2*p+r] * W[k,c,r]", "O[l,p] += T[k,p] * V[l,k]"),
    "with zeros around": ("T[k,x] += X[c,x] * W[k,c]", "O[l,p] += T[k,2*p+r] * V[l,k,r] pad T[0,1:2]"),
    "a window and every other point": (
        "T[k,x] += X[c,x] * W[k,c]",
        "U[l,x] += T[k,x+r] * V[l,k,r] pad T[0,1]",
        "S[l,p] += T[k,2*p] * Z[l,k]",
        "O[l,p] += U[l,2*p+s] * Y[s] pad U[0,1]",
    ),
    "an input through two windows": (
        "T[k,x] += X[c,x+r] * W[k,c,r] pad X[0,1]",
        "U[k,p] += X[c,2*p] * V[k,c]",
        "O[k,p] += T[k,2*p+s] * Y[s] pad T[0,1]",
        "Z[k,p] = O[k,p] + U[k,p]",
    ),
    "points, then convolution": ("T[k,x] += X[c,x] * W[k,c]", "O[l,p] += T[k,p+r] * V[l,k,r]"),
    "running maximum": (
        "L[m,i] max= S[m,i,j]",
        "R[m,i+1] = max(R[m,i], L[m,i]) start -9",
        "P[m,i,j] = S[m,i,j] - R[m,i+1]",
    ),
    "running sum, corrected": (
        "L[m,i] max= S[m,i:j]",
        "C[m,i] = R[m,i] - max(R[m,i], L[m,i])",
        "R[m,i+1] = max(R[m,i], L[m,i]) start -3",
        "D[m,i+1] = D[m,i] * C[m,i] + L[m,i] start 1",
        "O[m,f] = D[m,-1] * F[f] - R[m,-1]",
    ),
    "fed back": (
        "Y[k,i] += W[k,n] * X[n,i]",
        "Z[k,i] = max(Y[k,i], 0)",
        "X[k,i+1] = X[k,i] - Z[k,i] start 2",
    ),
}


def random_cascade(rng: random.Random, largest: int = 5, kind: str | None = None) -> Cascade:
    """One of the kinds, in random sizes."""
    name = kind or rng.choice(list(KINDS))
    letters = dict.fromkeys(letter for line in KINDS[name] for letter in read_statement(line).indices())
    sizes = {letter: rng.randint(1, largest) for letter in letters}
    if name == "scores":
        sizes["n"] = sizes["m"]
    if name == "other letters":
        sizes |= {"i": sizes["m"], "j": sizes["n"]}
    if name == "fed back":
        sizes["n"] = sizes["k"]
    if name == "with zeros around":
        sizes["r"] = rng.randint(2, 3)
        sizes["x"] = max(1, 2 * (sizes["p"] - 1) + sizes["r"] - rng.randint(1, 3))
    if name in ("a window and every other point", "an input through two windows"):
        sizes |= {"r": 3, "s": 3, "x": 2 * sizes["p"] - rng.randint(0, 1)}
    if name == "points, then convolution":
        sizes["x"] = sizes["p"] + sizes["r"] - 1
    return cascade(KINDS[name], sizes, name=name)


@dataclass
class _Draft:
    """A tree in the making."""

    operations: list[str]
    items: list[Loop | Node] = field(default_factory=list)
    branches: list[_Draft] = field(default_factory=list)

    def tree(self) -> Tree:
        name = "" if self.branches else self.operations[0]
        return Tree(tuple(self.items), tuple(branch.tree() for branch in self.branches), name)

    def at(self, address: Address) -> _Draft:
        draft = self
        for number in address:
            draft = draft.branches[number]
        return draft


def random_tree(rng: random.Random, whole: Cascade, arch: Architecture) -> Mapping:
    """Any tree that the hierarchy allows: splits nested, loops shared in time and space, nodes anywhere above them."""
    outermost = arch.memories[0].name
    iterating = any(op.iterates for op in whole)
    while True:
        draft = _split(rng, _ordered(rng, whole))
        draft.items = [Node(outermost, tensor) for tensor in whole.tensors]
        tiles = {(op.name, dim): size for op in whole for dim, size in op.problem.dims}
        if not iterating or _iterate(rng, whole, arch, draft, tiles):
            break
    _share(rng, whole, arch, draft, draft, tiles)
    if iterating:
        _move_loops(rng, whole, arch, draft, tiles)
    for name, address in draft.tree().leaves().items():
        _own_loops(rng, whole, arch, draft, draft.at(address), name, tiles)
    _place_nodes(rng, whole, arch, draft)
    return Mapping(whole, draft.tree())


def _ordered(rng: random.Random, whole: Cascade) -> list[str]:
    """The operations in any order in which they can be done."""
    left, done, order = list(whole), set(whole.tensors) - set(whole.producers), []
    while left:
        ready = [op for op in left if _may_begin(whole, op, done, {other.name for other in left})]
        chosen = rng.choice(ready)
        left.remove(chosen)
        done.add(chosen.output.name)
        order.append(chosen.name)
    return order


def _may_begin(whole: Cascade, operation: Operation, done: set[str], left: set[str]) -> bool:
    """Whether all that an operation reads is there, and nobody reads the generation before any more."""
    needed = {t.name for t in operation.problem.operands if not operation.reads_before(t.name)}
    waiting = [o for o in whole.consumers[operation.output.name] if o.reads_before(operation.output.name)]
    return needed <= done and not {other.name for other in waiting} & left


def _iterate(rng: random.Random, whole: Cascade, arch: Architecture, root: _Draft, tiles: Tiles) -> bool:
    """Loops over the iterative dimension above a split of all who use generations; whether that is possible."""
    users = [op.name for op in whole if any(one.dim is not None for one in op.generations)]
    leaves = root.tree().leaves()
    address = leaves[users[0]]
    while any(leaves[name][: len(address)] != address for name in users):
        address = address[:-1]
    draft = root.at(address[: rng.randint(max(len(address) - 1, 0), len(address))])
    operation = whole.operation(users[0])
    (dim,) = {one.dim for one in operation.generations if one.dim is not None}
    dims = _joined(whole, draft.operations, dim if draft.operations[0] == users[0] else "I")
    if not draft.branches or dims is None:
        return False
    left = operation.problem.sizes[dim]
    for trips in random_trips(rng, left, ragged=False):
        left //= trips
        loop = _loop(rng, arch, dims, trips)
        draft.items.append(replace(loop, axis=None))
        tiles |= dict.fromkeys(dims.items(), left)
    return left == 1 and _shares(whole, root, tiles, dims, 1, arch)


def _move_loops(rng: random.Random, whole: Cascade, arch: Architecture, root: _Draft, tiles: Tiles) -> None:
    """Shared loops of every tree in another order, if that is sound."""
    for address in [address for address, tree in root.tree().walk() if tree.branches]:
        items = root.at(address).items
        first = sum(isinstance(item, Node) for item in items)
        mixed = rng.sample(items[first:], len(items) - first)
        order = {
            loop.dim: iter([x for x in items[first:] if isinstance(x, Loop) and x.dim == loop.dim]) for loop in mixed
        }
        before = list(items)
        items[first:] = [next(order[loop.dim]) for loop in mixed]
        if not _shares(whole, root, tiles, {}, 1, arch):
            items[:] = before


def _split(rng: random.Random, operations: list[str]) -> _Draft:
    draft = _Draft(operations)
    if len(operations) > 1:
        cuts = sorted(rng.sample(range(1, len(operations)), rng.randint(1, len(operations) - 1)))
        for first, last in zip([0, *cuts], [*cuts, len(operations)], strict=True):
            draft.branches.append(_split(rng, operations[first:last]))
    return draft


def _is_sound(whole: Cascade, draft: _Draft, arch: Architecture | None = None) -> bool:
    try:
        fused = Mapping(whole, draft.tree())
        if arch is not None:
            ways_of(fused, arch)
    except MappingError:
        return False
    return True


Tiles = dict[tuple[str, str], int]


def _share(rng: random.Random, whole: Cascade, arch: Architecture, root: _Draft, draft: _Draft, tiles: Tiles) -> None:
    """Shared loops for a tree and those below it, as far as the rules allow them."""
    if not draft.branches:
        return
    for _ in range(rng.choice([0, 1, 2, 3])):
        first = whole.operation(draft.operations[0])
        dims = _joined(whole, draft.operations, rng.choice(first.problem.dim_names))
        if dims is None or len({tiles[pair] for pair in dims.items()}) > 1:
            continue
        size = tiles[next(iter(dims.items()))]
        tile = rng.choice([t for t in range(1, size + 1) if size % t == 0 or _is_whole(whole, dims, tiles)])
        loop = _loop(rng, arch, dims, ceil_div(size, tile))
        if loop.trips == 1:
            continue
        draft.items.append(loop)
        if _shares(whole, root, tiles, dims, tile, arch):
            tiles |= dict.fromkeys(dims.items(), tile)
        else:
            draft.items.pop()
    for branch in draft.branches:
        _share(rng, whole, arch, root, branch, tiles)


def _is_whole(whole: Cascade, dims: dict[str, str], tiles: Tiles) -> bool:
    """Whether nothing has cut the dimensions yet, so that the next loop may be ragged."""
    return all(tiles[name, dim] == whole.operation(name).problem.sizes[dim] for name, dim in dims.items())


def _shares(whole: Cascade, root: _Draft, tiles: Tiles, dims: dict[str, str], tile: int, arch: Architecture) -> bool:
    """Whether the draft is sound once every operation's own loops are added."""
    trial = _copy(root)
    left = tiles | dict.fromkeys(dims.items(), tile)
    for name, address in trial.tree().leaves().items():
        trial.at(address).items += [Loop(d, left[name, d]) for d in whole.operation(name).problem.dim_names]
    return _is_sound(whole, trial, arch)


def _copy(draft: _Draft) -> _Draft:
    return replace(draft, items=list(draft.items), branches=[_copy(branch) for branch in draft.branches])


def _joined(whole: Cascade, operations: list[str], dim: str) -> dict[str, str] | None:
    """The dimension of every operation that is the same as one of the first, by way of common tensors."""
    dims = {operations[0]: dim}
    for _ in operations:
        for name in operations:
            if name in dims:
                continue
            operation = whole.operation(name)
            for other, known in list(dims.items()):
                for tensor in whole.operation(other).problem.tensors:
                    rank = plain_rank(whole.operation(other), tensor.name, known)
                    if rank is not None and tensor.name in {t.name for t in operation.problem.tensors}:
                        terms = operation.problem.tensor(tensor.name).ranks[rank]
                        if len(terms) == 1:
                            dims.setdefault(name, terms[0][0])
                for one in whole.operation(other).generations:
                    read = operation.generation(one.tensor)
                    if one.dim == known and read is not None and read.dim is not None:
                        dims.setdefault(name, read.dim)
    return dims if len(dims) == len(operations) else None


def _loop(rng: random.Random, arch: Architecture, dims: dict[str, str], trips: int) -> Loop:
    names = sorted(set(dims.values()), key=list(dims.values()).count)
    renamed = tuple((name, dim) for name, dim in dims.items() if dim != names[-1])
    axis = _axis(rng, arch, trips)
    return SharedLoop(names[-1], trips, axis, renamed=renamed) if renamed else Loop(names[-1], trips, axis)


def _axis(rng: random.Random, arch: Architecture, trips: int) -> Axis | None:
    axes = [Axis(f.name, i) for f in arch.fanouts for i, axis in enumerate(f.axes) if axis.size >= trips]
    return rng.choice(axes) if axes and rng.random() < 0.4 else None


def _own_loops(
    rng: random.Random, whole: Cascade, arch: Architecture, root: _Draft, leaf: _Draft, name: str, tiles: Tiles
) -> None:
    """The loops of an operation inside its branch, in any order; spatial ones where the axes have room."""
    problem = whole.operation(name).problem
    loops = []
    for dim, size in problem.dims:
        ragged = tiles[name, dim] == size
        loops += [Loop(dim, trips) for trips in random_trips(rng, tiles[name, dim], ragged)]
    order = {dim: iter([loop for loop in loops if loop.dim == dim]) for dim in problem.dim_names}
    rng.shuffle(loops)
    leaf.items += [next(order[loop.dim]) for loop in loops]
    for position, loop in enumerate(leaf.items):
        axis = _axis(rng, arch, loop.trips) if isinstance(loop, Loop) else None
        if axis is not None and isinstance(loop, Loop):
            leaf.items[position] = replace(loop, axis=axis)
            if not _placed(root, arch, name):
                leaf.items[position] = loop


def _placed(root: _Draft, arch: Architecture, name: str) -> bool:
    """Whether the spatial loops above a leaf, and in it, have room on their axes and stand from outer to inner ones."""
    tree = root.tree()
    address = tree.leaves()[name]
    items = [item for depth in range(len(address) + 1) for item in tree.at(address[:depth]).items]
    loops = [item for item in items if isinstance(item, Loop) and item.axis is not None]
    used: dict[Axis, int] = {}
    depths = []
    for loop in loops:
        assert loop.axis is not None
        used[loop.axis] = used.get(loop.axis, 1) * loop.trips
        depths.append(arch.depth[loop.axis.fanout])
    fanouts = {f.name: f for f in arch.levels if isinstance(f, Fanout)}
    return depths == sorted(depths) and all(n <= fanouts[a.fanout].axes[a.index].size for a, n in used.items())


def _place_nodes(rng: random.Random, whole: Cascade, arch: Architecture, root: _Draft) -> None:
    """Nodes at any place where they may stand; some intermediates leave the outermost memory for one of them."""
    memories = [memory.name for memory in arch.memories[1:]]
    addresses = [address for address, _ in root.tree().walk()]
    for tensor in rng.sample(whole.intermediates, len(whole.intermediates)) if memories else ():
        outermost = Node(arch.memories[0].name, tensor)
        position = root.items.index(outermost)
        if rng.random() < 0.7:
            root.items.remove(outermost)
            tries = 12
            while tries and not _insert(
                rng, whole, arch, root, rng.choice(addresses), Node(rng.choice(memories), tensor)
            ):
                tries -= 1
            if not tries:
                root.items.insert(position, outermost)
    for tensor in whole.tensors:
        for memory in memories:
            for _ in range(rng.randint(0, 3)):
                _insert(rng, whole, arch, root, rng.choice(addresses), Node(memory, tensor))


def _insert(rng: random.Random, whole: Cascade, arch: Architecture, root: _Draft, address: Address, node: Node) -> bool:
    items = root.at(address).items
    position = rng.randint(0, len(items))
    items.insert(position, node)
    if _is_sound(whole, root, arch):
        return True
    items.pop(position)
    return False
