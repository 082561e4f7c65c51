"""Activations of networks without fusion: published peaks, and what plans and updates in place make of them."""

from __future__ import annotations

import pytest

from tilewright.ir import MemoryPlanError
from tilewright.mapper.memory_plan import (
    ActivationSteps,
    activation_buffers,
    activation_steps,
    least_peak_order,
    live_during,
    plan_memory,
)
from tilewright.workloads import load_network
from tilewright.workloads.graph import NetworkGraph, Occurrence, Source


def activations(name: str, element: int, batch: int = 1, *after: str) -> ActivationSteps:
    graph = load_network(name).wiring
    assert graph is not None
    return activation_steps(graph, element, batch, after)


@pytest.mark.parametrize(("network", "peak"), [("mobilenet_v1", 4_816_896), ("mobilenet_v2", 6_021_120)])
def test_published_peaks_of_mobilenets(network: str, peak: int) -> None:
    """TensorFlow Lite (blog of 2020-10-02) and arXiv 2001.03288, in single precision."""
    found = activations(network, 4)
    assert max(live_during(found.steps, found.sizes, found.kept)) == peak
    order = least_peak_order(found.steps, found.sizes, found.kept)
    assert (order.peak, order.proven) == (peak, True)
    plan = plan_memory(activation_buffers(found, order.names))
    assert (plan.height, plan.proven) == (peak, True)


def test_resnet50_with_every_output_of_its_own() -> None:
    """53 convolutions, each followed by a norm and a ReLU, batch 32 in 16 bits."""
    found = activations("resnet50", 2, 32, "norm", "relu")
    rows = [name for name in found.sizes if name.endswith(" norm")]
    assert len(rows) == 53
    assert sum(3 * found.sizes[name] for name in rows) == 2_133_884_928
    plan = plan_memory(activation_buffers(found, [step.name for step in found.steps]))
    assert (plan.height, plan.proven) == (154_140_672, True)
    shared = plan_memory(activation_buffers(found, [step.name for step in found.steps], in_place=True))
    assert (shared.height, shared.proven) == (115_605_504, True)
    shared.check()


def test_a_shape_that_nothing_states_is_named() -> None:
    graph = NetworkGraph("odd", (Occurrence("relu", "softmax", (Source("input"),)),))
    with pytest.raises(MemoryPlanError, match="the shape of relu is not known"):
        activation_steps(graph, 4)
