"""What each counting rule of other tools makes of the same mappings: energy and latency under its switch.

    python benchmarks/rules.py                                   # ResNet-50 on eyeriss and three_level
    python benchmarks/rules.py --network mobilenet_v2 --arch eyeriss --best

The mapping of every distinct layer is the one of least energy under our own rules. It is evaluated again under each
switch; printed are the change of the network's total (layers times their repetitions) over all layers that still fit,
the largest change of a single layer, and how many layers no longer fit. With --best, every layer is searched again
under the rule as well, for the change of the least total.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

import tilewright as tw
from tilewright.arch import Architecture, Fanout, Memory
from tilewright.cost_models import Cost
from tilewright.ir import MappingError


def everywhere(kind: type[Memory | Fanout], **changes: object) -> Callable[[Architecture], Architecture]:
    """A change of all levels of a kind but the outermost."""

    def changed(arch: Architecture) -> Architecture:
        levels = (v.model_copy(update=changes) if i and isinstance(v, kind) else v for i, v in enumerate(arch.levels))
        return arch.model_copy(update={"levels": tuple(levels)})

    return changed


def switch(**changes: object) -> Callable[[Architecture], Architecture]:
    return lambda arch: arch.model_copy(update=changes)


RULES: dict[str, Callable[[Architecture], Architecture]] = {
    "inner_drain_read: false": switch(inner_drain_read=False),
    "first_read_elision: false": switch(first_read_elision=False),
    "footprint: box": switch(footprint="box"),
    "halo: none": everywhere(Memory, halo="none"),
    "halo: exact": everywhere(Memory, halo="exact"),
    "reuse: at_node": switch(reuse="at_node"),
    "multicast: false": everywhere(Fanout, multicast=False),
    "spatial_reduction: false": everywhere(Fanout, spatial_reduction=False),
}


def best_results(network: str, arch: Architecture) -> list[tuple[int, tw.SearchResult]]:
    """(times that the layer occurs, the mapping of least energy)."""
    layers = tw.load_network(network).layers
    return [(layer.repeat, tw.search(layer.problem, arch, "energy", "perfect")) for layer in layers]


def best(network: str, arch: Architecture, ours_pj: float) -> str:
    """Change in percent of the least energy of all layers."""
    found = best_results(network, arch)
    return f"{100 * (sum(times * result.cost.energy_pj for times, result in found) / ours_pj - 1):+.2f}"


def costs(mappings: Iterable[tuple[int, tw.Mapping]], arch: Architecture) -> list[tuple[int, Cost | None]]:
    """The cost of every mapping; None where it does not fit."""
    found: list[tuple[int, Cost | None]] = []
    for times, mapping in mappings:
        try:
            found.append((times, tw.evaluate(mapping, arch)))
        except MappingError:
            found.append((times, None))
    return found


def change(
    before: list[tuple[int, Cost | None]], after: list[tuple[int, Cost | None]], figure: Callable[[Cost], float]
) -> tuple[float, float]:
    """Change in percent of the total of all layers that fit, and the largest change of one of them."""
    both = [(times, figure(b), figure(a)) for (times, b), (_, a) in zip(before, after, strict=True) if a and b]
    total = sum(t * a for t, _, a in both) / sum(t * b for t, b, _ in both) - 1
    return 100 * total, max((100 * (a / b - 1) for _, b, a in both), key=abs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="resnet50")
    parser.add_argument("--arch", nargs="*", default=["eyeriss", "three_level"])
    parser.add_argument("--best", action="store_true")
    options = parser.parse_args()
    heads = [f"{options.network} on", "switch", "energy %", "largest", "latency %", "largest", "do not fit"]
    heads += ["best %"] if options.best else []
    print(f"| {' | '.join(heads)} |")
    print("|---" * len(heads) + "|")
    for name in options.arch:
        arch = tw.load_arch(name)
        mappings = [(times, result.mapping) for times, result in best_results(options.network, arch)]
        before = costs(mappings, arch)
        ours_pj = sum(times * cost.energy_pj for times, cost in before if cost)
        for rule, changed in RULES.items():
            after = costs(mappings, changed(arch))
            energy = change(before, after, lambda cost: cost.energy_pj)
            latency = change(before, after, lambda cost: cost.latency_cycles)
            left = sum(cost is None for _, cost in after)
            cells = [f"{value:+.2f}" for value in (*energy, *latency)]
            cells.append(f"{left} of {len(after)}")
            cells += [best(options.network, changed(arch), ours_pj)] if options.best else []
            print(f"| {name} | `{rule}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
