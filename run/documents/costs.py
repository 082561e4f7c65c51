"""What documents say of costs: all figures of one operation; of a cascade its totals, and those of every operation."""

from __future__ import annotations

from ...cost_models import Cost, Held, MemoryUse, NetworkUse, TensorTraffic
from ...cost_models.cascades import RunTotals, whole_cost
from ...cost_models.zeros import Zeros
from .files import Strict


class CostPart(Strict):
    """What an operation costs: energy, latency, and where they arise.

    macs               multiply-accumulates of the layer
    mac_energy_pj      of all of them
    steps              time steps in which at least one MAC works
    compute_cycles     steps / MACs per cycle and instance
    energy_pj          of the whole run: MACs, memories, hops and leakage
    latency_cycles     the whole run
    utilization        MACs / (MAC instances x MACs per cycle x latency)
    limited_by         what the latency waits for: "compute" or a memory's name
    clock_hz           of the architecture
    memories           use of each memory level, outermost first
    traffic            words moved, by memory and tensor
    leakage_pj         of all instances over the whole run
    networks           fanouts whose hops cost energy, tensor by tensor
    fill_cycles        of the latency, what the first tiles in and the last ones out add to it
    array_cycles       of the latency, what arrays take to fill with work and to drain, hop by hop
    zeros              what those of operands save, where these have a density: all figures are means then
    """

    macs: int
    mac_energy_pj: float
    steps: int
    compute_cycles: float
    energy_pj: float
    latency_cycles: float
    utilization: float
    limited_by: str
    clock_hz: float
    memories: tuple[MemoryUse, ...]
    traffic: tuple[TensorTraffic, ...]
    leakage_pj: float = 0.0
    networks: tuple[NetworkUse, ...] = ()
    fill_cycles: float = 0.0
    array_cycles: float = 0.0
    zeros: Zeros | None = None


class CascadeCostPart(Strict):
    """What a cascade costs.

    energy_pj       of the whole run
    latency_cycles  of the whole run
    macs            points of all operations, each once; those of each operation are what is done, again or not
    utilization     cycles in which all units would do these points / latency
    clock_hz        of the architecture
    operations      by name, in the order in which they are done: the part of each, words at all memories included
    memories        use of each memory, outermost first; occupied where most is held
    occupancy       by operation, the tiles that are held while it works
    leakage_pj      of all instances over the whole run
    """

    energy_pj: float
    latency_cycles: float
    macs: int
    utilization: float
    clock_hz: float
    operations: dict[str, CostPart]
    memories: tuple[MemoryUse, ...]
    occupancy: dict[str, tuple[Held, ...]]
    leakage_pj: float = 0.0


def cost_part(cost: Cost) -> CostPart | CascadeCostPart:
    """A cost as it stands in a document."""
    if not cost.operations:
        return CostPart.model_construct(**{name: getattr(cost, name) for name in CostPart.model_fields})
    figures = {name: getattr(cost, name) for name in CascadeCostPart.model_fields}
    operations = {name: cost_part(part) for name, part in cost.operations.items()}
    return CascadeCostPart.model_construct(**figures | {"operations": operations})


def cost_of(part: CostPart | CascadeCostPart) -> Cost:
    """The cost; what a document of a cascade leaves out is summed over its operations."""
    if isinstance(part, CostPart):
        return Cost(**dict(part))
    totals = RunTotals(*(getattr(part, name) for name in RunTotals._fields))
    return whole_cost(totals, {name: cost_of(one) for name, one in part.operations.items()}, part.occupancy)
