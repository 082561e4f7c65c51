"""Whether a program of a network can be written, as far as that is known before its groups are."""

from __future__ import annotations

from .....ir import MappingError, ProblemError
from .....workloads.graph import NetworkGraph, operation_groups
from .files import NetworkElement


def check_writable(graph: NetworkGraph, element: NetworkElement = "double") -> None:
    """MappingError for what is made in a way that no program has, all of it named, and for elements in which its words
    are not exact."""
    meaning, network = graph.meaning, graph.network
    if meaning is not None and meaning.unknown:
        message = "no program can be written: " + "; ".join(meaning.unknown)
        hint = "what a program can have stands in docs/networks.md; export the model without the rest"
        raise MappingError(message, where=network, hint=hint)
    if meaning is not None and meaning.is_quantized and element != "double":
        raise not_exact(network, element)
    for name in meaning.outputs if meaning is not None else ():
        if name in graph.by_name and not graph.by_name[name].sources:  # others are forms of what is made
            message = f"{name} is an input of the model, and an output as it is"
            raise MappingError(message, where=network, hint="leave that output out")
    known = meaning.apart if meaning is not None else {}
    outside = (name for group in operation_groups(graph, 1) if group.cascade is None for name in group.names)
    unknown = [graph.shown(graph.by_name[n]) for n in outside if graph.by_name[n].sources and n not in known]
    if unknown:
        message = f"how {', '.join(unknown)} come{'s' * (len(unknown) == 1)} from what is read there is not stated"
        hint = "a program needs layers, and additions, products, norms, softmax and pooling between them"
        raise MappingError(message, where=network, hint=hint)
    for name, apart in known.items():
        try:
            apart()
        except ProblemError as error:
            raise MappingError(error.message, where=f"{network}: {name}", hint=error.hint) from None


def not_exact(network: str, element: NetworkElement) -> MappingError:
    """That sums of whole numbers need more bits than an element has."""
    message = f"its whole numbers are not exact in {element}s"
    return MappingError(message, where=network, hint="leave the element at double")
