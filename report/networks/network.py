"""A network: the table of its layers, what is not searched, and both as a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.console import Group
from rich.table import Table

from ...ir import MappingError
from ...ir.units import count, percent, plural, significant, size
from ...workloads import Network, NetworkLayer
from ...workloads.graph import Computed, NetworkGraph, Occurrence
from ...workloads.onnx import OnnxNetwork, PassedThrough
from ..parts.text import columns, pairs, section

WORD_BITS = 16
"""Width of words where the network says none."""


def network_page(network: Network, word_bits: int = WORD_BITS) -> Group:
    """A network: its layers with shapes, weights, intensity and repeats, its totals, and what is passed through."""
    rows = [("Network", network.name)]
    rows += [("Source", network.source)] if network.source else []
    rows += _phase_rows(network)
    rows += [("MACs", count(network.macs)), ("Weights", _weights_text(network))]
    rows += [("Caches", f"{count(network.cached)} words")] if network.cached else []
    programs = [section("Programs", pairs(_program_rows(network, network.wiring)))] if network.wiring else []
    if not isinstance(network, OnnxNetwork):
        between = [section("Between layers", _between_table(network.wiring))] if network.wiring else []
        return Group(pairs(rows), section("Layers", _layer_table(network, word_bits)), *between, *programs)
    rows.append(
        ("Operations", f"{count(network.operations)}, {percent(network.macs, network.operations)} of them MACs")
    )
    rows.append(("Graph", _graph_text(network)))
    rows += [("Note", note) for note in network.notes]
    passed = [section("Passed through", _passed_table(network))] if network.passed else []
    return Group(pairs(rows), section("Layers", _layer_table(network, word_bits)), *passed, *programs)


def _phase_rows(network: Network) -> list[tuple[str, str]]:
    """Which of its phases it is, with the sizes there."""
    if network.phase is None:
        return []
    name, sizes = network.phase
    return [("Phase", f"{name}: {', '.join(f'{symbol}={size}' for symbol, size in sizes)}")]


def _weights_text(network: Network) -> str:
    """Stored parameters, and of experts those that a token meets."""
    active = network.active_weights
    return f"{count(network.weights)} words" + (f", {count(active)} a token" if active < network.weights else "")


def _layer_table(network: Network, word_bits: int) -> Table:
    """FLOP/B is the intensity of an occurrence whose tensors all move once, in words of `word_bits` or their own."""
    from ...cost_models.intensity import arithmetic_intensity  # here, since numpy comes with it

    table = columns(("layer", "sizes"), ("MACs", "FLOP/B", "repeat", "all MACs", "weights"))
    for layer in network.layers:
        table.add_row(
            layer.name,
            " ".join(f"{name}={size}" for name, size in layer.problem.dims if size > 1),
            count(layer.problem.macs),
            significant(arithmetic_intensity(layer.problem, word_bits)),
            count(layer.repeat),
            count(layer.macs),
            count(layer.weights) if layer.is_weight else "-",
        )
    totals = (count(_occurrences(network)), count(network.macs), count(network.weights))
    table.add_row("total", "", "", "", *totals, style="bold")
    return table


def _programs_text(graph: NetworkGraph) -> str:
    """Forms in which the whole network can be written as a program, or why in none."""
    from ...mapper.emit.network import forms_of, linked  # here, since numpy comes with it

    try:
        forms = forms_of(graph)
    except MappingError as error:
        return error.message
    functions = linked(graph) if "c" in forms else ()
    to_link = f"; for c, {', '.join(functions)} to link" if functions else ""
    return f"compile --emit {', '.join(forms)}{to_link}"


def _program_rows(network: Network, graph: NetworkGraph) -> list[tuple[str, str]]:
    """Forms that can be emitted, what is computed apart from all groups, and the share of the MACs that groups have."""
    rows, apart = [("Forms", _programs_text(graph))], computed_apart(graph)
    if apart:
        kinds = Counter(operator for one in apart.values() for operator in one.operators)
        rows.append(("Apart", ", ".join(f"{number:,} {operator}" for operator, number in kinds.items())))
    outside = sum(graph.by_name[name].macs for name in apart) + network.uncounted.macs
    inside = network.macs - outside
    rows.append(("In groups", f"{count(inside)} MACs, {percent(inside, network.macs)}" if network.macs else "0 MACs"))
    return rows


def computed_apart(graph: NetworkGraph) -> Mapping[str, Computed]:
    """By occurrence, the operators that programs compute apart from all groups."""
    return graph.meaning.computed if graph.meaning is not None else {}


def _between_table(graph: NetworkGraph) -> Table:
    """What does not multiply: counted where layers are fused, and in no total here."""
    table = columns(("operation", "kind", "reads"), ("repeat",))
    for alike in _alike(graph):
        first = alike[0]
        reads = " ".join(_source_name(graph, source.name) for source in first.sources)
        table.add_row(graph.shown(first), first.kind, reads or "-", count(len(alike)))
    return table


def _alike(graph: NetworkGraph) -> list[list[Occurrence]]:
    """Operations that do not multiply; those that one entry of a block made, together."""
    found: dict[tuple[int, str], list[Occurrence]] = {}
    for occurrence in graph:
        if not occurrence.multiplies:
            found.setdefault((occurrence.entry, occurrence.local), []).append(occurrence)
    return list(found.values())


def _source_name(graph: NetworkGraph, name: str) -> str:
    return graph.shown(graph.by_name[name]) if name in graph.by_name else name


def _passed_table(network: OnnxNetwork) -> Table:
    """Shares are of all operations, those of the layers included."""
    table = columns(("operation",), ("nodes", "operations", "share", "output"))
    table.add_column("counted", no_wrap=True)
    for one in network.passed:
        operations = ("-", "-") if one.operations is None else (count(one.operations), _share(one, network))
        table.add_row(one.what, count(one.nodes), *operations, size(8 * one.bytes) if one.bytes else "-", one.how)
    total = sum(one.operations or 0 for one in network.passed)
    table.add_row("total", "", count(total), percent(total, network.operations), "", "", style="bold")
    return table


def _share(one: PassedThrough, network: OnnxNetwork) -> str:
    return percent(one.operations or 0, network.operations)


def _graph_text(network: OnnxNetwork) -> str:
    moved = sum(edge["bytes"] or 0 for *_, edge in network.graph.edges(data=True))
    return (
        f"{plural(len(network.graph), 'vertex', 'vertices')}, {plural(network.graph.size(), 'edge')}, {size(8 * moved)}"
    )


def _occurrences(network: Network) -> int:
    return sum(layer.repeat for layer in network.layers)


def network_document(network: Network, word_bits: int = WORD_BITS) -> dict[str, Any]:
    """The same as plain data for JSON, with every occurrence and what it reads where that is known; of an ONNX file
    also what is passed through and every edge of its graph."""
    document: dict[str, Any] = {
        "network": network.name,
        "source": network.source,
        "word_bits": word_bits,
        "macs": network.macs,
        "weights": network.weights,
        "occurrences": _occurrences(network),
        "layers": [_layer_document(layer, word_bits) for layer in network.layers],
    }
    if network.phase is not None:
        document["phase"], document["sizes"] = network.phase[0], dict(network.phase[1])
        document["active_weights"], document["cached"] = network.active_weights, network.cached
    if network.wiring is not None:
        document["wiring"] = [
            {"name": o.name, "kind": o.kind, "layer": o.layer or None, "reads": list(o.reads)} for o in network.wiring
        ]
        document["programs"] = _programs_text(network.wiring)
        document["computed_apart"] = {name: one.operators for name, one in computed_apart(network.wiring).items()}
    if isinstance(network, OnnxNetwork):
        document["operations"] = network.operations
        document["notes"] = list(network.notes)
        document["passed_through"] = [vars(one) for one in network.passed]
        edges = network.graph.edges(data=True)
        document["edges"] = [{"from": source, "to": reader, **edge} for source, reader, edge in edges]
    return document


def _layer_document(layer: NetworkLayer, word_bits: int) -> dict[str, Any]:
    from ...cost_models.intensity import arithmetic_intensity

    problem = layer.problem
    return {
        "name": layer.name,
        "dimensions": dict(problem.dims),
        "tensors": [
            {"tensor": str(tensor), "role": tensor.role, "bits": tensor.bits or word_bits} for tensor in problem.tensors
        ],
        "macs": problem.macs,
        "flop_per_byte": arithmetic_intensity(problem, word_bits),
        "repeat": layer.repeat,
        "all_macs": layer.macs,
        "weights": layer.weights,
        **({"nodes": list(layer.nodes)} if layer.nodes else {}),
    }
