"""Which occurrences a text means: `b3.expand+b3.dw+b3.project`, or `layer1.0.conv1..layer1.0.conv3`."""

from __future__ import annotations

from ...ir import ProblemError
from .occurrences import OUTSIDE, NetworkGraph, Occurrence

JOIN = "+"
RANGE = ".."


def is_joined(text: str) -> bool:
    """Whether a text may mean more than one layer; a layer of exactly that name wins."""
    return JOIN in text or RANGE in text


def chosen(graph: NetworkGraph, text: str) -> list[Occurrence]:
    """The occurrences that a text names, in the order of the network.

    Names are joined by `+`; `a..b` are all operations on a way from a to b. A name that has these characters itself
    wins.

    Raises ProblemError for unknown names, and ranges without a way.
    """
    named: list[Occurrence] = []
    for part in _parts(graph, text):
        named += [graph.find(part)] if graph.knows(part) or RANGE not in part else _range(graph, part)
    wanted = {occurrence.name for occurrence in named}
    return [occurrence for occurrence in graph if occurrence.name in wanted]


def _parts(graph: NetworkGraph, text: str) -> list[str]:
    """The parts between `+`, where the longest known names win."""
    words = [word.strip() for word in text.split(JOIN)]
    found: list[str] = []
    while words:
        lengths = range(len(words), 0, -1)
        taken = next((n for n in lengths if graph.knows(JOIN.join(words[:n]))), 1)
        found.append(JOIN.join(words[:taken]))
        words = words[taken:]
    return found


def _range(graph: NetworkGraph, text: str) -> list[Occurrence]:
    first, last = (graph.find(name.strip()) for name in text.split(RANGE, 1))
    between = graph.between(first, last)
    if not between:
        turned = graph.between(last, first)
        hint = f"did you mean {graph.shown(last)}{RANGE}{graph.shown(first)}?" if turned else None
        message = f"no way leads from {graph.shown(first)} to {graph.shown(last)}"
        raise ProblemError(message, where=f"network {graph.network}", hint=hint)
    for occurrence in between:
        if occurrence.kind == OUTSIDE:
            message = f"{graph.shown(occurrence)} lies between them, which is no operation that a cascade can have"
            raise ProblemError(message, where=f"{graph.network}:{text}")
    return between
