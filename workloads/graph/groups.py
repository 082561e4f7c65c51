"""Groups of operations that can be mapped as one: runs of a network's order that no tensor leaves half-way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...ir import Cascade, ProblemError
from .joining import SoftmaxForm, joined
from .occurrences import OUTSIDE, NetworkGraph, Occurrence


@dataclass(frozen=True)
class OperationGroup:
    """Occurrences that stand one after the other in a network.

    start, end  the first one's place in the order of the network, and the place after the last one
    names       of the occurrences
    cascade     of them; None: what is made in a way that is no operation here
    """

    start: int
    end: int
    names: tuple[str, ...]
    cascade: Cascade | None


def operation_groups(graph: NetworkGraph, most: int, *, softmax: SoftmaxForm = "parts") -> list[OperationGroup]:
    """All groups of up to `most` occurrences: each alone, and those that connect where every tensor that passes inside
    has all of its readers there.

    softmax  "parts" or "one", as of `cascade_of`

    Raises ProblemError where one occurrence alone is no operation, and it is not said to be made outside.
    """
    occurrences = list(graph)
    readers = _readers(occurrences)
    for name in graph.meaning.outputs if graph.meaning is not None else ():
        readers.setdefault(name, set()).add("")  # what the network hands out is read outside of every group
    return [
        found
        for start in range(len(occurrences))
        for end in range(start + 1, min(start + most, len(occurrences)) + 1)
        for found in _group(graph, occurrences, start, end, readers, softmax)
    ]


def _readers(occurrences: Sequence[Occurrence]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for occurrence in occurrences:
        for source in occurrence.sources:
            found.setdefault(source.name, set()).add(occurrence.name)
    return found


def _group(
    graph: NetworkGraph,
    occurrences: Sequence[Occurrence],
    start: int,
    end: int,
    readers: dict[str, set[str]],
    softmax: SoftmaxForm,
) -> Iterator[OperationGroup]:
    members = occurrences[start:end]
    names = tuple(occurrence.name for occurrence in members)
    shown = "+".join(graph.shown(occurrence) for occurrence in members)
    if len(members) == 1:
        (alone,) = members
        cascade = None if alone.kind == OUTSIDE else joined(graph, members, f"{graph.network}:{shown}", softmax=softmax)
        yield OperationGroup(start, end, names, cascade)
        return
    if any(o.kind == OUTSIDE for o in members) or not _is_closed(names, readers) or not _in_one_form(graph, members):
        return
    try:
        yield OperationGroup(start, end, names, joined(graph, members, f"{graph.network}:{shown}", softmax=softmax))
    except ProblemError:  # they do not connect, or read one another in a way that no cascade has: each alone is mapped
        return


def _is_closed(names: Sequence[str], readers: dict[str, set[str]]) -> bool:
    """Whether every tensor that is read inside is read there alone."""
    inside = set(names)
    return all(readers[name] <= inside for name in names if readers.get(name, set()) & inside)


def _in_one_form(graph: NetworkGraph, members: Sequence[Occurrence]) -> bool:
    """Whether every tensor that is read inside is read in one form: a cascade has it once."""
    if graph.meaning is None or not graph.meaning.forms:
        return True
    found: dict[str, str] = {}
    reads = [(source.name, (member.name, source.name)) for member in members for source in member.sources]
    forms = graph.meaning.forms
    inside = {member.name for member in members}
    if any(source in inside and use in forms for source, use in reads):
        return False
    return all(found.setdefault(source, forms.get(use, source)) == forms.get(use, source) for source, use in reads)
