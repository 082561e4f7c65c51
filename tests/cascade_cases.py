"""Random tiny cascades on random machines, and what occurs in them, for the brute force over trees."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import brute_force
from cascade_brute_force import Trees
from cascade_skeletons import Skeleton, Skeletons, orders
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.arch.spec import Op
from tilewright.ir import Cascade
from tilewright.mapper.question import Fuse
from tilewright.mapper.space import Space
from tilewright.mapper.tilings import Tiling
from tilewright.workloads import cascade
from tilewright.workloads.operations import read_statement

KINDS: dict[str, tuple[str, ...]] = {
    "chain of two": ("T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"),
    "other letters": ("T[m,n] += A[m] * B[n,m]", "O[i] += T[i,j] * C[j]"),
    "chain of three": ("T[m,n] += A[m] * B[m,n]", "U[m,p] += T[m,n] * C[n,p]", "O[m] += U[m,p] * D[p]"),
    "two consumers": ("T[m,n] += A[m,k] * B[k,n]", "O[m] += T[m,n] * C[n]", "U[n] max= T[m,n]"),
    "two producers": ("G[m,n] = exp(A[m,n])", "U[m,n] += E[m,k] * C[k,n]", "H[m,n] = G[m,n] * U[m,n]"),
    "shared input": ("G[m] += X[m,k] * B[k]", "U[m,n] += X[m,k] * C[k,n]", "H[m,n] = G[m] + U[m,n]"),
    "halves": ("G[m,n] = X[m] * B[n]", "U[m,n] = X[m] + C[n]", "H[m] max= G[m,n] * U[m,n]"),
    "softmax": ("L[m] max= S[m,n]", "P[m,n] = exp(S[m,n] - L[m])", "D[m] += P[m,n]"),
    "scores": ("Q[m,e] += X[m] * V[e,m]", "K[n,e] += X[n] * W[e,n]", "S[m,n] += Q[m,e] * K[n,e]"),
    "attention": ("S[m,n] += Q[m] * K[n,m]", "P[m,n] = exp(S[m,n])", "O[m,f] += P[m,n] * V[n,f]"),
    "points of a window": ("T[k,p] += X[p+r] * W[k,r]", "O[l,p] += T[k,p] * V[l,k]"),
    "gated": ("G[m,n] = X[m] * B[n]", "U[m,n] = X[m] * C[n]", "H[m,n] = G[m,n] * U[m,n]", "O[m] += H[m,n] * D[n]"),
}
"""Kinds of cascades; letters that two tensors of one operation share have one size."""

MAY = Keeps(input="may", weight="may", output="may")
ITERATED: dict[str, tuple[str, ...]] = {
    "running maximum": (
        "L[m,i] max= S[m,i]",
        "R[m,i+1] = max(R[m,i], L[m,i]) start 0",
        "P[m,i] = S[m,i] - R[m,i+1]",
    ),
    "corrected": (
        "C[m,i] = R[m,i] - S[m,i]",
        "R[m,i+1] = max(R[m,i], S[m,i]) start 0",
        "O[m] = exp(R[m,-1])",
    ),
    "fed back": ("Y[k,i] += W[k,n] * X[n,i]", "X[k,i+1] = X[k,i] + Y[k,i] start 1"),
}
"""Kinds whose operations go from one generation to the next."""

CHEAP, DEAR = 50, 200
"""Mappings of its largest branch that a case may have, in a short run and in a long one."""


@dataclass(frozen=True)
class Case:
    """One question: a cascade, a machine, and the space."""

    kind: str
    cascade: Cascade
    arch: Architecture
    tiling: Tiling
    space: Space
    fuse: Fuse

    @cached_property
    def trees(self) -> Trees:
        return Trees(self.cascade, self.arch, self.tiling, self.space, self.fuse)

    def __str__(self) -> str:
        return f"{self.cascade}\n{self.tiling} {self.space} {self.fuse}\n{self.arch.model_dump_json(indent=1)}"


def ragged_case(seed: int, most: int = CHEAP) -> Case:
    """A case with tiles of shared loops that do not divide: one letter or two that are long, and few others."""
    rng = random.Random(seed)
    while True:
        kind = rng.choice(list(KINDS))
        sizes = dict.fromkeys(_sizes(rng, kind), 1)
        longest = iter((rng.choice([3, 5]), 2, 2))
        for letter in rng.sample(sorted(sizes), min(3, len(sizes))):
            sizes[letter] = next(longest)
        case = Case(
            kind,
            cascade(KINDS[kind], _joined(kind, sizes), name=kind),
            _machine(rng),
            "ragged",
            rng.choice(["even", "uneven"]),
            "all",
        )
        if has_ragged_loops(case) and _is_small(case, most):
            return case


def has_ragged_loops(case: Case) -> bool:
    """Whether some tree has a shared loop whose last step is shorter."""
    every = Skeletons(case.cascade, case.arch.memories[0].name, case.fuse, tiling=case.tiling)
    return any(is_ragged(case.cascade, skeleton) for skeleton in every)


def is_ragged(whole: Cascade, skeleton: Skeleton) -> bool:
    """Whether a shared loop of a tree has a last step that is shorter."""
    return any(
        whole.operation(below.names[0]).problem.sizes[loop.of(below.names[0])] % loop.tile
        for _, below in skeleton.walk()
        for loop in below.loops
    )


def random_case(seed: int, most: int = CHEAP, *, iterates: bool = False) -> Case:
    """A case whose branches have at most so many mappings; of operations that iterate, or of others."""
    rng = random.Random(seed)
    while True:
        kind = rng.choice(list(ITERATED) if iterates else [k for k in KINDS if k != "gated" or rng.random() < 0.3])
        sizes = _sizes(rng, kind)
        arch = _machine(rng)
        tiling: Tiling = rng.choice(["perfect", "ragged"])
        space: Space = rng.choice(["even", "uneven"])
        fuse: Fuse = "all" if iterates else rng.choice(["all", "all", "all", "all", "whole", "none"])
        case = Case(kind, cascade((KINDS | ITERATED)[kind], sizes, name=kind), arch, tiling, space, fuse)
        if _is_small(case, most):
            return case


def _sizes(rng: random.Random, kind: str) -> dict[str, int]:
    letters = dict.fromkeys(letter for line in (KINDS | ITERATED)[kind] for letter in read_statement(line).indices())
    return _joined(kind, {letter: rng.choice([1, 2, 2, 2, 3, 4]) for letter in letters})


def _joined(kind: str, sizes: dict[str, int]) -> dict[str, int]:
    """Equal sizes of letters that stand for one rank."""
    if kind == "other letters":
        sizes |= {"i": sizes["m"], "j": sizes["n"]}
    if kind == "scores":
        sizes["n"] = sizes["m"]
    if kind in ITERATED:
        sizes["i"] = max(2, sizes["i"])
    if kind == "fed back":
        sizes["n"] = sizes["k"]
    return sizes


def _is_small(case: Case, most: int) -> bool:
    """Whether the brute force has little to do: few mappings of a branch, few trees above."""
    operations = case.cascade.operations
    counted = 0.0
    for operation in operations:
        if case.space == "even":
            counted += brute_force.count(operation.problem, case.arch, case.tiling == "ragged", most)
        else:
            counted += brute_force.count_uneven(operation.problem, case.arch, case.tiling, most)
        if counted >= most:
            return False
    if len(operations) * len(list(orders(case.cascade))) > 9:
        return False
    enough = most // 2 // len(case.trees.upper)
    skeletons = Skeletons(case.cascade, case.arch.memories[0].name, case.fuse, tiling=case.tiling)
    return len(list(itertools.islice(skeletons, enough + 1))) <= enough


# ---- machines ----------------------------------------------------------------------------------------------


def _machine(rng: random.Random) -> Architecture:
    two, array = rng.random() < 0.25, rng.random() < 0.4
    levels: list[Memory | Fanout] = [_memory(rng, "DRAM", None, energy=rng.choice([20, 100]))]
    levels.append(_memory(rng, "GLB", rng.randint(3, 30), energy=rng.randint(2, 8)))
    if two:
        levels.append(_memory(rng, "L0", rng.randint(2, 8), energy=1))
    if array:
        axes = tuple(ArrayAxis(size=2) for _ in range(rng.choice([1, 1, 2])))
        multicast, reduction = rng.random() < 0.6, rng.random() < 0.6
        levels.append(Fanout(name="array", axes=axes, multicast=multicast, spatial_reduction=reduction))
        if rng.random() < 0.5:
            levels.append(_memory(rng, "RF", rng.randint(1, 4), energy=1))
    widths = {"word_bits": 8, "partial_sum_bits": rng.choice([None, None, 16, 24])}
    switches = {
        "first_read_elision": rng.random() < 0.8,
        "inner_drain_read": rng.random() < 0.8,
        "reuse": rng.choice(["at_node", "across_levels"]),
    }
    leakage = rng.choice([0.0, 0.0, 0.0, 3.0])
    ops = {"exp": Op(energy_pj=4.0, per_cycle=0.25), "max": Op(energy_pj=0.25)}
    mac = Mac(energy_pj=0.5, per_cycle=rng.choice([0.5, 1.0, 4.0]), ops=ops if rng.random() < 0.5 else {})
    extras = {"leakage_pj_per_cycle": leakage, **widths, **switches}
    return Architecture.model_validate({"name": "tiny", "clock_hz": 1e9, "levels": levels, "mac": mac, **extras})


def _memory(rng: random.Random, name: str, words: int | None, energy: float) -> Memory:
    fields: dict[str, object] = {"name": name, "access_bits": 8, "read_energy_pj": energy}
    fields["write_energy_pj"] = energy + rng.choice([0, 1, 2])
    fields["halo"] = rng.choice(["none", "innermost", "exact"])
    if rng.random() < 0.5:
        fields["shared_bits_per_cycle"] = float(rng.choice([4, 8, 32]))
    else:
        fields |= {"read_bits_per_cycle": float(rng.choice([4, 8, 32])), "write_bits_per_cycle": 8.0}
    if words is None:
        return Memory.model_validate(fields)
    fields["size_bits"] = 8 * words
    if rng.random() < 0.2:
        role = rng.choice(["input", "weight", "output"])
        fields["partition_bits"] = {role: 8 * rng.randint(1, max(1, words // 2))}
    fields["double_buffered"] = rng.random() < 0.2
    fields["overlaps"] = rng.random() < 0.9
    keeps = [
        Keeps(),
        MAY,
        Keeps(**{role: rng.choice(["must", "may", "never"]) for role in ("input", "weight", "output")}),
    ]
    fields["keeps"] = rng.choice(keeps)
    return Memory.model_validate(fields)


# ---- what occurs -------------------------------------------------------------------------------------------


def features(case: Case) -> Iterator[str]:
    """What a case has of all that is to occur."""
    arch, whole = case.arch, case.cascade
    memories = arch.memories[1:]
    upper = case.trees.upper
    keeps = {memory.keeps[role] for memory in memories for role in ("input", "weight", "output")}
    found = {
        f"{len(whole.operations)} operations": True,
        case.kind: True,
        case.tiling: True,
        case.space: True,
        f"fuse {case.fuse}": True,
        arch.reuse: True,
        "two consumers": any(len(whole.consumers[t]) > 1 for t in whole.intermediates),
        "two producers": any(sum(t.name in whole.producers for t in op.problem.operands) > 1 for op in whole),
        "a shared input": any(len(whole.consumers[t]) > 1 for t in whole.tensors if t not in whole.producers),
        "element by element": any(op.reduction is None for op in whole),
        "maximum": any(op.reduction == "max" for op in whole),
        "two memories outside arrays": len(upper) > 2,
        "memory inside an array": len(upper) < len(arch.memories),
        "multicast": any(fanout.multicast for fanout in arch.fanouts),
        "no multicast": any(not fanout.multicast for fanout in arch.fanouts),
        "no spatial reduction": any(not fanout.spatial_reduction for fanout in arch.fanouts),
        **{f"keep {keep}": True for keep in keeps},
        "double buffered": any(memory.double_buffered for memory in memories),
        "private part": any(memory.partition_bits for memory in memories),
        "separate ports": any(memory.read_bits_per_cycle for memory in arch.memories),
        "shared port": any(memory.shared_bits_per_cycle for memory in arch.memories),
        "no overlap": any(not memory.overlaps for memory in memories),
        "leakage": arch.total_leakage_pj_per_cycle > 0,
        "wide partial sums": arch.partial_sum_bits is not None,
        "no first_read_elision": not arch.first_read_elision,
        "no inner_drain_read": not arch.inner_drain_read,
        "orders": len(list(orders(whole))) > 1,
        "a window in a branch": case.kind == "points of a window",
    }
    return (name for name, occurs in found.items() if occurs)
