"""What the tensors of a group's cascade are in the network: who makes them, in which shape, with which zeros around."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...ir import Cascade
from .atoms import Piece, aligned
from .joining import Joining, Member, Read, SoftmaxForm, members_of
from .occurrences import NetworkGraph, Occurrence


@dataclass(frozen=True)
class CascadeTensor:
    """A tensor of a cascade that is no parameter.

    key     who makes it: an occurrence, a part of one such as "softmax.max", or a name from outside of the network
    made    positions of each of its axes as it is made
    before  zeros that the cascade takes for its own before the first position of each: it counts an input with what
            lies around it
    """

    key: str
    made: tuple[int, ...]
    before: tuple[int, ...]


@dataclass(frozen=True)
class CascadeParameter:
    """A tensor of a cascade that is a parameter.

    occurrence  whose
    operand     which of the operands of its problem
    """

    occurrence: str
    operand: str


def cascade_parameters(
    graph: NetworkGraph, occurrences: Sequence[Occurrence], cascade: Cascade, *, softmax: SoftmaxForm = "parts"
) -> dict[str, CascadeParameter]:
    """By its name in the cascade that these occurrences make (`joined`), every parameter."""
    found = {}
    members = [member for occurrence in occurrences for member in members_of(graph, occurrence, softmax)]
    for member, operation in zip(members, cascade, strict=True):
        read = {one.operand: one.key for one in member.reads}
        every = member.operation.problem.operands
        apart = {(own.name in read, read.get(own.name, own.name)): own for own in every}  # what is read twice is one
        for own, tensor in zip(apart.values(), operation.problem.operands, strict=True):
            if own.name not in read:
                found[tensor.name] = CascadeParameter(member.key, own.name)
    return found


def cascade_tensors(
    graph: NetworkGraph, occurrences: Sequence[Occurrence], cascade: Cascade, *, softmax: SoftmaxForm = "parts"
) -> dict[str, CascadeTensor]:
    """By its name in the cascade that these occurrences make (`joined`), every tensor but the parameters.

    An input from outside whose shape nothing states is as large as it is read.

    Raises ProblemError where what is read does not have the words that its reader asks for.
    """
    members = [member for occurrence in occurrences for member in members_of(graph, occurrence, softmax)]
    joining = Joining(graph, members)
    found = {}
    for key, tensor in joining.tensors.items():
        extents = cascade.extents(tensor.name)
        if key in joining.readers and key not in joining.made and joining.atoms[key] is None:
            made, before = _as_made(graph, joining, key, extents)
        else:
            made, before = extents, (0,) * len(extents)
        found[tensor.name] = CascadeTensor(key, made, before)
    return found


def _as_made(
    graph: NetworkGraph, joining: Joining, key: str, extents: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of every axis, and zeros before, of a tensor whose readers have the same axes."""
    member, read = joining.readers[key][0]
    shape = graph.shape(key)
    if shape is None:
        return tuple(extents), (0,) * len(extents)
    sizes = window_sizes(shape, member, read)
    zeros = {axis.rank[0][0]: axis.before for axis in read.axes if axis.window}
    kept = joining.tensors[key].kept
    terms = [terms for terms, is_kept in zip(joining.terms[member.key, read.operand], kept, strict=True) if is_kept]
    dims = [each[0][0][0] for each in terms]
    made = tuple(sizes.get(dim, extent) for dim, extent in zip(dims, extents, strict=True))
    return made, tuple(zeros.get(dim, 0) for dim in dims)


def window_sizes(shape: Sequence[int], member: Member, read: Read) -> Mapping[str, int]:
    """Positions of the axes that are read through windows, each by the dimension that its windows begin at."""
    windows: dict[frozenset[tuple[Piece, int]], str] = {
        frozenset(((dim, 1), step) for dim, step in axis.rank): axis.rank[0][0] for axis in read.axes if axis.window
    }
    found = dict.fromkeys(windows.values(), 1)  # of what is left of whole images there may be no axis
    for size, terms in zip(shape, aligned(shape, read.axes, member.sizes, member.cuts, member.name), strict=True):
        dim = windows.get(frozenset(terms))
        if dim is not None:
            found[dim] = size
    return found
