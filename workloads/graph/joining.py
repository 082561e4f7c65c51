"""Occurrences that read one another as a cascade: equal tensors under one name, dimensions of size 1 left out.

Dimensions that index one rank of a common tensor get one name, where an operation does not use it already; all others
get names of their own. Where a reader's axes are not the tensor's (heads, groups, flattening), `atoms.py` says how they
lie in it.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Literal

from ...ir import Cascade, Operation, Pad, Problem, ProblemError, Rank, Tensor
from ...ir.expression import renamed
from .atoms import Piece, ReaderAxis, aligned, pieces
from .between import inside, softmax_as_one
from .occurrences import OUTSIDE, NetworkGraph, Occurrence, Source, written_dims

SoftmaxForm = Literal["parts", "one"]
SOFTMAX_FORMS: tuple[SoftmaxForm, ...] = ("parts", "one")
"""Whether a softmax is a cascade of its own (maximum, exponential, sum, division) or one function of every word."""


def joined(
    graph: NetworkGraph, occurrences: Sequence[Occurrence], name: str, *, softmax: SoftmaxForm = "parts"
) -> Cascade:
    """The cascade of some occurrences.

    Raises ProblemError for those that are no operations, that do not connect, and whose sizes do not fit.
    """
    for occurrence in occurrences if len(occurrences) > 1 else ():
        if occurrence.is_alone:
            raise _no_operation(graph, occurrence)
    return joined_with_names(graph, occurrences, name, softmax)[0]


def joined_with_names(
    graph: NetworkGraph, occurrences: Sequence[Occurrence], name: str, softmax: SoftmaxForm
) -> tuple[Cascade, dict[str, str]]:
    """The same, and what the cascade calls each tensor that is no parameter, by who makes it."""
    members = [member for occurrence in occurrences for member in members_of(graph, occurrence, softmax)]
    _check_connected(graph, occurrences, name)
    joining = Joining(graph, members)
    cascade = Cascade(name, joining.operations())
    return cascade, {key: tensor.name for key, tensor in joining.tensors.items()}


# ---- what is joined --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Read:
    """What an operand is: the key of a tensor, and the reader's axes in the order in which they lie in it."""

    operand: str
    key: str
    axes: tuple[ReaderAxis, ...]


@dataclass
class Member:
    """One operation of the cascade in the making.

    key     of the tensor that it writes: the name of the occurrence, or of one of its parts
    reads   operands that are no parameters of its own
    writes  dimensions of the output, slowest first
    cuts    of its dimensions
    """

    name: str
    key: str
    operation: Operation
    reads: list[Read]
    writes: tuple[str, ...]
    cuts: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def sizes(self) -> Mapping[str, int]:
        return self.operation.problem.sizes

    def pieces_of(self, dim: str) -> list[tuple[Piece, int]]:
        return pieces(dim, self.sizes[dim], self.cuts)

    def size_of(self, piece: Piece) -> int:
        return dict(self.pieces_of(piece[0]))[piece]


def members_of(graph: NetworkGraph, occurrence: Occurrence, softmax: SoftmaxForm) -> list[Member]:
    """The operations that an occurrence is made of. ProblemError for what is no operation."""
    shown = graph.shown(occurrence)
    if occurrence.kind == OUTSIDE:
        raise _no_operation(graph, occurrence)
    if occurrence.problem is not None:
        return [_layer(occurrence, occurrence.problem, shown)]
    shapes = [occurrence.shape, *(graph.shape(source.name) for source in occurrence.sources)]
    shape = next((shape for shape in shapes if shape is not None), None)
    is_one = occurrence.kind == "softmax" and softmax == "one" and shape is not None
    found = []
    for part in softmax_as_one(shape or ()) if is_one else inside(occurrence, shape):
        problem = part.operation.problem
        reads = []
        for operand, source in zip(problem.operands, part.reads, strict=True):
            before = occurrence.window[2] if occurrence.window else (0, 0)
            zeros = dict(zip("pq", before, strict=True))
            key = f"{occurrence.name}.{source}" if isinstance(source, str) else occurrence.sources[source].name
            reads.append(Read(operand.name, key, _axes(operand, None, zeros)))
        behind = f".{part.name}" if part.name else ""
        writes = tuple(rank[0][0] for rank in problem.output.ranks)
        found.append(Member(f"{shown}{behind}", f"{occurrence.name}{behind}", part.operation, reads, writes))
    return found


def _no_operation(graph: NetworkGraph, occurrence: Occurrence) -> ProblemError:
    hint = "leave it out: what it makes is then an input of the cascade"
    message = f"{graph.shown(occurrence)} is no operation that a cascade can have"
    return ProblemError(message, where=graph.network, hint=hint)


def _layer(occurrence: Occurrence, problem: Problem, shown: str) -> Member:
    """A layer's operands beyond those that it reads from others are parameters of its own."""
    reads = [
        Read(operand.name, source.name, _axes(operand, source, dict(source.pads)))
        for operand, source in zip(problem.operands, occurrence.sources, strict=False)
    ]
    keys = [read.key for read in reads]
    if len(set(keys)) < len(keys):
        raise ProblemError(f"{shown} reads {keys[0]} as both operands, expected two tensors")
    return Member(shown, occurrence.name, Operation.of(problem), reads, written_dims(occurrence))


def _axes(operand: Tensor, source: Source | None, zeros: Mapping[str, int]) -> tuple[ReaderAxis, ...]:
    ranks = {rank[0][0].lower(): rank for rank in operand.ranks}
    order = source.order if source is not None and source.order is not None else tuple(ranks)
    axes = []
    for part in order:
        letter, *strides = (part,) if isinstance(part, str) else part
        rank = ranks[letter]
        part_of = (strides[0], strides[1]) if strides else None
        axes.append(ReaderAxis(rank, len(rank) != 1 or rank[0][1] != 1, zeros.get(letter, 0), part_of))
    return tuple(axes)


def _check_connected(graph: NetworkGraph, occurrences: Sequence[Occurrence], name: str) -> None:
    """Every occurrence reads what another one makes, or what another one reads too, or is read."""
    groups: list[set[str]] = []
    for occurrence in occurrences:
        tensors = {occurrence.name, *(source.name for source in occurrence.sources)}
        touched = [group for group in groups if group & tensors]
        groups = [group for group in groups if not group & tensors] + [tensors.union(*touched)]
    if len(groups) > 1:
        apart = next(o for o in occurrences if o.name not in groups[0])
        reads = " and ".join(
            graph.shown(graph.by_name[s.name]) if s.name in graph.by_name else s.name for s in apart.sources
        )
        first = graph.shown(occurrences[0])
        message = f"{graph.shown(apart)} reads {reads}, and does not connect with {first}"
        hint = f"add what lies between them, as in {first}..{graph.shown(apart)}, or map each on its own"
        raise ProblemError(message, where=name, hint=hint)


# ---- joining ---------------------------------------------------------------------------------------------------------


@dataclass
class Joined:
    """A tensor that several operations have, or one of them and the outside.

    name     in the cascade
    extents  positions along its axes; None where they are not known, as of an input with zeros around
    dims     names of the dimensions that index an axis alone, once one has
    kept     axes of more than one position
    """

    name: str
    extents: list[int | None]
    dims: list[str | None]
    kept: list[bool]


class Joining:
    """Members as they connect; one use for one cascade.

    made     by key, the pieces of dimensions that are the axes of what a member makes, slowest first
    readers  by key, the members that read a tensor
    atoms    by key, the axes of inputs; None where all readers have the same ones
    terms    by member and operand, for each axis the pieces that index it
    tensors  by key, all but the parameters
    """

    def __init__(self, graph: NetworkGraph, members: list[Member]) -> None:
        self.graph, self.members = graph, members
        self.made: dict[str, list[tuple[Piece, int]]] = {}
        self.names: set[str] = set()
        self.dims: set[str] = set()
        keys = {member.key for member in members}
        self.readers: dict[str, list[tuple[Member, Read]]] = {}
        for member in members:
            for read in member.reads:
                self.readers.setdefault(read.key, []).append((member, read))
        self.atoms = {key: self._outside_atoms(key) for key in self.readers if key not in keys}
        for member in members:
            self._cut(member)
        self.terms = {
            (member.key, read.operand): self._terms(member, read) for member in members for read in member.reads
        }
        self.tensors = {key: self._tensor(key) for key in dict.fromkeys([*self.readers, *keys])}

    # ---- axes ------------------------------------------------------------------------------------------------

    def _outside_atoms(self, key: str) -> list[int] | None:
        """Axes of an input: None where all readers have the same ones, which are then its axes as they stand."""
        structures = {
            tuple((axis.window, axis.extent(member.sizes), axis.before) for axis in read.axes)
            for member, read in self.readers[key]
        }
        if len(structures) == 1:
            return None
        shape = self.graph.shape(key)
        if shape is None:
            readers = " and ".join(member.name for member, _ in self.readers[key])
            hint = f"state its shape by an entry of the graph: {{name: {key}, op: outside, shape: [...]}}"
            raise ProblemError(f"{readers} read {key} in different shapes, and its own is not known", hint=hint)
        return list(shape)

    def _cut(self, member: Member) -> None:
        """Cut the member's dimensions where the axes of what it reads ask for it, and say what it makes."""
        for axis in (axis for read in member.reads for axis in read.axes if axis.part):
            dim = axis.rank[0][0]
            member.cuts[dim] = tuple(sorted({*member.cuts.get(dim, (1,)), *(axis.part or ())} - {member.sizes[dim]}))
        for _ in member.operation.problem.dims:
            cuts: dict[str, set[int]] = {dim: set(member.cuts.get(dim, (1,))) for dim in member.sizes}
            for read in member.reads:
                atoms = self._atoms_of(read.key)
                if atoms is not None:
                    for terms in aligned(atoms, read.axes, member.sizes, member.cuts, member.name):
                        for (dim, low), _ in terms:
                            cuts[dim].add(low)
            found = {dim: tuple(sorted(lows)) for dim, lows in cuts.items() if len(lows) > 1}
            for dim, lows in found.items():
                if any(high % low for low, high in zip(lows, (*lows[1:], member.sizes[dim]), strict=True)):
                    message = f"{dim} would be cut in two ways by what it reads"
                    raise ProblemError(message, where=member.name)
            if found == member.cuts:
                break
            member.cuts = found
        self.made[member.key] = [piece for dim in member.writes for piece in member.pieces_of(dim)]

    def _atoms_of(self, key: str) -> list[int] | None:
        made = self.made.get(key)
        return [size for _, size in made] if made is not None else self.atoms.get(key)

    def _terms(self, member: Member, read: Read) -> list[list[tuple[Piece, int]]]:
        """For each axis of a tensor, the pieces that index it."""
        atoms = self._atoms_of(read.key)
        if atoms is not None:
            return aligned(atoms, read.axes, member.sizes, member.cuts, member.name)
        found: list[list[tuple[Piece, int]]] = []
        alone = len(self.readers[read.key]) == 1
        for axis in read.axes:
            if axis.window:
                found.append([((dim, 1), coefficient) for dim, coefficient in axis.rank])
                continue
            parts = [piece for piece, _ in axis.pieces(member.sizes, member.cuts)]
            low = axis.part[0] if axis.part else 1
            found += [[(piece, 1)] for piece in parts] if alone else [[(piece, piece[1] // low) for piece in parts]]
        return found

    def _tensor(self, key: str) -> Joined:
        atoms: Sequence[int | None] | None = self._atoms_of(key)
        readings = [(member, self.terms[member.key, read.operand]) for member, read in self.readers.get(key, ())]
        if atoms is None:
            atoms = [None] * len(readings[0][1])
        images = self._images(key)
        kept = [
            (atom or 0) > 1
            or any(
                frozenset(terms[i]) in images or any(member.size_of(piece) > 1 for piece, _ in terms[i])
                for member, terms in readings
            )
            for i, atom in enumerate(atoms)
        ]
        return Joined(self._unique(self._shown(key)), list(atoms), [None] * len(atoms), kept)

    def _images(self, key: str) -> set[frozenset[tuple[Piece, int]]]:
        """Windows that step along more than one position of what comes from outside, though they may read one alone."""
        shape = self.graph.shape(key) if key not in self.made and self.atoms.get(key) is None else None
        found: set[frozenset[tuple[Piece, int]]] = set()
        for member, read in self.readers.get(key, ()) if shape is not None else ():
            if shape is not None and any(axis.window for axis in read.axes):
                each = aligned(shape, read.axes, member.sizes, member.cuts, member.name)
                found |= {frozenset(terms) for size, terms in zip(shape, each, strict=True) if size > 1}
        return found

    # ---- names -----------------------------------------------------------------------------------------------

    def _shown(self, key: str) -> str:
        member = next((member for member in self.members if member.key == key), None)
        if member is not None:
            return member.name
        return self.graph.shown(self.graph.by_name[key]) if key in self.graph.by_name else key

    def _unique(self, text: str) -> str:
        """A name for a tensor that texts can hold."""
        plain = re.sub(r"\W", "_", text).strip("_") or "T"
        plain = f"T{plain}" if plain[0].isdigit() or keyword.iskeyword(plain) else plain
        found = next(name for name in (f"{plain}{i or ''}" for i in count()) if name not in self.names)
        self.names.add(found)
        return found

    def _name_dims(self, member: Member, order: Sequence[Piece]) -> dict[Piece, str]:
        """Names of a member's dimensions: those of the tensors that it reads, or new ones."""
        found: dict[Piece, str] = {}
        for piece in order:
            wanted = [name for name in self._candidates(member, piece) if name not in found.values()]
            found[piece] = wanted[0] if wanted else self._fresh(piece[0])
        return found

    def _candidates(self, member: Member, piece: Piece) -> Iterable[str]:
        """What the tensors that it reads call it; first where it indexes an axis alone, then where it steps through
        windows from every position to the next."""
        windows = []
        for read in member.reads:
            tensor = self.tensors[read.key]
            for i, terms in enumerate(self.terms[member.key, read.operand]):
                real = [(p, c) for p, c in terms if member.size_of(p) > 1]
                name, extent = tensor.dims[i], tensor.extents[i]
                if name is None or not real or real[0] != (piece, 1):
                    continue
                if len(real) == 1 and extent in (None, member.size_of(piece)):
                    yield name
                elif extent == member.size_of(piece):
                    windows.append(name)
        yield from windows

    def _fresh(self, dim: str) -> str:
        letter = dim.rstrip("0123456789") or "D"
        found = next(name for name in (f"{letter}{i or ''}" for i in chain((0,), count(2))) if name not in self.dims)
        self.dims.add(found)
        return found

    # ---- the cascade -----------------------------------------------------------------------------------------

    def operations(self) -> tuple[Operation, ...]:
        """All operations, in order."""
        return tuple(map(self._operation, self.members))

    def _operation(self, member: Member) -> Operation:
        problem = member.operation.problem
        made = zip(self.made[member.key], self.tensors[member.key].kept, strict=True)
        kept = {piece for (piece, _), is_kept in made if is_kept}  # one position that a window reads, with zeros around
        pieces = [each for dim in problem.dim_names for each in member.pieces_of(dim)]
        order = [piece for piece, size in pieces if size > 1 or piece in kept]
        reduction = member.operation.reduction
        if not order:  # of one word: the one point is summed
            order, reduction = [member.pieces_of(problem.dim_names[0])[0][0]], reduction or "sum"
        names = self._name_dims(member, order)
        reads = {read.operand: read for read in member.reads}
        tensors: list[Tensor] = []
        pads, new_names = [], {}
        for operand in problem.operands:
            bits = operand.bits
            if operand.name in reads:
                key = reads[operand.name].key
                bits = self.graph.widths.get(key, bits)
                ranks, zeros = self._read(member, reads[operand.name], names)
                new_names[operand.name] = self.tensors[key].name
                if any(map(any, zeros)):
                    pads.append((new_names[operand.name], zeros))
            else:
                ranks = self._parameter(member, operand, names)
                new_names[operand.name] = self._unique(f"{member.name}_{operand.name}")
            tensor = Tensor(new_names[operand.name], ranks, operand.role, bits, density=operand.density)
            if tensor not in tensors:  # one that is both operands is one tensor
                tensors.append(tensor)
        tensors.append(self._output(member, problem.output, names))
        dims = tuple((names[piece], member.size_of(piece)) for piece in order)
        name = re.sub(r"[\s:\[\]=]", "_", member.name)
        expression = renamed(member.operation.expression, new_names)
        return Operation(Problem(name, dims, tuple(tensors)), expression, reduction, tuple(pads))

    def _read(self, member: Member, read: Read, names: Mapping[Piece, str]) -> tuple[tuple[Rank, ...], tuple[Pad, ...]]:
        """Ranks of an operand, and the zeros around each."""
        tensor = self.tensors[read.key]
        windows = {axis.rank[0][0]: axis.before for axis in read.axes if axis.window}
        ranks: list[Rank] = []
        zeros: list[Pad] = []
        for i, terms in enumerate(self.terms[member.key, read.operand]):
            if not tensor.kept[i]:
                continue
            real = [(piece, coefficient) for piece, coefficient in terms if member.size_of(piece) > 1]
            if tensor.dims[i] is None and len(real) == 1 and real[0][1] == 1:
                tensor.dims[i] = names[real[0][0]]
            ranks.append(tuple((names[piece], coefficient) for piece, coefficient in real))
            extent = tensor.extents[i]
            before = windows.get(terms[0][0][0], 0) if terms and extent is not None else 0
            reach = 1 + sum(coefficient * (member.size_of(piece) - 1) for piece, coefficient in real)
            zeros.append((before, max(0, reach - before - extent) if extent is not None else 0))
        return tuple(ranks), tuple(zeros)

    def _parameter(self, member: Member, operand: Tensor, names: Mapping[Piece, str]) -> tuple[Rank, ...]:
        found: list[Rank] = []
        for rank in operand.ranks:
            if len(rank) == 1 and rank[0][1] == 1:
                found += [((names[piece], 1),) for piece, size in member.pieces_of(rank[0][0]) if size > 1]
            else:
                found.append(tuple((names[dim, 1], coefficient) for dim, coefficient in rank if member.sizes[dim] > 1))
        return tuple(rank for rank in found if rank)

    def _output(self, member: Member, output: Tensor, names: dict[Piece, str]) -> Tensor:
        tensor = self.tensors[member.key]
        made = self.made[member.key]
        ranks: list[Rank] = []
        for i, (piece, _) in enumerate(made):
            if tensor.kept[i]:
                tensor.dims[i] = names[piece]
                ranks.append(((names[piece], 1),))
        bits, partial = output.bits, output.partial_bits
        if member.key in self.graph.widths:
            bits = self.graph.widths[member.key]
            partial = max(bits, partial or 0)
        return Tensor(tensor.name, tuple(ranks), "output", bits, partial)
