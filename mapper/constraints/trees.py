"""What users ask of the trees of a cascade, one line for each:

    T in GLB            intermediate T passes from its producer to its readers in memory GLB
    T not in GLB        it passes in another memory
    T apart             it passes through the outermost memory: these operations are not fused
    only S, P fused     all that these operations do not pass to each other passes through the outermost memory
    T <= 4 KiB          on chip, no more of it is held at a time, counted as finished words
    T along M           a shared loop over M stands above its passing, so it passes in parts
    T not along M       none does
    T tile M = 64       where it passes, shared loops leave 64 elements along M (of its last tile fewer, perhaps)
    for M in 4          a shared loop over M, wherever there is one, has 4 steps
    loops over M, N     shared loops step over these dimensions alone
    no loops over K     no shared loop steps over these

Lines hold together. A dimension is named as in any of the operations; where they have other names, one is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Final

from ...arch import Architecture
from ...arch.units import size_bits
from ...ir import ArchitectureError, Cascade, ConstraintError, Operation, did_you_mean

_FORMS = (
    "'T in GLB', 'T not in GLB', 'T apart', 'only S, P fused', 'T <= 4 KiB', 'T along M', 'T not along M', "
    "'T tile M = 64', 'for M in 4', 'loops over M, N' or 'no loops over K'"
)


@dataclass(frozen=True)
class TreeConstraints:
    """What trees have to satisfy.

    lines    in words, as they were written
    homes    by intermediate, the memory in which it passes
    barred   (intermediate, memory) in which it does not
    most     by intermediate, bits on chip at a time
    along    (intermediate, dimension of its producer) of shared loops that stand above its passing
    across   the same, of those that do not
    tiles    (intermediate, dimension of its producer, elements that shared loops leave where it passes)
    steps    (dimension, steps of a shared loop over it)
    only     dimensions that shared loops step over; None: any
    without  dimensions that none steps over
    """

    lines: tuple[str, ...] = ()
    homes: tuple[tuple[str, str], ...] = ()
    barred: tuple[tuple[str, str], ...] = ()
    most: tuple[tuple[str, int], ...] = ()
    along: tuple[tuple[str, str], ...] = ()
    across: tuple[tuple[str, str], ...] = ()
    tiles: tuple[tuple[str, str, int], ...] = ()
    steps: tuple[tuple[str, int], ...] = ()
    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()

    def allow_exchange(self, tensor: str, memory: str, bits: int, stepped: Set[str], tile: Mapping[str, int]) -> bool:
        """Whether an intermediate may pass in a memory, of which it takes some bits; 0 in the outermost one.

        stepped  dimensions of its producer that shared loops above step over
        tile     elements that they leave along each
        """
        if any(tile[dim] != asked for name, dim, asked in self.tiles if name == tensor):
            return False
        if dict(self.homes).get(tensor, memory) != memory or (tensor, memory) in self.barred:
            return False
        if any(bits > most for name, most in self.most if name == tensor):
            return False
        asked = all(dim in stepped for name, dim in self.along if name == tensor)
        return asked and not any(dim in stepped for name, dim in self.across if name == tensor)

    @property
    def is_free(self) -> bool:
        """Whether they exclude nothing."""
        return self == ANY_TREE

    def allow_loop(self, names: Set[str]) -> bool:
        """Whether a shared loop may step over a dimension, which operations call by some names."""
        return not names & self.without and (self.only is None or bool(names & self.only))

    def allow_trips(self, names: Set[str], trips: int) -> bool:
        """Whether a shared loop over a dimension, which operations call by some names, may have so many steps."""
        return all(trips == asked for name, asked in self.steps if name in names)


ANY_TREE: Final = TreeConstraints()
"""No constraints."""


def read_tree_constraints(
    lines: Iterable[str], cascade: Cascade, arch: Architecture, fuse: str = "all"
) -> TreeConstraints:
    """The constraints that some lines state, of a cascade with several forms about the first of them that has what they
    name.

    fuse  what is asked of all trees, as in `TreeQuestion`

    Raises ConstraintError for a line that cannot be understood, names something else than a cascade or a machine has,
    contradicts another one, or asks for fusing that `fuse` leaves out.
    """
    asked, refused = tuple(lines), list[ConstraintError]()
    for form in cascade.forms:
        try:
            return _read(asked, form, arch, fuse)
        except ConstraintError as error:
            refused.append(error)
    raise refused[0]


def _read(lines: Iterable[str], cascade: Cascade, arch: Architecture, fuse: str) -> TreeConstraints:
    found, outermost = TreeConstraints(), arch.memories[0].name
    for line in (" ".join(line.split()) for line in lines):
        before, found = found, _with_line(found, line, cascade, arch)
        passes_on_chip = any(memory != outermost for _, memory in found.homes)
        if fuse == "none" and passes_on_chip:
            raise _left_out(line, fuse, f"every intermediate passes through {outermost}")
        new = found.tiles[len(before.tiles) :]
        is_cut = any(tile < cascade.producers[name].problem.sizes[dim] for name, dim, tile in new)
        if fuse in ("none", "whole") and (found.along != before.along or is_cut):
            raise _left_out(line, fuse, "no loop is shared")
    return found


def _left_out(line: str, fuse: str, why: str) -> ConstraintError:
    hint = "drop the constraint, or ask for fuse 'all'"
    return ConstraintError(f"asks for fusing that fuse '{fuse}' leaves out: {why}", where=line, hint=hint)


def _with_line(known: TreeConstraints, line: str, cascade: Cascade, arch: Architecture) -> TreeConstraints:
    both = replace(known, lines=(*known.lines, line))
    more = _with_loops(both, line, cascade) or _with_cut(both, line, cascade)
    if more is not None:
        return more
    if found := re.fullmatch(r"(\S+) (?:apart|in (\S+))", line):
        tensor = _tensor(line, found[1], cascade)
        memory = arch.memories[0].name if found[2] is None else _memory(line, found[2], arch)
        return _at_home(both, line, tensor, memory)
    if found := re.fullmatch(r"only (.+) fused", line):
        return _only_fused(both, line, re.split(", ?", found[1]), cascade, arch.memories[0].name)
    if found := re.fullmatch(r"(\S+) not in (\S+)", line):
        tensor, memory = _tensor(line, found[1], cascade), _memory(line, found[2], arch)
        return replace(both, barred=(*known.barred, (tensor, memory)))
    if found := re.fullmatch(r"(\S+) ?<= ?(.+)", line):
        tensor = _tensor(line, found[1], cascade)
        return replace(both, most=(*known.most, (tensor, _bits(line, found[2], arch))))
    raise ConstraintError("cannot be understood as a constraint on trees", where=line, hint=f"write {_FORMS}")


def _with_loops(known: TreeConstraints, line: str, cascade: Cascade) -> TreeConstraints | None:
    """And what a line says of shared loops; None where it says nothing."""
    if found := re.fullmatch(r"(no )?loops over (\w+(?:, ?\w+)*)", line):
        dims = frozenset(_dim(line, name, cascade) for name in re.split(", ?", found[2]))
        if found[1]:
            return replace(known, without=known.without | dims)
        return replace(known, only=dims if known.only is None else known.only & dims)
    if found := re.fullmatch(r"for (\w+) in (\d+)", line):
        if int(found[2]) < 2:
            hint = f"write 'no loops over {found[1]}'"
            raise ConstraintError("a loop of less than two steps is none", where=line, hint=hint)
        return replace(known, steps=(*known.steps, (_dim(line, found[1], cascade), int(found[2]))))
    return None


def _with_cut(known: TreeConstraints, line: str, cascade: Cascade) -> TreeConstraints | None:
    """And what a line says of the parts in which an intermediate passes; None where it says nothing."""
    if found := re.fullmatch(r"(\S+) (not )?along (\w+)", line):
        tensor = _tensor(line, found[1], cascade)
        asked = (tensor, _stepped_dim(line, tensor, found[3], cascade))
        if found[2]:
            return replace(known, across=(*known.across, asked))
        return replace(known, along=(*known.along, asked))
    if found := re.fullmatch(r"(\S+) tile (\w+) ?= ?(\d+)", line):
        tensor = _tensor(line, found[1], cascade)
        dim, tile = _stepped_dim(line, tensor, found[2], cascade), int(found[3])
        size = cascade.producers[tensor].problem.sizes[dim]
        if not 1 <= tile <= size:
            hint = f"ask for a tile of 1 to {size}"
            raise ConstraintError(f"{dim} of {tensor} has {size} elements", where=line, hint=hint)
        return replace(known, tiles=(*known.tiles, (tensor, dim, tile)))
    return None


def _only_fused(
    known: TreeConstraints, line: str, names: list[str], cascade: Cascade, outermost: str
) -> TreeConstraints:
    """And what some operations do not pass to each other passes through the outermost memory."""
    fused = {one for name in names for one in _operations(line, name, cascade)}
    for tensor in cascade.intermediates:
        users = {cascade.producers[tensor].name, *(reader.name for reader in cascade.consumers[tensor])}
        if not users <= fused:
            known = _at_home(known, line, tensor, outermost)
    return known


def _at_home(known: TreeConstraints, line: str, tensor: str, memory: str) -> TreeConstraints:
    """And an intermediate passes in a memory."""
    other = dict(known.homes).get(tensor, memory)
    if other != memory:
        raise ConstraintError(f"{tensor} is to pass in {other} and in {memory}", where=line, hint="drop one of them")
    return replace(known, homes=(*known.homes, (tensor, memory)))


def _operations(line: str, name: str, cascade: Cascade) -> list[str]:
    """The operation of a name, or those that a layer of that name consists of, as softmax of softmax.max."""
    known = [operation.name for operation in cascade]
    found = [one for one in known if one == name or one.startswith(f"{name}.")]
    if not found:
        hint = did_you_mean(name, known)
        raise ConstraintError(f"{name} is no operation of {cascade.name}", where=line, hint=hint)
    return found


def _tensor(line: str, name: str, cascade: Cascade) -> str:
    if name in cascade.intermediates:
        return name
    hint = did_you_mean(name, list(cascade.intermediates)) or f"write {_FORMS}"
    raise ConstraintError(f"{name} is no intermediate of {cascade.name}", where=line, hint=hint)


def _memory(line: str, name: str, arch: Architecture) -> str:
    known = [memory.name for memory in arch.memories_outside]
    if name not in known:
        raise ConstraintError(f"{name} is no memory outside all arrays", where=line, hint=did_you_mean(name, known))
    return name


def _dim(line: str, name: str, cascade: Cascade) -> str:
    known = sorted({dim for operation in cascade for dim in _names(operation)})
    if name not in known:
        raise ConstraintError(f"{name} is no dimension of {cascade.name}", where=line, hint=did_you_mean(name, known))
    return name


def _stepped_dim(line: str, tensor: str, name: str, cascade: Cascade) -> str:
    """The producer's dimension of an intermediate's rank that it, or else a reader, calls by a name."""
    producer = cascade.producers[tensor]
    if name in producer.output.dims:
        return name
    ranks = producer.output.ranks
    for reader in cascade.consumers[tensor]:
        for written, read in zip(ranks, reader.problem.tensor(tensor).ranks, strict=True):
            if name in {dim for dim, _ in read}:
                return written[0][0]
    known = sorted(producer.output.dims)
    raise ConstraintError(f"{name} is no dimension of {tensor}", where=line, hint=did_you_mean(name, known))


def _bits(line: str, size: str, arch: Architecture) -> int:
    try:
        return size_bits(size, word_bits=arch.word_bits)
    except ArchitectureError as error:
        raise ConstraintError(error.message, where=line, hint=error.hint) from None


def _names(operation: Operation) -> tuple[str, ...]:
    return operation.problem.dim_names
