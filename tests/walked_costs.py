"""Energy, latency and room of a walked cascade, from what docs/cost-model.md and docs/cascades.md say alone."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from cascade_walker import Walker

from tilewright.arch import Memory
from tilewright.ir import Loop, Node, Operation, Place, Renews, Tree


@dataclass
class Costs:
    """Of the whole, and by operation: energy in pJ, latency in cycles, tiles as (memory, tensor, bits)."""

    energy: float
    latency: float
    energies: dict[str, float]
    latencies: dict[str, float]
    tiles: dict[str, set[tuple[str, str, int]]]


def costs(walker: Walker) -> Costs:
    arch = walker.arch
    energies, latencies = {}, {}
    resources: list[dict[str, float]] = []
    for op in walker.order:
        mac = arch.mac.of(op.kind)
        energy = walker.points[op.name] * mac.energy_pj
        cycles = {"compute": walker.steps[op.name] / mac.per_cycle}
        for memory in arch.memories:
            energy += _energy(walker, op, memory)
            cycles |= _ports(walker, op, memory)
        resources.append(cycles)
        latencies[op.name] = _slowest(walker, cycles)
        energies[op.name] = energy + latencies[op.name] * arch.total_leakage_pj_per_cycle
    latency = sum(latencies.values())
    energy = sum(energies.values())
    if arch.overlap == "across_operations":
        together = {key: sum(each[key] for each in resources) for key in resources[0]}
        energy -= latency * arch.total_leakage_pj_per_cycle
        latency = _slowest(walker, together)
        energy += latency * arch.total_leakage_pj_per_cycle
    return Costs(energy, latency, energies, latencies, _tiles(walker))


def _slowest(walker: Walker, cycles: dict[str, float]) -> float:
    serial = {memory.name for memory in walker.arch.memories if not memory.overlaps}
    beside = max(value for key, value in cycles.items() if key.split("/")[0] not in serial)
    added = [max((v for k, v in cycles.items() if k.split("/")[0] == name), default=0.0) for name in serial]
    return beside + sum(added)


# ---- bits --------------------------------------------------------------------------------------------------


def _bits(walker: Walker, op: Operation, memory: str, tensor: str, kind: str) -> Counter[tuple[int, ...]]:
    """Bits of one kind of access by instance."""
    port, which = walker.ports[op.name, memory, tensor], op.problem.tensor(tensor)
    wide, narrow = walker.arch.partial_width_bits(which), walker.arch.width_bits(which)
    done = port.finished if kind in ("update", "drain") else Counter()
    return Counter({at: n * wide - done[at] * (wide - narrow) for at, n in port.words[kind].items()})


def _energy(walker: Walker, op: Operation, memory: Memory) -> float:
    energy = 0.0
    for tensor in op.problem.tensors:
        port = walker.ports[op.name, memory.name, tensor.name]
        n = len({at for counter in port.words.values() for at, words in counter.items() if words})
        for kinds, each in (
            (("read", "accumulate"), memory.read_energy_pj),
            (("drain",), memory.read_energy_pj),
            (("update",), memory.write_energy_pj),
            (("fill",), memory.write_energy_pj),
        ):
            bits = sum(_bits(walker, op, memory.name, tensor.name, kind).total() for kind in kinds)
            if memory.block_bits and bits:
                bits = n * memory.block_bits * math.ceil(bits / (n * memory.block_bits))
            energy += bits / memory.access_bits * each
    return energy


def _ports(walker: Walker, op: Operation, memory: Memory) -> dict[str, float]:
    sums = {"read": 0.0, "write": 0.0}
    for tensor in op.problem.tensors:
        for way, kinds in (("read", ("read", "drain", "accumulate")), ("write", ("fill", "update"))):
            bits: Counter[tuple[int, ...]] = Counter()
            for kind in kinds:
                bits.update(_bits(walker, op, memory.name, tensor.name, kind))
            sums[way] += max(bits.values(), default=0)
    if memory.read_bits_per_cycle or memory.write_bits_per_cycle:
        rates = {"read": memory.read_bits_per_cycle, "write": memory.write_bits_per_cycle}
        return {f"{memory.name}/{way}": sums[way] / (rate or math.inf) for way, rate in rates.items()}
    return {f"{memory.name}/both": sum(sums.values()) / (memory.shared_bits_per_cycle or math.inf)}


# ---- room --------------------------------------------------------------------------------------------------


def _tiles(walker: Walker) -> dict[str, set[tuple[str, str, int]]]:
    """Memory, tensor and bits of what takes room while an operation works, but for the outermost memory."""
    found: dict[str, set[tuple[str, str, int]]] = defaultdict(set)
    for address, tree in walker.tree.walk():
        for position, item in enumerate(tree.items):
            place = address, position
            if isinstance(item, Node) and item.memory != walker.arch.memories[0].name:
                for name in _live(walker, place, item, tree):
                    found[name].add((item.memory, item.tensor, _bits_of_tile(walker, place, item, name)))
    return found


def _below(tree: Tree) -> list[str]:
    return [leaf.operation for _, leaf in tree.walk() if not leaf.branches]


def _live(walker: Walker, place: Place, node: Node, tree: Tree) -> list[str]:
    """The operations during which a node's tile takes room."""
    if not tree.branches or node.tensor not in walker.cascade.intermediates:
        return _below(tree)
    producer = walker.cascade.producers[node.tensor].name
    users = {producer} | {op.name for op in walker.readers(place, node.tensor)}
    if producer not in _below(tree):  # a copy of what its readers exchange further out
        return _below(tree)
    if _steps(tree.items[place[1] :]) or _keeps_rows(walker, place, node):
        return _below(tree)
    return _from(tree, users, producer)


def _steps(items: Sequence[Loop | Node]) -> bool:
    return any(isinstance(item, Loop) and item.trips > 1 and not item.is_spatial for item in items)


def _keeps_rows(walker: Walker, place: Place, node: Node) -> bool:
    """Whether the innermost loop above a node slides over rows, in a memory that keeps overlaps."""
    producer = walker.cascade.producers[node.tensor]
    own = [loop for at, loop in walker.loops(producer, place, spatial=False) if at[0] == place[0] and loop.trips > 1]
    keeps = not isinstance(node, Renews) and walker.memory(place).halo != "none"
    return keeps and any(loop.dim in walker.windows[producer.name] for loop in own[-1:])


def _from(tree: Tree, users: set[str], producer: str) -> list[str]:
    """From the branch that writes to the last one that reads; inside the former likewise, the latter as a whole."""
    used = [number for number, branch in enumerate(tree.branches) if users & set(_below(branch))]
    found: list[str] = []
    for number in range(used[0], used[-1] + 1):
        branch = tree.branches[number]
        names = _below(branch)
        if producer in names and branch.branches and not _steps(branch.items):
            last = set() if number == used[-1] else {names[-1]}
            names = _from(branch, users & set(names) | last, producer)
        found += names
    return found


def _bits_of_tile(walker: Walker, place: Place, node: Node, name: str) -> int:
    memory, tree = walker.memory(place), walker.tree.at(place[0])
    producer = walker.cascade.producers.get(node.tensor)
    users = [*([producer] if producer and producer.name in _below(tree) else []), *walker.readers(place, node.tensor)]
    tensor = users[0].problem.tensor(node.tensor)
    exchanged = bool(tree.branches) and tensor.is_output and node.tensor in walker.cascade.intermediates
    width = walker.arch.width_bits(tensor)
    if tensor.is_output and (not exchanged or (users[0].name == name and walker.unfinished(users[0], place))):
        width = walker.arch.partial_width_bits(tensor)
    served = [(at, loop) for at, loop in walker.loops(users[0], place, spatial=False) if loop.trips > 1]
    moves = not tree.branches or any(at[0] != place[0] or walker.arch.loop_moves(x.dim, tensor) for at, x in served)
    if exchanged:
        moves = moves and walker.arch.overlap == "across_operations"
    copies = 2 if memory.double_buffered and moves else 1
    return copies * width * walker.tile_words(place, node.tensor)
