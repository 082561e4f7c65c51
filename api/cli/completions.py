"""What a shell may put in the place of a word that has only been begun: names of the libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Completion = Callable[[str], list[str]]
"""From what has been typed to what it may become."""


def _archs() -> Iterable[str]:
    from ..arch import list_archs

    return list_archs()


def _systems() -> Iterable[str]:
    from ..arch.system import list_systems

    return list_systems()


def _networks() -> Iterable[str]:
    from ..workloads import list_networks

    return list_networks()


def _dataflows() -> Iterable[str]:
    from ..mapper.constraints.files import list_dataflows

    return list_dataflows()


def _gpus() -> Iterable[str]:
    from ..cost_models.gpu import list_gpus

    return list_gpus()


def _one_of(names: Callable[[], Iterable[str]]) -> Completion:
    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def _list_of(names: Callable[[], Iterable[str]]) -> Completion:
    """Of a list with commas, its last name."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(last)]

    return complete


def layer(incomplete: str) -> list[str]:
    """A network with its colon, and behind it one of its layers."""
    network, colon, begun = incomplete.partition(":")
    if not colon:
        return [f"{name}:" for name in _networks() if name.startswith(network)]
    if network not in _networks():
        return []
    from ..workloads import load_network

    return [f"{network}:{row.name}" for row in load_network(network).layers if row.name.startswith(begun)]


def words(*known: str) -> Completion:
    """One of some words."""
    return _one_of(lambda: known)


arch, network, dataflow, gpu = _one_of(_archs), _one_of(_networks), _one_of(_dataflows), _one_of(_gpus)
system, collective = _one_of(_systems), words("all-gather", "reduce-scatter", "all-reduce", "all-to-all")
archs, networks, dataflows = _list_of(_archs), _list_of(_networks), _list_of(_dataflows)
objective = words("energy", "latency", "edp", "ed2p", "latency,energy")
tiling, space, widths = words("ragged", "perfect"), words("even", "uneven"), words("file", "arch")
form = words("c", "numpy", "nest", "json", "yaml", "timeloop", "mlir", "trace", "tvm")
element, order = words("float", "double", "int32"), words("row", "column")
dtype = words("fp16", "bf16", "tf32", "int8", "fp8")
status = words("proven", "unproven", "infeasible")
measures = _list_of(lambda: ("energy", "latency", "area", "on_chip", "macs"))
formats = _list_of(lambda: ("csv", "json", "parquet"))


def anything(incomplete: str) -> list[str]:
    """What can be shown: all of these."""
    return [*arch(incomplete), *system(incomplete), *network(incomplete), *dataflow(incomplete)]
