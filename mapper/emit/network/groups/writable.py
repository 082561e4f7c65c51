"""Whether a program of a network can be written, as far as that is known before its groups are, and what it leaves to
link."""

from __future__ import annotations

from .....ir import MappingError, ProblemError
from .....workloads.graph import NetworkGraph, NetworkMeaning, operation_groups
from .extern import extern_name, is_plain
from .files import NetworkElement


def check_writable(graph: NetworkGraph, element: NetworkElement = "double", form: str | None = None) -> None:
    """MappingError for what is made in a way that no program has, all of it named, and for elements in which its words
    are not exact.

    form  "c" or "numpy"; None: any of both
    """
    meaning, network = graph.meaning, graph.network
    unknown = list(meaning.unknown) if meaning is not None else []
    if meaning is not None and form is not None:
        unknown += _not_computed(meaning, form)
    if unknown:
        message = "no program can be written: " + "; ".join(unknown)
        hint = "what a program can have stands in docs/networks.md; export the model without the rest"
        raise MappingError(message, where=network, hint=hint)
    if meaning is not None and meaning.is_quantized and element != "double":
        raise not_exact(network, element)
    for name in meaning.outputs if meaning is not None else ():
        if name in graph.by_name and not graph.by_name[name].reads:  # others are forms of what is made
            message = f"{name} is an input of the model, and an output as it is"
            raise MappingError(message, where=network, hint="leave that output out")
    known = meaning.apart if meaning is not None else {}
    outside = (name for group in operation_groups(graph, 1) if group.cascade is None for name in group.names)
    unstated = [graph.shown(graph.by_name[n]) for n in outside if graph.by_name[n].sources and n not in known]
    if unstated:
        more = f" and {len(unstated) - 4:,} more" if len(unstated) > 4 else ""
        names = f"{', '.join(unstated[:4])}{more}"
        message = f"how {names} come{'s' * (len(unstated) == 1)} from what is read there is not stated"
        hint = "a program needs layers, and additions, products, norms, softmax and pooling between them"
        raise MappingError(message, where=network, hint=hint)
    for name, apart in known.items():
        try:
            apart()
        except ProblemError as error:
            raise MappingError(error.message, where=f"{network}: {name}", hint=error.hint) from None


def _not_computed(meaning: NetworkMeaning, form: str) -> list[str]:
    """Operators computed apart that a form of program does not have."""
    found = []
    for name, one in meaning.computed.items():
        shown = f"{one.operators[0]} {name}"
        if form == "numpy" and one.missing:
            found.append(f"{shown}: {one.missing}")
        elif form == "c" and meaning.is_quantized:
            found.append(f"{shown}: C of a quantized model has no functions to link")
    return found


def forms_of(graph: NetworkGraph) -> tuple[str, ...]:
    """Forms in which a network can be written as a program. MappingError where there is none."""
    check_writable(graph)
    found, errors = [], []
    for form in ("c", "numpy"):
        try:
            check_writable(graph, form=form)
            found.append(form)
        except MappingError as error:
            errors.append(error)
    if not found:
        raise errors[-1]
    return tuple(found)


def linked(graph: NetworkGraph) -> tuple[str, ...]:
    """The functions that a C program of a network declares, and that a user has to link."""
    if graph.meaning is None:
        return ()
    return tuple(extern_name(one) for one in graph.meaning.computed.values() if not is_plain(one))


def not_exact(network: str, element: NetworkElement) -> MappingError:
    """That sums of whole numbers need more bits than an element has."""
    message = f"its whole numbers are not exact in {element}s"
    return MappingError(message, where=network, hint="leave the element at double")
